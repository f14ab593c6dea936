#pragma once

#include <compare>

namespace flowplan {

/// A number with a unit. Units are base SI; the named constructors below convert, so that a
/// function taking `Bytes` cannot be given bits or GiB by mistake.
template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  [[nodiscard]] constexpr double value() const { return value_; }
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }
  constexpr Quantity& operator*=(double factor) { return value_ *= factor, *this; }
  constexpr Quantity& operator/=(double divisor) { return value_ /= divisor, *this; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.value_); }
  friend constexpr Quantity operator*(Quantity a, double factor) { return a *= factor; }
  friend constexpr Quantity operator*(double factor, Quantity a) { return a *= factor; }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return a /= divisor; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  double value_ = 0.0;
};

using Bytes = Quantity<struct BytesUnit>;                    ///< byte
using Seconds = Quantity<struct SecondsUnit>;                ///< second
using BytesPerSecond = Quantity<struct BytesPerSecondUnit>;  ///< byte/s, one direction
using Flops = Quantity<struct FlopsUnit>;  ///< floating-point operations; a multiply-add is 2
using FlopsPerSecond = Quantity<struct FlopsPerSecondUnit>;  ///< operations/s, dense
using Usd = Quantity<struct UsdUnit>;                        ///< US dollar

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return Seconds(amount.value() / rate.value());
}
constexpr BytesPerSecond operator/(Bytes amount, Seconds time) {
  return BytesPerSecond(amount.value() / time.value());
}
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) {
  return Bytes(rate.value() * time.value());
}
constexpr Bytes operator*(Seconds time, BytesPerSecond rate) {
  return rate * time;
}
constexpr Seconds operator/(Flops amount, FlopsPerSecond rate) {
  return Seconds(amount.value() / rate.value());
}
constexpr FlopsPerSecond operator/(Flops amount, Seconds time) {
  return FlopsPerSecond(amount.value() / time.value());
}
constexpr Flops operator*(FlopsPerSecond rate, Seconds time) {
  return Flops(rate.value() * time.value());
}

constexpr Bytes kibibytes(double n) {
  return Bytes(n * 1024.0);
}
constexpr Bytes mebibytes(double n) {
  return Bytes(n * 1024.0 * 1024.0);
}
constexpr Bytes gibibytes(double n) {
  return Bytes(n * 1024.0 * 1024.0 * 1024.0);
}
constexpr Bytes gigabytes(double n) {
  return Bytes(n * 1e9);
}
constexpr BytesPerSecond gigabytes_per_second(double n) {
  return BytesPerSecond(n * 1e9);
}
constexpr BytesPerSecond gigabits_per_second(double n) {
  return BytesPerSecond(n * 1e9 / 8.0);
}
constexpr FlopsPerSecond teraflops_per_second(double n) {
  return FlopsPerSecond(n * 1e12);
}
constexpr Seconds microseconds(double n) {
  return Seconds(n * 1e-6);
}
constexpr Seconds milliseconds(double n) {
  return Seconds(n * 1e-3);
}
constexpr Seconds hours(double n) {
  return Seconds(n * 3600.0);
}
constexpr Seconds days(double n) {
  return Seconds(n * 86400.0);
}

}  // namespace flowplan
