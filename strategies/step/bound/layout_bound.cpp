#include "strategies/step/bound/layout_bound.hpp"

#include <algorithm>

#include "strategies/pipeline/chunk_positions.hpp"
#include "strategies/pipeline/pipeline_order.hpp"

namespace lockstep {

namespace {

/// Positions of the chain, first and one past the last.
struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Picoseconds that so many bytes take at a rate, rounded down; 0 where there is no limit.
[[nodiscard]] std::int64_t floor_ps(double bytes, double rate) {
  if (rate <= 0) return 0;
  // A share below, so that rounding of doubles never exceeds the exact quotient.
  return static_cast<std::int64_t>(bytes / rate * 1e12 * (1 - 1e-12));
}

/// Bytes per second, of one rank's share; 0 where there is no limit.
struct HostSpeed {
  double memory = 0;
  double link = 0;
};

/// One layout and the costs of its positions.
class Layout {
 public:
  Layout(const ParallelConfig& parallel, const PlacedProfile& profile,
         const std::vector<StagePassCounts>* passes, const HostSpeed& host)
      : parallel_{parallel},
        profile_{profile},
        passes_{passes},
        host_{host},
        microbatches_{parallel.microbatches() / parallel.stage_copies()},
        of_stage_{chunks_of_stage(parallel.schedule, parallel.vpp)} {
    cut();
    const std::int64_t copies = parallel.stage_copies();
    // Of those that train together.
    replicas_ = std::int64_t{parallel.dp} * parallel.cp * copies / parallel.outer_degree();
    // Ranks along ep are along tp first, or along dp and cp first, by the order of the axes: ZeRO
    // shards experts over the rest of dp and cp.
    const int along_tp = parallel.tp / parallel.expert_tp();
    expert_replicas_ = replicas_ / std::max(1, parallel.ep / along_tp);
    const std::int64_t of_copy = replicas_ / copies;
    least_expert_replicas_ = of_copy / std::min<std::int64_t>(of_copy, parallel.ep) * copies;
    shards_ = parallel.shard_ranks > 0 ? parallel.shard_ranks : replicas_;
  }

  [[nodiscard]] std::int64_t time() const {
    std::int64_t most = 0;
    std::int64_t fill = 0;
    std::int64_t drain = 0;
    const std::int64_t hop = (profile_.message.sending + profile_.message.latency).ps();
    const std::int64_t first_tail = tail(sums(0));
    // Stages from the other end of a bidirectional pipeline do the same.
    for (int stage = 0; stage < parallel_.pp / parallel_.stage_copies(); ++stage) {
      const PositionCosts& sum = sums(stage);
      most = std::max(most, time_of(stage, sum, fill, drain, first_tail));
      const PositionCosts& first = chunk_sum(stage, 0);
      fill += first.forward.through + hop;
      drain += first.backward.through + hop;
    }
    return most;
  }

  [[nodiscard]] const PositionCosts& sums(int stage) const {
    return stages_[static_cast<std::size_t>(stage)];
  }

  [[nodiscard]] const PositionCosts& chunk_sum(int stage, int c) const {
    return sums_[place(stage, c)];
  }

  [[nodiscard]] Range chunk(int stage, int c) const { return chunks_[place(stage, c)]; }

  /// Weights, gradients and optimizer states of a stage, sharded.
  [[nodiscard]] std::int64_t states(int stage) const {
    const PositionCosts& sum = sums(stage);
    return sharded(on_device(sum.dense), shards_) +
           sharded(on_device(sum.experts), expert_replicas_);
  }

 private:
  [[nodiscard]] std::size_t place(int stage, int c) const {
    return static_cast<std::size_t>(model_chunk(parallel_.schedule, parallel_.pp, stage, c));
  }

