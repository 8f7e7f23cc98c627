#include "strategies/sharding/operand_placement.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// The operands of an operation by name.
struct Operands {
  const Operation& operation;
  const std::vector<PlacedOperand>& reads;
  const std::vector<PlacedOperand>& writes;

  [[nodiscard]] const PlacedOperand& read(Operand operand) const {
    return reads[read_index(operation, operand)];
  }
  [[nodiscard]] const PlacedOperand& written(Operand operand) const {
    return writes[write_index(operation, operand)];
  }
  /// Of an operand or its gradient, whichever there is, read or written.
  [[nodiscard]] const PlacedOperand& either(Operand operand) const {
    for (const Operand each : {operand, gradient_of(operand)}) {
      if (lockstep::reads(operation, each)) return read(each);
      if (lockstep::writes(operation, each)) return written(each);
    }
    LOCKSTEP_CHECK(false && "an operation has the operands of its kind");
    return reads.front();
  }
};

[[nodiscard]] bool has(const Tensor& tensor, Dim dim) {
  return find_extent(tensor, dim) != nullptr;
}

[[nodiscard]] bool is_gradient(const PlacedOperand& operand) {
  return operand.tensor->category == Category::gradient;
}

[[nodiscard]] Placement placed(const Tensor& tensor,
                               const std::function<MeshSubAxes(Dim)>& sharding) {
  Placement out;
  for (const Extent& extent : tensor.extents) out.shardings.push_back(sharding(extent.dim));
  return out;
}

[[nodiscard]] MeshSubAxes cut_by(const ShardingRules& rules, Dim dim) {
  const auto found = rules.shardings.find(dim);
  return found == rules.shardings.end() ? MeshSubAxes{} : found->second;
}

/// Sums of parts: the gradient of a weight is one over every cut dimension that it does not have.
[[nodiscard]] Placement gradient_placement(const PlacedOperand& gradient, const PlacedOperand& of,
                                           const Placement& as) {
  Placement out = gradient.placement;
  out.partial.clear();
  for (std::size_t i = 0; i < of.tensor->extents.size(); ++i) {
    if (!has(*gradient.tensor, of.tensor->extents[i].dim)) {
      out.partial = joined(out.partial, as.shardings[i]);
    }
  }
  return out;
}

/// Everything lies like the main result: elementwise operations, norms, convolutions, losses.
/// Dimensions that are normalized or pooled must not be cut.
class Alike {
 public:
  explicit Alike(const Operands& of) : Alike{of, of.writes} {}
  Alike(const Operands& of, const std::vector<PlacedOperand>& writes)
      : reads_{of.reads}, writes_{writes}, whole_{of.operation.over} {
    const bool result_leads = !writes.empty() && writes[0].settled && !is_gradient(writes[0]);
    lead_ = result_leads ? &writes[0] : &of.reads[0];
    as_ = lead_->placement;
    as_.partial.clear();
    for (std::size_t i = 0; i < as_.shardings.size(); ++i) {
      if (is_whole(lead_->tensor->extents[i].dim)) as_.shardings[i].clear();
    }
  }

  [[nodiscard]] OperandPlacements placements() const {
    OperandPlacements out;
    for (const PlacedOperand& read : reads_) out.reads.push_back(like_lead(read));
    for (const PlacedOperand& write : writes_) {
      out.writes.push_back(is_gradient(write) ? gradient_placement(write, *lead_, as_)
                                              : like_lead(write));
    }
    return out;
  }

 private:
  /// Weights stay as they lie; all else is cut as the lead is, dimension by dimension.
  [[nodiscard]] Placement like_lead(const PlacedOperand& operand) const {
    if (operand.tensor->category == Category::weight) return operand.placement;
    return placed(*operand.tensor, [&](Dim dim) {
      if (has(*lead_->tensor, dim)) return sharding_of(*lead_->tensor, as_, dim);
      return is_whole(dim) ? MeshSubAxes{} : sharding_of(*operand.tensor, operand.placement, dim);
    });
  }

  [[nodiscard]] bool is_whole(Dim dim) const {
    return std::find(whole_.begin(), whole_.end(), dim) != whole_.end();
  }

  const std::vector<PlacedOperand>& reads_;
  const std::vector<PlacedOperand>& writes_;
  const std::vector<Dim>& whole_;
  const PlacedOperand* lead_;
  Placement as_;
};

