#include "strategies/pipeline/recompute.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// A second forward pass whose results have names of their own.
class Again {
 public:
  Again(ModelGraph& graph, Block& block) : graph_{graph}, block_{block} {}

  /// Does these operations of forward again, and has backward read what they write.
  void redo(const std::vector<std::size_t>& operations) {
    std::vector<Operation> body;
    for (const std::size_t index : operations) {
      Operation again = block_.forward[index];
      again.name += ".again";
      if (again.purpose == Purpose::forward) again.purpose = Purpose::recompute;
      for (Ref& read : again.reads) read = renamed(read);
      for (Ref& written : again.writes) written = copy(written);
      body.push_back(std::move(again));
    }
    for (Operation& operation : block_.backward) {
      for (Ref& read : operation.reads) read = renamed(read);
    }
    block_.backward.insert(block_.backward.begin(), body.begin(), body.end());
  }

 private:
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

using Tensors = std::set<std::pair<TensorId, int>>;

[[nodiscard]] bool writes_any(const Operation& operation, const Tensors& wanted) {
  return std::any_of(operation.writes.begin(), operation.writes.end(), [&](const Ref& ref) {
    return wanted.contains({ref.tensor, ref.further});
  });
}

/// Those of some operations that backward's reads follow from, in order.
[[nodiscard]] std::vector<std::size_t> needed(const Block& block,
                                              const std::vector<std::size_t>& among) {
  Tensors wanted;
  for (const Operation& operation : block.backward) {
    for (const Ref& ref : operation.reads) wanted.insert({ref.tensor, ref.further});
  }
  std::vector<std::size_t> out;
  for (std::size_t i = among.size(); i-- > 0;) {
    const Operation& operation = block.forward[among[i]];
    if (!writes_any(operation, wanted)) continue;
    for (const Ref& ref : operation.reads) wanted.insert({ref.tensor, ref.further});
    out.push_back(among[i]);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// The core without what makes its output: that is kept.
[[nodiscard]] std::vector<std::size_t> core_to_redo(const Block& block) {
  if (block.attention_core.size() < 2) return {};
  std::vector<std::size_t> core = block.attention_core;
  core.pop_back();
  return needed(block, core);
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

/// A second kind of each layer, which stands in every second place of the first's.
void split_layers(ModelGraph& graph) {
  std::map<int, int> twins;
  std::map<int, int> seen;
  for (int& place : graph.chain) {
    const Block& block = graph.blocks[static_cast<std::size_t>(place)];
    if (!block.input || !block.output || ++seen[place] % 2 == 1) continue;
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
  switch (how) {
    case Recompute::none:
      return {};
    case Recompute::selective:
      return core_to_redo(block);
    case Recompute::every_second_gemm:
      return all_but_every_second_gemm(block);
    case Recompute::every_second_layer:
    case Recompute::full:
      return everything(block, stops_early);
  }
  return {};
}

}  // namespace

void recompute(ModelGraph& graph, Recompute how, bool stops_early) {
  const std::size_t kinds = graph.blocks.size();
  if (how == Recompute::every_second_layer) split_layers(graph);
  for (std::size_t i = 0; i < kinds; ++i) {
    Block& block = graph.blocks[i];
    if (!block.input || !block.output) continue;
    const std::vector<std::size_t> what = to_redo(block, how, stops_early);
    if (!what.empty()) Again{graph, block}.redo(what);
  }
}

void recompute_activations(TrainingStepAssembly& step) {
  recompute(step.graph, step.parallel.recompute, step.parallel.form.stops_early);
}

}  // namespace lockstep