  void cut() {
    const ChainOfLayers chain{.positions = static_cast<int>(profile_.blocks->chain.size()),
                              .between_stacks = profile_.blocks->between_stacks};
    for (const auto& [first, last] : chunk_positions(chain, parallel_))
      chunks_.push_back({static_cast<std::size_t>(first), static_cast<std::size_t>(last)});
    sums_.reserve(chunks_.size());
    for (const Range& range : chunks_)
      sums_.push_back(profile_.blocks->sum(range.first, range.last));
    stages_.reserve(static_cast<std::size_t>(parallel_.pp));
    for (int stage = 0; stage < parallel_.pp; ++stage) {
      PositionCosts sum = chunk_sum(stage, 0);
      for (int c = 1; c < of_stage_; ++c) sum.add(chunk_sum(stage, c), 1);
      if (has_both_ends(stage)) share_tied(sum);
      stages_.push_back(sum);
    }
  }

  /// Of a stage with both ends of the model: tied weights are there, and updated, once. With split
  /// backward passes blocks are those of a pipeline of two stages, where both ends update them.
  void share_tied(PositionCosts& sum) const {
    const StateBytes& tied = profile_.blocks->tied;
    sum.dense.add(tied, -1);
    if (parallel_.splits_backward() && tied.weights > 0)
      sum.update -= profile_.blocks->at(profile_.blocks->chain.size() - 1).update;
  }

  /// Whether a stage has the first and the last layers of the model.
  [[nodiscard]] bool has_both_ends(int stage) const {
    if (parallel_.pp == 1) return true;
    const bool last = parallel_.stage_copies() > 1 && stage + 1 == parallel_.pp;
    return last || (stage == 0 && (is_v(parallel_.schedule) || parallel_.stage_copies() > 1));
  }

  [[nodiscard]] std::int64_t time_of(int stage, const PositionCosts& sum, std::int64_t fill,
                                     std::int64_t drain, std::int64_t first_tail) const {
    const Work work = passes_ != nullptr ? paired_work(stage) : work_of(stage, sum);
    const std::int64_t begin = stage > 0 ? fill - before_in(stage) : 0;
    const std::int64_t to_end = begin + work.all + tail(sum);
    // The last message back is one of its own and the first of the drain.
    const std::int64_t own = work.until_back - after_out(stage) - held_by_send();
    const bool drains = stage > 0 && work.until_back > 0;
    const std::int64_t back = drains ? begin + own + drain + first_tail : 0;
    return std::max({to_end, back, microbatches_ * sum.host, exchange(sum)});
  }

  /// Of a stage, all microbatches.
  struct Work {
    std::int64_t all = 0;
    std::int64_t until_back = 0;  // to the end of the last backward pass; 0: unknown
  };

  [[nodiscard]] Work work_of(int stage, const PositionCosts& sum) const {
    std::int64_t passes = parallel_.zero == 3 ? gathers(sum) : 0;
    for (int c = 0; c < of_stage_; ++c) passes += forward(stage, c) + backward(stage, c);
    const std::int64_t chains = microbatches_ * passes;
    const std::int64_t all = chains + microbatches_ * sum.weight_gradients;
    return {all, parallel_.splits_backward() ? chains : all};
  }

  /// Passes that go in turn take as long as the longer of them, all computation of both, or all of
  /// their all-to-alls.
  [[nodiscard]] Work paired_work(int stage) const {
    const StagePassCounts& of = (*passes_)[static_cast<std::size_t>(stage)];
    Work out;
    std::int64_t later = 0;  // gradients of weights in calls outside of pairs
    for (int c = 0; c < of_stage_; ++c) {
      const auto chunk = static_cast<std::size_t>(c);
      out.all += of.forward[chunk] * forward(stage, c);
      const std::int64_t weights = chunk_sum(stage, c).weight_gradients;
      const std::int64_t back = backward(stage, c);
      if (parallel_.splits_backward()) {
        out.all += of.backward[chunk] * back;
        later += (microbatches_ - of.paired_backward(c)) * weights;
      } else {
        const std::int64_t computed = chunk_sum(stage, c).backward.work + weights;
        out.all += of.backward[chunk] * std::max(back, computed + send_of(stage, c, false));
      }
    }
    for (const StagePassCounts::Pair& pair : of.pairs) out.all += pair.times * paired(stage, pair);
    if (!of.ends_in_pair) out.until_back = out.all;
    out.all += later;
    return out;
  }

