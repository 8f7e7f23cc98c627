#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>

#include "strategies/layout/scenario_names.hpp"
#include "tests/random_folds.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/fold/random_features.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/files/cluster_file.hpp"

namespace lockstep::test {
namespace {

constexpr int kFast = 120;  // configurations

int cases() {
  return fold_cases(kFast);
}

/// Whole nodes of eight.
int nodes_full(int ranks) {
  return (ranks + 7) / 8 * 8;
}

/// Ranks on one switch, with hosts for parameter servers.
Cluster with_hosts(int ranks) {
  return load_cluster(LOCKSTEP_SOURCE_DIR "/configs/clusters/star.json",
                      ClusterSize{std::nullopt, ranks, 3})
      .cluster;
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
Totals hold_all(const char* kind, std::uint64_t usual_seed, const Place& place,
                const std::function<void(std::mt19937_64&, FoldCase&)>& change = {},
                const std::function<RandomLayout(RandomLayout)>& model = {}) {
  const std::uint64_t seed = fold_seed(usual_seed);
  std::mt19937_64 draw{seed};
  Totals out;
  FoldCount count{kind};
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
    count.add(outcome.classes < outcome.ranks, outcome.difference.empty());
    out.ranks += outcome.ranks;
    out.classes += outcome.classes;
    ++out.steps;
  }
  MESSAGE(out.steps << " steps, " << out.ranks << " ranks in " << out.classes << " classes");
  CHECK(out.steps >= cases() * (model ? 4 : 8) / 10);
  return out;
}

}  // namespace

TEST_CASE("folded steps have the times of all ranks, whatever is drawn") {
  const Totals all = hold_all("steps", 4711, drawn_cluster);
  // Not by comparing every rank with itself.
  CHECK(10 * all.classes < 9 * all.ranks);
}

TEST_CASE("the same of encoders with decoders") {
  const Totals all =
      hold_all("steps of encoders with decoders", 1910, drawn_cluster, {}, encoder_decoder);
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same where a link is gone and there is another way") {
  const Totals all =
      hold_all("steps with a failed link", 20'261'122, [](std::mt19937_64& draw, int ranks) {
        const Cluster cluster =
            draw() % 2 == 0 ? drawn_odd_cluster(draw, ranks) : cluster_of("fat-tree", ranks + 24);
        return with_failed_link(cluster, draw());
      });
  CHECK(all.classes < all.ranks);
}

namespace {

/// Without stragglers and slow links in one place.
void leave_alike(std::mt19937_64& draw, FoldCase& of) {
  const int ranks = of.layout.parallel.ranks();
  of.options.speeds.clear();
  of.cluster = draw() % 2 == 0 ? with_hosts(ranks) : cluster_of("dgx-h100", nodes_full(ranks));
  of.name += "; but alike";
}

/// Single ranks, groups of eight or every second, fourth or eighth rank (as one GPU of all nodes)
/// that are slower in up to two windows of the step, and perhaps before.
void add_transient(std::mt19937_64& draw, FoldCase& of) {
  const Duration step = simulated_step(of, Folding::automatic).timeline.end.since_start();
  const auto ranks = static_cast<std::uint64_t>(of.layout.parallel.ranks());
  const auto instant = [&] {
    return TimePoint{Duration::picoseconds(
        static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(step.ps() + 1)))};
  };
  const bool in_one_place = draw() % 4 == 0;
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
    const std::uint64_t kind = in_one_place ? draw() % 6 : 0;
    const std::uint64_t every = kind < 4 ? std::uint64_t{2} << draw() % 3 : 1;
    const std::uint64_t first = draw() % (kind < 4 ? std::min(every, ranks) : ranks);
    const std::uint64_t last = kind < 4    ? ranks
                               : kind == 4 ? std::min(first + 8, ranks)
                                           : first + 1;
    for (std::uint64_t rank = first; rank < last; rank += every)
      of.options.speeds[static_cast<int>(rank)].windows = windows;
    of.name += fmt::format("; ranks {} to {} by {}: {}", first, last - 1, every,
                           description(of.options.speeds[static_cast<int>(first)]));
  }
}

}  // namespace

TEST_CASE("the same where stragglers come and go") {
  // Of a straggler in one place all ranks may learn, so most of these are of ranks in all places of
  // a kind, and with replicas for them.
  const auto replicas = [](RandomLayout layout) {
    return with_more_replicas(std::move(layout), 48);
  };
  const Totals all = hold_all(
      "steps with stragglers that come and go", 20'261'128,
      [](std::mt19937_64& draw, int ranks) {
        return draw() % 2 == 0 ? switched(ranks) : cluster_of("dgx-h100", nodes_full(ranks));
      },
      [&](std::mt19937_64& draw, FoldCase& of) {
        if (draw() % 4 != 0) leave_alike(draw, of);
        add_transient(draw, of);
      },
      replicas);
  CHECK(5 * all.classes < 4 * all.ranks);
}

