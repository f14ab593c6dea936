#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entry_reader.hpp"
#include "flowplan/base/diagnostic.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/constants.hpp"

namespace flowplan::catalog {

/// The rules that the schema of a kind of sets states about the names of its figures.
struct KindRules {
  bool restricted = false;  ///< names outside `allowed` are refused
  std::vector<std::string> required, allowed;
};

/// The constants sets of a catalog. A set's figures are read and put together with those that it
/// inherits when it is first asked for: a question needs a few of some hundred, and reading all
/// costs more than most answers. Putting is for one thread; `get` for any number.
class ConstantsShelf {
 public:
  /// `directory`: the catalog's, whose schema folder has the rules of each kind of sets.
  explicit ConstantsShelf(std::string directory) : directory_(std::move(directory)) {}

  /// What stands before the figures of a file of one set.
  struct Head {
    std::string id, kind, extends, as_of;
  };

  /// Keeps the text of a file of one set, the figures unread. Nothing when the text does not begin
  /// as such a file; it must be parsed then to say what is wrong.
  [[nodiscard]] std::optional<Head> put(const std::string& text, const std::string& file);
  /// Lays the set at `pointer` of the document over what is there: its figures replace those of
  /// the same names. Faults go to `in`.
  void lay(EntryReader& in, const std::string& id, const std::string& pointer);
  /// Reads every set that was laid; what is wrong with them.
  [[nodiscard]] Diagnostics check_laid();

  /// A set with what it inherits. Errors: FP030 with the nearest names; FP033 for figures that
  /// cannot be read, an unknown set or one of another kind or itself extended, and names that its
  /// kind must have or may not have.
  [[nodiscard]] Result<const Constants*> get(std::string_view id);
  /// What a set extends and states itself. Errors as `get`.
  [[nodiscard]] Result<Lineage> lineage(std::string_view id);
  /// The ids of the sets of a kind, or of all where `kind` is empty, in order.
  [[nodiscard]] std::vector<std::string> ids(std::string_view kind) const;

 private:
  /// A set as its files give it, before `extends` is followed.
  struct Draft {
    std::string kind, about, extends;
    std::vector<Constants::Entry> entries;
    Place place;         // the file and pointer where it was last written
    std::string unread;  // the text of its file, until its figures are asked for
    Diagnostics faults;  // of the text, when it was read
    bool laid = false;
  };
  using Drafts = std::map<std::string, Draft, std::less<>>;

  void read(Drafts::value_type& draft);
  void take(EntryReader& in, Drafts::value_type& draft, const std::string& pointer);
  [[nodiscard]] Result<Constants> assemble(Drafts::value_type& draft);
  [[nodiscard]] std::vector<Drafts::value_type*> ancestry(Drafts::value_type& draft,
                                                          Diagnostics& faults);
  [[nodiscard]] const KindRules& rules(const std::string& kind, Diagnostics& faults);

  std::string directory_;
  std::mutex reading_;
  Drafts drafts_;
  std::map<std::string, Result<Constants>, std::less<>> sets_;
  std::map<std::string, KindRules, std::less<>> rules_;
};

}  // namespace flowplan::catalog
