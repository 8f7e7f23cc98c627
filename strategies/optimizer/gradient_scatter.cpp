#include <algorithm>

#include "strategies/optimizer/gradient_parts.hpp"

namespace lockstep {

namespace {

class Scatters {
 public:
  Scatters(TrainingStepAssembly& step, StageScript& stage) : step_{step}, stage_{stage} {
    for (const auto& [position, after] : finished_positions(stage)) last_[position] = after;
  }

  void run() {
    for (std::size_t i = 0; i < stage_.calls.size(); ++i) {
      const ScriptCall& call = stage_.calls[i];
      const auto last = last_.find(call.call.position);
      if (last == last_.end() || stage_.calls[last->second].work != call.work) continue;
      const bool is_last = last->second == i;
      if (is_last || step_.parallel.scatters_every_microbatch()) add(call.call, i, is_last);
    }
    insert(stage_, insertions_);
  }

 private:
  void add(const Call& call, std::size_t index, bool is_last) {
    Routine out{"scatter_gradients", {}};
    for (const auto& [over, weights] :
         grouped(scattered_at(call.position), &TrainedWeight::shard)) {
      const auto [summed_later, summed_now] = by_sum(weights);
      for (const auto* some : {&summed_later, &summed_now}) {
        if (over.empty() || some->empty()) continue;
        cast(*some, call.position, out);
        out.operations.push_back(scatter(over, *some, call.position));
      }
      sum_replicas(summed_now, call.position, out);
      if (is_last) sum_replicas(finished(summed_later, call.position), call.position, out);
    }
    if (out.operations.empty()) return;
    const RoutineId routine = step_.program.add(std::move(out));
    insertions_.emplace(place(call.position, index),
                        ScriptCall{CallWork::other, {routine, call.position, call.microbatch}});
  }

  /// Of two chunks on a stage of a bidirectional pipeline each has its own microbatches, whose
  /// gradients of a shared weight come with its first position in that chunk.
  [[nodiscard]] std::vector<TrainedWeight> scattered_at(int position) const {
    if (step_.parallel.stage_copies() == 1 || !step_.parallel.scatters_every_microbatch())
      return step_.trained_at(position);
    std::vector<TrainedWeight> out = step_.weights_at(position);
    std::erase_if(out, [&](const TrainedWeight& one) {
      const SharedWeight* shared = step_.graph.shared_weight(one.weight);
      return shared != nullptr && comes_earlier(*shared, position);
    });
    return out;
  }

  [[nodiscard]] bool comes_earlier(const SharedWeight& shared, int position) const {
    const int first = chunk_of(position)->first;
    return std::any_of(shared.positions.begin(), shared.positions.end(),
                       [&](int other) { return first <= other && other < position; });
  }

  /// First those that are added up as they are reduced into shards, then those of which every
  /// microbatch is summed over replicas before (PyTorch _fsdp_collectives.py, foreach_reduce).
  [[nodiscard]] static std::pair<std::vector<TrainedWeight>, std::vector<TrainedWeight>> by_sum(
      const std::vector<TrainedWeight>& weights) {
    std::pair<std::vector<TrainedWeight>, std::vector<TrainedWeight>> out;
    for (const TrainedWeight& weight : weights)
      (weight.scattered == weight.summed ? out.first : out.second).push_back(weight);
    return out;
  }

  /// Those whose last gradient comes with this position.
  [[nodiscard]] std::vector<TrainedWeight> finished(std::vector<TrainedWeight> weights,
                                                    int position) const {
    const std::vector<TrainedWeight> trained = step_.trained_at(position);
    std::erase_if(weights, [&](const TrainedWeight& one) {
      return std::none_of(trained.begin(), trained.end(),
                          [&](const TrainedWeight& other) { return other.weight == one.weight; });
    });
    return weights;
  }

  /// Into the buffer that is reduced (PyTorch _fsdp_collectives.py, reduce_scatter_copy_in).
  void cast(const std::vector<TrainedWeight>& weights, int position, Routine& out) const {
    Operation copy;
    copy.kind = OperationKind::cast;
    copy.name = "cast_gradients";
    copy.purpose = Purpose::backward;
    for (const TrainedWeight& weight : weights) {
      if (weight.reduced == weight.gradient) continue;
      copy.reads.push_back(step_.at(weight.gradient, weight, position));
      copy.writes.push_back(step_.at(weight.reduced, weight, position));
    }
    if (!copy.reads.empty()) out.operations.push_back(std::move(copy));
  }

  [[nodiscard]] Operation scatter(const MeshSubAxes& over,
                                  const std::vector<TrainedWeight>& weights, int position) const {
    Operation sum = collective_of(step_, Collective::reduce_scatter, over, "scatter_gradients");
    sum.stream = stream_of(step_, "dp", step_.parallel.overlaps(Overlap::dp_gradients));
    sum.accumulate = weights.front().scattered == weights.front().summed;
    for (const TrainedWeight& weight : weights) {
      sum.reads.push_back(step_.at(weight.reduced, weight, position));
      sum.writes.push_back(step_.at(weight.scattered, weight, position));
    }
    return sum;
  }

  /// Shards of several replicas (hybrid sharding), and weights whose replicas all lie beyond the
  /// shards, such as those of experts that are cut along them: their gradients are whole.
  void sum_replicas(const std::vector<TrainedWeight>& weights, int position, Routine& out) const {
    for (const auto& [replicate, some] : grouped(weights, &TrainedWeight::replicate)) {
      if (replicate.empty()) continue;
      std::vector<PlacedGradient> placed;
      for (const TrainedWeight& weight : some) placed.push_back({weight, position});
      const Overlap what = some.front().shard.empty() ? Overlap::dp_gradients : Overlap::hsdp;
      out.operations.push_back(sum_of_replicas(step_, placed, step_.parallel.overlaps(what)));
    }
  }

  /// The call after which a position's gradients are exchanged. Once a step under a pipeline: those
  /// of a whole chunk when it is done with backward (PyTorch distributed/pipelining/schedules.py,
  /// _add_reduce_grad; Megatron-Core pipeline_parallel/schedules.py, grad_sync_func), or of all at
  /// the end where nothing may hide. Else block by block, so that few whole ones are held.
  [[nodiscard]] std::size_t place(int position, std::size_t index) const {
    if (step_.parallel.pp == 1 || step_.parallel.scatters_every_microbatch()) return index;
    if (!step_.parallel.overlaps(Overlap::dp_gradients)) return stage_.calls.size() - 1;
    return end_of_chunk(position);
  }

  [[nodiscard]] std::vector<std::pair<int, int>>::const_iterator chunk_of(int position) const {
    return std::find_if(step_.chunks.begin(), step_.chunks.end(), [&](const auto& positions) {
      return positions.first <= position && position < positions.second;
    });
  }

  [[nodiscard]] std::size_t end_of_chunk(int position) const {
    const auto chunk = chunk_of(position);
    std::size_t out = 0;
    for (auto it = last_.lower_bound(chunk->first); it != last_.lower_bound(chunk->second); ++it)
      out = std::max(out, it->second);
    return out;
  }

  TrainingStepAssembly& step_;
  StageScript& stage_;
  std::map<int, std::size_t> last_;  // by position: the call that is done with it for good
  Insertions insertions_;
};

}  // namespace

void scatter_gradients(TrainingStepAssembly& step, StageScript& stage) {
  Scatters{step, stage}.run();
}

}  // namespace lockstep
