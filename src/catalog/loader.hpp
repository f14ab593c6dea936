#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constants_shelf.hpp"
#include "entry_reader.hpp"
#include "flowplan/base/fingerprint.hpp"
#include "flowplan/base/json_document.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::catalog {

/// Puts a catalog together from its files and overlays, in that order: a file may refer to what
/// earlier ones and itself define. Every fault of every file is collected.
class Loader {
 public:
  explicit Loader(std::string directory) : directory_(std::move(directory)) {
    catalog_.constants_ = std::make_shared<ConstantsShelf>(directory_);
  }

  [[nodiscard]] Result<Catalog> run(const std::vector<std::string>& overlays);

 private:
  [[nodiscard]] std::optional<std::string> text_of(const std::string& path);
  [[nodiscard]] std::optional<JsonDocument> parse(std::string text, const std::string& path);
  [[nodiscard]] std::optional<JsonDocument> open(const std::string& path);
  void read_base();
  void read_constants_folder();
  void read_constants_file(const std::string& path, const std::string& stem);
  void read_price_table();
  void read_overlay(const std::string& path);

  void lay(const JsonDocument& document);
  void lay_gpu(EntryReader& in, const std::string& id, const std::string& pointer);
  void lay_network(EntryReader& in, const std::string& id, const std::string& pointer);
  void lay_instance(EntryReader& in, const std::string& id, const std::string& pointer);
  void lay_constants(EntryReader& in, const std::string& id, const std::string& pointer);
  void lay_price(EntryReader& in, const std::string& id, const std::string& pointer);
  void lay_storage(EntryReader& in, const std::string& id, const std::string& pointer);
  void lay_loader(EntryReader& in, const std::string& id, const std::string& pointer);
  void lay_storage_price(EntryReader& in, const std::string& id, const std::string& pointer);
  void lay_models(EntryReader& in);
  void lay_purchase(EntryReader& in);
  void lay_aliases(EntryReader& in, const char* section, Names& names);
  void check_references(EntryReader& in, const Instance& instance, const std::string& pointer);

  void check_prices();
  void add(Diagnostics faults);
  void note_date(const std::string& date);

  std::string directory_;
  Catalog catalog_;
  std::string newest_;
  Fingerprint files_;
  Diagnostics faults_;
};

}  // namespace flowplan::catalog
