// Slurm's topology.conf: records of Key=Value, one a line; tree (SwitchName) or block (BlockName).
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "flowplan/topology/hostlist.hpp"
#include "import_readers.hpp"
#include "switch_tree.hpp"
#include "text_place.hpp"

namespace flowplan::topology {
namespace {

const std::vector<std::string> record_keys{"SwitchName", "Switches",   "Nodes",   "LinkSpeed",
                                           "BlockName",  "BlockSizes", "RingName"};

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// "Key=Value" and where it begins.
struct Field {
  std::string key, value;
  int column = 0;
};

class SlurmReader {
 public:
  SlurmReader(const std::string& text, const std::string& file) : text_(text), places_(file, text) {
    imported_.format = ImportFormat::slurm_conf;
    imported_.file = file;
  }

  Result<Imported> read() {
    std::string_view rest = text_;
    for (int line = 1; !rest.empty(); ++line) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      read_record(rest.substr(0, end), line);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (!faults_.empty()) return fail(std::move(faults_));
    if (switches_.empty() && blocks_.empty())
      return fail(error(Code::bad_cluster, places_.at(1), "no switch and no block is described",
                        "a topology.conf has lines SwitchName=... or BlockName=..."));
    if (!switches_.empty() && !blocks_.empty())
      return fail(error(Code::bad_cluster, blocks_.front().place,
                        "both switches and blocks are described",
                        "a cluster has one or the other"));
    auto nodes = switches_.empty() ? nodes_of_blocks(blocks_) : nodes_of_tree(switches_);
    if (!nodes) return fail(std::move(nodes.error()));
    imported_.nodes = std::move(*nodes);
    if (!blocks_.empty())
      imported_.notes.push_back("Blocks say nothing of the switches above them.");
    return std::move(imported_);
  }

 private:
  void refuse(Code code, int line, int column, std::string message, std::string hint = {}) {
    faults_.push_back(error(code, places_.at(line, column), std::move(message), std::move(hint)));
  }

  std::vector<Field> fields_of(std::string_view record, int line) {
    std::vector<Field> fields;
    for (std::size_t at = 0; at < record.size();) {
      at = record.find_first_not_of(" \t\r", at);
      if (at == record.npos) break;
      const std::size_t end = std::min(record.find_first_of(" \t\r", at), record.size());
      const std::string_view token = record.substr(at, end - at);
      const std::size_t equals = token.find('=');
      const int column = static_cast<int>(at) + 1;
      at = end;
      if (equals == token.npos || equals == 0) {
        refuse(Code::bad_cluster, line, column, fmt::format("`{}` is not Key=Value", token));
        continue;
      }
      add_field(
          fields,
          {std::string(token.substr(0, equals)), std::string(token.substr(equals + 1)), column},
          line);
    }
    return fields;
  }

  void add_field(std::vector<Field>& fields, Field field, int line) {
    const auto known = std::find_if(
        record_keys.begin(), record_keys.end(),
        [&](const std::string& key) { return lower_case(key) == lower_case(field.key); });
    if (known == record_keys.end())
      return refuse(Code::unknown_key, line, field.column,
                    fmt::format("topology.conf has no key `{}`", field.key),
                    suggest(field.key, record_keys));
    field.key = *known;
    if (find(fields, *known) != nullptr)
      return refuse(Code::bad_cluster, line, field.column,
                    fmt::format("{} is given twice", *known));
    if (field.value.empty())
      return refuse(Code::value_not_allowed, line, field.column,
                    fmt::format("{} has no value", field.key));
    fields.push_back(std::move(field));
  }

  static const Field* find(const std::vector<Field>& fields, std::string_view key) {
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& field) { return field.key == key; });
    return found == fields.end() ? nullptr : &*found;
  }

  std::vector<std::string> hosts(const Field* field, int line) {
    if (field == nullptr) return {};
    auto names = expand_hostlist(field->value);
    if (names) return std::move(*names);
    for (const Diagnostic& fault : names.error())
      refuse(fault.code, line, field->column, fault.message, fault.hint);
    return {};
  }

  void read_record(std::string_view record, int line) {
    record = record.substr(0, record.find('#'));
    const std::size_t faults = faults_.size();
    const std::vector<Field> fields = fields_of(record, line);
    if (fields.empty() || faults_.size() > faults) return;
    if (const Field* ring = find(fields, "RingName"))
      return refuse(Code::unsupported_feature, line, ring->column,
                    "ring topologies are not modelled", "trees and blocks are");
    const Field* name = find(fields, "SwitchName");
    const Field* block = find(fields, "BlockName");
    if (find(fields, "BlockSizes") != nullptr && fields.size() == 1) return;
    if ((name == nullptr) == (block == nullptr))
      return refuse(Code::missing_key, line, fields.front().column,
                    "a record needs SwitchName or BlockName");
    ListedSwitch entry;
    entry.name = (name != nullptr ? name : block)->value;
    entry.place = places_.at(line, (name != nullptr ? name : block)->column);
    entry.nodes = hosts(find(fields, "Nodes"), line);
    entry.children = hosts(find(fields, "Switches"), line);
    if (faults_.size() == faults)
      (name != nullptr ? switches_ : blocks_).push_back(std::move(entry));
  }

  const std::string& text_;
  TextPlaces places_;
  Imported imported_;
  std::vector<ListedSwitch> switches_, blocks_;
  Diagnostics faults_;
};

}  // namespace

Result<Imported> read_slurm_conf(const std::string& text, const std::string& file) {
  return SlurmReader(text, file).read();
}

}  // namespace flowplan::topology
