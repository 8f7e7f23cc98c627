#include "strategies/pipeline/recompute.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "strategies/layout/passes.hpp"
#include "strategies/pipeline/recomputed_modules.hpp"

namespace lockstep {

namespace {

using Tensors = std::set<std::pair<TensorId, int>>;

[[nodiscard]] bool any_of(const std::vector<Ref>& refs, const Tensors& wanted) {
  return std::any_of(refs.begin(), refs.end(), [&](const Ref& ref) {
    return wanted.contains({ref.tensor, ref.further});
  });
}

[[nodiscard]] bool reads_any(const Operation& operation, const Tensors& wanted) {
  return any_of(operation.reads, wanted);
}

[[nodiscard]] bool writes_any(const Operation& operation, const Tensors& wanted) {
  return any_of(operation.writes, wanted);
}

void add(const std::vector<Ref>& refs, Tensors& to) {
  for (const Ref& ref : refs) to.insert({ref.tensor, ref.further});
}

/// A second forward pass whose results have names of their own.
class Again {
 public:
  Again(ModelGraph& graph, Block& block) : graph_{graph}, block_{block} {}

  /// Does these operations of forward again before all of backward, which then reads what they
  /// write.
  void redo(const std::vector<std::size_t>& operations) {
    std::vector<Operation> body = copies(operations);
    read_copies();
    block_.backward.insert(block_.backward.begin(), body.begin(), body.end());
  }

  /// The same with modules in forward order, each right before what first reads what it writes.
  void redo(const std::vector<RecomputedModule>& modules) {
    std::vector<std::vector<Operation>> bodies;
    for (const RecomputedModule& module : modules) {
      bodies.push_back(copies(module.operations));
      for (const Ref& result : module.results) copies_.erase({result.tensor, result.further});
    }
    read_copies();
    for (std::size_t i = bodies.size(); i-- > 0;) {
      Tensors written;
      for (const Operation& operation : bodies[i]) add(operation.writes, written);
      const auto first =
          std::find_if(block_.backward.begin(), block_.backward.end(),
                       [&](const Operation& one) { return reads_any(one, written); });
      block_.backward.insert(first, bodies[i].begin(), bodies[i].end());
    }
  }

 private:
  [[nodiscard]] std::vector<Operation> copies(const std::vector<std::size_t>& operations) {
    std::vector<Operation> body;
    for (const std::size_t index : operations) {
      Operation again = block_.forward[index];
      again.name += ".again";
      if (again.purpose == Purpose::forward) again.purpose = Purpose::recompute;
      for (Ref& read : again.reads) read = renamed(read);
      for (Ref& written : again.writes) written = copy(written);
      body.push_back(std::move(again));
    }
    return body;
  }

  void read_copies() {
    for (Operation& operation : block_.backward) {
      for (Ref& read : operation.reads) read = renamed(read);
    }
  }

  [[nodiscard]] Ref renamed(Ref ref) const {
    const auto found = copies_.find({ref.tensor, ref.further});
    if (found != copies_.end()) ref.tensor = found->second;
    return ref;
  }

  [[nodiscard]] Ref copy(Ref ref) {
    const std::pair key{ref.tensor, ref.further};
    const auto found = copies_.find(key);
    if (found == copies_.end()) {
      Tensor tensor = graph_.tensors[ref.tensor];
      tensor.name += ".again";
      copies_.emplace(key, static_cast<TensorId>(graph_.tensors.size()));
      ref.tensor = static_cast<TensorId>(graph_.tensors.size());
      graph_.tensors.push_back(std::move(tensor));
    } else {
      ref.tensor = found->second;
    }
    return ref;
  }

