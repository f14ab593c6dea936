#include "progress.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>

#include <fmt/format.h>

namespace flowplan::cli {

namespace {

constexpr std::chrono::milliseconds between_lines{500};

}  // namespace

Progress::Progress(const Session& session, std::string what, std::string unit, bool wanted)
    : session_(session), what_(std::move(what)), unit_(std::move(unit)) {
  if (wanted && session.environment.err_terminal) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
  if (width_ > 0) session_.err << '\r' << std::string(width_, ' ') << '\r' << std::flush;
}

void Progress::set(std::uint64_t done, std::uint64_t total) const {
  const std::lock_guard lock(mutex_);
  done_ = std::max(done_, done);
  total_ = total;
}

void Progress::show() const {
  const auto begin = std::chrono::steady_clock::now();
  const auto first =
      begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                  std::chrono::duration<double>(session_.environment.progress_after_s));
  std::unique_lock lock(mutex_);
  for (auto next = first; !ended_.wait_until(lock, next, [this] { return end_; });
       next += between_lines) {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
    std::string line = fmt::format("{}: {:.0f} s", what_, since.count());
    if (total_ > 0) line += fmt::format(", {} of {} {}", done_, total_, unit_);
    session_.err << fmt::format("\r{:<{}}", line, width_) << std::flush;
    width_ = std::max(width_, line.size());
  }
}

}  // namespace flowplan::cli
