#include "strategies/step/bound/block_profile.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "strategies/pipeline/pipeline_order.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

[[nodiscard]] std::int64_t kv_heads_of(const ModelConfig& model) {
  return model.transformer() == nullptr ? 0 : model.transformer()->kv_heads;
}

/// The groups of one rank of each stage of the real mesh, by the names of axes: groups of other
/// stages may have faster links between them.
class Groups {
 public:
  explicit Groups(const Mesh& mesh) : mesh_{mesh} {
    const MeshSubAxes pp = mesh.axis("pp");
    const int stages = pp.empty() ? 1 : mesh.size(pp);
    for (int stage = 0; stage < stages; ++stage)
      ranks_.push_back(stage == 0 ? 0 : mesh.moved(0, pp, stage));
  }

  /// None where the real mesh has no such axis; those that sit alike once.
  [[nodiscard]] std::vector<std::vector<int>> members(const std::string& axis,
                                                      const OperationBounds& operations) const {
    return members(mesh_.axis(axis), operations);
  }
  [[nodiscard]] std::vector<std::vector<int>> members(const MeshSubAxes& atoms,
                                                      const OperationBounds& operations) const {
    std::vector<std::vector<int>> out;
    if (atoms.empty()) return out;
    std::set<fold::Key> seen;
    for (const int rank : ranks_) {
      std::vector<int> group = mesh_.members(rank, atoms);
      if (seen.insert(operations.key_of(group)).second) out.push_back(std::move(group));
    }
    return out;
  }

 private:
  const Mesh& mesh_;
  std::vector<int> ranks_;
};

/// The least over stages of a message's bound to the next.
[[nodiscard]] MessageBound between_stages(const Mesh& mesh, PipelineOrder schedule, Bytes size,
                                          OperationBounds& operations) {
  const MeshSubAxes pp = mesh.axis("pp");
  const int stages = mesh.size(pp);
  std::optional<MessageBound> least;
  for (int stage = 0; stage + 1 < stages; ++stage) {
    const int from = mesh.moved(0, pp, place_of_stage(schedule, stages, stage));
    const int to = mesh.moved(0, pp, place_of_stage(schedule, stages, stage + 1));
    for (const auto& [a, b] : {std::pair{from, to}, std::pair{to, from}}) {
      const MessageBound time = operations.message(a, b, size);
      if (!least) least = time;
      least->sending = std::min(least->sending, time.sending);
      least->latency = std::min(least->latency, time.latency);
    }
  }
  return least.value_or(MessageBound{});
}

}  // namespace

PositionCosts BlockCosts::sum(std::size_t first, std::size_t last) const {
  PositionCosts out;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const std::int64_t times = before[kind][last] - before[kind][first];
    if (times > 0) out.add(kinds[kind], times);
  }
  return out;
}

fold::Key placed_key(const ParallelConfig& parallel) {
  fold::KeyBuilder key;
  key.add(shape_key(parallel)).add(parallel.dp).add(parallel.pp).add(parallel.stage_copies());
  for (const std::string& axis : parallel.order) key.add(static_cast<int>(axis.front()));
  return key.key();
}

const PlacedProfile& BlockProfiles::of(const ParallelConfig& parallel) {
  return cache_->placed.of(placed_key(parallel), [&] { return make(parallel); });
}

double BlockProfiles::rate_of(const std::vector<int>& members) {
  constexpr std::size_t kMostMembers = 256;
  if (members.size() < 2 || members.size() > kMostMembers) return 0;
  return cache_->rates.of(operations_.key_of(members),
                          [&] { return operations_.most_leaving(members); });
}

BlockCosts BlockProfiles::costs_of(const BlockShapes& shapes, const Mesh& mesh) {
  const Groups groups{mesh};
  const auto times = [&](const ShapedCall& call) {
    std::vector<std::int64_t> out = call.times;
    for (const ShapedCollective& each : call.collectives) {
      std::optional<std::int64_t> least;
      for (const std::vector<int>& members : groups.members(each.axis, operations_)) {
        const bool whole = members.size() == static_cast<std::size_t>(each.ranks);
        const std::int64_t time =
            whole ? operations_.collective(each.how, each.message, members, each.skew).ps() : 0;
        least = std::min(least.value_or(time), time);
      }
      out[each.operation] = least.value_or(0);
    }
    return call.chain.times(out);
  };
  BlockCosts out;
  for (const ShapedBlock& block : shapes.kinds) {
    PositionCosts costs = block.fixed;
    costs.forward = times(block.forward);
    costs.backward = times(block.backward);
    if (block.weight_gradients) costs.weight_gradients = times(*block.weight_gradients).path;
    out.kinds.push_back(costs);
  }
  out.chain = shapes.chain;
  out.before.resize(shapes.kinds.size(), {0});
  for (const int kind : shapes.chain)
    for (std::size_t k = 0; k < out.before.size(); ++k)
      out.before[k].push_back(out.before[k].back() + (static_cast<int>(k) == kind ? 1 : 0));
  out.between_stacks = shapes.between_stacks;
  out.tied = shapes.tied;
  out.residual = shapes.residual;
  return out;
}

double BlockProfiles::rate_of(const std::vector<std::vector<int>>& groups) {
  double most = 0;
  for (const std::vector<int>& members : groups) {
    const double rate = rate_of(members);
    if (rate == 0) return 0;
    most = std::max(most, rate);
  }
  return most;
}

PlacedProfile BlockProfiles::make(const ParallelConfig& parallel) {
  const int per_node = operations_.cluster().gpus_per_node();
  const Mesh mesh = device_mesh(parallel, kv_heads_of(model_), per_node);
  const Groups groups{mesh};
  fold::KeyBuilder key;
  const fold::Key shape = shape_key(parallel);
  key.add(shape);
  for (const char* axis : {"tp", "cp", "ulysses", "ring", "ep"}) {
    const std::vector<std::vector<int>> all = groups.members(axis, operations_);
    // Else a group of one axis could count as one of the next.
    key.add(static_cast<std::uint64_t>(all.size()));
    for (const std::vector<int>& members : all) key.add(operations_.key_of(members));
  }
  PlacedProfile out;
  out.blocks = cache_->blocks.of(key.key(), [&] {
    const BlockShapes& shapes =
        cache_->shapes.of(shape, [&] { return block_shapes(model_, parallel, per_node, cost_); });
    return std::make_shared<const BlockCosts>(costs_of(shapes, mesh));
  });
  if (parallel.pp > 1) {
    // Without sequence parallelism ranks along tp send a part each.
    const std::int64_t parts = parallel.sequence_parallel ? 1 : parallel.tp;
    out.message =
        between_stages(mesh, parallel.schedule, Bytes{out.blocks->residual / parts}, operations_);
  }
  out.sends_apart = model_.transformer() != nullptr && shares_activation(*model_.transformer());
  const auto replicas = [&](const char* axis) {
    return groups.members(joined(mesh.axis("copies"), mesh.axis(axis)), operations_);
  };
  out.dense_rate = rate_of(replicas("dp_cp"));
  out.expert_rate = parallel.ep > 1 ? rate_of(replicas("edp")) : out.dense_rate;
  return out;
}

}  // namespace lockstep
