#include "sim/execute/host/schedule/contributions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <utility>

using namespace lockstep;

namespace {

using Plain = std::set<std::pair<std::int64_t, int>>;  // block, rank

/// The members of a set, by taking nothing away from it.
Plain members(const ContributionSets& sets, const Contributions& of) {
  Plain out;
  for (const Contribution& one : sets.difference(of, sets.zero(), 1'000'000).first)
    out.insert({one.block, one.rank});
  return out;
}

}  // namespace

TEST_CASE("sums of contributions are what plain sets say") {
  constexpr int kRanks = 5;
  constexpr std::int64_t kBlocks = 7;
  ContributionSets sets{kRanks};
  std::mt19937 random{1};  // its sequence is fixed by the standard
  std::vector<std::pair<Contributions, Plain>> known{{sets.zero(), {}}};
  for (int rank = 0; rank < kRanks; ++rank) {
    for (std::int64_t block = 0; block < kBlocks; ++block)
      known.push_back({sets.one({rank, block}), {{block, rank}}});
  }
  const auto pick = [&] { return known[random() % known.size()]; };
  int sums = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto [a, plain_a] = pick();
    const auto [b, plain_b] = pick();
    Plain both = plain_a;
    Plain twice;
    for (const auto& one : plain_b) {
      if (!both.insert(one).second) twice.insert(one);
    }
    const ContributionSets::Sum sum = sets.add(a, b);
    REQUIRE(sum.twice.has_value() == !twice.empty());
    Plain only_a;
    std::set_difference(plain_a.begin(), plain_a.end(), plain_b.begin(), plain_b.end(),
                        std::inserter(only_a, only_a.end()));
    const auto difference = sets.difference(a, b, 2);
    CHECK(difference.count == std::ssize(only_a));
    CHECK(std::ssize(difference.first) == std::min<std::ptrdiff_t>(2, std::ssize(only_a)));
    CHECK(sets.equal(a, b) == (plain_a == plain_b));
    if (sum.twice) {
      CHECK(twice.count({sum.twice->block, sum.twice->rank}) == 1);
      continue;
    }
    ++sums;
    CHECK(members(sets, sum.sum) == both);
    if (both.size() > 1 && known.size() < 2000) known.emplace_back(sum.sum, both);
  }
  CHECK(sums > 500);
}

TEST_CASE("all ranks' block is the sum of every rank's") {
  ContributionSets sets{3};
  Contributions sum = sets.one({1, 4});
  sum = sets.add(sum, sets.one({0, 4})).sum;
  CHECK_FALSE(sets.equal(sum, sets.all(4)));
  sum = sets.add(sum, sets.one({2, 4})).sum;
  CHECK(sets.equal(sum, sets.all(4)));
  CHECK_FALSE(sets.equal(sum, sets.all(3)));
  CHECK(sets.equal(sum, sets.add(sets.zero(), sum).sum));
}

TEST_CASE("blocks that hold the same sum share it") {
  ContributionSets sets{4};
  const Contributions first = sets.add(sets.one({0, 0}), sets.one({2, 0})).sum;
  const Contributions next = sets.add(sets.one({0, 1}), sets.one({2, 1})).sum;
  CHECK(first.runs() == next.runs());
  CHECK_FALSE(sets.equal(first, next));
}
