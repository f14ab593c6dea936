#include "flowplan/base/text_file.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace text_file_test {

using namespace flowplan;
namespace fs = std::filesystem;

TEST_CASE("writing replaces a file whole and leaves nothing beside it") {
  const fs::path folder = fs::temp_directory_path() / "flowplan_text_file_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / "out.txt").string();
  REQUIRE(write_text(path, "first"));
  REQUIRE(write_text(path, "second"));
  CHECK(*read_text(path, 100) == "second");
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  fs::remove_all(folder);
}

TEST_CASE("a file that cannot be read says why") {
  CHECK(read_text(FLOWPLAN_SOURCE_DIR, 100).error().at(0).code == Code::file_unreadable);
  CHECK(read_text("/nonexistent/x", 100).error().at(0).code == Code::file_not_found);
  CHECK(read_text(FLOWPLAN_SOURCE_DIR "/LICENSE", 10).error().at(0).code == Code::file_too_large);
  CHECK_FALSE(write_text("/nonexistent/x", "t"));
}

}  // namespace text_file_test
