#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/base/text_file.hpp"

namespace flowplan::cli {

namespace {

constexpr std::size_t largest_starter = 1u << 20;

struct Starter {
  std::string_view kind, file;
};
/// The first is the default. Two names may have one file.
constexpr Starter starters[] = {
    {"pretraining", "pretraining"},
    {"serving", "serving"},
    {"rl", "posttraining"},
    {"sft", "fine-tuning"},
    {"lora", "lora"},
    {"dpo", "dpo"},
    {"storage", "storage"},
    {"posttraining", "posttraining"},
    {"fine-tuning", "fine-tuning"},
};

std::vector<std::string_view> starter_kinds() {
  std::vector<std::string_view> kinds;
  for (const Starter& starter : starters)
    kinds.push_back(starter.kind);
  return kinds;
}

int init(const Arguments& arguments, Session& session) {
  const auto folder = catalog_folder(arguments, session);
  if (!folder) return refuse(session, folder.error());
  const std::string kind =
      arguments.positionals.empty() ? std::string(starters[0].kind) : arguments.positionals[0];
  const auto* const starter = std::find_if(std::begin(starters), std::end(starters),
                                           [&](const Starter& one) { return one.kind == kind; });
  if (starter == std::end(starters))
    return refuse(session, error(Code::usage, fmt::format("there is no starter for `{}`", kind),
                                 fmt::format("one of {}", fmt::join(starter_kinds(), ", "))));
  const auto from =
      std::filesystem::path(*folder) / "starters" / fmt::format("{}.json", starter->file);
  const auto text = read_text(from.string(), largest_starter);
  if (!text) return refuse(session, text.error());
  if (arguments.positionals.size() < 2) {
    session.out << *text << std::flush;
    return 0;
  }
  const std::string& path = arguments.positionals[1];
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    return refuse(session, error(Code::usage, fmt::format("{} is there already", path),
                                 "name a new file: nothing is overwritten"));
  if (const auto written = write_text(path, *text); !written)
    return refuse(session, written.error());
  session.err << fmt::format("wrote {}; try: flowplan run {}\n", path, path) << std::flush;
  return 0;
}

}  // namespace

Command init_command() {
  return {"init",
          "Write a commented scenario to start from.",
          "Without FILE it is printed. A file that exists is left alone.",
          {{"KIND",
            "pretraining (default), serving, rl (GRPO, PPO, ... with rollouts; also posttraining), "
            "sft (supervised fine-tuning; also fine-tuning), lora (adapters, QLoRA), dpo "
            "(preference pairs) or storage (training with data, checkpoints and failures).",
            0, 1, starter_kinds()},
           {"FILE", "Where it is written.", 0, 1}},
          {catalog_option()},
          {{"init serving fleet.json", "A serving fleet to change to yours"},
           {"init rl grpo.json", "Reinforcement learning with rollouts"}},
          init};
}

}  // namespace flowplan::cli
