#include "tools/app/step/memory_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/math.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/models/count/layers.hpp"
#include "strategies/step/build_program.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/step/requested_scenario.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kShown = 3;  // changes that fit
constexpr std::size_t kMostTried = 120;
/// Of a layer by a microbatch in all trials together; one takes some tenths of a millisecond where
/// layers are many.
constexpr std::int64_t kMostCalls = 40'000;

std::string set(const std::string& key, std::int64_t value) {
  return fmt::format("parallel.{}={}", key, value);
}

void add_zero(const ParallelConfig& parallel, std::vector<LayoutChange>& out) {
  if (parallel.dp * parallel.cp * parallel.stage_copies() == 1) return;
  for (int stage = parallel.zero + 1; stage <= 3; ++stage) out.push_back({set("zero", stage)});
}

/// Gradients of ZeRO-2 and -3 that are not held whole, and weights of ZeRO-3.
void add_shorter_lives(const ParallelConfig& parallel, std::vector<LayoutChange>& out) {
  const bool holds = parallel.reduce_gradients == GradientReduction::last_microbatch;
  if (parallel.zero >= 2 && holds && parallel.microbatches() > 1)
    out.push_back({"parallel.reduce_gradients=every_microbatch"});
  if (parallel.zero == 3 && !parallel.reshard_after_forward)
    out.push_back({"parallel.reshard_after_forward=true"});
}

/// Without what holds tensors of a second microbatch, or of what comes next.
void add_less_overlap(const ParallelConfig& parallel, std::vector<LayoutChange>& out) {
  for (const Overlap what : {Overlap::ep_pairs, Overlap::dp_parameters, Overlap::dp_gradients}) {
    if (!parallel.overlaps(what)) continue;
    std::vector<std::string> kinds;
    for (const Overlap kind : parallel.overlap)
      if (kind != what) kinds.push_back(fmt::format("\"{}\"", name_of(overlap_names(), kind)));
    out.push_back({fmt::format("parallel.overlap=[{}]", fmt::join(kinds, ","))});
  }
}

/// Of the orders of passes that hold the activations of no more microbatches than stages, the
/// plain one.
void add_schedule(const ParallelConfig& parallel, std::vector<LayoutChange>& out) {
  if (parallel.pp == 1 || parallel.schedule == PipelineOrder::one_f_one_b) return;
  out.push_back({"parallel.schedule=1f1b", "parallel.vpp=1"});
}

/// Kinds that are at least `from`, from the cheapest on, and hold less than the layout's own.
void add_recomputation(const ParallelConfig& parallel, Recompute from, Recompute to,
                       std::vector<LayoutChange>& out) {
  for (const Recompute how : {Recompute::selective, Recompute::every_second_gemm,
                              Recompute::every_second_layer, Recompute::full})
    if (how > parallel.recompute && how >= from && how <= to)
      out.push_back({fmt::format("parallel.recompute={}", name_of(recompute_names(), how))});
}

void add_smaller_batches(const ParallelConfig& parallel, std::vector<LayoutChange>& out) {
  for (std::int64_t size = parallel.micro_batch / 2; size >= 1; size /= 2)
    out.push_back({set("micro_batch", size)});
}

/// Ranks move from data parallelism to another kind, of `degree` so far and `most` at most.
void add_more_of(const std::string& axis, int degree, int most, const ParallelConfig& parallel,
                 std::vector<LayoutChange>& out) {
  for (int factor = 2; factor <= parallel.dp && degree * factor <= most; factor *= 2) {
    if (parallel.dp % factor != 0) break;
    LayoutChange change{set(axis, std::int64_t{degree} * factor), set("dp", parallel.dp / factor)};
    if (axis == "pp" && parallel.schedule == PipelineOrder::none)
      change.emplace_back("parallel.schedule=1f1b");
    out.push_back(std::move(change));
  }
}

bool same_key(const std::string& a, const std::string& b) {
  return a.substr(0, a.find('=')) == b.substr(0, b.find('='));
}

/// Both, or nothing where they speak of the same key.
std::optional<LayoutChange> together(const LayoutChange& a, const LayoutChange& b) {
  LayoutChange out = a;
  for (const std::string& assignment : b) {
    for (const std::string& other : a)
      if (same_key(assignment, other)) return std::nullopt;
    out.push_back(assignment);
  }
  return out;
}

bool changes_same_keys(const LayoutChange& a, const LayoutChange& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_key);
}

/// What devices keep per parameter apart from weights and gradients.
std::int64_t optimizer_bytes(const ParallelConfig& parallel) {
  const StateConfig& state = parallel.state;
  if (state.offload || parallel.exchange == GradientExchange::parameter_server)
    return 0;  // they are the hosts'
  const int moments = moments_of(state, true);
  const int of_outer_loop = parallel.outer_on_host ? 1 : 2;
  const int outer_states = parallel.outer_degree() > 1 ? of_outer_loop : 0;
  const std::int64_t weights =
      parallel.has_wide_shards() ? bytes_per_element(state.weights) : std::int64_t{0};
  return (state.master ? bytes_per_element(Dtype::fp32) - weights : 0) +
         moments * bytes_per_element(state.moments) + outer_states * bytes_per_element(Dtype::fp32);
}

/// What devices keep of all parameters, each once.
Bytes state_bytes(const ModelConfig& model, const ParallelConfig& parallel) {
  return weight_bytes(model, parallel) +
         Bytes{count_parameters(model).trained() *
               (bytes_per_element(parallel.state.gradients) + optimizer_bytes(parallel))};
}

/// Layers times microbatches, with which the time of a trial grows.
std::int64_t calls_of(const Scenario& scenario) {
  const bool has_layers = scenario.model.transformer() != nullptr;
  return scenario.parallel.microbatches() * (has_layers ? layers_of(scenario.model) : 1);
}

