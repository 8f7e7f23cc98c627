#include "sim/execute/schedule_checks/contributions.hpp"

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
  // Of 5 ranks sets are short lists of runs, of 700 some are bits: then a sum of two that are not
  // shared is made in place.
  for (const int ranks : {5, 64, 700}) {
    CAPTURE(ranks);
    constexpr std::int64_t kBlocks = 3;
    ContributionSets sets{ranks};
    std::mt19937 random{1};  // its sequence is fixed by the standard
    std::vector<std::pair<Contributions, Plain>> known{{sets.zero(), {}}};
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::int64_t block = 0; block < kBlocks; ++block)
        known.push_back({sets.one({rank, block}), {{block, rank}}});
    }
    int sums = 0;
    for (int i = 0; i < 4000; ++i) {
      const auto [b, plain_b] = known[random() % known.size()];
      // Most sums are of a copy that joins the known ones; the others change a known one.
      if (i % 4 != 0 && known.size() < 3000) known.push_back(known[random() % known.size()]);
      auto& [a, plain_a] = i % 4 != 0 ? known.back() : known[random() % known.size()];
      Plain both = plain_a;
      Plain twice;
      for (const auto& one : plain_b) {
        if (!both.insert(one).second) twice.insert(one);
      }
      Plain only_a;
      std::set_difference(plain_a.begin(), plain_a.end(), plain_b.begin(), plain_b.end(),
                          std::inserter(only_a, only_a.end()));
      const auto difference = ContributionSets::difference(a, b, 2);
      CHECK(difference.count == std::ssize(only_a));
      CHECK(std::ssize(difference.first) == std::min<std::ptrdiff_t>(2, std::ssize(only_a)));
      CHECK(ContributionSets::equal(a, b) == (plain_a == plain_b));
      const bool differ =
          !plain_a.empty() && !plain_b.empty() && plain_a.begin()->first != plain_b.begin()->first;
      REQUIRE(ContributionSets::differ_in_block(a, b) == differ);
      if (differ) continue;
      const auto found = sets.add(a, b);
      REQUIRE(found.has_value() == !twice.empty());
      if (found) {
        CHECK(Plain{*twice.begin()} == Plain{{found->block, found->rank}});
        CHECK(members(sets, a) == plain_a);
        continue;
      }
      ++sums;
      plain_a = both;
      CHECK(members(sets, a) == both);
      const auto least = ContributionSets::least(a);
      REQUIRE(least.has_value() == !both.empty());
      if (least) CHECK(least->rank == both.begin()->second);
    }
    CHECK(sums > 300);
    for (const auto& [a, plain] : known) CHECK(members(sets, a) == plain);
  }
}

TEST_CASE("all ranks' block is the sum of every rank's") {
  ContributionSets sets{3};
  Contributions sum = sets.one({1, 4});
  CHECK_FALSE(sets.add(sum, sets.one({0, 4})));
  CHECK_FALSE(sets.equal(sum, sets.all(4)));
  CHECK_FALSE(sets.add(sum, sets.one({2, 4})));
  CHECK(sets.equal(sum, sets.all(4)));
  CHECK_FALSE(sets.equal(sum, sets.all(3)));
  Contributions zero = sets.zero();
  CHECK_FALSE(sets.add(zero, sum));
  CHECK(sets.equal(sum, zero));
  CHECK(sets.add(sum, sets.one({1, 4})) == Contribution{1, 4});
}

/// Every second of 512 ranks is bits, as 256 runs would be longer; with the others, but for the
/// last, it is one run.
TEST_CASE("sets are the same whether they came to be as bits or as runs") {
  ContributionSets sets{512};
  Contributions bits = sets.one({0, 7});
  for (const int first : {2, 1})
    for (int rank = first; rank < 511; rank += 2)
      REQUIRE_FALSE(sets.add(bits, sets.one({rank, 7})));
  Contributions run = sets.one({0, 7});
  for (int rank = 1; rank < 511; ++rank) REQUIRE_FALSE(sets.add(run, sets.one({rank, 7})));
  CHECK(sets.equal(bits, run));
  CHECK(sets.equal(run, bits));
  CHECK_FALSE(sets.equal(bits, sets.all(7)));
  CHECK(sets.add(bits, run) == Contribution{0, 7});
  CHECK(sets.add(run, bits) == Contribution{0, 7});
  REQUIRE_FALSE(sets.add(bits, sets.one({511, 7})));
  CHECK(sets.equal(bits, sets.all(7)));
  CHECK(bits.shares_set_with(sets.all(3)));
}

TEST_CASE("blocks that hold the same sum share it") {
  ContributionSets sets{4};
  Contributions first = sets.one({0, 0});
  Contributions next = sets.one({0, 1});
  CHECK_FALSE(sets.add(first, sets.one({2, 0})));
  CHECK_FALSE(sets.add(next, sets.one({2, 1})));
  CHECK(first.shares_set_with(next));
  CHECK_FALSE(sets.equal(first, next));
}