  [[nodiscard]] std::int64_t paired(int stage, const StagePassCounts::Pair& pair) const {
    const PositionCosts& there = chunk_sum(stage, pair.forward);
    const PositionCosts& back = chunk_sum(stage, pair.backward);
    const std::int64_t computed = there.forward.work + back.backward.work + back.weight_gradients +
                                  send_of(stage, pair.forward, true) +
                                  send_of(stage, pair.backward, false);
    return std::max({computed, there.forward.exchange + back.backward.exchange,
                     forward_pass(stage, pair.forward), backward_pass(stage, pair.backward)});
  }

  /// A pass of one microbatch, with its message to the next stage.
  [[nodiscard]] std::int64_t forward(int stage, int c) const {
    return forward_pass(stage, c) + send_of(stage, c, true);
  }
  [[nodiscard]] std::int64_t backward(int stage, int c) const {
    return backward_pass(stage, c) + send_of(stage, c, false);
  }

  [[nodiscard]] std::int64_t forward_pass(int stage, int c) const {
    const Range range = chunk(stage, c);
    if (range.first == range.last) return 0;
    return pass(chunk_sum(stage, c).forward, profile_.blocks->at(range.first).forward,
                profile_.blocks->at(range.last - 1).forward, range);
  }
  [[nodiscard]] std::int64_t backward_pass(int stage, int c) const {
    const Range range = chunk(stage, c);
    if (range.first == range.last) return 0;
    return pass(chunk_sum(stage, c).backward, profile_.blocks->at(range.last - 1).backward,
                profile_.blocks->at(range.first).backward, range);
  }

  /// Calls one after the other on the compute stream, each of which needs what the one before
  /// brings forth.
  [[nodiscard]] static std::int64_t pass(const CallTimes& sum, const CallTimes& first,
                                         const CallTimes& last, Range range) {
    if (range.last - range.first < 2) return sum.path;
    const std::int64_t chain =
        first.until_out + (sum.through - first.through - last.through) + last.from_in;
    return std::max(sum.path, chain);
  }

  [[nodiscard]] std::int64_t before_in(int stage) const {
    std::int64_t out = 0;
    for (int c = 0; c < of_stage_; ++c) {
      const Range range = chunk(stage, c);
      if (range.first < range.last)
        out = std::max(out, profile_.blocks->at(range.first).forward.before_in());
    }
    return out;
  }

  [[nodiscard]] std::int64_t after_out(int stage) const {
    std::int64_t out = 0;
    for (int c = 0; c < of_stage_; ++c) {
      const Range range = chunk(stage, c);
      if (range.first < range.last)
        out = std::max(out, profile_.blocks->at(range.first).backward.after_out());
    }
    return out;
  }

  /// Of a pass of one microbatch: how long its message holds the compute stream.
  [[nodiscard]] std::int64_t send_of(int stage, int c, bool forward) const {
    const int from = static_cast<int>(place(stage, c)) - (forward ? 0 : 1);
    return sends_between(parallel_, from) ? held_by_send() : 0;
  }

  /// How long a message holds the compute stream of its sender.
  [[nodiscard]] std::int64_t held_by_send() const {
    const bool apart = parallel_.overlaps(Overlap::pp) || profile_.sends_apart;
    return apart ? 0 : profile_.message.sending.ps();
  }

  /// Gathers of weights in each microbatch, where they may not hide (ZeRO-3).
  [[nodiscard]] std::int64_t gathers(const PositionCosts& sum) const {
    if (parallel_.overlaps(Overlap::dp_parameters)) return 0;
    return (parallel_.reshard_after_forward ? 2 : 1) * gather(sum);
  }