/// Tries changes of a layout and counts how many.
class Trial {
 public:
  Trial(const TrainingStepRequest& request, Bytes capacity)
      : request_{request}, capacity_{capacity} {}

  /// What the layout then needs; nothing where it is impossible or enough has been tried.
  std::optional<Bytes> needed(const LayoutChange& change) {
    if (tried_++ >= kMostTried) return std::nullopt;
    std::vector<std::string> overrides = request_.overrides;
    overrides.insert(overrides.end(), change.begin(), change.end());
    try {
      const Scenario scenario = requested_scenario(request_, overrides);
      if (least_bytes(scenario.model, scenario.parallel) > capacity_) return std::nullopt;
      if (calls_ > 0 && calls_ + calls_of(scenario) > kMostCalls) return std::nullopt;
      calls_ += calls_of(scenario);
      return peak_in_order(build_program(scenario.model, scenario.parallel,
                                         scenario.cluster.cluster.gpus_per_node()));
    } catch (const ConfigError&) {
      return std::nullopt;
    }
  }

  [[nodiscard]] std::vector<FittingChange> fitting(const std::vector<LayoutChange>& changes) {
    std::vector<FittingChange> out;
    for (const LayoutChange& change : changes) {
      if (out.size() == kShown) break;
      const bool more_of_the_same = !out.empty() && changes_same_keys(out.back().change, change);
      if (more_of_the_same) continue;
      const auto bytes = needed(change);
      if (bytes && *bytes <= capacity_) out.push_back({change, *bytes});
    }
    return out;
  }

 private:
  const TrainingStepRequest& request_;
  Bytes capacity_;
  std::size_t tried_ = 0;
  std::int64_t calls_ = 0;  // of those that were
};

/// Of each kind of change the strongest, for combinations.
std::vector<LayoutChange> strongest(const std::vector<LayoutChange>& changes) {
  std::vector<LayoutChange> out;
  for (const LayoutChange& change : changes) {
    if (!out.empty() && same_key(out.back().front(), change.front())) {
      out.back() = change;
    } else {
      out.push_back(change);
    }
  }
  return out;
}

std::vector<LayoutChange> combined(const std::vector<LayoutChange>& some,
                                   const std::vector<LayoutChange>& others) {
  std::vector<LayoutChange> out;
  for (const LayoutChange& a : some) {
    for (const LayoutChange& b : others) {
      auto both = together(a, b);
      if (!both) continue;
      std::vector<std::string> sorted = *both;
      std::sort(sorted.begin(), sorted.end());
      const bool known = std::any_of(out.begin(), out.end(), [&sorted](LayoutChange other) {
        std::sort(other.begin(), other.end());
        return other == sorted;
      });
      if (!known) out.push_back(*std::move(both));
    }
  }
  return out;
}

}  // namespace

std::vector<LayoutChange> memory_changes(const Scenario& scenario) {
  const ParallelConfig& parallel = scenario.parallel;
  std::vector<LayoutChange> out;
  add_zero(parallel, out);
  if (parallel.tp > 1 && !parallel.sequence_parallel)
    out.push_back({"parallel.sequence_parallel=true"});
  add_shorter_lives(parallel, out);
  add_schedule(parallel, out);
  add_recomputation(parallel, Recompute::selective, Recompute::selective, out);
  add_smaller_batches(parallel, out);
  add_recomputation(parallel, Recompute::every_second_gemm, Recompute::full, out);
  add_less_overlap(parallel, out);
  const int node = scenario.cluster.cluster.gpus_per_node();  // tensor parallelism stays inside
  add_more_of("tp", parallel.tp, node, parallel, out);
  add_more_of("pp", parallel.pp, 16 * parallel.pp, parallel, out);
  if (!parallel.state.offload) out.push_back({"parallel.state.offload=true"});
  return out;
}

Bytes least_bytes(const ModelConfig& model, const ParallelConfig& parallel) {
  const std::int64_t copies =
      std::int64_t{parallel.dp} * parallel.cp;  // experts are cut over these
  const std::int64_t cut = std::int64_t{parallel.tp} * parallel.pp * (parallel.ep > 1 ? copies : 1);
  const auto held = [&](std::int64_t bytes, int sharded_from) {
    const bool sharded = parallel.ep == 1 && parallel.zero >= sharded_from;
    return bytes / (sharded ? cut * copies : cut);
  };
  return Bytes{held(weight_bytes(model, parallel).count(), 3) +
               held(count_parameters(model).trained() * optimizer_bytes(parallel), 1)};
}

std::vector<FittingChange> fitting_changes(const TrainingStepRequest& request,
                                           const Scenario& scenario, Bytes capacity) {
  Trial trial(request, capacity);
  const std::vector<LayoutChange> singles = memory_changes(scenario);
  std::vector<FittingChange> found = trial.fitting(singles);
  if (!found.empty()) return found;
  const std::vector<LayoutChange> strong = strongest(singles);
  const std::vector<LayoutChange> pairs = combined(strong, strong);
  found = trial.fitting(pairs);
  return found.empty() ? trial.fitting(combined(pairs, strong)) : found;
}

MemoryShortfall memory_shortfall(const TrainingStepRequest& request, const Scenario& scenario,
                                 const RankMemory& memory) {
  const Bytes capacity = *memory.capacity;
  MemoryShortfall out;
  out.memory = memory;
  out.device = scenario.cluster.device.id;
  out.scenario = std::make_shared<const Scenario>(scenario);
  if (!request.step_only) out.changes = fitting_changes(request, scenario, capacity);
  out.states = state_bytes(scenario.model, scenario.parallel);
  out.least_gpus = ceil_div(out.states.count(), capacity.count());
  return out;
}

}  // namespace lockstep::app
