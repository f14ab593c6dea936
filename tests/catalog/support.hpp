#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "flowplan/base/text_file.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::catalog {

inline const std::string catalog_directory = FLOWPLAN_SOURCE_DIR "/catalogs";

/// The project's own catalog, read once.
inline const Catalog& our_catalog() {
  static const Result<Catalog> loaded = Catalog::load(catalog_directory);
  INFO((loaded ? std::string() : render(loaded.error())));
  REQUIRE(loaded.has_value());
  return *loaded;
}

inline const Instance& instance(const std::string& name) {
  const auto found = our_catalog().instance(name);
  INFO((found ? std::string() : render(found.error())));
  REQUIRE(found.has_value());
  return **found;
}

inline const Gpu& gpu(const std::string& name) {
  const auto found = our_catalog().gpu(name);
  REQUIRE(found.has_value());
  return **found;
}

/// A folder for one test, removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("flowplan-catalog-test-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (path_ / name).string();
    REQUIRE(write_text(path, text).has_value());
    return path;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The project's catalog with one overlay of that text.
inline Result<Catalog> with_overlay(const std::string& text) {
  const TemporaryFolder folder;
  return Catalog::load(catalog_directory, {folder.write("overlay.json", text)});
}

}  // namespace flowplan::catalog
