// Runs the same flows through flowplan's event engine and through SimGrid, in turn and each run in
// a process of its own, and prints the medians of their times, of the ratios of neighbouring runs,
// and the peak memory.
//
//   flowplan_simgrid_compare [--repeat N] [--wall] [--slow] [CASE...]
//
// The fat trees and flows are those of `flowplan flow --generate`. Memory is what a run needs
// beyond a process that does nothing, code and libraries included. Times are CPU seconds of the
// process, which other load on the machine disturbs least; --wall takes the clock's. --slow adds
// the case that takes SimGrid more than a minute.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <simgrid/s4u.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flowplan/flow/fold.hpp"
#include "flowplan/flow/generate.hpp"
#include "flowplan/flow/simulate.hpp"

namespace {

using namespace flowplan::flow;
namespace sg4 = simgrid::s4u;

/// How flowplan is given the flows.
enum class Form {
  listed,
  counted,        // as classes of equal flows instead of a list
  counted_again,  // the same, timed the second time in its process: without page faults for code
};

struct Comparison {
  std::string name;
  std::uint32_t hosts;
  Pattern pattern;
  Sizes sizes;
  Form form = Form::listed;
  bool slow = false;
};

const std::vector<Comparison>& comparisons() {
  static const std::vector<Comparison> all{
      {"alltoall-64-random", 64, Pattern::all_to_all, Sizes::random},
      {"alltoall-128-random", 128, Pattern::all_to_all, Sizes::random, Form::listed, true},
      {"alltoall-256-equal", 256, Pattern::all_to_all, Sizes::equal},
      {"alltoall-256-equal-counted", 256, Pattern::all_to_all, Sizes::equal, Form::counted},
      {"alltoall-256-equal-counted-again", 256, Pattern::all_to_all, Sizes::equal,
       Form::counted_again},
      {"permutation-16384-random", 16384, Pattern::permutation, Sizes::random},
  };
  return all;
}

/// What one run reports through its pipe, and its parent adds.
struct Run {
  double build_s = 0.0, run_s = 0.0;
  double makespan_s = 0.0;
  double peak_mib = 0.0;

