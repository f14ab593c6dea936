#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace flowplan::inference {

/// LoRA adapters on the GPU of a replica: at most `room`, the one unused for longest makes way.
class ResidentAdapters {
 public:
  enum class Use { resident, loaded, no_room };

  explicit ResidentAdapters(std::int64_t room) : room_(room) {}

  /// One more sequence with that adapter.
  Use use(std::uint16_t adapter) {
    ++clock_;
    const auto found = find(adapter);
    if (found != slots_.end()) {
      active_ += found->users++ == 0;
      found->last_use = clock_;
      return Use::resident;
    }
    if (static_cast<std::int64_t>(slots_.size()) < room_) {
      slots_.push_back({adapter, 1, clock_});
    } else {
      const auto oldest = std::min_element(slots_.begin(), slots_.end(), [](auto& a, auto& b) {
        return std::pair(a.users > 0, a.last_use) < std::pair(b.users > 0, b.last_use);
      });
      if (oldest->users > 0) return Use::no_room;
      *oldest = {adapter, 1, clock_};
    }
    ++active_;
    return Use::loaded;
  }
  /// Whether `use` would find or make room.
  [[nodiscard]] bool has_room(std::uint16_t adapter) const {
    return static_cast<std::int64_t>(slots_.size()) < room_ ||
           std::any_of(slots_.begin(), slots_.end(), [adapter](const Slot& slot) {
             return slot.adapter == adapter || slot.users == 0;
           });
  }
  void unuse(std::uint16_t adapter) { active_ -= --find(adapter)->users == 0; }
  /// Different adapters in use.
  [[nodiscard]] std::int64_t active() const { return active_; }

 private:
  struct Slot {
    std::uint16_t adapter;
    std::int64_t users;
    std::uint64_t last_use;
  };
  std::vector<Slot>::iterator find(std::uint16_t adapter) {
    return std::find_if(slots_.begin(), slots_.end(),
                        [adapter](const Slot& slot) { return slot.adapter == adapter; });
  }

  std::int64_t room_, active_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace flowplan::inference
