#include "flowplan/base/fingerprint.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace fingerprint_test {

using flowplan::Fingerprint;
using flowplan::fingerprint;

// The vectors that are published with the function.
TEST_CASE("a fingerprint is 64-bit FNV-1a") {
  CHECK(fingerprint("") == 0xcbf29ce484222325u);
  CHECK(fingerprint("a") == 0xaf63dc4c8601ec8cu);
  CHECK(fingerprint("foobar") == 0x85944171f73967e8u);
}

TEST_CASE("bytes above 127 count as unsigned") {
  // (offset xor 255) times the prime, modulo 2^64.
  CHECK(fingerprint(std::string(1, '\xff')) == (0xcbf29ce484222325u ^ 0xffu) * 0x100000001b3u);
}

TEST_CASE("a text in parts has the whole's fingerprint") {
  Fingerprint parts;
  parts.add("foo");
  parts.add("");
  parts.add("bar");
  CHECK(parts.value() == fingerprint("foobar"));
}

}  // namespace fingerprint_test