  /// One gathering of a stage's weights.
  [[nodiscard]] std::int64_t gather(const PositionCosts& sum) const {
    return part(static_cast<double>(sum.dense.weights), shards_, profile_.dense_rate) +
           part(static_cast<double>(sum.experts.weights), least_expert_shards(),
                profile_.expert_rate);
  }

  /// One sum of a stage's gradients.
  [[nodiscard]] std::int64_t reduction(const PositionCosts& sum) const {
    const double widening =
        parallel_.has_wide_shards()
            ? static_cast<double>(bytes_per_element(parallel_.state.gradients)) /
                  static_cast<double>(bytes_per_element(parallel_.state.weights))
            : 1;
    const double dense = widening * static_cast<double>(sum.dense.gradients);
    const double experts = widening * static_cast<double>(sum.experts.gradients);
    // Of an all-reduce every rank sends its part at least once; of a reduce-scatter all but its
    // own.
    return part(dense, shards_, profile_.dense_rate) +
           part(experts, least_expert_shards(), profile_.expert_rate);
  }

  /// Shards of experts where shard_ranks cuts through them: one at least.
  [[nodiscard]] std::int64_t least_expert_shards() const {
    return parallel_.shard_ranks > 0 ? 1 : least_expert_replicas_;
  }

  [[nodiscard]] static std::int64_t part(double bytes, std::int64_t ranks, double rate) {
    if (ranks < 2) return 0;
    const auto n = static_cast<double>(ranks);
    return floor_ps(bytes * (n - 1) / n, rate);
  }

  /// After the last backward pass: what does not hide.
  [[nodiscard]] std::int64_t tail(const PositionCosts& sum) const {
    if (parallel_.exchange != GradientExchange::all_reduce) return 0;
    if (parallel_.updates_by_bucket()) return 0;
    std::int64_t out = 0;
    const bool hidden = parallel_.overlaps(Overlap::dp_gradients);
    if (!hidden && !parallel_.scatters_every_microbatch()) out += reduction(sum);
    const bool gathers = parallel_.zero == 1 || parallel_.zero == 2;
    if (gathers && !parallel_.overlaps(Overlap::dp_parameters)) out += gather(sum);
    if (parallel_.state.offload) return out + offloaded_update(sum);
    return out + sum.update / std::max<std::int64_t>(1, parallel_.zero > 0 ? shards_ : 1);
  }

  /// Gradients go to the host, all of them before its update, which reads and writes the states;
  /// then the weights come back.
  [[nodiscard]] std::int64_t offloaded_update(const PositionCosts& sum) const {
    const auto share = [this](std::int64_t bytes, std::int64_t shards) {
      return static_cast<double>(parallel_.zero > 0 ? bytes / std::max<std::int64_t>(1, shards)
                                                    : bytes);
    };
    const auto both = [&](auto member) {
      return share(sum.dense.*member, shards_) + share(sum.experts.*member, expert_replicas_);
    };
    const double weights = both(&StateBytes::weights);
    const double gradients = both(&StateBytes::gradients);
    const double touched = gradients + weights + 2 * both(&StateBytes::states);
    return floor_ps(gradients, host_.link) + floor_ps(touched, host_.memory) +
           floor_ps(weights, host_.link);
  }

  /// All traffic of data parallelism of a stage, hidden or not.
  [[nodiscard]] std::int64_t exchange(const PositionCosts& sum) const {
    if (parallel_.exchange != GradientExchange::all_reduce) return 0;
    const std::int64_t reductions = parallel_.scatters_every_microbatch() ? microbatches_ : 1;
    std::int64_t out = reductions * reduction(sum);
    if (parallel_.zero == 1 || parallel_.zero == 2) out = std::max(out, gather(sum));
    if (parallel_.zero == 3)
      out = std::max(out, (parallel_.reshard_after_forward ? 2 : 1) * microbatches_ * gather(sum));
    return out;
  }

  /// Optimizer states with those of the outer loop.
  [[nodiscard]] StateBytes on_device(StateBytes of) const {
    if (parallel_.state.offload) of.states = 0;
    if (parallel_.outer_degree() > 1)
      of.states += parallel_.outer_on_host ? of.outer / 2 : of.outer;
    return of;
  }

