#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/operation.hpp"
#include "strategies/models/model_form.hpp"

/// How a model is spread over ranks: the `parallel` part of a scenario.
namespace lockstep {

enum class Recompute : std::uint8_t {
  none,
  selective,          // the core of attention
  every_second_gemm,  // all but attention and the first, third ... product of a layer
  every_second_layer,
  full
};
enum class PipelineOrder : std::uint8_t {
  none,
  naive,
  gpipe,
  one_f_one_b,
  interleaved,
  zb_h1,
  zb_h2,
  zb_1p,
  zb_2p
};
enum class ContextKind : std::uint8_t { ring, ulysses, both };
/// How gradients of data-parallel ranks come together.
enum class GradientExchange : std::uint8_t {
  all_reduce,
  parameter_server,
  host_average,
  parameter_averaging
};
/// Traffic that may hide behind computation. hsdp: sums over the replicas of hybrid shards; ep: the
/// experts' all-to-alls.
enum class Overlap : std::uint8_t { cp, dp_gradients, dp_parameters, ep, hsdp, pp, tp };
/// When ZeRO-2 and -3 bring gradients to their shards. In the last microbatch: whole gradients are
/// held and added to until then.
enum class GradientReduction : std::uint8_t { every_microbatch, last_microbatch };
/// When a rank's weights are updated: when all of its gradients are there, or bucket by bucket as
/// the sums arrive, while others are still reduced.
enum class UpdateStart : std::uint8_t { after_all, by_bucket };

/// Precision of what is kept per parameter; 2 + 2 + 12 bytes by default.
struct StateConfig {
  Dtype weights = Dtype::bf16;
  Dtype gradients = Dtype::bf16;
  bool master = true;  // an fp32 copy of the weights, where they are not fp32
  Optimizer optimizer = Optimizer::adam;
  Dtype moments = Dtype::fp32;
  bool offload = false;  // optimizer states and update on the host
};

struct ParallelConfig {
  int dp = 1, tp = 1, pp = 1, cp = 1, ep = 1;
  int vpp = 1;  // chunks per stage
  /// Which axis varies fastest along the ranks, first to last.
  std::vector<std::string> order{"tp", "cp", "dp", "pp"};
  std::int64_t micro_batch = 1;   // sequences
  std::int64_t global_batch = 1;  // sequences
  Recompute recompute = Recompute::none;
  int zero = 0;
  int shard_ranks = 0;            // ZeRO shards over that many ranks of dp * cp; 0: all
  bool scatter_gradients = true;  // ZeRO-1: each rank gets its shard of the sum alone
  GradientReduction reduce_gradients = GradientReduction::every_microbatch;  // ZeRO-2, -3
  bool reshard_after_forward = true;                                         // ZeRO-3
  bool prefetch = true;  // ZeRO-3: the next layer's weights while this one computes
  bool sequence_parallel = false;
  Dtype precision = Dtype::bf16;  // of products
  PipelineOrder schedule = PipelineOrder::none;
  bool short_edges = false;
  std::vector<int> stages{};  // layers of each chunk, in the order of the chain; empty: equal
  ContextKind cp_kind = ContextKind::ring;
  int ulysses = 0;     // of `both`: ranks in an all-to-all; 0: as many as share a node
  bool zigzag = true;  // ring: balanced cut of causal attention
  std::set<Overlap> overlap{};
  UpdateStart update = UpdateStart::after_all;
  GradientExchange exchange = GradientExchange::all_reduce;
  int servers = 1;           // parameter servers
  int average_every = 1;     // steps, of parameter averaging
  bool averages = true;      // whether this step is one at whose end parameters are averaged
  Bytes bucket{25'000'000};  // gradients per reduction
  StateConfig state{};
  ModelForm form{};            // by the scenario's software stack
  double capacity_factor = 0;  // of experts; 0: dropless
  /// Load of the busiest expert over the mean, at most what its capacity takes; none: experts are
  /// visited evenly, or have all slots of their capacity full.
  std::optional<double> expert_skew{};
  /// Algorithm by group (tp, cp, ep, dp, hsdp, embedding); others as NCCL would pick.
  std::map<std::string, std::string> algorithms{};

  /// Of a layout whose product of degrees has been found to be the number of ranks there are.
  [[nodiscard]] int ranks() const { return dp * pp * cp * tp; }
  [[nodiscard]] std::int64_t microbatches() const { return global_batch / (micro_batch * dp); }
  [[nodiscard]] bool overlaps(Overlap what) const { return overlap.contains(what); }
  [[nodiscard]] bool updates_by_bucket() const { return update == UpdateStart::by_bucket; }
  /// Whether gradients go to their shards microbatch by microbatch.
  [[nodiscard]] bool scatters_every_microbatch() const {
    return zero >= 2 && reduce_gradients == GradientReduction::every_microbatch;
  }
};

}  // namespace lockstep
