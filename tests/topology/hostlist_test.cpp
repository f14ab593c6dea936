#include "flowplan/topology/hostlist.hpp"

#include <random>
#include <set>

#include <catch2/catch.hpp>

namespace flowplan::topology::hostlist_test {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("a hostlist is expanded in its order") {
  CHECK(expand_hostlist("p5-[1-3,7],head").value() ==
        Names{"p5-1", "p5-2", "p5-3", "p5-7", "head"});
  CHECK(expand_hostlist("gb[008-010]").value() == Names{"gb008", "gb009", "gb010"});
  CHECK(expand_hostlist("r[1-2]n[1-2]x").value() == Names{"r1n1x", "r1n2x", "r2n1x", "r2n2x"});
  CHECK(expand_hostlist(" a , b ").value() == Names{"a", "b"});
  CHECK(expand_hostlist("n[9-11]").value() == Names{"n9", "n10", "n11"});
}

TEST_CASE("what is no hostlist is refused") {
  for (const char* text :
       {"", "a,,b", "a[", "a]", "a[1-2", "a[]", "a[2-1]", "a[x]", "a[1-]", "a[-1]", "a[[1]]",
        "a[1]]", "a[0-4294967295]", "a[1-2000000]", "a[1-2000]b[1-2000]", "a[9999999999]"}) {
    CAPTURE(text);
    const auto hosts = expand_hostlist(text);
    REQUIRE_FALSE(hosts);
    CHECK(hosts.error().front().code == Code::bad_cluster);
  }
}

TEST_CASE("names are compressed to ranges") {
  CHECK(compress_hostlist(Names{"p5-1", "p5-2", "p5-3", "p5-7", "head"}) == "p5-[1-3,7],head");
  CHECK(compress_hostlist(Names{"gb008", "gb009", "gb010"}) == "gb[008-010]");
  CHECK(compress_hostlist(Names{"n9", "n10", "n11"}) == "n[9-11]");
  CHECK(compress_hostlist(Names{"ip-10-0-0-1.ec2", "ip-10-0-0-2.ec2"}) ==
        "ip-10-0-0-1.ec2,ip-10-0-0-2.ec2");
  CHECK(compress_hostlist(Names{"only"}) == "only");
  CHECK(compress_hostlist(Names{}).empty());
}

TEST_CASE("compressed and expanded again, names are what they were") {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    Names names;
    const auto count = 1 + random() % 12;
    unsigned next = 0;
    for (unsigned i = 0; i < count; ++i) {
      next += 1 + (random() % 3 == 0 ? static_cast<unsigned>(random() % 90) : 0);
      std::string digits = std::to_string(next);
      if (round % 2 == 0) digits.insert(0, 3 - std::min<std::size_t>(3, digits.size()), '0');
      const char* prefix[] = {"a", "b-", "", "c0x"};
      std::string name = prefix[random() % 2 + (random() % 9 == 0 ? 2 : 0)] + digits;
      if (random() % 5 == 0) name += "s";
      names.push_back(name);
    }
    const std::string text = compress_hostlist(names);
    CAPTURE(text);
    CHECK(expand_hostlist(text).value() == names);
  }
}

}  // namespace
}  // namespace flowplan::topology::hostlist_test
