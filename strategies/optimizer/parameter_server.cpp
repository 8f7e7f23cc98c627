#include <algorithm>
#include <map>

#include "strategies/layout/passes.hpp"
#include "strategies/sharding/redistribute.hpp"

namespace lockstep {

namespace {

/// Hosts that sum gradients: servers, which also update and send weights, or an averaging host,
/// which sends the sum back.
class Hosts {
 public:
  Hosts(TrainingStepAssembly& step, int count, const std::string& name)
      : step_{step},
        over_{step.program.mesh.axis("dp")},
        bytes_(static_cast<std::size_t>(count)),
        answers_(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i) {
      Role role;
      role.name = count == 1 ? name : name + " " + std::to_string(i);
      role.host = true;
      roles_.push_back(step.program.roles.size());
      step.program.roles.push_back(std::move(role));
    }
  }

  /// Every position's gradients go to the host that has least to do so far.
  void run(bool updates) {
    StageScript& stage = step_.stages.front();
    const bool overlaps = step_.parallel.overlaps(Overlap::dp_gradients);
    std::multimap<std::size_t, ScriptCall> insertions;
    std::vector<ScriptCall> answers;
    for (const auto& [position, after] : finished_positions(stage)) {
      const std::vector<TrainedWeight> weights = step_.trained_at(position);
      if (weights.empty()) continue;
      const int host = least_loaded(weights);
      insertions.emplace(overlaps ? after : stage.calls.size() - 1,
                         worker(push(weights, position, host)));
      serve(host, weights, position, updates);
      answers.push_back(worker(answer(weights, position, host, updates)));
    }
    insert(stage, insertions, answers);
    // As workers do: everything is pushed before anything is pulled.
    for (std::size_t host = 0; host < answers_.size(); ++host) {
      for (const RoutineId routine : answers_[host]) call(host, routine);
    }
  }

 private:
  void insert(StageScript& stage, const std::multimap<std::size_t, ScriptCall>& pushes,
              const std::vector<ScriptCall>& answers) const {
    std::vector<ScriptCall> out;
    for (std::size_t i = 0; i < stage.calls.size(); ++i) {
      out.push_back(stage.calls[i]);
      const auto [first, last] = pushes.equal_range(i);
      for (auto it = first; it != last; ++it) out.push_back(it->second);
    }
    out.insert(out.end(), answers.begin(), answers.end());
    stage.calls = std::move(out);
  }

  [[nodiscard]] int least_loaded(const std::vector<TrainedWeight>& weights) {
    const auto least = std::min_element(bytes_.begin(), bytes_.end());
    for (const TrainedWeight& weight : weights) {
      *least += local_bytes(step_.program.mesh, step_.graph.tensors[weight.gradient]).count();
    }
    return static_cast<int>(least - bytes_.begin());
  }

  [[nodiscard]] ScriptCall worker(Operation operation) const {
    return {CallWork::other, {add(std::move(operation)), 0, 0}};
  }
  [[nodiscard]] RoutineId add(Operation operation) const {
    const std::string name = operation.name;
    return step_.program.add(Routine{name, {std::move(operation)}});
  }

  [[nodiscard]] Operation exchange(Collective collective, int host, const char* name) const {
    Operation out = collective_of(step_, collective, over_, name);
    out.communication->host = host;
    out.communication->group = "dp";
    return out;
  }

  [[nodiscard]] StreamId stream_of_workers() const {
    const bool hides = step_.parallel.overlaps(Overlap::dp_gradients);
    return stream_of(step_, "dp", hides || step_.parallel.updates_by_bucket());
  }

  [[nodiscard]] Operation push(const std::vector<TrainedWeight>& weights, int position, int host) {
    Operation out = exchange(Collective::reduce, host, "push_gradients");
    out.stream = stream_of_workers();
    if (!step_.parallel.overlaps(Overlap::dp_gradients)) out.ahead = 0;
    for (const TrainedWeight& weight : weights) {
      out.reads.push_back(step_.at(weight.gradient, weight, position));
    }
    return out;
  }

  [[nodiscard]] Operation answer(const std::vector<TrainedWeight>& weights, int position, int host,
                                 bool updated) {
    Operation out =
        exchange(Collective::broadcast, host, updated ? "pull_weights" : "pull_average");
    out.stream = stream_of_workers();
    for (const TrainedWeight& weight : weights) {
      out.writes.push_back(step_.at(updated ? weight.weight : weight.gradient, weight, position));
    }
    return out;
  }

  /// What the host does for one position.
  void serve(int host, const std::vector<TrainedWeight>& weights, int position, bool updates) {
    // A host receives and sends while it computes.
    Operation sum = exchange(Collective::reduce, host, "sum_gradients");
    sum.stream = stream_of(step_, "dp", true);
    Operation update;
    update.kind = OperationKind::update;
    update.name = "update";
    update.purpose = Purpose::update;
    update.optimizer = step_.parallel.state.optimizer;
    Operation answer =
        exchange(Collective::broadcast, host, updates ? "send_weights" : "send_average");
    answer.stream = stream_of(step_, "dp", true);
    for (const TrainedWeight& weight : weights) {
      const Ref gradient = step_.at(on_host(weight.gradient, false), weight, position);
      sum.writes.push_back(gradient);
      if (!updates) {
        answer.reads.push_back(gradient);
        continue;
      }
      const Ref kept = step_.at(on_host(weight.weight, true), weight, position);
      const bool master = !weight.states.empty() &&
                          step_.graph.tensors[weight.states.front()].copy_of == weight.weight;
      update.reads.push_back(gradient);
      if (!master) update.reads.push_back(kept);
      update.writes.push_back(kept);
      for (const TensorId state : weight.states) {
        step_.graph.tensors[state].on_host = true;
        const Ref ref = step_.at(state, weight, position);
        update.reads.push_back(ref);
        update.writes.push_back(ref);
      }
      answer.reads.push_back(kept);
    }
    std::vector<Operation> operations{std::move(sum)};
    if (updates) operations.push_back(std::move(update));
    call(static_cast<std::size_t>(host),
         step_.program.add(Routine{"serve", std::move(operations)}));
    answers_[static_cast<std::size_t>(host)].push_back(add(std::move(answer)));
  }

  void call(std::size_t host, RoutineId routine) {
    step_.program.roles[roles_[host]].calls.push_back({routine, 0, 0});
  }

  [[nodiscard]] TensorId on_host(TensorId of, bool resident) {
    const auto found = on_host_.find(of);
    if (found != on_host_.end()) return found->second;
    Tensor copy = step_.graph.tensors[of];
    copy.name += ".host";
    copy.partial.clear();
    copy.on_host = true;
    copy.resident = resident;
    if (resident) copy.copy_of = of;
    if (!resident) copy.category = Category::buffer;
    const auto id = static_cast<TensorId>(step_.graph.tensors.size());
    step_.graph.tensors.push_back(std::move(copy));
    on_host_.emplace(of, id);
    return id;
  }

  TrainingStepAssembly& step_;
  MeshSubAxes over_;
  std::vector<std::int64_t> bytes_;              // per host
  std::vector<std::vector<RoutineId>> answers_;  // per host
  std::vector<std::size_t> roles_;
  std::map<TensorId, TensorId> on_host_;
};

}  // namespace

void train_on_servers(TrainingStepAssembly& step) {
  Hosts{step, step.parallel.servers, "server"}.run(true);
}

void average_on_host(TrainingStepAssembly& step) {
  Hosts{step, 1, "host"}.run(false);
}

}  // namespace lockstep
