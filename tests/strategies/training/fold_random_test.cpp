#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "fold_harness.hpp"

namespace lockstep::test {
namespace {

constexpr int kFast = 120;  // configurations

/// LOCKSTEP_FOLD_CASES=2000 for more of them.
int cases() {
  const char* text = std::getenv("LOCKSTEP_FOLD_CASES");
  return text != nullptr ? std::atoi(text) : kFast;
}

/// Whole nodes of eight.
int nodes_full(int ranks) {
  return (ranks + 7) / 8 * 8;
}

Cluster drawn_cluster(std::mt19937_64& draw, int ranks) {
  switch (draw() % 6) {
    case 0:
      return cluster_of("dgx1", nodes_full(ranks));
    case 1:
      return cluster_of("ring", std::max(ranks, 3));
    case 2:
    case 3:
      return cluster_of("dgx-h100", nodes_full(ranks));
    default:
      return switched(ranks);
  }
}

/// A straggler, a slow link, software that takes time, another network model: each now and then.
FoldCase drawn(std::mt19937_64& draw, RandomPlan plan) {
  const int ranks = plan.parallel.ranks();
  FoldCase out{to_string(plan), std::move(plan), drawn_cluster(draw, ranks)};
  if (draw() % 3 == 0) {
    const auto rank = static_cast<int>(draw() % static_cast<std::uint64_t>(ranks));
    out.options.speeds[rank] = 0.8;
    out.name += fmt::format("; rank {} at 0.8", rank);
  }
  if (draw() % 3 == 0) {
    const std::uint64_t seed = draw();
    out.cluster = with_slow_link(out.cluster, seed);
    out.name += fmt::format("; slow link {}", seed % out.cluster.link_count());
  }
  if (draw() % 3 == 0) {
    out.options.network = NetworkModel::alpha_beta;
    out.name += "; alpha-beta";
  }
  if (draw() % 3 == 0) {
    out.device.message_overhead = Duration::picoseconds(300'000);
    out.device.reduce_rate = Rate::bytes_per_second(20'000'000'000);
    out.slowdown = 1.25;
    out.name += "; overheads";
  }
  return out;
}

}  // namespace

TEST_CASE("folded steps have the times of all ranks, whatever is drawn") {
  std::mt19937_64 draw{20'260'101};
  std::size_t ranks = 0;
  std::size_t classes = 0;
  int done = 0;
  for (const RandomPlan& plan : random_plans(4711, cases())) {
    const FoldCase fold_case = drawn(draw, shrunk(plan));
    if (!possible(fold_case.plan)) continue;
    CAPTURE(fold_case.name);
    const FoldOutcome outcome = hold_against_unfolded(fold_case);
    CHECK(outcome.difference == "");
    ranks += outcome.ranks;
    classes += outcome.classes;
    ++done;
  }
  CHECK(done >= cases() * 9 / 10);
  // Not by comparing every rank with itself.
  MESSAGE(done << " steps, " << ranks << " ranks in " << classes << " classes");
  CHECK(5 * classes < 4 * ranks);
}

}  // namespace lockstep::test
