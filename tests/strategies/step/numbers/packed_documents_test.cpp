#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "sim/cost/attention_time.hpp"
#include "strategies/step/simulate.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/files/cluster_file.hpp"

/// Steps over packed documents, of which ranks and microbatches have unequal attention.
namespace lockstep::test {

namespace {

/// Messages take next to no time: 1e14 bytes a second.
[[nodiscard]] Cluster fast_star(int ranks) {
  const std::string text = R"({"name": "star", "summary": "test", "device": "host", "ranks": )" +
                           std::to_string(ranks) +
                           R"(, "topology": {"builder": "star", "link": {"bandwidth": "100000 GB/s",
          "latency": "1 ps", "source": "by definition"}}})";
  return read_cluster(parse_json(text, "star.json")).cluster;
}

[[nodiscard]] TransformerConfig shape(std::int64_t layers) {
  TransformerConfig out;
  out.layers = layers;
  out.hidden = 64;
  out.heads = 8;
  out.sequence = 64;
  out.vocabulary = 128;
  return out;
}

/// A millisecond for every pair of a query and a key, three times as much backward; all else
/// nothing. Messages and their launches, some 20 us each, stay below a ten-thousandth.
class PairTimes final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    if (!kernel.masked) return {};
    const auto pairs = static_cast<std::int64_t>(kernel.masked->pairs);
    return Duration::picoseconds(kScale * pairs * (kernel.backward ? 3 : 1));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }
  static constexpr std::int64_t kScale = 1'000'000'000;
};

/// Fused attention as devices have it, with blocks that masks make cheaper or dearer; all else
/// nothing.
class AttentionSeconds final : public CostModel {
 public:
  AttentionSeconds() {
    figures_.head_sizes = {{.head_size = 8, .forward = 0.5, .backward = 0.4}};
    figures_.head_grain = 8;
    figures_.block = 16;
    figures_.forward = {.full = 3, .causal = 11};
    figures_.backward = {.full = 5, .causal = 17};
  }
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    const bool attention =
        kernel.kind == OperationKind::attention || kernel.kind == OperationKind::attention_backward;
    if (!attention) return {};
    const double seconds = attention_seconds(kernel, figures_, FlopRate{1e9}, 7);
    return Duration::picoseconds(std::llround(seconds * 1e12));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }

 private:
  AttentionFigures figures_;
};

[[nodiscard]] Duration step_time(const TransformerConfig& of, const ParallelConfig& with,
                                 Folding fold = Folding::off, const CostModel& cost = PairTimes{}) {
  SimulationOptions options;
  options.fidelity = Fidelity::all_ranks;
  options.fold = fold;
  options.nccl_tuning = LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json";
  const Cluster cluster = fast_star(with.ranks());
  const auto program = std::make_shared<const Program>(
      build_program(transformer(of), with, cluster.gpus_per_node()));
  return simulate(program, with, cluster, Device{}, cost, options).timeline.end.since_start();
}

}  // namespace

TEST_CASE("replicas whose documents are long keep the others waiting, once a step") {
  // Sequence i has list i modulo 3. Of 4 replicas with one sequence in each of two microbatches,
  // replica r has sequences r and 4 + r; nothing is exchanged before the gradients.
  TransformerConfig of = shape(2);
  of.packed.lists = {{64}, {16}, {1}};
  ParallelConfig with;
  with.dp = 4;
  with.global_batch = 8;
  const double pairs[] = {64 * 65 / 2.0, 4 * 16 * 17 / 2.0, 64};
  double most = 0;
  for (int replica = 0; replica < 4; ++replica)
    most = std::max(most, pairs[replica % 3] + pairs[(replica + 4) % 3]);
  const double expected = 2 * (1 + 3) * most * PairTimes::kScale * 1e-12;
  CHECK(step_time(of, with).seconds() == doctest::Approx(expected).epsilon(1e-4));
  // With weights gathered for every layer, replicas wait in every layer of both microbatches.
  with.zero = 3;
  double waits = 0;
  for (const int microbatch : {0, 1}) {
    double slowest = 0;
    for (int replica = 0; replica < 4; ++replica)
      slowest = std::max(slowest, pairs[(4 * microbatch + replica) % 3]);
    waits += slowest;
  }
  CHECK(step_time(of, with).seconds() ==
        doctest::Approx(2 * (1 + 3) * waits * PairTimes::kScale * 1e-12).epsilon(1e-4));
}

