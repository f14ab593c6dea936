#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/report/document.hpp"
#include "flowplan/storage/answer.hpp"
#include "flowplan/storage/cost.hpp"
#include "flowplan/storage/sizing.hpp"

namespace flowplan::report {

/// One question to the storage and its answer.
struct IoPart {
  std::string id;     ///< "save", "restore", "read"
  std::string title;  ///< "Save, asynchronous"
  storage::Answer answer;
};

/// The same over one way of reaching the file system.
struct IoNetwork {
  std::string name;  ///< "ENA"
  std::vector<IoPart> parts;
};

/// What `flowplan io` answers.
struct IoReport {
  std::string operation, instance;
  std::uint32_t nodes = 0;
  std::string storage;  ///< what is mounted and how
  std::vector<std::string> conditions;
  std::vector<IoPart> parts;
  std::string region;
  std::optional<storage::Cost> month;     ///< of the storage
  std::optional<storage::Cost> requests;  ///< of doing it once
  std::vector<IoNetwork> networks;        ///< when they are compared, the slowest way first
  std::optional<Seconds> target;          ///< when a file system is looked for
  std::vector<storage::SizingRow> sizing;

  [[nodiscard]] bool feasible() const;
};

/// Time, throughput, the binding limit and the next of each part; its limits one by one; money;
/// the smallest file systems that meet a target; networks link by link.
[[nodiscard]] Document io(const IoReport& report);
[[nodiscard]] std::string io_json(const IoReport& report);

}  // namespace flowplan::report
