#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "tests/strategies/step/fold_harness.hpp"
#include "topologies/devices/device.hpp"

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

/// Nodes of eight GPUs in two halves, or a torus: where ranks sit tells most of them apart.
Cluster drawn_odd_cluster(std::mt19937_64& draw, int ranks) {
  if (draw() % 2 == 0) return cluster_of("dgx1", nodes_full(ranks));
  return torus(2 + static_cast<int>(draw() % 3), ranks);
}

/// A straggler, a slow link, software that takes time, another network model: each now and then.
FoldCase drawn(std::mt19937_64& draw, RandomLayout layout, Cluster cluster) {
  const int ranks = layout.parallel.ranks();
  FoldCase out{to_string(layout), std::move(layout), std::move(cluster)};
  const std::uint64_t stragglers = draw() % 3 == 0 ? 1 + draw() % 2 : 0;
  for (std::uint64_t i = 0; i < stragglers; ++i) {
    const auto rank = static_cast<int>(draw() % static_cast<std::uint64_t>(ranks));
    out.options.speeds[rank].speed = draw() % 2 == 0 ? 0.8 : 1.25;
    out.name += fmt::format("; rank {} at {}", rank, out.options.speeds[rank].speed);
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

namespace {

struct Totals {
  std::size_t ranks = 0;
  std::size_t classes = 0;
  int steps = 0;
};

/// Random layouts on clusters that `place(draw, ranks)` makes; `change` them last. `model`: on
/// another model, which not all of them divide.
template <typename Place>
Totals hold_all(std::uint64_t seed, const Place& place,
                const std::function<void(std::mt19937_64&, FoldCase&)>& change = {},
                const std::function<RandomLayout(RandomLayout)>& model = {}) {
  std::mt19937_64 draw{seed};
  Totals out;
  for (const RandomLayout& of : random_layouts(seed, cases())) {
    RandomLayout layout = model ? model(shrunk(of)) : shrunk(of);
    // Some with enough microbatches for collectives to come again and again.
    if (draw() % 4 == 0) layout.parallel.global_batch *= 4;
    if (!possible(layout)) continue;
    FoldCase fold_case = drawn(draw, layout, place(draw, layout.parallel.ranks()));
    if (change) change(draw, fold_case);
    CAPTURE(fold_case.name);
    const FoldOutcome outcome = hold_against_unfolded(fold_case);
    CHECK(outcome.difference == "");
    out.ranks += outcome.ranks;
    out.classes += outcome.classes;
    ++out.steps;
  }
  MESSAGE(out.steps << " steps, " << out.ranks << " ranks in " << out.classes << " classes");
  CHECK(out.steps >= cases() * (model ? 5 : 9) / 10);
  return out;
}

}  // namespace

TEST_CASE("folded steps have the times of all ranks, whatever is drawn") {
  const Totals all = hold_all(4711, drawn_cluster);
  // Not by comparing every rank with itself.
  CHECK(10 * all.classes < 9 * all.ranks);
}

TEST_CASE("the same of encoders with decoders") {
  const Totals all = hold_all(1910, drawn_cluster, {}, encoder_decoder);
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same where a link is gone and there is another way") {
  const Totals all = hold_all(20'261'122, [](std::mt19937_64& draw, int ranks) {
    const Cluster cluster =
        draw() % 2 == 0 ? drawn_odd_cluster(draw, ranks) : cluster_of("fat-tree", ranks + 24);
    return with_failed_link(cluster, draw());
  });
  CHECK(all.classes < all.ranks);
}

namespace {

/// Ranks, or groups of eight, that are slower in up to two windows of the step, and perhaps before.
void add_transient(std::mt19937_64& draw, FoldCase& of) {
  const Duration step = simulated_step(of, Folding::automatic).timeline.end.since_start();
  const auto ranks = static_cast<std::uint64_t>(of.layout.parallel.ranks());
  const auto instant = [&] {
    return TimePoint{Duration::picoseconds(
        static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(step.ps() + 1)))};
  };
  for (std::uint64_t i = 1 + draw() % 3; i > 0; --i) {
    std::vector<SlowWindow> windows;
    TimePoint from = draw() % 4 == 0 ? TimePoint{} : instant();
    for (std::uint64_t many = 1 + draw() % 2; many > 0; --many) {
      SlowWindow window{from};
      window.speed = 0.001 * static_cast<double>(100 + draw() % 900);
      if (draw() % 5 > 0) window.until = from + 1_ps + instant().since_start();
      windows.push_back(window);
      if (window.until == SlowWindow::kNoEnd) break;
      from = draw() % 3 == 0 ? window.until : window.until + instant().since_start();
    }
    const std::uint64_t first = draw() % ranks;
    const std::uint64_t last = draw() % 3 == 0 ? std::min(first + 8, ranks) : first + 1;
    for (std::uint64_t rank = first; rank < last; ++rank)
      of.options.speeds[static_cast<int>(rank)].windows = windows;
    of.name += fmt::format("; ranks {} to {}: {}", first, last - 1,
                           description(of.options.speeds[static_cast<int>(first)]));
  }
}

}  // namespace

TEST_CASE("the same where stragglers come and go") {
  const Totals all = hold_all(20'261'128, drawn_cluster, add_transient);
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same on DGX-1 and on tori") {
  const Totals all = hold_all(20'260'101, drawn_odd_cluster);
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same where one switch reduces for several groups") {
  const Device device = load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/h100-sxm5-80gb.json");
  const auto place = [](std::mt19937_64&, int ranks) {
    return cluster_of("dgx-h100", nodes_full(ranks));
  };
  const Totals all = hold_all(17, place, [&](std::mt19937_64& draw, FoldCase& of) {
    const Device drawn = of.device;
    of.device = device;
    of.device.message_overhead = drawn.message_overhead;
    for (const char* group : {"dp", "tp", "hsdp"}) {
      if (draw() % 2 == 0) of.layout.parallel.algorithms[group] = "nvls:chunks=2";
      of.name += fmt::format("; {} by {}", group, of.layout.parallel.algorithms[group]);
      if (of.layout.parallel.algorithms[group].empty()) of.layout.parallel.algorithms.erase(group);
    }
  });
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same where switches of the network reduce, if NCCL takes them") {
  const auto place = [](std::mt19937_64&, int ranks) {
    return cluster_of("dgx-h100", nodes_full(ranks));
  };
  const Totals all = hold_all(29, place, [](std::mt19937_64& draw, FoldCase& of) {
    for (const char* group : {"dp", "tp", "hsdp"}) {
      if (draw() % 2 == 0) continue;
      of.layout.parallel.algorithms[group] = "auto:by=nccl,collnet=enable";
      of.name += fmt::format("; {} with CollNet", group);
    }
  });
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same where copy engines do some collectives beside computation") {
  const auto place = [](std::mt19937_64&, int ranks) {
    return cluster_of("dgx-h100", nodes_full(ranks));
  };
  const Totals all = hold_all(23, place, [](std::mt19937_64& draw, FoldCase& of) {
    of.slowdown = 1.25;
    for (const char* group : {"dp", "tp", "cp", "ep", "hsdp"}) {
      if (draw() % 2 == 0) continue;
      of.layout.parallel.algorithms[group] = "copy_engine";
      of.name += fmt::format("; {} by copy engines", group);
    }
  });
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same where groups have traffic weights") {
  const Totals all = hold_all(31, drawn_cluster, [](std::mt19937_64& draw, FoldCase& of) {
    for (const char* group : {"tp", "cp", "ep", "dp", "pp", "hsdp"}) {
      if (draw() % 2 == 0) continue;
      const auto weight = static_cast<TrafficWeight>(1 + draw() % 9);
      of.layout.parallel.traffic_weights[group] = weight;
      of.name += fmt::format("; {} weighs {}", group, weight);
    }
  });
  CHECK(10 * all.classes < 9 * all.ranks);
}

}  // namespace lockstep::test