/// All alike, but what x shares over some of its dimensions (keys over heads, weights over rows,
/// scale and shift over a sequence) gets a part of its gradient from every shard of these.
[[nodiscard]] OperandPlacements shared_placements(const Operands& of,
                                                  std::initializer_list<Operand> shared) {
  OperandPlacements out = Alike{of}.placements();
  for (const Operand each : shared) {
    const auto place = write_place(of.operation, gradient_of(each));
    if (!place) continue;
    const std::vector<Extent>& all = of.written(gradient_of(Operand::x)).tensor->extents;
    const Placement& own = out.writes[write_index(of.operation, gradient_of(Operand::x))];
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (has(*of.writes[*place].tensor, all[k].dim)) continue;
      out.writes[*place].partial = joined(out.writes[*place].partial, own.shardings[k]);
    }
  }
  return out;
}

/// The cut as far as none of `atoms` cuts: what lies inside a cut that is not made yet cannot be
/// cut before it.
[[nodiscard]] MeshSubAxes up_to(const MeshSubAxes& sharding, const MeshSubAxes& atoms) {
  MeshSubAxes out;
  for (const AtomId atom : sharding) {
    if (contains(atoms, atom)) break;
    out.push_back(atom);
  }
  return out;
}

/// A GEMM cuts what it contracts as the operands agree, and what it keeps as the result wants.
class Gemm {
 public:
  Gemm(const PlacedOperand& a, const PlacedOperand& b, const PlacedOperand& y)
      : a_{a}, b_{b}, y_{y} {
    for (const Extent& extent : a.tensor->extents) {
      if (has(*b.tensor, extent.dim) && !has(*y.tensor, extent.dim)) contract(extent.dim);
    }
    for (const Extent& extent : y.tensor->extents) {
      result_.shardings.push_back(up_to(wanted(extent.dim), result_.partial));
    }
  }

  [[nodiscard]] const Placement& result() const { return result_; }

  [[nodiscard]] Placement operand(const PlacedOperand& of) const {
    return placed(*of.tensor, [&](Dim dim) {
      if (has(*y_.tensor, dim)) return sharding_of(*y_.tensor, result_, dim);
      const auto found = contracted_.find(dim);
      return found == contracted_.end() ? sharding_of(*of.tensor, of.placement, dim)
                                        : found->second;
    });
  }

 private:
  [[nodiscard]] MeshSubAxes in_a(Dim dim) const {
    return sharding_of(*a_.tensor, a_.placement, dim);
  }
  [[nodiscard]] MeshSubAxes in_b(Dim dim) const {
    return sharding_of(*b_.tensor, b_.placement, dim);
  }

  /// MeshSubAxes by which a gradient of a weight is cut cannot cut what is contracted too.
  void contract(Dim dim) {
    MeshSubAxes sharding;
    if (b_.tensor->category == Category::weight) {
      sharding = in_b(dim);
    } else if (a_.tensor->category == Category::weight) {
      sharding = in_a(dim);
    } else {
      sharding = common(in_a(dim), in_b(dim));
      for (const Extent& kept : y_.tensor->extents) {
        sharding = without(sharding, wanted(kept.dim));
      }
    }
    contracted_.emplace(dim, sharding);
    result_.partial = joined(result_.partial, sharding);
  }

  [[nodiscard]] MeshSubAxes wanted(Dim dim) const {
    if (y_.settled) return sharding_of(*y_.tensor, y_.placement, dim);
    return has(*a_.tensor, dim) ? in_a(dim) : in_b(dim);
  }

  const PlacedOperand& a_;
  const PlacedOperand& b_;
  const PlacedOperand& y_;
  std::map<Dim, MeshSubAxes> contracted_;
  Placement result_;
};

[[nodiscard]] OperandPlacements gemm_placements(const Operands& of) {
  const PlacedOperand& a = of.read(Operand::a);
  const PlacedOperand& b = of.read(Operand::b);
  const Gemm gemm{a, b, of.written(Operand::y)};
  OperandPlacements out{{gemm.operand(a), gemm.operand(b)}, {gemm.result()}};
  if (reads(of.operation, Operand::bias)) out.reads.push_back(of.read(Operand::bias).placement);
  return out;
}

/// Attention wants the sequence whole, or cut along the ring alone, and has its heads cut instead.
[[nodiscard]] Placement in_attention(const PlacedOperand& operand, const ShardingRules& rules) {
  return placed(*operand.tensor, [&](Dim dim) -> MeshSubAxes {
    switch (dim) {
      case Dim::sequence:
        return rules.attention_sequence;
      case Dim::heads:
        return joined(cut_by(rules, dim), rules.attention_heads);
      case Dim::kv_heads:
        return joined(cut_by(rules, dim), rules.attention_kv_heads);
      default:
        return cut_by(rules, dim);
    }
  });
}