  ModelGraph& graph_;
  Block& block_;
  std::map<std::pair<TensorId, int>, TensorId> copies_;
};

[[nodiscard]] Tensors read_in_backward(const Block& block) {
  Tensors out;
  for (const Operation& operation : block.backward) add(operation.reads, out);
  return out;
}

/// Those of some operations that what is wanted follows from, in order; what they read is wanted,
/// too.
[[nodiscard]] std::vector<std::size_t> needed(const Block& block,
                                              const std::vector<std::size_t>& among,
                                              Tensors& wanted) {
  std::vector<std::size_t> out;
  for (std::size_t i = among.size(); i-- > 0;) {
    const Operation& operation = block.forward[among[i]];
    if (!writes_any(operation, wanted)) continue;
    add(operation.reads, wanted);
    out.push_back(among[i]);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

[[nodiscard]] std::vector<std::size_t> needed(const Block& block,
                                              const std::vector<std::size_t>& among) {
  Tensors wanted = read_in_backward(block);
  return needed(block, among, wanted);
}

/// A checkpoint as a whole or, if it stops early, up to the last tensor that is wanted; what it
/// reads is wanted, too.
[[nodiscard]] std::vector<std::size_t> checkpoint(const Block& block,
                                                  std::vector<std::size_t> operations,
                                                  bool stops_early, Tensors& wanted) {
  const auto is_wanted = [&](std::size_t i) { return writes_any(block.forward[i], wanted); };
  const auto last = std::find_if(operations.rbegin(), operations.rend(), is_wanted).base();
  if (last == operations.begin()) return {};
  if (stops_early) operations.erase(last, operations.end());
  for (const std::size_t i : operations) add(block.forward[i].reads, wanted);
  return operations;
}

/// What of each module is done again, for backward and for the modules after it.
[[nodiscard]] std::vector<RecomputedModule> modules_to_redo(
    const Block& block, const std::set<RecomputeModule>& modules, bool stops_early) {
  std::vector<RecomputedModule> all = modules_of(block, modules);
  Tensors wanted = read_in_backward(block);
  for (std::size_t i = all.size(); i-- > 0;) {
    RecomputedModule& module = all[i];
    if (module.whole) module.results = block.forward[module.operations.back()].writes;
    for (const Ref& result : module.results) wanted.erase({result.tensor, result.further});
    module.operations = module.whole ? checkpoint(block, module.operations, stops_early, wanted)
                                     : needed(block, module.operations, wanted);
  }
  std::erase_if(all, [](const RecomputedModule& module) { return module.operations.empty(); });
  return all;
}

/// Whether an operation's results are kept: of attention, with keys that came along a ring, of
/// reductions and of every other product in the order of the forward pass, the first one included.
class SelectiveCheckpoint {
 public:
  [[nodiscard]] bool operator()(const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::matmul:
        return ++products_ % 2 == 1;
      case OperationKind::attention:
        return true;
      case OperationKind::collective:
        return operation.communication->collective == Collective::reduce_scatter ||
               operation.communication->collective == Collective::send_recv;
      default:
        return false;
    }
  }

 private:
  int products_ = 0;
};

/// What PyTorch's selective checkpoint of operations does again, as torchtitan uses it
/// (torchtitan/parallelisms/parallelize_llama.py, _save_list and every second aten.mm).
[[nodiscard]] std::vector<std::size_t> all_but_every_second_gemm(const Block& block) {
  std::vector<std::size_t> out;
  SelectiveCheckpoint keeps;
  for (std::size_t i = 0; i < block.forward.size(); ++i) {
    if (!keeps(block.forward[i])) out.push_back(i);
  }
  return needed(block, out);
}

[[nodiscard]] bool is_layer(const Block& block) {
  return block.input && block.output && !block.between_stacks;
}

/// A second kind of each layer, which stands in every second place of the first's.
void split_layers(ModelGraph& graph) {
  std::map<int, int> twins;
  std::map<int, int> seen;
  for (int& place : graph.chain) {
    const Block& block = graph.blocks[static_cast<std::size_t>(place)];
    if (!is_layer(block) || ++seen[place] % 2 == 1) continue;
    if (!twins.contains(place)) {
      twins.emplace(place, static_cast<int>(graph.blocks.size()));
      graph.blocks.push_back(Block{block});
    }
    place = twins.at(place);
  }
}

[[nodiscard]] std::vector<std::size_t> everything(const Block& block, bool stops_early) {
  std::vector<std::size_t> out(block.forward.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
  if (stops_early) out.resize(needed(block, out).back() + 1);
  return out;
}

[[nodiscard]] std::vector<std::size_t> to_redo(const Block& block, Recompute how,
                                               bool stops_early) {
  return how == Recompute::every_second_gemm ? all_but_every_second_gemm(block)
                                             : everything(block, stops_early);
}

void recompute_modules(ModelGraph& graph, const std::set<RecomputeModule>& modules,
                       bool stops_early) {
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
    Block& block = graph.blocks[i];
    Again{graph, block}.redo(modules_to_redo(block, modules, stops_early));
  }
}

}  // namespace

void recompute(ModelGraph& graph, Recompute how, const std::set<RecomputeModule>& modules,
               bool stops_early) {
  if (how == Recompute::none) return;
  if (how == Recompute::selective) return recompute_modules(graph, modules, stops_early);
  const std::size_t kinds = graph.blocks.size();
  if (how == Recompute::every_second_layer) split_layers(graph);
  for (std::size_t i = 0; i < kinds; ++i) {
    Block& block = graph.blocks[i];
    if (!is_layer(block)) continue;
    const std::vector<std::size_t> what = to_redo(block, how, stops_early);
    if (!what.empty()) Again{graph, block}.redo(what);
  }
}

void recompute_activations(TrainingStepAssembly& step) {
  const ParallelConfig& parallel = step.parallel;
  recompute(step.graph, parallel.recompute, parallel.recompute_modules, parallel.form.stops_early);
}

}  // namespace lockstep
