#include "strategies/interop/text/dependency_cycle.hpp"

#include <doctest/doctest.h>

using namespace lockstep;

namespace {

using Nodes = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("what waits for nothing in a circle has no cycle") {
  CHECK(find_cycle({}).empty());
  CHECK(find_cycle({{}, {0}, {0, 1}, {2, 2, 1}}).empty());
}

TEST_CASE("a cycle is reported from where the search entered it") {
  CHECK(find_cycle({{0}}) == Nodes{0});
  CHECK(find_cycle({{1}, {2}, {3}, {1}}) == Nodes{1, 2, 3});
  CHECK(find_cycle({{}, {0}, {3}, {0, 2}}) == Nodes{2, 3});
}
