#include "strategies/optimizer/gradient_parts.hpp"

namespace lockstep {

void insert(StageScript& stage, const Insertions& insertions) {
  std::vector<ScriptCall> out;
  for (std::size_t i = 0; i < stage.calls.size(); ++i) {
    out.push_back(stage.calls[i]);
    const auto [first, last] = insertions.equal_range(i);
    for (auto it = first; it != last; ++it) out.push_back(it->second);
  }
  stage.calls = std::move(out);
}

Operation sum_of_replicas(TrainingStepAssembly& step, const std::vector<PlacedGradient>& gradients,
                          bool hides) {
  const TrainedWeight& first = gradients.front().weight;
  Operation sum =
      collective_of(step, Collective::all_reduce, first.replicate, "reduce_over_replicas");
  std::string& group = sum.communication->group;
  if (!first.shard.empty()) group = "hsdp";
  sum.stream = stream_of(step, group, hides);
  sum.accumulate = first.scattered != first.summed;
  for (const auto& [weight, position] : gradients) {
    sum.reads.push_back(step.at(weight.scattered, weight, position));
    sum.writes.push_back(step.at(weight.summed, weight, position));
  }
  return sum;
}

}  // namespace lockstep