TEST_CASE("the same on DGX-1 and on tori") {
  const Totals all = hold_all("steps on DGX-1 and tori", 20'260'101, drawn_odd_cluster);
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same where one switch reduces for several groups") {
  const Device device = load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/h100-sxm5-80gb.json");
  const auto place = [](std::mt19937_64&, int ranks) {
    return cluster_of("dgx-h100", nodes_full(ranks));
  };
  const Totals all =
      hold_all("steps with NVLS", 17, place, [&](std::mt19937_64& draw, FoldCase& of) {
        const Device drawn = of.device;
        of.device = device;
        of.device.message_overhead = drawn.message_overhead;
        for (const char* group : {"dp", "tp", "hsdp"}) {
          if (draw() % 2 == 0) of.layout.parallel.algorithms[group] = "nvls:chunks=2";
          of.name += fmt::format("; {} by {}", group, of.layout.parallel.algorithms[group]);
          if (of.layout.parallel.algorithms[group].empty())
            of.layout.parallel.algorithms.erase(group);
        }
      });
  CHECK(all.classes < all.ranks);
}

TEST_CASE("the same where switches of the network reduce, if NCCL takes them") {
  const auto place = [](std::mt19937_64&, int ranks) {
    return cluster_of("dgx-h100", nodes_full(ranks));
  };
  const Totals all =
      hold_all("steps with SHARP", 29, place, [](std::mt19937_64& draw, FoldCase& of) {
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
  const Totals all =
      hold_all("steps with copy engines", 23, place, [](std::mt19937_64& draw, FoldCase& of) {
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
  const Totals all = hold_all("steps with traffic weights", 31, drawn_cluster,
                              [](std::mt19937_64& draw, FoldCase& of) {
                                for (const char* group : {"tp", "cp", "ep", "dp", "pp", "hsdp"}) {
                                  if (draw() % 2 == 0) continue;
                                  const auto weight = static_cast<TrafficWeight>(1 + draw() % 9);
                                  of.layout.parallel.traffic_weights[group] = weight;
                                  of.name += fmt::format("; {} weighs {}", group, weight);
                                }
                              });
  CHECK(10 * all.classes < 9 * all.ranks);
}

/// Strategies and features of models that the cases above do not have, up to 64 ranks, one in four
/// with three to six stragglers.
TEST_CASE("the same with strategies and features that few models have") {
  const std::uint64_t seed = fold_seed(20'261'129);
  std::mt19937_64 features{seed};
  DrawnFeatures drawn;
  const auto place = [](std::mt19937_64& draw, int ranks) {
    return draw() % 2 == 0 ? with_hosts(ranks) : cluster_of("dgx-h100", nodes_full(ranks));
  };
  const auto change = [](std::mt19937_64& draw, FoldCase& of) {
    const ParallelConfig& parallel = of.layout.parallel;
    if (draw() % 2 == 0) leave_alike(draw, of);
    if (parallel.exchange == GradientExchange::parameter_server)
      of.cluster = with_hosts(parallel.ranks());
    if (draw() % 4 != 0) return;
    const auto ranks = static_cast<std::uint64_t>(parallel.ranks());
    for (std::uint64_t count = 3 + draw() % 4; count > 0; --count)
      of.options.speeds[static_cast<int>(draw() % ranks)].speed = draw() % 2 == 0 ? 0.8 : 0.9;
    of.name += fmt::format("; {} stragglers", of.options.speeds.size());
  };
  const Totals all =
      hold_all("steps with features", 20'261'129, place, change, [&](RandomLayout layout) {
        return with_random_features(std::move(layout), features, 64, drawn);
      });
  std::string table;
  for (const auto& [name, count] : drawn) table += fmt::format(" {} {},", name, count);
  MESSAGE("drawn:" << table);
  CHECK(10 * all.classes < 9 * all.ranks);
  if (cases() < (fold_seed(0) == 0 ? kFast : 1000)) return;
  for (const std::string& name : feature_names()) {
    CAPTURE(name);
    CHECK(drawn[name] > 0);
  }
  for (const auto& [name, schedule] : pipeline_names()) {
    CAPTURE(name);
    CHECK(drawn["schedule " + std::string{name}] > 0);
  }
}

}  // namespace lockstep::test