/// Where queries' heads are cut further than those of keys, every rank has only its queries' share
/// of the gradients of keys and values.
[[nodiscard]] MeshSubAxes shared_heads(const ShardingRules& rules) {
  return without(joined(cut_by(rules, Dim::heads), rules.attention_heads),
                 joined(cut_by(rules, Dim::kv_heads), rules.attention_kv_heads));
}

/// Of the heads that a rank has inside attention alone: it adds nothing to the others.
[[nodiscard]] Placement table_gradient(const PlacedOperand& gradient, const PlacedOperand& scores,
                                       const Placement& as) {
  Placement out = gradient_placement(gradient, scores, as);
  out.partial = joined(out.partial, without(sharding_of(*scores.tensor, as, Dim::heads),
                                            sharding_of(*gradient.tensor, out, Dim::heads)));
  return out;
}

[[nodiscard]] OperandPlacements attention_placements(const Operands& of,
                                                     const ShardingRules& rules) {
  OperandPlacements out;
  for (const PlacedOperand& read : of.reads) out.reads.push_back(in_attention(read, rules));
  for (const PlacedOperand& write : of.writes) out.writes.push_back(in_attention(write, rules));
  for (const Operand keys : {Operand::k, Operand::v}) {
    const auto place = write_place(of.operation, gradient_of(keys));
    const bool shared = place && has(*of.writes[*place].tensor, Dim::kv_heads);
    if (shared) out.writes[*place].partial = shared_heads(rules);
  }
  const auto sinks = write_place(of.operation, gradient_of(Operand::sinks));
  if (sinks) out.writes[*sinks] = table_gradient(of.writes[*sinks], of.reads[0], out.reads[0]);
  const auto table = write_place(of.operation, gradient_of(Operand::table));
  if (table) out.writes[*table] = table_gradient(of.writes[*table], of.reads[0], out.reads[0]);
  return out;
}

/// Rows of a cut table are found on one rank and are zero on the others.
[[nodiscard]] OperandPlacements embedding_placements(const Operands& of) {
  const PlacedOperand& table = of.read(Operand::table);
  const PlacedOperand& y = of.written(Operand::y);
  const MeshSubAxes rows = table.placement.shardings[0];
  OperandPlacements out;
  Placement result = y.placement;
  result.partial = rows;
  for (MeshSubAxes& sharding : result.shardings) sharding = without(sharding, rows);
  out.reads.push_back(placed(*of.read(Operand::tokens).tensor,
                             [&](Dim dim) { return sharding_of(*y.tensor, result, dim); }));
  out.reads.push_back(table.placement);
  out.writes.push_back(std::move(result));
  return out;
}

[[nodiscard]] OperandPlacements embedding_backward_placements(const Operands& of) {
  const PlacedOperand& table = of.written(gradient_of(Operand::table));
  const PlacedOperand& g = of.read(gradient_of(Operand::y));
  OperandPlacements out;
  Placement gradient = g.placement;
  for (MeshSubAxes& sharding : gradient.shardings) {
    sharding = without(sharding, table.placement.shardings[0]);
  }
  out.reads.push_back(placed(*of.read(Operand::tokens).tensor,
                             [&](Dim dim) { return sharding_of(*g.tensor, gradient, dim); }));
  out.reads.push_back(gradient);
  out.writes.push_back(gradient_placement(table, g, gradient));
  return out;
}

/// Over a cut vocabulary every rank has a maximum or a sum of its own.
[[nodiscard]] OperandPlacements loss_part_placements(const Operands& of) {
  OperandPlacements out = Alike{of, {}}.placements();
  const PlacedOperand& logits = of.read(Operand::logits);
  for (const PlacedOperand& write : of.writes) {
    Placement result = placed(
        *write.tensor, [&](Dim dim) { return sharding_of(*logits.tensor, logits.placement, dim); });
    result.partial = sharding_of(*logits.tensor, logits.placement, Dim::vocabulary);
    out.writes.push_back(std::move(result));
  }
  return out;
}

/// Tokens go to slots of their own rank; the ranks with the experts get them from there.
[[nodiscard]] Placement slots_of_tokens(const PlacedOperand& slots, const PlacedOperand& tokens) {
  MeshSubAxes all;
  for (const MeshSubAxes& sharding : tokens.placement.shardings) all = joined(all, sharding);
  // Slots are a bag: in the order in which they and the experts lie anyway, so that nothing seems
  // to move and what goes to an expert's rank comes back from there.
  MeshSubAxes order = common(sharding_of(*slots.tensor, slots.placement, Dim::slot), all);
  order = joined(order, common(sharding_of(*slots.tensor, slots.placement, Dim::expert), all));
  all = joined(order, all);
  return placed(*slots.tensor, [&](Dim dim) { return dim == Dim::slot ? all : MeshSubAxes{}; });
}

