#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace flowplan::flow {

/// Numbers that mostly all have one usual value: while they do, only their count is kept.
class Column {
 public:
  explicit Column(double usual) : usual_(usual) {}

  [[nodiscard]] double operator[](std::size_t i) const {
    return values_.empty() ? usual_ : values_[i];
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Whether every number is the usual one.
  [[nodiscard]] bool is_usual() const {
    return std::all_of(values_.begin(), values_.end(), [&](double v) { return v == usual_; });
  }
  /// All of them, spelt out.
  [[nodiscard]] std::vector<double> list() const {
    return values_.empty() ? std::vector<double>(size_, usual_) : values_;
  }

  /// Makes room for so many numbers in all, should one of them be unusual.
  void reserve(std::size_t size) { room_ = std::max(room_, size); }

  void push_back(double value) {
    push_usual(1);
    set(size_ - 1, value);
  }
  /// Appends so many usual numbers.
  void push_usual(std::size_t count) {
    size_ += count;
    if (!values_.empty()) values_.resize(size_, usual_);
  }
  void set(std::size_t i, double value) {
    if (values_.empty()) {
      if (value == usual_) return;
      values_.reserve(std::max(room_, size_));
      values_.resize(size_, usual_);
    }
    values_[i] = value;
  }

 private:
  double usual_;
  std::size_t size_ = 0, room_ = 0;
  std::vector<double> values_;  // empty while all are usual
};

}  // namespace flowplan::flow