TEST_CASE("a ring over documents takes between its busiest rank and its busiest hops") {
  // Contiguous quarters of 16 tokens, documents of 24: of the blocks that are not empty, those of
  // the diagonal hop and of the next alone.
  TransformerConfig of = shape(1);
  of.documents = {24};
  ParallelConfig with;
  with.cp = 4;
  with.cp_kind = ContextKind::ring;
  with.zigzag = false;
  with.global_batch = 1;
  const auto sees = [](std::int64_t query, std::int64_t key) {
    return key <= query && key / 24 == query / 24;
  };
  // Keys of hop 1 come while hop 0 is computed: a rank's work is not interrupted, and it waits for
  // keys alone, which its neighbor sends before it computes. The step is the slowest rank's work.
  std::int64_t most = 0;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    std::int64_t own = 0;
    for (std::int64_t query = 16 * rank; query < 16 * (rank + 1); ++query)
      for (std::int64_t key = 0; key < 64; ++key) own += sees(query, key) ? 1 : 0;
    most = std::max(most, own);
  }
  with.overlap = {Overlap::cp};
  const double forward_and_backward = (1 + 3) * static_cast<double>(most);
  const double time = step_time(of, with).seconds();
  CHECK(time >= forward_and_backward * PairTimes::kScale * 1e-12 * (1 - 1e-4));
  // No more than if every hop waited for its slowest rank.
  double by_hop = 0;
  for (std::int64_t hop = 0; hop < 4; ++hop) {
    std::int64_t slowest = 0;
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      std::int64_t own = 0;
      for (std::int64_t query = 16 * rank; query < 16 * (rank + 1); ++query)
        for (std::int64_t key = 0; key < 64; ++key)
          own += key / 16 == (rank + 4 - hop) % 4 && sees(query, key) ? 1 : 0;
      slowest = std::max(slowest, own);
    }
    by_hop += static_cast<double>(slowest);
  }
  CHECK(time <= (1 + 3) * by_hop * PairTimes::kScale * 1e-12 * (1 + 1e-4));
}

TEST_CASE("folded, ranks with other documents are classes of their own: the same picosecond") {
  // Replicas 0 and 3 have the same documents, 1 and 2 others.
  TransformerConfig of = shape(2);
  of.packed.lists = {{64}, {16}, {1}, {64}};
  ParallelConfig with;
  with.dp = 4;
  with.zero = 3;
  with.global_batch = 8;
  CHECK(step_time(of, with, Folding::always) == step_time(of, with));
  of.documents = {24};
  of.packed = {};
  for (const ContextKind kind : {ContextKind::ring, ContextKind::both, ContextKind::all_gather}) {
    for (const bool zigzag : {false, true}) {
      with = {};
      with.dp = 2;
      with.cp = 4;
      with.cp_kind = kind;
      with.zigzag = zigzag;
      with.global_batch = 4;
      CHECK(step_time(of, with, Folding::always) == step_time(of, with));
    }
  }
}

TEST_CASE("one document of the whole sequence is no documents, to the picosecond") {
  TransformerConfig whole = shape(2);
  whole.documents = {64};
  std::vector<TransformerConfig> same{whole};
  whole.documents = {65, 1};
  same.push_back(whole);
  whole.documents = {};
  whole.packed.lists = {{64}, {200, 3}};
  same.push_back(whole);
  whole.packed = {};
  whole.packed.drawn = DocumentDraw{DocumentDraw::Kind::uniform, 64, 80, 1, 1, 3};
  same.push_back(whole);
  whole.packed.drawn = DocumentDraw{DocumentDraw::Kind::lognormal, 1, 1, 64, 0, 3};
  same.push_back(whole);
  const AttentionSeconds cost;
  for (const ContextKind kind :
       {ContextKind::ring, ContextKind::both, ContextKind::all_gather, ContextKind::ulysses}) {
    for (const bool zigzag : {false, true}) {
      for (const int cp : {1, 4}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(zigzag);
        CAPTURE(cp);
        ParallelConfig with;
        with.dp = 2;
        with.cp = cp;
        with.cp_kind = kind;
        with.zigzag = zigzag;
        with.global_batch = 4;
        const Duration none = step_time(shape(2), with, Folding::off, cost);
        CHECK(none > Duration{});
        for (const TransformerConfig& model : same)
          CHECK(step_time(model, with, Folding::off, cost).ps() == none.ps());
      }
    }
  }
}

}  // namespace lockstep::test
