#include "json_text.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/base/assert.hpp"
#include "flowplan/base/json_document.hpp"

namespace flowplan {

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      break;
    }
  }
  return at;
}

namespace {

std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; text.at(at) != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

std::size_t scalar_end(std::string_view text, std::size_t at) {
  if (text[at] == '"') return string_end(text, at);
  return std::min(text.find_first_of(",]}/ \t\r\n", at), text.size());
}

/// The characters that a JSON string literal stands for, as far as keys need them.
std::string unescape(std::string_view literal) {
  std::string key;
  for (std::size_t i = 1; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      key += literal[i];
      continue;
    }
    switch (const char c = literal[++i]) {
      case 'n':
        key += '\n';
        break;
      case 't':
        key += '\t';
        break;
      case 'r':
        key += '\r';
        break;
      case 'b':
        key += '\b';
        break;
      case 'f':
        key += '\f';
        break;
      case 'u':
        key += "\\u";
        break;  // places of keys with \u escapes stay approximate
      default:
        key += c;
    }
  }
  return key;
}

/// Walks one valid text without recursion.
class Locator {
 public:
  explicit Locator(std::string_view text) : text_(text) {}

  std::unordered_map<std::string, JsonOffsets> run() {
    at_ = text_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    at_ = skip_space(text_, at_);
    value("", at_);
    while (!open_.empty())
      step();
    return std::move(found_);
  }

 private:
  struct Open {
    std::string pointer;
    bool object = false;
    std::size_t next_index = 0;
  };

  void value(std::string pointer, std::size_t key) {
    found_.insert_or_assign(pointer, JsonOffsets{at_, key});  // of a duplicate key, the second
    const char c = text_[at_];
    if (c == '{' || c == '[') {
      open_.push_back({std::move(pointer), c == '{', 0});
      ++at_;
    } else {
      at_ = scalar_end(text_, at_);
    }
  }

  void step() {
    at_ = skip_space(text_, at_);
    if (text_[at_] == ',') at_ = skip_space(text_, at_ + 1);
    if (text_[at_] == '}' || text_[at_] == ']') {
      open_.pop_back();
      ++at_;
      return;
    }
    Open& inside = open_.back();
    if (!inside.object) {
      value(child_pointer(inside.pointer, inside.next_index++), at_);
      return;
    }
    const std::size_t key = at_;
    at_ = string_end(text_, at_);
    std::string pointer = child_pointer(inside.pointer, unescape(text_.substr(key, at_ - key)));
    at_ = skip_space(text_, at_);
    FLOWPLAN_ASSERT(text_[at_] == ':');
    at_ = skip_space(text_, at_ + 1);
    value(std::move(pointer), key);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  std::unordered_map<std::string, JsonOffsets> found_;
};

}  // namespace

std::unordered_map<std::string, JsonOffsets> json_offsets(std::string_view text) {
  return Locator(text).run();
}

std::size_t offset_deeper_than(std::string_view text, std::size_t levels) {
  std::size_t depth = 0;
  for (std::size_t at = skip_space(text, 0); at < text.size(); at = skip_space(text, at)) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      continue;
    }
    if (c == '{' || c == '[') {
      if (++depth > levels) return at;
    } else if (c == '}' || c == ']') {
      --depth;
    }
    ++at;
  }
  return text.size();
}

}  // namespace flowplan
