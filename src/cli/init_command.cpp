#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/base/text_file.hpp"

namespace flowplan::cli {

namespace {

constexpr std::size_t largest_starter = 1u << 20;

int init(const Arguments& arguments, Session& session) {
  const auto folder = catalog_folder(arguments, session);
  if (!folder) return refuse(session, folder.error());
  const std::string kind = arguments.positionals.empty() ? "pretraining" : arguments.positionals[0];
  const auto starter = std::filesystem::path(*folder) / "starters" / (kind + ".json");
  const auto text = read_text(starter.string(), largest_starter);
  if (!text)
    return refuse(session,
                  error(Code::usage, fmt::format("there is no starter for `{}`", kind),
                        "one of pretraining, serving, posttraining, fine-tuning, storage"));
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
            "pretraining (default), serving, posttraining (reinforcement learning), fine-tuning or "
            "storage (training with data, checkpoints and failures).",
            0,
            1,
            {"pretraining", "serving", "posttraining", "fine-tuning", "storage"}},
           {"FILE", "Where it is written.", 0, 1}},
          {catalog_option()},
          {{"init serving fleet.json", "A serving fleet to change to yours"}},
          init};
}

}  // namespace flowplan::cli
