#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/cli/run.hpp"
#include "flowplan/report/document.hpp"
#include "flowplan/report/text.hpp"

namespace flowplan::cli {

/// Where one command line reads and writes.
struct Session {
  std::ostream& out;
  std::ostream& err;
  const Environment& environment;
};

/// One way to show a result; made only when asked for.
struct Rendering {
  std::string_view format;
  std::function<std::string()> make;
};

/// Renderings as text and Markdown of one document, then any others, then HTML and, where it is not
/// among the others, CSV.
[[nodiscard]] std::vector<Rendering> renderings(const Session& session,
                                                std::function<report::Document()> document,
                                                std::vector<Rendering> others = {});

/// Shows the result in the format of `--format` (the first rendering by default) and writes every
/// `-o FORMAT=FILE`. Returns `code`, or the exit code of what went wrong.
int emit(const Arguments& arguments, Session& session, const std::vector<Rendering>& renderings,
         int code);

/// Prints what is wrong and returns its exit code.
int refuse(Session& session, const Diagnostics& diagnostics);
int refuse(Session& session, Diagnostic diagnostic);

/// The folder of the catalog: a folder given with --catalog, FLOWPLAN_CATALOGS, beside the
/// installed program, the source tree. Error FP034.
[[nodiscard]] Result<std::string> catalog_folder(const Arguments& arguments,
                                                 const Session& session);
/// That catalog, with the files given with --catalog laid over it.
[[nodiscard]] Result<catalog::Catalog> load_catalog(const Arguments& arguments,
                                                    const Session& session);
/// A schema of that catalog's schema/ folder.
[[nodiscard]] Result<JsonDocument> load_schema(const Arguments& arguments, const Session& session,
                                               std::string_view name);

/// An option's value as a whole number in [least, most]; nothing when it is not given.
[[nodiscard]] Result<std::optional<int>> int_option(const Arguments& arguments,
                                                    std::string_view name, int least, int most);

}  // namespace flowplan::cli
