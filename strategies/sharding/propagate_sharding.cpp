#include "strategies/sharding/propagate_sharding.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/check.hpp"
#include "strategies/sharding/operand_placement.hpp"
#include "strategies/sharding/redistribute.hpp"

namespace lockstep {

namespace {

/// A tensor that has been brought to another placement.
struct PlacedCopy {
  Ref from;
  Placement placement;
  Ref ref;
};

/// Rewrites one body of operations.
class BodyLayout {
 public:
  /// `known`: what bodies before this one have left.
  BodyLayout(ModelGraph& graph, const Mesh& mesh, const ShardingRules& rules,
             std::vector<bool>& settled, std::vector<Operation> body, bool keeps_gathered,
             std::vector<PlacedCopy> known = {})
      : graph_{graph},
        mesh_{mesh},
        rules_{rules},
        settled_{settled},
        in_{std::move(body)},
        keeps_gathered_{keeps_gathered},
        known_{std::move(known)} {}

  [[nodiscard]] std::vector<Operation> run() {
    for (at_ = 0; at_ < in_.size(); ++at_) {
      Operation operation = in_[at_];
      propagate_sharding(operation);
    }
    return std::move(out_);
  }

  /// Activations that are worth keeping for backward: those on either side of an all-to-all, which
  /// are no larger than what they come from, and with `keeps_gathered` those that tensor
  /// parallelism gathered.
  [[nodiscard]] const std::vector<PlacedCopy>& kept() const { return kept_; }

 private:
  /// A result that lies otherwise than the tensor should: `raw` has it until all have added to it.
  struct Pending {
    Ref tensor;
    Ref raw;
    Placement placement;
  };

  [[nodiscard]] Tensor& tensor(const Ref& ref) { return graph_.tensors[ref.tensor]; }

  [[nodiscard]] std::vector<PlacedOperand> operands(const std::vector<Ref>& refs) {
    std::vector<PlacedOperand> out;
    for (const Ref& ref : refs) {
      out.push_back({&tensor(ref), placement_of(tensor(ref)), settled_[ref.tensor]});
    }
    return out;
  }

  void propagate_sharding(Operation& operation) {
    const OperandPlacements wanted = operand_placements(operation, operands(operation.reads),
                                                        operands(operation.writes), rules_);
    for (std::size_t i = 0; i < operation.reads.size(); ++i) {
      operation.reads[i] = fetched(operation.reads[i], wanted.reads[i], operation);
    }
    const std::vector<Ref> targets = operation.writes;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      operation.writes[i] = result(targets[i], wanted.writes[i], operation);
    }
    out_.push_back(operation);
    for (const Ref& target : targets) deliver(target, operation);
  }

  /// The operand as the operation wants it, fetched once for all that want it so.
  [[nodiscard]] Ref fetched(const Ref& ref, const Placement& wanted, const Operation& because) {
    if (placement_of(tensor(ref)) == wanted) return ref;
    const auto known = std::find_if(known_.begin(), known_.end(), [&](const PlacedCopy& one) {
      return one.from == ref && one.placement == wanted;
    });
    if (known != known_.end()) return known->ref;
    const std::size_t before = out_.size();
    const Ref got = redistribute(mesh_, graph_.tensors, out_, ref, wanted, because);
    settled_.resize(graph_.tensors.size(), true);
    known_.push_back({ref, wanted, got});
    if (exchanged_since(before) || (keeps_gathered_ && gathered_since(before)))
      keep({ref, wanted, got});
    return got;
  }

  [[nodiscard]] bool exchanged_since(std::size_t before) const {
    return std::any_of(
        out_.begin() + static_cast<std::ptrdiff_t>(before), out_.end(), [](const Operation& one) {
          return one.communication && one.communication->collective == Collective::all_to_all;
        });
  }

  [[nodiscard]] bool gathered_since(std::size_t before) const {
    return std::any_of(out_.begin() + static_cast<std::ptrdiff_t>(before), out_.end(),
                       [](const Operation& one) {
                         return one.communication && one.communication->group == "tp" &&
                                one.communication->collective == Collective::all_gather;
                       });
  }

  void keep(PlacedCopy known) {
    if (tensor(known.from).category != Category::activation) return;
    tensor(known.ref).category = Category::activation;
    kept_.push_back(std::move(known));
  }

