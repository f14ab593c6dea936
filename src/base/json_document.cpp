#include "flowplan/base/json_document.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/assert.hpp"
#include "flowplan/base/text_file.hpp"
#include "json_text.hpp"

namespace flowplan {

using Json = nlohmann::ordered_json;

namespace {

/// Text with the offsets of its values, found when the first place is asked for.
struct Text {
  std::string text, file;
  std::once_flag once;
  std::unordered_map<std::string, JsonOffsets> offsets;

  Text(std::string t, std::string f) : text(std::move(t)), file(std::move(f)) {}

  Place at(std::size_t offset) const {
    offset = std::min(offset, text.size());
    const std::size_t before = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    std::size_t end = std::min(text.find('\n', start), text.size());
    if (end > start && text[end - 1] == '\r') --end;
    Place place;
    place.file = file;
    place.line = 1 + static_cast<int>(std::count(
                         text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
    place.column = 1 + static_cast<int>(offset - start);
    place.source_line = text.substr(start, end - start);
    return place;
  }
};

/// Builds the value from the parser's events; refuses duplicate keys and excessive depth.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(const Text& text, int max_depth) : text_(text), max_depth_(max_depth) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    Frame& frame = frames_.back();
    if (frame.repeats(value)) frame.duplicates.push_back(value);
    frame.key = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    std::string message = exception.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
    if (const auto from = message.find("] "); from != std::string::npos) message.erase(0, from + 2);
    if (message.starts_with("parse error at")) {
      if (const auto from = message.find(": "); from != std::string::npos)
        message.erase(0, from + 2);
    }
    faults_.push_back(
        error(Code::json_syntax, text_.at(position == 0 ? 0 : position - 1), message));
    return false;
  }

  Json take() { return std::move(root_); }
  Diagnostics& faults() { return faults_; }
  /// Pointers of the keys that stand twice.
  const std::vector<std::string>& duplicates() const { return duplicates_; }

 private:
  /// A value that is not complete. Its parts become JSON when all are there: members of an ordered
  /// object that grows are copied, and its own insertion searches all keys.
  struct Frame {
    bool is_array = false;
    std::string key;  // of the member to come
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> members;
    std::unordered_set<std::string> keys;  // of the members, once they are many
    std::vector<std::string> duplicates;

    /// Whether the member to come has the name of an earlier one. Asked once for each, in order.
    bool repeats(const std::string& name) {
      constexpr std::size_t many = 16;
      if (members.size() < many) {
        return std::any_of(members.begin(), members.end(),
                           [&](const auto& member) { return member.first == name; });
      }
      if (keys.empty())
        for (const auto& member : members)
          keys.insert(member.first);
      return !keys.insert(name).second;
    }

    Json take() {
      if (is_array) return Json(std::move(items));
      Json object = Json::object();
      using Members =
          std::vector<std::pair<const std::string, Json>, Json::object_t::allocator_type>;
      Members& all = object.get_ref<Json::object_t&>();
      all.reserve(members.size());
      for (auto& [name, value] : members)
        all.emplace_back(std::move(name), std::move(value));
      return object;
    }
  };

  bool put(Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Frame& frame = frames_.back();
    if (frame.is_array) {
      frame.items.push_back(std::move(value));
    } else {
      frame.members.emplace_back(std::move(frame.key), std::move(value));
    }
    return true;
  }

  bool open(bool array) {
    if (static_cast<int>(frames_.size()) >= max_depth_) {
      const auto levels = static_cast<std::size_t>(max_depth_);
      faults_.push_back(error(Code::json_too_deep, text_.at(offset_deeper_than(text_.text, levels)),
                              fmt::format("values are nested deeper than {} levels", max_depth_)));
      return false;
    }
    frames_.emplace_back().is_array = array;
    return true;
  }

  bool close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const std::string& key : frame.duplicates)
      duplicates_.push_back(child_pointer(pointer_of_next(), key));
    return put(frame.take());
  }

  /// Of the value that is put next.
  std::string pointer_of_next() const {
    std::string pointer;
    for (const Frame& frame : frames_)
      pointer = frame.is_array ? child_pointer(pointer, frame.items.size())
                               : child_pointer(pointer, frame.key);
    return pointer;
  }

  const Text& text_;
  int max_depth_;
  Json root_;
  std::vector<Frame> frames_;
  Diagnostics faults_;
  std::vector<std::string> duplicates_;
};

}  // namespace

struct JsonDocument::Data {
  std::shared_ptr<Text> text;
  Json root;

  const std::unordered_map<std::string, JsonOffsets>& offsets() const {
    std::call_once(text->once, [this] { text->offsets = json_offsets(text->text); });
    return text->offsets;
  }

  Place place(std::string_view pointer, std::size_t JsonOffsets::*which) const {
    std::string at(pointer);
    while (!offsets().contains(at) && !at.empty())
      at.erase(at.rfind('/'));
    Place place = text->at(offsets().at(at).*which);
    place.pointer = pointer;
    return place;
  }
};

Result<JsonDocument> JsonDocument::parse(std::string text, std::string file,
                                         const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return fail(error(Code::file_too_large, in_file(file),
                      fmt::format("{} bytes, more than the limit of {} MiB", text.size(),
                                  limits.max_bytes >> 20)));
  }
  auto shared = std::make_shared<Text>(std::move(text), std::move(file));
  Builder builder(*shared, limits.max_depth);
  const bool read = Json::sax_parse(shared->text, &builder, nlohmann::json::input_format_t::json,
                                    /*strict=*/true, /*ignore_comments=*/true);
  FLOWPLAN_ASSERT(read || !builder.faults().empty());
  JsonDocument document;
  document.data_ = std::make_shared<const Data>(Data{shared, builder.take()});
  if (!builder.faults().empty()) return fail(std::move(builder.faults()));
  Diagnostics faults;
  for (const std::string& pointer : builder.duplicates()) {
    faults.push_back(error(Code::json_duplicate_key, document.key_place(pointer),
                           fmt::format("the key `{}` stands twice in one object",
                                       pointer.substr(pointer.rfind('/') + 1)),
                           "remove one of the two"));
  }
  if (!faults.empty()) return fail(std::move(faults));
  return document;
}

Result<JsonDocument> JsonDocument::read(const std::string& path, const JsonLimits& limits) {
  auto text = read_text(path, limits.max_bytes);
  if (!text) return fail(text.error());
  return parse(std::move(*text), path == "-" ? "<stdin>" : path, limits);
}

const Json& JsonDocument::root() const {
  return data_->root;
}
const std::string& JsonDocument::file() const {
  return data_->text->file;
}

Place JsonDocument::place(std::string_view pointer) const {
  return data_->place(pointer, &JsonOffsets::value);
}
Place JsonDocument::key_place(std::string_view pointer) const {
  return data_->place(pointer, &JsonOffsets::key);
}

JsonDocument JsonDocument::with(const Json& root) const {
  JsonDocument document;
  document.data_ = std::make_shared<const Data>(Data{data_->text, root});
  return document;
}

std::string child_pointer(std::string_view pointer, std::string_view key) {
  std::string child(pointer);
  child += '/';
  for (const char c : key) {
    if (c == '~') {
      child += "~0";
    } else if (c == '/') {
      child += "~1";
    } else {
      child += c;
    }
  }
  return child;
}

std::string child_pointer(std::string_view pointer, std::size_t index) {
  return fmt::format("{}/{}", pointer, index);
}

}  // namespace flowplan
