#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/base/text_file.hpp"
#include "flowplan/flow/case_file.hpp"
#include "flowplan/flow/generate.hpp"
#include "flowplan/flow/recipe.hpp"
#include "flowplan/flow/replay.hpp"
#include "flowplan/flow/trace.hpp"
#include "flowplan/report/flow.hpp"
#include "input.hpp"
#include "stopwatch.hpp"

namespace flowplan::cli {

namespace {

constexpr int not_verified = 5;  // a fault of the program, as its other internal errors
constexpr int most_rows = 100000000;

constexpr std::string_view traffic_options[] = {"traffic", "sizes", "bytes", "seed",
                                                "group",   "flows", "spread"};

Result<std::uint64_t> count_option(const Arguments& arguments, std::string_view name,
                                   std::uint64_t least, std::uint64_t otherwise) {
  const auto text = arguments.value(name);
  if (!text) return otherwise;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (code == std::errc{} && end == text->data() + text->size() && value >= least) return value;
  return fail(error(Code::usage, fmt::format("--{} {}: a whole number is needed", name, *text),
                    fmt::format("{} or more", least)));
}

Result<flow::Traffic> traffic(const Arguments& arguments) {
  flow::Traffic traffic;
  Diagnostics faults;
  const auto take = [&](const auto& result, auto& into) {
    if (result) {
      into = static_cast<std::remove_reference_t<decltype(into)>>(*result);
    } else {
      faults.insert(faults.end(), result.error().begin(), result.error().end());
    }
  };
  if (const auto text = arguments.value("traffic"))
    take(flow::parse_pattern(*text), traffic.pattern);
  if (const auto text = arguments.value("sizes")) take(flow::parse_sizes(*text), traffic.sizes);
  if (const auto text = arguments.value("bytes")) {
    const auto bytes = parse_bytes(*text);
    if (bytes) traffic.bytes = bytes->value();
    if (!bytes) faults.insert(faults.end(), bytes.error().begin(), bytes.error().end());
  }
  if (const auto text = arguments.value("spread")) {
    const auto spread = parse_duration(*text);
    if (spread) traffic.spread_s = spread->value();
    if (!spread) faults.insert(faults.end(), spread.error().begin(), spread.error().end());
  }
  take(count_option(arguments, "seed", 0, traffic.seed), traffic.seed);
  take(count_option(arguments, "flows", 1, traffic.flows), traffic.flows);
  const auto group = int_option(arguments, "group", 2, static_cast<int>(flow::most_hosts));
  if (group) traffic.group = static_cast<std::uint32_t>(group->value_or(0));
  if (!group) faults.insert(faults.end(), group.error().begin(), group.error().end());
  if (!faults.empty()) return fail(std::move(faults));
  return traffic;
}

Result<flow::Case> generated(const Arguments& arguments) {
  if (!arguments.positionals.empty()) {
    return fail(error(Code::usage, "both a case file and --generate are given"));
  }
  const auto topology = flow::parse_topology(*arguments.value("generate"));
  if (!topology) return fail(topology.error());
  const auto flows = traffic(arguments);
  if (!flows) return fail(flows.error());
  return flow::generate(*topology, *flows);
}

Result<flow::Case> from_file(const Arguments& arguments, const Session& session, Stopwatch& watch) {
  if (arguments.positionals.empty()) {
    return fail(error(Code::usage, "`flowplan flow` needs a case file or --generate",
                      "for example flowplan flow --generate fat-tree:64 --traffic all-to-all"));
  }
  for (const std::string_view option : traffic_options) {
    if (arguments.has(option)) {
      return fail(error(Code::usage, fmt::format("--{} goes with --generate", option)));
    }
  }
  const auto document = read_input(arguments.positionals[0], FileKind::flow_case, "flow");
  if (!document) return fail(document.error());
  const auto schema = load_schema(arguments, session, "flow-case");
  if (!schema) return fail(schema.error());
  watch.lap("parse");
  return flow::read_case(*document, *schema);
}

std::string describe(const flow::FoldSummary& folding) {
  using Outcome = flow::FoldSummary::Outcome;
  switch (folding.outcome) {
    case Outcome::certified:
    case Outcome::equitable:
      return fmt::format("folded into {} classes of flows and {} of links", folding.flow_classes,
                         folding.link_classes);
    case Outcome::too_many:
      return "not folded: too little symmetry";
    case Outcome::off:
      break;
  }
  return "not folded";
}

int replay(const Arguments& arguments, Session& session) {
  Stopwatch watch;
  const auto top = int_option(arguments, "top", 0, most_rows);
  if (!top) return refuse(session, top.error());
  const auto flow_case =
      arguments.has("generate") ? generated(arguments) : from_file(arguments, session, watch);
  if (!flow_case) return refuse(session, flow_case.error());
  watch.lap("build");
  const auto folding = arguments.has("no-fold") ? flow::Folding::off : flow::Folding::automatic;
  const auto result = flow::replay(*flow_case, folding);
  if (!result) return refuse(session, result.error());
  watch.lap("solve", describe(result->folding));

  report::FlowView view;
  if (*top) view.top = static_cast<std::size_t>(**top);
  if (arguments.has("verify")) {
    if (const auto refuted = flow::refute_first_rates(*flow_case, *result, folding)) {
      session.err << "the first rates are not max-min fair: " << *refuted << '\n';
      return not_verified;
    }
    view.verified = true;
    watch.lap("verify");
  }
  if (const auto file = arguments.value("trace")) {
    const auto written = write_text(*file, flow::chrome_trace(*flow_case, *result));
    if (!written) return refuse(session, written.error());
    watch.lap("trace");
  }
  const int code =
      emit(arguments, session,
           renderings(session, [&] { return report::flow(*flow_case, *result, view); },
                      {{"json", [&] { return report::flow_json(*flow_case, *result, view); }}}),
           0);
  watch.lap("report");
  if (arguments.has("timing")) watch.print(session.err);
  return code;
}

}  // namespace

Command flow_command() {
  return {
      "flow",
      "Replay flows on a graph of links, shared max-min fairly.",
      "Takes a case of the format flowplan-flow-1 or flow-oracle-1 (docs/reference/flow-case.md), "
      "or makes one. Topologies: fat-tree:HOSTS[,levels=N], fat-tree:down=4x4x4,up=1x4x4, "
      "clos:leaves=N,hosts=N,spines=N[,oversubscription=X], torus:4x4x4, "
      "dragonfly:groups=N,routers=N,hosts=N; each takes gbytes_per_s=X.",
      {{"CASE", "Case file; - is standard input.", 0, 1}},
      {{"generate", 'g', "TOPOLOGY", "Make a case instead of reading one.", false, {}},
       {"traffic",
        0,
        "PATTERN",
        "permutation (default), all-to-all, ring, incast or random.",
        false,
        {},
        {"permutation", "all-to-all", "ring", "incast", "random"}},
       {"sizes", 0, "KIND", "equal (default) or random.", false, {}, {"equal", "random"}},
       {"bytes", 0, "SIZE", "Bytes of a flow, or their mean; 100MB by default.", false, {}},
       {"seed", 0, "N", "Of everything random; 1 by default.", false, {}},
       {"group", 0, "N", "Traffic stays within blocks of N hosts.", false, {}},
       {"flows", 0, "N", "Random traffic: how many flows.", false, {}},
       {"spread",
        0,
        "TIME",
        "Flows start at random within TIME; all at once by default.",
        false,
        {}},
       {"top", 0, "N", "At most N rows a table; 100 by default, all in JSON.", false, {}},
       {"trace", 0, "FILE", "Write a trace that ui.perfetto.dev opens.", false, {}},
       {"verify", 0, "", "Check the first rates against the definition of max-min.", false, {}},
       {"no-fold", 0, "", "Do without symmetry: the same result, slower.", false, {}},
       {"timing", 0, "", "Print seconds and peak memory of each phase to stderr.", false, {}},
       format_option(),
       output_option(),
       catalog_option()},
      {{"flow tests/flow/cases/parking-lot.json --format json", "When each flow ends"},
       {"flow --generate fat-tree:64 --traffic all-to-all --sizes random --seed 1 --timing",
        "A benchmark without a file"}},
      replay};
}

}  // namespace flowplan::cli
