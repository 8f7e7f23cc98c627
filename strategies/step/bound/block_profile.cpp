#include "strategies/step/bound/block_profile.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "strategies/sharding/device_mesh.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {

namespace {

[[nodiscard]] bool splits_backward(const ParallelConfig& parallel) {
  return parallel.pp > 1 && parallel.schedule >= PipelineOrder::zb_h1;
}

/// Experts are dealt to ranks along dp and cp in the order of the ranks, and slots with a capacity
/// depend on how many ranks the tokens are cut among.
[[nodiscard]] bool needs_all_replicas(const ParallelConfig& parallel) {
  return parallel.ep > 1 || parallel.capacity_factor > 0;
}

void add_shapes(const ParallelConfig& parallel, fold::KeyBuilder& key) {
  key.add(parallel.tp).add(parallel.cp).add(parallel.ep).add(parallel.micro_batch);
  key.add(static_cast<int>(parallel.recompute)).add(parallel.sequence_parallel ? 1 : 0);
  key.add(static_cast<int>(parallel.precision)).add(static_cast<int>(parallel.cp_kind));
  key.add(parallel.ulysses).add(parallel.zigzag ? 1 : 0).add(splits_backward(parallel) ? 1 : 0);
  for (const Overlap what : {Overlap::tp, Overlap::cp, Overlap::ep})
    key.add(parallel.overlaps(what) ? 1 : 0);
  const StateConfig& state = parallel.state;
  key.add(static_cast<int>(state.weights)).add(static_cast<int>(state.gradients));
  key.add(state.master ? 1 : 0).add(static_cast<int>(state.optimizer));
  key.add(static_cast<int>(state.moments));
  key.add(std::int64_t{std::llround(parallel.capacity_factor * 1e6)});
  key.add(needs_all_replicas(parallel) ? parallel.dp : 0);
  if (needs_all_replicas(parallel))
    for (const std::string& axis : parallel.order) key.add(static_cast<int>(axis.front()));
  key.add(std::int64_t{std::llround(parallel.expert_skew.value_or(0) * 1e6)});
  const ModelForm& form = parallel.form;
  key.add(static_cast<int>(form.loss)).add(form.joined_gemms ? 1 : 0).add(form.stops_early ? 1 : 0);
  key.add(form.fp8_output_layer ? 1 : 0).add(form.fp8_casts.inputs_once ? 1 : 0);
  key.add(form.fp8_casts.weights_once ? 1 : 0);
}

[[nodiscard]] std::int64_t layers_of(const ModelConfig& model) {
  if (const auto* transformer = model.transformer()) return transformer->layers;
  if (const auto* mlp = std::get_if<MlpConfig>(&model.shape)) return mlp->layers;
  const auto& stages = std::get<ResNetConfig>(model.shape).stages;
  return std::accumulate(stages.begin(), stages.end(), std::int64_t{0});
}

[[nodiscard]] std::int64_t kv_heads_of(const ModelConfig& model) {
  return model.transformer() == nullptr ? 0 : model.transformer()->kv_heads;
}

/// The same shapes on as few ranks, stages and microbatches as have them.
[[nodiscard]] ParallelConfig smallest_alike(const ParallelConfig& parallel,
                                            const ModelConfig& model) {
  ParallelConfig out = parallel;
  out.pp = 1;
  out.vpp = 1;
  out.schedule = PipelineOrder::none;
  out.short_edges = false;
  out.stages.clear();
  out.zero = 0;
  out.shard_ranks = 0;
  out.scatter_gradients = true;
  out.state.offload = false;
  out.reshard_after_forward = true;
  out.prefetch = true;
  out.reduce_gradients = GradientReduction::last_microbatch;
  out.exchange = GradientExchange::all_reduce;
  out.update = UpdateStart::after_all;
  if (!needs_all_replicas(parallel)) out.dp = 1;
  if (splits_backward(parallel)) {
    out.pp = 2;
    out.schedule = PipelineOrder::zb_h1;
    const auto layers = static_cast<int>(layers_of(model));
    out.stages = {layers - 1, 1};
  }
  out.global_batch = out.micro_batch * out.dp;
  return out;
}

using TensorPlace = std::pair<TensorId, int>;

/// Bytes of activations that forward leaves at a position and backward reads there.
[[nodiscard]] std::int64_t kept_bytes(const Program& program, const BlockOfProgram& block) {
  std::set<TensorPlace> written;
  for (const Operation& operation : program.routines[block.forward].operations)
    for (const Ref& ref : operation.writes)
      if (!ref.position && !ref.microbatch) written.insert({ref.tensor, ref.further});
  if (block.input) written.insert({*block.input, 0});
  std::set<TensorPlace> kept;
  std::set<TensorPlace> anew;
  const auto look = [&](RoutineId routine) {
    for (const Operation& operation : program.routines[routine].operations) {
      for (const Ref& ref : operation.reads) {
        const TensorPlace place{ref.tensor, ref.further};
        if (ref.further == 0 && written.contains(place) && !anew.contains(place))
          kept.insert(place);
      }
      for (const Ref& ref : operation.writes) anew.insert({ref.tensor, ref.further});
    }
  };
  look(block.backward);
  if (block.weight_gradients) look(*block.weight_gradients);
  std::int64_t bytes = 0;
  for (const auto& [id, further] : kept) {
    const Tensor& tensor = program.tensors[id];
    const bool counts = tensor.category == Category::activation && !tensor.resident &&
                        !tensor.on_host && tensor.scope == Scope::microbatch;
    if (counts) bytes += local_bytes(program.mesh, tensor).count();
  }
  return bytes;
}

[[nodiscard]] std::int64_t ps_of(const TensorTime* time) {
  return time == nullptr ? 0 : time->time.ps();
}

/// Costs of the kinds of blocks.
class KindCosts {
 public:
  KindCosts(const ProgramOfBlocks& of, const CostModel& cost, CollectiveTime collective)
      : program_{of.program}, cost_{cost}, collective_{std::move(collective)} {}