  [[nodiscard]] std::int64_t sharded(const StateBytes& of, std::int64_t shards) const {
    const std::int64_t n = std::max<std::int64_t>(1, shards);
    switch (parallel_.zero) {
      case 0:
        return of.weights + of.gradients + of.states;
      case 1:
        return of.weights + of.gradients + of.states / n;
      case 2:
        return of.weights + of.gradients / n + of.states / n;
      default:
        return (of.weights + of.gradients + of.states) / n;
    }
  }

  const ParallelConfig& parallel_;
  const PlacedProfile& profile_;
  const std::vector<StagePassCounts>* passes_;  // of each stage; none if no two go in turn
  HostSpeed host_;
  std::int64_t microbatches_;  // through each chunk
  int of_stage_;               // chunks
  std::vector<Range> chunks_;
  std::vector<PositionCosts> sums_;    // of each chunk
  std::vector<PositionCosts> stages_;  // of each stage
  std::int64_t replicas_ = 1;
  std::int64_t expert_replicas_ = 1;  // most
  std::int64_t least_expert_replicas_ = 1;
  std::int64_t shards_ = 1;
};

}  // namespace

LayoutBounds::LayoutBounds(const ModelConfig& model, const CostModel& cost,
                           OperationBounds& operations, std::shared_ptr<ProfileCache> cache)
    : operations_{operations}, profiles_{model, cost, operations, std::move(cache)} {}

const PlacedProfile& LayoutBounds::profile(const ParallelConfig& parallel) {
  const auto [found, is_new] = known_.try_emplace(placed_key(parallel));
  if (is_new) found->second = &profiles_.of(parallel);
  return *found->second;
}

const LayoutBounds::Passes& LayoutBounds::passes(const ParallelConfig& parallel) {
  fold::KeyBuilder key;
  key.add(static_cast<int>(parallel.schedule)).add(parallel.pp).add(parallel.vpp);
  key.add(parallel.microbatches()).add(parallel.microbatch_group);
  key.add(parallel.overlaps(Overlap::ep_pairs) ? 1 : 0);
  const auto [found, is_new] = passes_.try_emplace(key.key());
  if (is_new) found->second = passes_of_stages(parallel);
  return found->second;
}

LayoutBound LayoutBounds::of(const ParallelConfig& parallel, std::optional<Bytes> most_memory) {
  HostSpeed host;
  if (parallel.state.offload) {
    const KernelTimes::Host of = operations_.host_of(parallel.ranks());
    if (of.share) host.memory = of.share->bytes_per_second();
    if (of.link) host.link = of.link->bytes_per_second();
  }
  const bool pairs = parallel.ep > 1 && parallel.overlaps(Overlap::ep_pairs);
  const Layout layout{parallel, profile(parallel), pairs ? &passes(parallel) : nullptr, host};
  LayoutBound out{{}, memory(layout, parallel)};
  if (!most_memory || out.memory <= *most_memory) out.time = Duration::picoseconds(layout.time());
  return out;
}

template <class Layout>
Bytes LayoutBounds::memory(const Layout& layout, const ParallelConfig& parallel) {
  if (parallel.pp == 1) return Bytes{layout.states(0) + layout.chunk_sum(0, 0).kept};
  const Passes& passes = this->passes(parallel);
  std::int64_t most = 0;
  for (int stage = 0; stage < parallel.pp; ++stage) {
    std::int64_t bytes = layout.states(stage);
    const std::vector<int>& held = passes[static_cast<std::size_t>(stage)].held;
    for (int c = 0; c < chunks_of_stage(parallel.schedule, parallel.vpp); ++c)
      bytes += held[static_cast<std::size_t>(c)] * layout.chunk_sum(stage, c).kept;
    most = std::max(most, bytes);
  }
  return Bytes{most};
}

}  // namespace lockstep
