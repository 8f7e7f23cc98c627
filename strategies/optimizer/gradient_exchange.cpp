#include <algorithm>
#include <map>
#include <set>

#include "strategies/layout/passes.hpp"
#include "strategies/optimizer/gradient_parts.hpp"
#include "strategies/sharding/placement.hpp"
#include "strategies/sharding/redistribute.hpp"

namespace lockstep {

namespace {

/// ZeRO-0 and -1: buckets of gradients, filled in the order in which backward is done with them.
class Buckets {
 public:
  Buckets(TrainingStepAssembly& step, std::size_t stage)
      : step_{step}, stage_{step.stages[stage]}, number_{stage}, end_{stage_.calls.size() - 1} {}

  void run() {
    const bool checks = step_.parallel.passes_over_gradients(GradientPass::check);
    for (const auto& [position, after] : finished_positions(stage_)) {
      const std::size_t chunk = chunk_of(position);
      last_[chunk] = after;
      for (const TrainedWeight& weight : step_.trained_at(position)) {
        if (!weight.over.empty() || checks) add({weight, position}, chunk, after);
      }
    }
    for (auto& [key, bucket] : open_) {
      if (is_whole(key.first)) bucket.after = aligned(last_.at(key.first));
      flush(bucket);
    }
    insert(stage_, insertions_);
  }

 private:
  struct Bucket {
    std::vector<PlacedGradient> gradients{};
    std::int64_t bytes = 0;
    std::size_t after = 0;
    bool first = true;
  };

  /// The chunk whose buckets are its own; 0 where those of all are one series.
  [[nodiscard]] std::size_t chunk_of(int position) const {
    if (!step_.parallel.bucket_form.whole_chunks) return 0;
    std::size_t out = 0;
    while (step_.chunks[out].second <= position) ++out;
    return out;
  }

  /// Megatron-Core distributed/distributed_data_parallel.py: only the first chunk of the first
  /// stage has several buckets.
  [[nodiscard]] bool is_whole(std::size_t chunk) const {
    return step_.parallel.bucket_form.whole_chunks && step_.parallel.pp > 1 && chunk > 0;
  }

  [[nodiscard]] bool is_full(const Bucket& bucket, std::size_t chunk) const {
    const BucketForm& form = step_.parallel.bucket_form;
    const bool overlaps = step_.parallel.overlaps(Overlap::dp_gradients);
    if (is_whole(chunk) || (form.whole_without_overlap && !overlaps)) return false;
    const Bytes size =
        bucket.first ? form.first.value_or(step_.parallel.bucket) : step_.parallel.bucket;
    return bucket.bytes >= size.count();
  }

  /// A call as many microbatches later as the stage's number, so that a chunk's sum begins on all
  /// stages together (Megatron-Core pipeline_parallel/schedules.py, grad_sync_func of the
  /// interleaved schedule).
  [[nodiscard]] std::size_t aligned(std::size_t after) const {
    std::size_t left = step_.parallel.vpp > 1 ? number_ : 0;
    for (std::size_t i = after + 1; left > 0 && i <= end_; ++i) {
      const ScriptCall& call = stage_.calls[i];
      const bool ends_chunk =
          call.work == CallWork::backward &&
          std::any_of(step_.chunks.begin(), step_.chunks.end(),
                      [&call](const auto& chunk) { return chunk.first == call.call.position; });
      if (ends_chunk && --left == 0) return i;
    }
    return left > 0 ? end_ : after;
  }

  void add(PlacedGradient gradient, std::size_t chunk, std::size_t after) {
    Bucket& bucket = open_[{chunk, gradient.weight.over}];
    bucket.bytes +=
        local_bytes(step_.program.mesh, step_.graph.tensors[gradient.weight.gradient]).count();
    bucket.after = after;
    bucket.gradients.push_back(std::move(gradient));
    if (is_full(bucket, chunk)) flush(bucket);
  }

