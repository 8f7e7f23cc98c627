#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "strategies/layout/passes.hpp"
#include "strategies/pipeline/delayed_weight_gradients.hpp"

namespace lockstep {

namespace {

using Calls = std::vector<ScriptCall>;

class Pairing {
 public:
  explicit Pairing(TrainingStepAssembly& step) : step_{step} {}

  void run() {
    for (StageScript& stage : step_.stages) rewrite(stage.calls);
  }

 private:
  void rewrite(Calls& calls) {
    Calls out;
    for (std::size_t i = 0; i < calls.size();) {
      if (calls[i].pair == 0) {
        out.push_back(calls[i++]);
        continue;
      }
      const int pair = calls[i].pair;
      std::size_t end = i;
      for (std::size_t at = i; at < calls.size(); ++at)
        if (calls[at].pair == pair) end = at + 1;
      append_in_turn({calls.begin() + static_cast<std::ptrdiff_t>(i),
                      calls.begin() + static_cast<std::ptrdiff_t>(end)},
                     out);
      i = end;
    }
    calls = std::move(out);
  }

  [[nodiscard]] bool is_send(const ScriptCall& call) const {
    const auto& operations = step_.program.routines[call.call.routine].operations;
    return std::any_of(operations.begin(), operations.end(),
                       [](const Operation& one) { return one.kind == OperationKind::send; });
  }

  /// A pass of one position, with what goes before it.
  struct Layer {
    Calls before{};
    ScriptCall pass{};
    Calls after{};
  };

  /// `pair`: forward passes, then what one sends and the other receives, then backward passes with
  /// those of weights.
  void append_in_turn(const Calls& pair, Calls& out) {
    const auto is = [](CallWork work) {
      return [work](const ScriptCall& call) { return call.pair != 0 && call.work == work; };
    };
    const auto last_forward = std::find_if(pair.rbegin(), pair.rend(), is(CallWork::forward));
    const auto between = last_forward.base();
    const std::vector<Layer> forward = layers({pair.begin(), between}, CallWork::forward);
    Calls rest;
    Calls sends;
    const auto backward_begins = std::find_if(between, pair.end(), is(CallWork::backward));
    for (auto call = between; call != pair.end(); ++call)
      (call < backward_begins && is_send(*call) ? sends : rest).push_back(*call);
    std::vector<Layer> backward = layers(rest, CallWork::backward);
    take_weights(backward);
    for (std::size_t i = 0; i < std::max(forward.size(), backward.size()); ++i) {
      append_layers(i < forward.size() ? &forward[i] : nullptr,
                    i < backward.size() ? &backward[i] : nullptr, out);
    }
    out.insert(out.end(), sends.begin(), sends.end());
  }

  /// What comes after the last pass belongs to it.
  [[nodiscard]] static std::vector<Layer> layers(const Calls& calls, CallWork work) {
    std::vector<Layer> out;
    Calls before;
    for (const ScriptCall& call : calls) {
      if (call.pair != 0 && call.work == work) {
        out.push_back({std::move(before), call, {}});
        before.clear();
      } else {
        before.push_back(call);
      }
    }
    if (!out.empty()) out.back().after = std::move(before);
    return out;
  }

  /// Gradients of weights follow those of the layer's input.
  static void take_weights(std::vector<Layer>& backward) {
    if (backward.empty()) return;
    Calls rest;
    for (const ScriptCall& call : backward.back().after) {
      const auto of = std::find_if(backward.begin(), backward.end(), [&](const Layer& layer) {
        return layer.pass.call.position == call.call.position;
      });
      const bool moves = call.pair != 0 && call.work == CallWork::weight_gradient &&
                         of != backward.end() && of + 1 != backward.end();
      if (moves) {
        of->after.push_back(call);
      } else {
        rest.push_back(call);
      }
    }
    backward.back().after = std::move(rest);
  }

  void append_layers(const Layer* forward, const Layer* backward, Calls& out) {
    const auto put = [&out](const Calls& calls) {
      out.insert(out.end(), calls.begin(), calls.end());
    };
    Calls put_off;
    if (backward != nullptr) put(without_put_off(backward->before, put_off));
    if (forward != nullptr) put(forward->before);
    const Calls there = forward == nullptr ? Calls{} : parts(forward->pass);
    const Calls back = backward == nullptr ? Calls{} : parts(backward->pass);
    if (back.size() == 1) put(std::exchange(put_off, {}));  // it has no all-to-all
    for (std::size_t i = 0; i < std::max(there.size(), back.size()); ++i) {
      if (i < back.size()) out.push_back(back[i]);
      put(std::exchange(put_off, {}));
      if (i + 1 == back.size()) put(backward->after);
      if (i < there.size()) out.push_back(there[i]);
    }
    if (forward != nullptr) put(forward->after);
  }

  /// Gradients of weights of the layer after it, with what depends on them, are put off until a
  /// layer's first all-to-all is launched.
  [[nodiscard]] Calls without_put_off(const Calls& before, Calls& put_off) const {
    if (!step_.parallel.delay_wgrad_compute) return before;
    const auto first = std::find_if(before.begin(), before.end(), [](const ScriptCall& call) {
      return call.work == CallWork::weight_gradient;
    });
    put_off.assign(first, before.end());
    return {before.begin(), first};
  }

  /// A pass cut after each all-to-all of experts; the last part stands for the pass.
  [[nodiscard]] Calls parts(const ScriptCall& pass) {
    Calls out;
    for (const RoutineId routine : parts_of(pass.call.routine)) {
      ScriptCall part = pass;
      part.call.routine = routine;
      part.work = CallWork::other;
      out.push_back(part);
    }
    out.back().work = pass.work;
    return out;
  }

  [[nodiscard]] const std::vector<RoutineId>& parts_of(RoutineId routine) {
    const auto [found, is_new] = parts_.try_emplace(routine);
    if (!is_new) return found->second;
    const Routine whole = step_.program.routines[routine];
    std::vector<Routine> parts(1);
    bool exchanged = false;
    for (const Operation& operation : whole.operations) {
      if (exchanged && !stays(operation)) {
        parts.emplace_back();
        exchanged = false;
      }
      exchanged = exchanged || exchanges_tokens(step_.graph.tensors, operation);
      parts.back().operations.push_back(operation);
    }
    if (parts.size() <= 1) {
      found->second = {routine};
      return found->second;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].name = whole.name + "." + std::to_string(i + 1);
      found->second.push_back(step_.program.add(std::move(parts[i])));
    }
    return found->second;
  }

  /// With an all-to-all before it: the router's weights, and gradients that were put off until
  /// then.
  [[nodiscard]] bool stays(const Operation& operation) const {
    const auto& tensors = step_.graph.tensors;
    const bool delayed =
        step_.parallel.delay_wgrad_compute && computes_weight_gradients(tensors, operation);
    return exchanges_tokens(tensors, operation) || carries_weights(tensors, operation) || delayed;
  }

  TrainingStepAssembly& step_;
  std::map<RoutineId, std::vector<RoutineId>> parts_;
};

}  // namespace

void pair_microbatches(TrainingStepAssembly& step) {
  Pairing{step}.run();
}

}  // namespace lockstep
