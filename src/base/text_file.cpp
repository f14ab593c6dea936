#include "flowplan/base/text_file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <istream>
#include <iterator>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace flowplan {

namespace fs = std::filesystem;

namespace {

std::string nearest_file(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const auto near = nearest(path.filename().string(), names);
  return near ? fmt::format("did you mean `{}`?", (path.parent_path() / *near).string()) : "";
}

Place in(const std::string& path) {
  return in_file(path == "-" ? "<stdin>" : path);
}

Diagnostics too_large(const std::string& path, std::size_t max_bytes) {
  return {error(Code::file_too_large, in(path), fmt::format("more than {} bytes", max_bytes),
                fmt::format("the limit is {} MiB", max_bytes >> 20))};
}

Result<std::string> read_stream(std::istream& in_stream, const std::string& path,
                                std::size_t max_bytes) {
  std::string text;
  std::vector<char> block(1 << 16);
  while (in_stream.read(block.data(), static_cast<std::streamsize>(block.size())) ||
         in_stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in_stream.gcount()));
    if (text.size() > max_bytes) return fail(too_large(path, max_bytes));
  }
  if (in_stream.bad()) return fail(error(Code::file_unreadable, in(path), "reading failed"));
  return text;
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::size_t max_bytes) {
  if (path == "-") return read_stream(std::cin, path, max_bytes);
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status)) {
    return fail(error(Code::file_not_found, in(path), "no such file", nearest_file(path)));
  }
  if (fs::is_directory(status)) {
    return fail(error(Code::file_unreadable, in(path), "is a directory, not a file"));
  }
  if (fs::is_regular_file(status)) {
    const std::uintmax_t size = fs::file_size(path, code);
    if (!code && size > max_bytes) return fail(too_large(path, max_bytes));
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(error(Code::file_unreadable, in(path), "cannot be opened for reading"));
  return read_stream(stream, path, max_bytes);
}

Result<void> write_text(const std::string& path, const std::string& text) {
  const std::string beside = path + ".part";
  {
    std::ofstream stream(beside, std::ios::binary | std::ios::trunc);
    stream << text;
    stream.flush();
    if (!stream) {
      std::remove(beside.c_str());
      return fail(error(Code::file_unreadable, in(path), "cannot be written"));
    }
  }
  std::error_code code;
  fs::rename(beside, path, code);
  if (code) {
    std::remove(beside.c_str());
    return fail(error(Code::file_unreadable, in(path),
                      fmt::format("cannot be written: {}", code.message())));
  }
  return {};
}

}  // namespace flowplan
