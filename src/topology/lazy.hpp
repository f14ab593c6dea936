#pragma once

#include <memory>
#include <mutex>

namespace flowplan::topology {

/// A value that is made when it is first asked for, by whichever thread asks first.
template <class T>
class Lazy {
 public:
  template <class Make>
  const T& get(const Make& make) const {
    std::call_once(made_, [&] { value_ = std::make_unique<const T>(make()); });
    return *value_;
  }

 private:
  mutable std::once_flag made_;
  mutable std::unique_ptr<const T> value_;
};

}  // namespace flowplan::topology