  void flush(Bucket& bucket) {
    if (bucket.gradients.empty()) return;
    const bool overlaps = step_.parallel.overlaps(Overlap::dp_gradients);
    const RoutineId routine = step_.program.add(reduction(bucket.gradients));
    insertions_.emplace(overlaps ? bucket.after : end_,
                        ScriptCall{CallWork::other, {routine, 0, 0}});
    bucket = {};
    bucket.first = false;
  }

  [[nodiscard]] Routine reduction(const std::vector<PlacedGradient>& gradients) const {
    const TrainedWeight& first = gradients.front().weight;
    Routine out{first.over.empty() ? "check_gradients" : "reduce_gradients",
                passes_before_sum(step_, gradients)};
    if (first.over.empty()) return out;
    const bool sharded = first.summed != first.gradient;
    Operation sum =
        collective_of(step_, sharded ? Collective::reduce_scatter : Collective::all_reduce,
                      sharded ? first.shard : first.over, "reduce_gradients");
    sum.stream = stream_of(step_, "dp", hides(Overlap::dp_gradients));
    if (!step_.parallel.overlaps(Overlap::dp_gradients)) sum.ahead = 0;
    for (const auto& [weight, position] : gradients) {
      sum.reads.push_back(step_.at(weight.gradient, weight, position));
      sum.writes.push_back(step_.at(weight.summed, weight, position));
    }
    out.operations.push_back(std::move(sum));
    if (sharded && !first.replicate.empty()) {
      out.operations.push_back(sum_of_replicas(step_, gradients, hides(Overlap::hsdp)));
    }
    return out;
  }

  [[nodiscard]] bool hides(Overlap what) const {
    return step_.parallel.overlaps(what) || step_.parallel.updates_by_bucket();
  }

  TrainingStepAssembly& step_;
  StageScript& stage_;
  std::size_t number_;
  std::size_t end_;  // the last call
  std::map<std::pair<std::size_t, MeshSubAxes>, Bucket> open_;
  std::map<std::size_t, std::size_t> last_;  // by chunk: the call that is done with it
  Insertions insertions_;
};

/// Every weight that a stage trains, with its place.
[[nodiscard]] std::vector<PlacedGradient> all_of(const TrainingStepAssembly& step,
                                                 const StageScript& stage) {
  std::vector<PlacedGradient> out;
  for (const auto& [position, after] : finished_positions(stage)) {
    for (TrainedWeight& weight : step.trained_at(position)) {
      out.push_back({std::move(weight), position});
    }
  }
  return out;
}

/// One in-place all-reduce per set of atoms, of the summed gradients that have one.
void sum_over(TrainingStepAssembly& step, StageScript& stage, MeshSubAxes TrainedWeight::*by,
              const char* name) {
  std::map<MeshSubAxes, Operation> sums;
  for (const auto& [weight, position] : all_of(step, stage)) {
    const MeshSubAxes& over = weight.*by;
    if (over.empty()) continue;
    auto found = sums.find(over);
    if (found == sums.end()) {
      found = sums.emplace(over, collective_of(step, Collective::all_reduce, over, name)).first;
    }
    const Ref ref = step.at(weight.summed, weight, position);
    found->second.reads.push_back(ref);
    found->second.writes.push_back(ref);
  }
  for (auto& [over, sum] : sums) {
    sum.after_all = !step.parallel.updates_by_bucket();
    const RoutineId routine = step.program.add(Routine{name, {std::move(sum)}});
    stage.calls.push_back({CallWork::other, {routine, 0, 0}});
  }
}

/// Stages that read a weight, the first of two copies of one.
[[nodiscard]] std::set<int> stages_of(const TrainingStepAssembly& step,
                                      const SharedWeight& shared) {
  std::set<int> out;
  for (const int position : shared.positions) out.insert(step.stage_of(position));
  return out;
}

[[nodiscard]] Operation sum_over_stages(TrainingStepAssembly& step, const std::set<int>& stages,
                                        const Ref& gradient) {
  const Mesh& mesh = step.program.mesh;
  Operation out =
      collective_of(step, Collective::all_reduce, without(mesh.axis("pp"), mesh.axis("copies")),
                    "reduce_tied_gradients");
  out.communication->participants.assign(stages.begin(), stages.end());
  out.communication->group = "embedding";
  out.stream = stream_of(step, "embedding", step.parallel.updates_by_bucket());
  out.after_all = !step.parallel.updates_by_bucket();
  out.reads = {gradient};
  out.writes = {gradient};
  return out;
}

/// Every stage that reads a weight of another position has a copy: the last one that of tied
/// embeddings (NeMo's and Megatron-LM's embedding group), all stages of an encoder or of a decoder
/// that of its table of relative positions (NeMo, megatron_base_model.py,
/// allreduce_..._relative_position_embeddings).
void sum_shared(TrainingStepAssembly& step) {
  for (const SharedWeight& shared : step.graph.shared_weights) {
    const std::set<int> stages = stages_of(step, shared);
    if (stages.size() < 2) continue;
    for (StageScript& stage : step.stages) {
      for (const auto& [weight, position] : all_of(step, stage)) {
        if (weight.weight != shared.weight) continue;
        Operation sum = sum_over_stages(step, stages, step.at(weight.summed, weight, position));
        const RoutineId routine =
            step.program.add(Routine{"reduce_tied_gradients", {std::move(sum)}});
        stage.calls.push_back({CallWork::other, {routine, 0, 0}});
      }
    }
  }
}

}  // namespace

std::vector<std::pair<int, std::size_t>> finished_positions(const StageScript& stage) {
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < stage.calls.size(); ++i) {
    const ScriptCall& call = stage.calls[i];
    if (call.work == CallWork::backward || call.work == CallWork::weight_gradient) {
      last[call.call.position] = i;
    }
  }
  std::vector<std::pair<int, std::size_t>> out{last.begin(), last.end()};
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  return out;
}

