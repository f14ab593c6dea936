#include "session.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "fault_place.hpp"
#include "flowplan/base/text_file.hpp"
#include "flowplan/report/html.hpp"
#include "flowplan/report/markdown.hpp"
#include "flowplan/report/saved.hpp"

namespace flowplan::cli {

namespace {

std::vector<std::string> format_names(const std::vector<Rendering>& renderings) {
  std::vector<std::string> names;
  for (const Rendering& r : renderings)
    names.emplace_back(r.format);
  return names;
}

Result<const Rendering*> pick(const std::vector<Rendering>& renderings, std::string_view format) {
  const auto found = std::find_if(renderings.begin(), renderings.end(),
                                  [&](const Rendering& r) { return r.format == format; });
  if (found != renderings.end()) return &*found;
  return fail(error(Code::usage, fmt::format("this command has no format `{}`", format),
                    fmt::format("formats: {}", fmt::join(format_names(renderings), ", "))));
}

struct OutputFile {
  const Rendering* rendering;
  std::string path;
};

Result<std::vector<OutputFile>> output_files(const Arguments& arguments,
                                             const std::vector<Rendering>& renderings) {
  std::vector<OutputFile> files;
  for (const std::string& text : arguments.values("output")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      return fail(error(Code::usage, fmt::format("`-o {}`: an output is FORMAT=FILE", text),
                        "for example -o json=result.json"));
    }
    auto rendering = pick(renderings, std::string_view(text).substr(0, equals));
    if (!rendering) return fail(std::move(rendering.error()));
    files.push_back({*rendering, text.substr(equals + 1)});
  }
  return files;
}

}  // namespace

std::vector<Rendering> renderings(const Session& session,
                                  std::function<report::Document()> document,
                                  std::vector<Rendering> others) {
  const report::TextStyle style{session.environment.unicode, session.environment.out_colour};
  std::vector<Rendering> all;
  all.push_back({"text", [=] { return report::to_text(document(), style); }});
  all.push_back({"markdown", [=] { return report::to_markdown(document()); }});
  std::move(others.begin(), others.end(), std::back_inserter(all));
  all.push_back({"html", [=] { return report::to_html(document()); }});
  const bool has_csv =
      std::any_of(all.begin(), all.end(), [](const Rendering& one) { return one.format == "csv"; });
  if (!has_csv) all.push_back({"csv", [=] { return report::to_csv(document()); }});
  return all;
}

int emit(const Arguments& arguments, Session& session, const std::vector<Rendering>& renderings,
         int code) {
  const auto shown =
      pick(renderings, arguments.value("format").value_or(std::string(renderings.front().format)));
  if (!shown) return refuse(session, shown.error());
  const auto files = output_files(arguments, renderings);
  if (!files) return refuse(session, files.error());
  for (const OutputFile& file : *files) {
    if (const auto written = write_text(file.path, file.rendering->make()); !written) {
      return refuse(session, written.error());
    }
  }
  session.out << (*shown)->make() << std::flush;
  return code;
}

int refuse(Session& session, const Diagnostics& diagnostics) {
  session.err << render(diagnostics) << std::flush;
  return exit_code_of(diagnostics);
}

int refuse(Session& session, Diagnostic diagnostic) {
  return refuse(session, Diagnostics{std::move(diagnostic)});
}

Result<std::optional<int>> int_option(const Arguments& arguments, std::string_view name, int least,
                                      int most) {
  const auto text = arguments.value(name);
  if (!text) return std::optional<int>{};
  int value = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (code != std::errc{} || end != text->data() + text->size() || value < least || value > most) {
    return fail(error(Code::usage, fmt::format("--{} {}: a whole number is needed", name, *text),
                      fmt::format("from {} to {}", least, most)));
  }
  return std::optional<int>{value};
}

}  // namespace flowplan::cli