  [[nodiscard]] double total_s() const { return build_s + run_s; }
};

clockid_t clock_id = CLOCK_PROCESS_CPUTIME_ID;

double seconds() {
  timespec now{};
  clock_gettime(clock_id, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Case generate(const Comparison& c) {
  return *generate(full_fat_tree(c.hosts), Traffic{.pattern = c.pattern, .sizes = c.sizes});
}

/// All-to-all of equal sizes from counts: a flow ends under the same edge switch, in the same pod
/// or elsewhere, and d-mod-k gives each target a way of its own down the tree.
Quotient count_all_to_all(const Comparison& c) {
  const FatTree tree = full_fat_tree(c.hosts);
  const std::uint64_t edge = tree.down[0];
  const std::uint64_t pod = edge * tree.down[1];
  const double capacity = tree.bytes_per_s;
  const FlowSpec spec{.bytes = Traffic{}.bytes};
  QuotientBuilder builder;
  const LinkId host_up = builder.link_class(capacity, c.hosts);
  const LinkId edge_up = builder.link_class(capacity, c.hosts);
  const LinkId pod_up = builder.link_class(capacity, c.hosts);
  const LinkId pod_down = builder.link_class(capacity, c.hosts);
  const LinkId edge_down = builder.link_class(capacity, c.hosts);
  const LinkId host_down = builder.link_class(capacity, c.hosts);
  const auto add = [&](std::uint64_t targets, std::initializer_list<LinkId> path) {
    const FlowId flow = builder.flow_class(spec, c.hosts * targets);
    for (const LinkId link : path)
      builder.use(flow, link, targets);
  };
  add(edge - 1, {host_up, host_down});
  add(pod - edge, {host_up, edge_up, edge_down, host_down});
  add(c.hosts - pod, {host_up, edge_up, pod_up, pod_down, edge_down, host_down});
  return builder.build();
}

template <class Build>
Run time_flowplan(Build&& build) {
  Run run;
  const double start = seconds();
  const auto built = build();
  const double between = seconds();
  run.makespan_s = simulate(built.network, built.flows).makespan_s;
  run.run_s = seconds() - between;
  run.build_s = between - start;
  return run;
}

Run run_flowplan(const Comparison& c) {
  if (c.form == Form::listed) return time_flowplan([&] { return generate(c); });
  const auto count = [&] { return count_all_to_all(c); };
  if (c.form == Form::counted_again) time_flowplan(count);
  return time_flowplan(count);
}

/// A transfer as one of its two actors sees it.
struct Transfer {
  std::uint32_t peer;
  std::uint64_t bytes;
};

/// What SimGrid's actors do. Made before its time and memory are measured.
struct Script {
  std::vector<std::vector<Transfer>> sends, receives;
  std::size_t flows = 0;
};

Script script_of(const Comparison& c) {
  const Case all = generate(c);
  Script script;
  script.flows = all.flows.size();
  script.sends.resize(c.hosts);
  script.receives.resize(c.hosts);
  for (std::size_t f = 0; f < script.flows; ++f) {
    const std::uint32_t source = all.flow_source[f];
    const std::uint32_t target = all.flow_target[f];
    const auto bytes = static_cast<std::uint64_t>(all.flows.bytes[f]);
    script.sends[source].push_back({target, bytes});
    script.receives[target].push_back({source, bytes});
  }
  return script;
}

void add_fat_tree(const Comparison& c, std::vector<sg4::Host*>& hosts) {
  const auto add_host = [&hosts](sg4::NetZone* zone, const std::vector<unsigned long>&,
                                 unsigned long id) {
    hosts[id] = zone->create_host(std::to_string(id), 1e9);
    return std::make_pair(hosts[id]->get_netpoint(),
                          static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
  };
  const FatTree tree = full_fat_tree(c.hosts);
  const sg4::FatTreeParams shape(static_cast<unsigned int>(tree.down.size()), tree.down, tree.up,
                                 std::vector<unsigned int>(tree.down.size(), 1));
  sg4::create_fatTree_zone("tree", nullptr, shape, sg4::ClusterCallbacks(add_host),
                           tree.bytes_per_s, 0.0, sg4::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
}

Run run_simgrid(const Comparison& c, const Script& script) {
  Run run;
  const double start = seconds();
  std::vector<std::string> words{"compare",
                                 "--cfg=network/model:CM02",
                                 "--cfg=network/TCP-gamma:0",
                                 "--cfg=network/latency-factor:1",
                                 "--cfg=network/bandwidth-factor:1",
                                 "--cfg=network/weight-S:0",
                                 "--cfg=network/crosstraffic:0",
                                 "--cfg=contexts/stack-size:64",
                                 "--log=root.thres:error"};
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  sg4::Engine engine(&count, arguments.data());
  std::vector<sg4::Host*> hosts(c.hosts);
  add_fat_tree(c, hosts);

  const auto mailbox = [](std::uint32_t source, std::uint32_t target) {
    return sg4::Mailbox::by_name(std::to_string(source) + ">" + std::to_string(target));
  };
  for (std::uint32_t host = 0; host < c.hosts; ++host) {
    sg4::Actor::create(std::to_string(host), hosts[host], [&, host] {
      static char payload;
      const std::vector<Transfer>& receives = script.receives[host];
      const std::vector<Transfer>& sends = script.sends[host];
      std::vector<void*> received(receives.size());
      std::vector<sg4::CommPtr> comms;
      comms.reserve(sends.size() + receives.size());
      for (std::size_t i = 0; i < receives.size(); ++i) {
        comms.push_back(mailbox(receives[i].peer, host)->get_async<void>(&received[i]));
      }
      for (const Transfer& transfer : sends) {
        comms.push_back(mailbox(host, transfer.peer)->put_async(&payload, transfer.bytes));
      }
      sg4::Comm::wait_all(comms);
    });
  }
  const double built = seconds();
  engine.run();
  run.run_s = seconds() - built;
  run.build_s = built - start;
  run.makespan_s = sg4::Engine::get_clock();
  return run;
}

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "simgrid_compare: {}\n", what);
  std::exit(1);
}

Run in_child(const std::function<Run()>& work) {
  int ends[2];
  if (pipe(ends) != 0) fail("no pipe");
  const pid_t child = fork();
  if (child < 0) fail("no process");
  if (child == 0) {
    const Run run = work();
    const bool sent = write(ends[1], &run, sizeof run) == static_cast<ssize_t>(sizeof run);
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  Run run;
  const ssize_t got = read(ends[0], &run, sizeof run);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (got != static_cast<ssize_t>(sizeof run) || status != 0) fail("a run failed");
  run.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024.0;
  return run;
}

template <class Figure>
double median(const std::vector<Run>& runs, const Figure& figure) {
  std::vector<double> values;
  for (std::size_t i = 0; i < runs.size(); ++i)
    values.push_back(figure(i));
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void compare(const Comparison& c, int repeat) {
  const Script script = script_of(c);
  malloc_trim(0);  // a child would find memory that its parent has freed, and not count it
  const double idle_mib = in_child([] { return Run{}; }).peak_mib;
  std::vector<Run> ours, theirs;
  for (int r = 0; r < repeat; ++r) {
    ours.push_back(in_child([&] { return run_flowplan(c); }));
    theirs.push_back(in_child([&] { return run_simgrid(c, script); }));
    ours.back().peak_mib -= idle_mib;
    theirs.back().peak_mib -= idle_mib;
  }
  const auto of = [](const std::vector<Run>& runs, double (*figure)(const Run&)) {
    return median(runs, [&](std::size_t i) { return figure(runs[i]); });
  };
  const auto ratio = [&](double (*figure)(const Run&)) {
    return median(ours, [&](std::size_t i) { return figure(theirs[i]) / figure(ours[i]); });
  };
  const auto build = [](const Run& run) { return run.build_s; };
  const auto solve = [](const Run& run) { return run.run_s; };
  const auto total = [](const Run& run) { return run.total_s(); };
  const auto peak = [](const Run& run) { return run.peak_mib; };
  fmt::print(
      "{:<34}{:>8}{:>10.6f}{:>10.6f}{:>10.4f}{:>10.4f}{:>9.1f}x{:>9.1f}x{:>8.2f}{:>8.1f}{:>7.1f}x{:"
      ">10.1e}"
      "\n",
      c.name, script.flows, of(ours, build), of(ours, solve), of(theirs, build), of(theirs, solve),
      ratio(solve), ratio(total), of(ours, peak), of(theirs, peak), ratio(peak),
      std::abs(ours[0].makespan_s / theirs[0].makespan_s - 1.0));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int repeat = 5;
  bool slow = false;
  std::vector<std::string_view> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--repeat" && i + 1 < argc) {
      repeat = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--wall") {
      clock_id = CLOCK_MONOTONIC;
    } else if (word == "--slow") {
      slow = true;
    } else if (std::any_of(comparisons().begin(), comparisons().end(),
                           [&](const Comparison& c) { return c.name == word; })) {
      wanted.push_back(word);
    } else {
      fail(fmt::format("unknown argument '{}'", word));
    }
  }
  fmt::print("{:<34}{:>8}{:>20}{:>20}{:>20}{:>24}{:>10}\n", "", "", "flowplan (s)", "SimGrid (s)",
             "SimGrid / flowplan", "peak MiB", "makespan");
  fmt::print("{:<34}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}{:>8}{:>8}{:>10}\n", "case",
             "flows", "build", "run", "build", "run", "run", "all", "ours", "its", "ratio",
             "differ");
  std::fflush(stdout);
  for (const Comparison& c : comparisons()) {
    const bool named = std::find(wanted.begin(), wanted.end(), c.name) != wanted.end();
    if (named || (wanted.empty() && (slow || !c.slow))) compare(c, repeat);
  }
}