std::vector<std::pair<MeshSubAxes, std::vector<TrainedWeight>>> grouped(
    const std::vector<TrainedWeight>& weights, MeshSubAxes TrainedWeight::*by) {
  std::vector<std::pair<MeshSubAxes, std::vector<TrainedWeight>>> out;
  for (const TrainedWeight& weight : weights) {
    const auto found = std::find_if(out.begin(), out.end(),
                                    [&](const auto& group) { return group.first == weight.*by; });
    if (found == out.end()) {
      out.emplace_back(weight.*by, std::vector<TrainedWeight>{weight});
    } else {
      found->second.push_back(weight);
    }
  }
  return out;
}

Operation collective_of(const TrainingStepAssembly& step, Collective collective,
                        const MeshSubAxes& over, std::string name) {
  Operation out;
  out.kind = OperationKind::collective;
  out.name = std::move(name);
  out.purpose = Purpose::communication;
  Communication how;
  how.collective = collective;
  how.over = over;
  const std::string group = group_of(step.program.mesh, over);
  // Replicas of weights, all of them; of pp the copies of a stage.
  how.group = group == "cp" || group == "pp" ? "dp" : group;
  out.communication = std::move(how);
  return out;
}

void exchange_gradients(TrainingStepAssembly& step) {
  for (std::size_t stage = 0; stage < step.stages.size(); ++stage) {
    if (step.parallel.zero < 2) {
      Buckets{step, stage}.run();
    } else {
      scatter_gradients(step, step.stages[stage]);
    }
  }
}

void finish_gradients(TrainingStepAssembly& step) {
  for (StageScript& stage : step.stages) {
    sum_over(step, stage, &TrainedWeight::within, "reduce_within_tp");
  }
  sum_shared(step);
}

}  // namespace lockstep
