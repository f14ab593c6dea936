#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "session.hpp"

namespace flowplan::cli {

/// One line on standard error while something takes long: what, how much is done, since when. It
/// appears after `Environment::progress_after_s`, only on a terminal, and is wiped at the end.
class Progress {
 public:
  Progress(const Session& session, std::string what, std::string unit, bool wanted = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// May be called from any thread.
  void set(std::uint64_t done, std::uint64_t total) const;

 private:
  void show() const;

  const Session& session_;
  const std::string what_, unit_;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  bool end_ = false;
  mutable std::uint64_t done_ = 0, total_ = 0;
  mutable std::size_t width_ = 0;  ///< of the line shown last
  std::thread thread_;             ///< none off a terminal
};

}  // namespace flowplan::cli