  /// Where an operation writes what it computes.
  [[nodiscard]] Ref result(const Ref& target, const Placement& leaves, Operation& operation) {
    Tensor& of = tensor(target);
    if (operation.kind == OperationKind::loss) {  // told once a step, by whoever reads it
      of.partial = leaves.partial;
      return target;
    }
    if (!settled_[target.tensor]) {
      place(of, leaves);
      of.partial.clear();
      settled_[target.tensor] = true;
    }
    if (of.category == Category::gradient) {
      LOCKSTEP_CHECK(of.partial.empty() || of.partial == leaves.partial);
      of.partial = leaves.partial;
      LOCKSTEP_CHECK(placement_of(of) == leaves);
      return target;
    }
    if (placement_of(of) == leaves) {
      if (!is_written(target)) operation.accumulate = false;
      written_.push_back(target);
      return target;
    }
    return raw_of(target, leaves, operation);
  }

  [[nodiscard]] bool is_written(const Ref& target) const {
    return std::find(written_.begin(), written_.end(), target) != written_.end();
  }

  [[nodiscard]] Ref raw_of(const Ref& target, const Placement& leaves, Operation& operation) {
    const auto same = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) {
      return pending.tensor == target && pending.placement == leaves;
    });
    if (same != pending_.end()) {
      operation.accumulate = true;
      return same->raw;
    }
    operation.accumulate = false;
    Tensor raw = tensor(target);
    raw.name += ".part";
    raw.category = Category::buffer;
    place(raw, leaves);
    Ref ref = target;
    ref.tensor = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(raw));
    settled_.resize(graph_.tensors.size(), true);
    pending_.push_back({target, ref, leaves});
    return ref;
  }

  /// Once nobody adds to a pending result any more it goes where it belongs.
  void deliver(const Ref& target, const Operation& because) {
    const bool more = std::any_of(
        in_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, in_.end(), [&](const Operation& later) {
          return std::find(later.writes.begin(), later.writes.end(), target) != later.writes.end();
        });
    if (more) return;
    std::vector<Pending> ready;
    std::copy_if(pending_.begin(), pending_.end(), std::back_inserter(ready),
                 [&](const Pending& pending) { return pending.tensor == target; });
    std::erase_if(pending_, [&](const Pending& pending) { return pending.tensor == target; });
    for (const Pending& pending : ready) deliver(pending, because);
  }

  void deliver(const Pending& pending, const Operation& because) {
    const Placement home = placement_of(tensor(pending.tensor));
    if (!is_written(pending.tensor)) {
      const std::size_t before = out_.size();
      (void)redistribute(mesh_, graph_.tensors, out_, pending.raw, home, because, &pending.tensor);
      written_.push_back(pending.tensor);
      if (pending.placement.partial.empty() && exchanged_since(before)) {
        keep({pending.tensor, pending.placement, pending.raw});
      }
    } else {
      const Ref arrived = redistribute(mesh_, graph_.tensors, out_, pending.raw, home, because);
      Operation sum;
      sum.kind = OperationKind::add;
      sum.name = because.name + ".sum";
      sum.purpose = because.purpose;
      sum.reads = {pending.tensor, arrived};
      sum.writes = {pending.tensor};
      out_.push_back(std::move(sum));
    }
    settled_.resize(graph_.tensors.size(), true);
  }

  ModelGraph& graph_;
  const Mesh& mesh_;
  const ShardingRules& rules_;
  std::vector<bool>& settled_;
  std::vector<Operation> in_;
  bool keeps_gathered_ = false;
  std::vector<Operation> out_;
  std::vector<PlacedCopy> known_;
  std::vector<PlacedCopy> kept_;
  std::vector<Pending> pending_;
  std::vector<Ref> written_;
  std::size_t at_ = 0;
};

}  // namespace

void propagate_sharding(ModelGraph& graph, const Mesh& mesh, const ShardingRules& rules,
                        bool keeps_gathered) {
  std::vector<bool> settled;
  for (Tensor& tensor : graph.tensors) {
    const std::optional<Placement> declared = declared_placement(tensor, rules);
    if (declared) place(tensor, *declared);
    settled.push_back(declared.has_value());
  }
  for (Block& block : graph.blocks) {
    BodyLayout forward{graph, mesh, rules, settled, block.forward, keeps_gathered};
    block.forward = forward.run();
    BodyLayout backward{graph,          mesh,           rules,         settled,
                        block.backward, keeps_gathered, forward.kept()};
    block.backward = backward.run();
  }
}

}  // namespace lockstep
