#include "sim/config/did_you_mean.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace lockstep;

namespace {

std::string near(std::string_view word, const std::vector<std::string_view>& names) {
  return std::string{did_you_mean(word, names).value_or("-")};
}

}  // namespace

TEST_CASE("the nearest name is offered") {
  const std::vector<std::string_view> names = {"ring", "tree", "halving_doubling",
                                               "recursive_doubling", "direct"};
  CHECK(near("rng", names) == "ring");    // one dropped
  CHECK(near("rnig", names) == "ring");   // two swapped count once
  CHECK(near("rings", names) == "ring");  // one too many
  CHECK(near("driect", names) == "direct");
  CHECK(near("RING", names) == "ring");
  CHECK(near("recursive-doubling", names) == "recursive_doubling");
  CHECK(near("halving", names) == "halving_doubling");  // the only one that begins so
}

TEST_CASE("nothing is offered where nothing is near") {
  const std::vector<std::string_view> names = {"ring", "tree", "halving_doubling",
                                               "halving_doubling_near"};
  CHECK(near("mesh", names) == "-");
  CHECK(near("", names) == "-");
  CHECK(near("x", {"y"}) == "-");
  CHECK(near("halving", names) == "-");  // two begin so
  CHECK(near("ring", names) == "-");     // known already
  CHECK(near("ring", {}) == "-");
  CHECK(near(std::string(100'000, 'r'), names) == "-");
}

TEST_CASE("of two the one in the same case is nearer") {
  CHECK(near("gb/s", {"GB/s", "Gb/s"}) == "Gb/s");
  CHECK(near("gB/s", {"Gb/s", "GB/s"}) == "GB/s");
}