/// `tokens` is the operand with the shape of the residual stream; those with slots lie as it does.
[[nodiscard]] OperandPlacements routing_placements(const Operands& of,
                                                   const PlacedOperand& tokens) {
  const auto place_one = [&](const PlacedOperand& operand) {
    if (has(*operand.tensor, Dim::slot)) return slots_of_tokens(operand, tokens);
    return placed(*operand.tensor,
                  [&](Dim dim) { return sharding_of(*tokens.tensor, tokens.placement, dim); });
  };
  OperandPlacements out;
  for (const PlacedOperand& read : of.reads) out.reads.push_back(place_one(read));
  for (const PlacedOperand& write : of.writes) out.writes.push_back(place_one(write));
  return out;
}

/// The whole loss is a sum over all tokens.
[[nodiscard]] OperandPlacements loss_placements(const Operands& of) {
  OperandPlacements out = Alike{of, {}}.placements();
  Placement result = placed(*of.written(Operand::loss).tensor, [](Dim) { return MeshSubAxes{}; });
  for (const MeshSubAxes& sharding : out.reads[0].shardings)
    result.partial = joined(result.partial, sharding);
  out.writes.push_back(std::move(result));
  return out;
}

}  // namespace

std::optional<Placement> declared_placement(const Tensor& tensor, const ShardingRules& rules) {
  const bool stored = tensor.category == Category::weight || tensor.category == Category::gradient;
  // Of a router's weights experts are the columns.
  const bool by_expert =
      stored && tensor.extents.size() > 1 && tensor.extents[0].dim == Dim::expert;
  const bool holds_experts =
      has(tensor, Dim::expert) && (has(tensor, Dim::slot) || has(tensor, Dim::ffn) || by_expert);
  const bool sized = has(tensor, Dim::head_size) || has(tensor, Dim::value_size);
  const bool in_attention = !sized && has(tensor, Dim::heads) && has(tensor, Dim::sequence);
  if (in_attention) return std::nullopt;  // scores and statistics never leave it
  const bool inner = has(tensor, Dim::heads) || has(tensor, Dim::kv_heads) ||
                     has(tensor, Dim::ffn) || has(tensor, Dim::vocabulary) || holds_experts;
  const bool stream = has(tensor, Dim::hidden) || has(tensor, Dim::kv_rank) ||
                      has(tensor, Dim::query_rank) || has(tensor, Dim::head_size) ||
                      has(tensor, Dim::expert) || has(tensor, Dim::channels) ||
                      has(tensor, Dim::joined) || has(tensor, Dim::condition);
  if (!stored && !inner && !stream && !tensor.resident) return std::nullopt;
  return placed(tensor, [&](Dim dim) {
    if (dim == Dim::expert && !holds_experts) return MeshSubAxes{};
    if (dim == Dim::ffn && has(tensor, Dim::expert)) return rules.expert_ffn;
    MeshSubAxes sharding = cut_by(rules, dim);
    if (dim == Dim::sequence && !inner && stream) sharding = joined(sharding, rules.between);
    // What is cut by the experts' inner dimension has all slots that sequence parallelism cuts.
    if (dim == Dim::slot && has(tensor, Dim::ffn)) sharding = without(sharding, rules.expert_ffn);
    return sharding;
  });
}

OperandPlacements operand_placements(const Operation& operation,
                                     const std::vector<PlacedOperand>& reads,
                                     const std::vector<PlacedOperand>& writes,
                                     const ShardingRules& rules) {
  const Operands of{operation, reads, writes};
  switch (row_of(operation.kind).placement) {
    case PlacementRule::as_result:
      return Alike{of}.placements();
    case PlacementRule::gemm:
      return gemm_placements(of);
    case PlacementRule::attention:
      return attention_placements(of, rules);
    case PlacementRule::embedding:
      return embedding_placements(of);
    case PlacementRule::embedding_gradient:
      return embedding_backward_placements(of);
    case PlacementRule::loss_part:
      return loss_part_placements(of);
    case PlacementRule::loss:
      return loss_placements(of);
    case PlacementRule::shared_keys:
      return shared_placements(of, {Operand::shared});
    case PlacementRule::weighted_rows:
      return shared_placements(of, {Operand::weights});
    case PlacementRule::modulated:
      return shared_placements(of, {Operand::scale, Operand::shift});
    case PlacementRule::tokens_of_x:
      return routing_placements(of, of.either(Operand::x));
    case PlacementRule::tokens_of_y:
      return routing_placements(of, of.either(Operand::y));
    case PlacementRule::tokens_of_experts:
      return routing_placements(of, of.read(Operand::experts));
  }
  LOCKSTEP_CHECK(false && "every rule has its placements");
  return {};
}

}  // namespace lockstep
