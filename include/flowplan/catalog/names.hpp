#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"

namespace flowplan::catalog {

/// A name reduced to its letters and digits in lower case: "Llama-3.1-70B" -> "llama3170b".
[[nodiscard]] std::string name_key(std::string_view name);
/// `name_key` of a model's name without its publisher ("meta-llama/") and without what does not
/// change its dimensions ("-Instruct", "-hf", "-v0.1").
[[nodiscard]] std::string model_name_key(std::string_view name);

/// The ids of one kind of entry and the other names that people use for them.
class Names {
 public:
  Names() = default;
  /// `what` is for messages ("instance"); `publishers`: names may be those of a model hub.
  explicit Names(std::string what, bool publishers = false);

  void add_id(const std::string& id);
  /// `name` means `ids`; more than one: it is ambiguous. A later one replaces an earlier one.
  void add_alias(const std::string& name, std::vector<std::string> ids);

  /// The id that `name` means. Errors: FP031 with the choices when it means several, FP030 with the
  /// nearest names when it means none.
  [[nodiscard]] Result<std::string> resolve(std::string_view name) const;
  [[nodiscard]] bool has_id(std::string_view id) const;
  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }

  struct Alias {
    std::string name;
    std::string key;  ///< what is compared
    std::vector<std::string> ids;
  };
  [[nodiscard]] const std::vector<Alias>& aliases() const { return aliases_; }

 private:
  [[nodiscard]] std::string key(std::string_view name) const;

  std::string what_ = "entry";
  bool publishers_ = false;
  std::vector<std::string> ids_;
  std::vector<Alias> aliases_;
};

}  // namespace flowplan::catalog
