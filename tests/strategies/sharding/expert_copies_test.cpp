#include "strategies/sharding/experts/expert_copies.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace lockstep {
namespace {

TokenCopies routing(int experts, int top_k, int groups, int group_top_k) {
  return {.experts = experts, .top_k = top_k, .groups = groups, .group_top_k = group_top_k};
}

/// Units that a mask of experts hits.
int units_hit(unsigned chosen, int experts, int units) {
  std::set<int> out;
  for (int expert = 0; expert < experts; ++expert)
    if ((chosen >> expert & 1U) != 0) out.insert(expert / (experts / units));
  return static_cast<int>(out.size());
}

/// The mean over all choices of groups, and in each over all choices of their experts.
double counted(const TokenCopies& of, int units) {
  const auto experts = static_cast<int>(of.experts);
  const auto groups = static_cast<int>(of.groups);
  const int size = experts / groups;
  double sum = 0;
  int ways = 0;
  for (unsigned some = 0; some < 1U << groups; ++some) {
    if (std::popcount(some) != of.group_top_k) continue;
    double hits = 0;
    int routings = 0;
    for (unsigned chosen = 0; chosen < 1U << experts; ++chosen) {
      if (std::popcount(chosen) != of.top_k) continue;
      bool allowed = true;
      for (int expert = 0; expert < experts; ++expert)
        if ((chosen >> expert & 1U) != 0) allowed = allowed && (some >> (expert / size) & 1U) != 0;
      if (!allowed) continue;
      hits += units_hit(chosen, experts, units);
      ++routings;
    }
    sum += hits / routings;
    ++ways;
  }
  return sum / ways / units;
}

TEST_CASE("the share of tokens that go to a unit is that of all routings, counted one by one") {
  // Units within groups, as large as groups, of several groups, and across their borders (12
  // experts in 4 groups of 3 on 6 units of 2, or 3 of 4).
  for (const TokenCopies& of :
       {routing(8, 2, 1, 1), routing(8, 3, 4, 2), routing(8, 2, 4, 1), routing(8, 4, 2, 2),
        routing(12, 3, 4, 2), routing(12, 4, 3, 2), routing(12, 6, 4, 2)}) {
    for (const int units : {1, 2, 3, 4, 6, 8, 12}) {
      if (of.experts % units != 0) continue;
      CAPTURE(fmt::format("{} of {} experts, {} of {} groups, {} units", of.top_k, of.experts,
                          of.group_top_k, of.groups, units));
      CHECK(share_of_tokens(of, units) == doctest::Approx(counted(of, units)).epsilon(1e-12));
    }
  }
}

TEST_CASE("without groups it is 1 - C(E - E/U, k) / C(E, k)") {
  // 8 of 256 experts on 8 nodes: 1 - (224 * 223 * ... * 217) / (256 * 255 * ... * 249).
  double none = 1;
  for (int i = 0; i < 8; ++i) none *= (224.0 - i) / (256.0 - i);
  CHECK(share_of_tokens(routing(256, 8, 1, 1), 8) == doctest::Approx(1 - none));
  CHECK(share_of_tokens(routing(256, 8, 1, 1), 256) == doctest::Approx(8.0 / 256));
  CHECK(share_of_tokens(routing(256, 8, 1, 1), 1) == 1);
}

// DeepSeek-V3: 8 of 256 experts in 8 groups, 4 of which a token goes to.
TEST_CASE("random routings hit as many nodes and ranks as expected") {
  for (const int chosen_groups : {4, 8}) {
    std::mt19937_64 draw{20260};
    const TokenCopies of = routing(256, 8, 8, chosen_groups);
    constexpr int kDraws = 20'000;
    for (const int units : {8, 16, 64}) {
      double sum = 0;
      double squares = 0;
      for (int token = 0; token < kDraws; ++token) {
        std::vector<int> groups(8);
        std::iota(groups.begin(), groups.end(), 0);
        std::shuffle(groups.begin(), groups.end(), draw);
        std::vector<int> experts;
        for (int g = 0; g < chosen_groups; ++g)
          for (int e = 0; e < 32; ++e)
            experts.push_back(groups[static_cast<std::size_t>(g)] * 32 + e);
        std::shuffle(experts.begin(), experts.end(), draw);
        std::set<int> hit;
        for (std::size_t i = 0; i < 8; ++i) hit.insert(experts[i] / (256 / units));
        const auto hits = static_cast<double>(hit.size());
        sum += hits;
        squares += hits * hits;
      }
      const double mean = sum / kDraws;
      const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
      CAPTURE(units);
      CHECK(std::abs(mean - units * share_of_tokens(of, units)) < 5 * error);
    }
  }
}

TEST_CASE("a limit of groups is a limit of nodes") {
  const TokenCopies of = routing(256, 8, 8, 4);
  CHECK(8 * share_of_tokens(of, 8) < 4);
  CHECK(8 * share_of_tokens(of, 8) > 3.5);
  CHECK(8 * share_of_tokens(routing(256, 8, 1, 1), 8) > 5);
}

}  // namespace
}  // namespace lockstep