  [[nodiscard]] PositionCosts costs(const BlockOfProgram& block) const {
    PositionCosts out;
    const RoutineBound forward = bound(block.forward);
    const RoutineBound backward = bound(block.backward);
    out.forward = call_times(block.forward, forward, place(block.input, 0), place(block.output, 1));
    out.backward = call_times(block.backward, backward, place(block.output_gradient, 1),
                              place(block.input_gradient, 0));
    out.host = (forward.host + backward.host).ps();
    if (block.weight_gradients) {
      const RoutineBound weights = bound(*block.weight_gradients);
      out.weight_gradients = weights.path.ps();
      out.host += weights.host.ps();
    }
    out.kept = kept_bytes(program_, block);
    add_states(block, out);
    return out;
  }

 private:
  [[nodiscard]] RoutineBound bound(RoutineId routine) const {
    return routine_bound(program_, program_.routines[routine], cost_, collective_);
  }

  [[nodiscard]] static std::optional<Ref> place(std::optional<TensorId> tensor, int further) {
    if (!tensor) return std::nullopt;
    return Ref{.tensor = *tensor, .further = further};
  }

  /// At the ends of the chain nothing comes in, or goes out: all of it counts from the begin, or to
  /// the end.
  [[nodiscard]] CallTimes call_times(RoutineId routine, const RoutineBound& bound,
                                     const std::optional<Ref>& in,
                                     const std::optional<Ref>& out) const {
    CallTimes times;
    times.path = bound.path.ps();
    times.until_out = out ? ps_of(bound.writes(out->tensor, out->further)) : times.path;
    times.from_in = in ? ps_of(bound.reads(in->tensor, in->further)) : times.path;
    times.through = in && out ? path_between(program_.routines[routine], bound, *in, *out).ps()
                              : std::min(times.until_out, times.from_in);
    return times;
  }

  static void add_states(const BlockOfProgram& block, PositionCosts& out) {
    for (const BlockWeight& weight : block.weights)
      (weight.of_experts ? out.experts : out.dense)
          .add({weight.weight_bytes, weight.gradient_bytes, weight.state_bytes}, 1);
  }

  const Program& program_;
  const CostModel& cost_;
  CollectiveTime collective_;
};

/// Kernel times of updates, by position.
[[nodiscard]] std::vector<std::int64_t> update_times(const ProgramOfBlocks& of,
                                                     const CostModel& cost) {
  std::vector<std::int64_t> out(of.chain.size());
  for (const Role& role : of.program.roles) {
    for (const Call& call : role.calls) {
      const Routine& routine = of.program.routines[call.routine];
      const auto is_update = [](const Operation& each) {
        return each.kind == OperationKind::update;
      };
      if (std::none_of(routine.operations.begin(), routine.operations.end(), is_update)) continue;
      const std::vector<Duration> times = OperationBounds::kernels(of.program, routine, cost);
      for (std::size_t i = 0; i < times.size(); ++i) {
        if (!is_update(routine.operations[i])) continue;
        const auto position = static_cast<std::size_t>(
            routine.operations[i].writes.front().position.value_or(call.position));
        out[position] += times[i].ps();
      }
    }
  }
  return out;
}

/// The groups of one rank of the real mesh, by the names of axes.
class Groups {
 public:
  Groups(const Mesh& mesh, int rank) : mesh_{mesh}, rank_{rank} {}

  /// Empty where the real mesh has no such axis.
  [[nodiscard]] std::vector<int> members(const std::string& axis) const {
    const MeshSubAxes atoms = mesh_.axis(axis);
    return atoms.empty() ? std::vector<int>{} : mesh_.members(rank_, atoms);
  }

