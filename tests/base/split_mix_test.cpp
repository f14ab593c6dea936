#include "flowplan/base/split_mix.hpp"

#include <array>

#include <catch2/catch.hpp>

namespace split_mix_test {

using flowplan::SplitMix64;

TEST_CASE("SplitMix64 gives the published numbers") {
  // Test vector of the Rosetta Code task "Pseudo-random numbers/Splitmix64".
  SplitMix64 random(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
        16408922859458223821u}) {
    CHECK(random.next() == expected);
  }
}

TEST_CASE("numbers below a bound are all equally likely") {
  SplitMix64 random(1);
  std::array<int, 3> counts{};
  for (int i = 0; i < 30000; ++i)
    ++counts[random.below(3)];
  for (const int count : counts)
    CHECK(count == Approx(10000).margin(400));  // five deviations of 82
  for (int i = 0; i < 1000; ++i) {
    const double x = random.unit();
    CHECK((x >= 0.0 && x < 1.0));
  }
}

}  // namespace split_mix_test
