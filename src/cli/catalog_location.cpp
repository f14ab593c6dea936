#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "session.hpp"

namespace flowplan::cli {

namespace fs = std::filesystem;

namespace {

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Where `cmake --install` puts the catalogs, seen from the program.
fs::path installed_catalogs(const std::string& program) {
  return fs::path(program).parent_path().parent_path() / "share" / "flowplan" / "catalogs";
}

}  // namespace

Result<std::string> catalog_folder(const Arguments& arguments, const Session& session) {
  std::string folder;
  for (const std::string& path : arguments.values("catalog")) {
    if (is_folder(path)) folder = path;
  }
  if (!folder.empty()) return folder;
  if (const std::string& named = session.environment.catalogs; !named.empty()) {
    if (is_folder(named)) return named;
    return fail(error(Code::catalog_not_found,
                      fmt::format("FLOWPLAN_CATALOGS names `{}`, which is not a folder", named)));
  }
  if (const std::string& program = session.environment.program; !program.empty()) {
    if (const fs::path path = installed_catalogs(program); is_folder(path)) return path.string();
  }
  if (is_folder(FLOWPLAN_SOURCE_CATALOGS)) return std::string(FLOWPLAN_SOURCE_CATALOGS);
  return fail(error(Code::catalog_not_found, "no catalog was found",
                    "name its folder with --catalog or FLOWPLAN_CATALOGS"));
}

Result<catalog::Catalog> load_catalog(const Arguments& arguments, const Session& session) {
  auto folder = catalog_folder(arguments, session);
  if (!folder) return fail(std::move(folder.error()));
  std::vector<std::string> overlays;
  for (const std::string& path : arguments.values("catalog")) {
    if (!is_folder(path)) overlays.push_back(path);
  }
  return catalog::Catalog::load(*folder, overlays);
}

Result<JsonDocument> load_schema(const Arguments& arguments, const Session& session,
                                 std::string_view name) {
  auto folder = catalog_folder(arguments, session);
  if (!folder) return fail(std::move(folder.error()));
  return JsonDocument::read(
      (fs::path(*folder) / "schema" / fmt::format("{}.schema.json", name)).string());
}

}  // namespace flowplan::cli