 private:
  const Mesh& mesh_;
  int rank_;
};

/// The least over stages of a message's bound to the next.
[[nodiscard]] MessageBound between_stages(const Mesh& mesh, Bytes size,
                                          OperationBounds& operations) {
  const MeshSubAxes pp = mesh.axis("pp");
  const int stages = mesh.size(pp);
  std::optional<MessageBound> least;
  for (int stage = 0; stage + 1 < stages; ++stage) {
    const int from = mesh.moved(0, pp, stage);
    const int to = mesh.moved(0, pp, stage + 1);
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

void CallTimes::add(const CallTimes& other, std::int64_t times) {
  path += other.path * times;
  through += other.through * times;
  until_out += other.until_out * times;
  from_in += other.from_in * times;
}

void PositionCosts::add(const PositionCosts& other, std::int64_t times) {
  forward.add(other.forward, times);
  backward.add(other.backward, times);
  weight_gradients += other.weight_gradients * times;
  host += other.host * times;
  update += other.update * times;
  kept += other.kept * times;
  dense.add(other.dense, times);
  experts.add(other.experts, times);
}

PositionCosts BlockCosts::sum(std::size_t first, std::size_t last) const {
  PositionCosts out;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const std::int64_t times = before[kind][last] - before[kind][first];
    if (times > 0) out.add(kinds[kind], times);
  }
  return out;
}

fold::Key shape_key(const ParallelConfig& parallel) {
  fold::KeyBuilder key;
  add_shapes(parallel, key);
  return key.key();
}

fold::Key placed_key(const ParallelConfig& parallel) {
  fold::KeyBuilder key;
  add_shapes(parallel, key);
  key.add(parallel.dp).add(parallel.pp);
  for (const std::string& axis : parallel.order) key.add(static_cast<int>(axis.front()));
  return key.key();
}

const PlacedProfile& BlockProfiles::of(const ParallelConfig& parallel) {
  const auto [found, is_new] = placed_.try_emplace(placed_key(parallel));
  if (is_new) found->second = make(parallel);
  return found->second;
}

double BlockProfiles::rate_of(const std::vector<int>& members) {
  constexpr std::size_t kMostMembers = 256;
  if (members.size() < 2 || members.size() > kMostMembers) return 0;
  const auto [found, is_new] = rates_.try_emplace(operations_.key_of(members));
  if (is_new) found->second = operations_.most_leaving(members);
  return found->second;
}

BlockCosts BlockProfiles::costs_of(const ParallelConfig& parallel, const Mesh& mesh) {
  const int per_node = cluster().gpus_per_node();
  const ProgramOfBlocks of = build_blocks(model_, smallest_alike(parallel, model_), per_node);
  const Groups groups{mesh, 0};
  const auto collective = [&](const Operation& operation) -> Duration {
    const Communication& how = *operation.communication;
    if (how.host) return {};
    const std::vector<int> members = groups.members(of.program.mesh.name(how.over));
    if (members.size() != static_cast<std::size_t>(of.program.mesh.size(how.over))) return {};
    return operations_.collective(of.program, operation, members);
  };
  const KindCosts kinds{of, cost_, collective};
  const std::vector<std::int64_t> updates = update_times(of, cost_);
  BlockCosts out;
  out.chain = of.chain;
  for (const BlockOfProgram& block : of.blocks) out.kinds.push_back(kinds.costs(block));
  out.before.resize(of.blocks.size());
  for (auto& counts : out.before) counts.push_back(0);
  for (std::size_t i = 0; i < of.chain.size(); ++i) {
    const auto kind = static_cast<std::size_t>(of.chain[i]);
    // Of equal blocks the updates are equal, but for what two of them share.
    std::int64_t& update = out.kinds[kind].update;
    update = out.before[kind].back() == 0 ? updates[i] : std::min(update, updates[i]);
    for (std::size_t k = 0; k < out.before.size(); ++k)
      out.before[k].push_back(out.before[k].back() + (k == kind ? 1 : 0));
  }
  const BlockOfProgram& last = of.blocks[static_cast<std::size_t>(of.chain.back())];
  for (const BlockWeight& weight : last.weights)
    if (weight.tied)
      out.tied.add({weight.weight_bytes, weight.gradient_bytes, weight.state_bytes}, 1);
  if (last.input)
    out.residual = local_bytes(of.program.mesh, of.program.tensors[*last.input]).count();
  return out;
}

PlacedProfile BlockProfiles::make(const ParallelConfig& parallel) {
  const Mesh mesh = device_mesh(parallel, kv_heads_of(model_), cluster().gpus_per_node());
  const Groups groups{mesh, 0};
  fold::KeyBuilder key;
  key.add(shape_key(parallel));
  for (const char* axis : {"tp", "cp", "ulysses", "ring", "ep"}) {
    const std::vector<int> members = groups.members(axis);
    if (!members.empty()) key.add(operations_.key_of(members));
  }
  const auto [found, is_new] = blocks_.try_emplace(key.key());
  if (is_new) found->second = std::make_shared<const BlockCosts>(costs_of(parallel, mesh));
  PlacedProfile out;
  out.blocks = found->second;
  if (parallel.pp > 1) {
    // Without sequence parallelism ranks along tp send a part each.
    const std::int64_t parts = parallel.sequence_parallel ? 1 : parallel.tp;
    out.message = between_stages(mesh, Bytes{out.blocks->residual / parts}, operations_);
  }
  out.dense_rate = rate_of(groups.members("dp_cp"));
  out.expert_rate = parallel.ep > 1 ? rate_of(groups.members("edp")) : out.dense_rate;
  return out;
}

}  // namespace lockstep
