#include <cmath>

#include "strategies/models/transformer_blocks.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// Tokens that one expert has room for. A capacity is that for the tokens of one rank
/// (Megatron-LM core/transformer/moe/moe_utils.py, get_capacity), as many times as ranks share
/// them.
[[nodiscard]] std::int64_t slots_per_expert(const TransformerParts& parts,
                                            const BuildOptions& options) {
  const ExpertsConfig& experts = *parts.config.experts;
  const std::int64_t visits = parts.batch.size * parts.sequence.size * experts.top_k;
  const double mean = static_cast<double>(visits) / static_cast<double>(experts.experts);
  if (options.capacity_factor == 0) return static_cast<std::int64_t>(std::ceil(mean));
  const double of_rank = mean / static_cast<double>(options.token_parts);
  return options.token_parts *
         static_cast<std::int64_t>(std::ceil(of_rank * options.capacity_factor));
}

struct Routing {
  Ref weights;  // [b, s, k], fp32
  Ref experts;  // [b, s, k]
};

[[nodiscard]] Routing append_router(BlockBuilder& block, const TransformerParts& parts,
                                    const Ref& x) {
  const Extent all{Dim::expert, parts.config.experts->experts};
  const std::vector<Extent> chosen{
      parts.batch, parts.sequence, {Dim::choice, parts.config.experts->top_k}};
  const Ref weight = block.weight("router.weight", {parts.hidden, all});
  const auto bias = append_bias(block, parts.config.router_bias, "router", {all});
  const Ref logits = block.tensor("router.logits", {parts.batch, parts.sequence, all}, Dtype::fp32);
  block.matmul("router.logits", x, weight, bias, logits, block.options().wide_math());
  const Routing out{block.tensor("router.weights", chosen, Dtype::fp32),
                    block.tensor("router.experts", chosen, Dtype::int32)};
  block.append(Kind::router, "router", {logits}, {out.weights, out.experts});
  return out;
}

/// The experts' MLPs on their slots: x [E, slot, h] -> [E, slot, h]; `weights`: [E, slot] or none.
class ExpertGemms {
 public:
  ExpertGemms(BlockBuilder& block, const TransformerParts& parts, const Ref& x)
      : block_{block}, parts_{parts}, expert_{block.extents(x)[0]}, slot_{block.extents(x)[1]} {}

  [[nodiscard]] Ref append(const Ref& x, const std::optional<Ref>& weights) {
    const Extent inner{Dim::ffn, parts_.config.experts->ffn};
    const bool gated = parts_.config.gated;
    const int fused = gated ? block_.join() : 0;
    const Ref up = gemm("experts.up", x, inner, fused);
    const auto gate = gated ? std::optional{gemm("experts.gate", x, inner, fused)} : std::nullopt;
    const Ref active = block_.like("experts.activation", up);
    std::vector<Ref> operands{block_.activation_input(up)};
    if (weights) operands.push_back(*weights);
    if (gate) operands.push_back(block_.activation_input(*gate));
    Operation& activation = block_.append(weights ? Kind::weighted_activation : Kind::activation,
                                          "experts.activation", operands, {active});
    activation.function = parts_.config.function;
    return gemm("experts.down", active, parts_.hidden, 0);
  }

 private:
  Ref gemm(const std::string& name, const Ref& x, const Extent& to, int fused) {
    const Ref weight = block_.weight(name + ".weight", {expert_, block_.extents(x).back(), to});
    const auto bias = append_bias(block_, has_mlp_bias(parts_.config), name, {expert_, to});
    const Ref y = block_.tensor(name, {expert_, slot_, to});
    block_.matmul(name, x, weight, bias, y).fused = fused;
    return y;
  }

  BlockBuilder& block_;
  const TransformerParts& parts_;
  Extent expert_;
  Extent slot_;
};

}  // namespace

Ref append_experts(BlockBuilder& block, const TransformerParts& parts, const Ref& x) {
  const ExpertsConfig& config = *parts.config.experts;
  const Routing routing = append_router(block, parts, x);
  const bool narrow = block.dispatches_narrow();
  const Extent expert{Dim::expert, config.experts};
  const Extent slot{Dim::slot, slots_per_expert(parts, block.options())};
  const Ref slots = block.tensor("experts.slots", {expert, slot, parts.hidden},
                                 narrow ? std::optional{block.options().math} : std::nullopt);
  block.append(Kind::dispatch, "experts.dispatch", {block.dispatched(x), routing.experts}, {slots});
  const bool early = block.options().form.router_weights == RouterWeights::activation &&
                     !has_mlp_bias(parts.config);
  std::optional<Ref> weights;
  if (early) {
    weights = block.tensor("experts.slot_weights", {expert, slot}, Dtype::fp32);
    block.append(Kind::dispatch_weights, "experts.dispatch_weights",
                 {routing.weights, routing.experts}, {*weights});
  }
  const Ref done = ExpertGemms{block, parts, slots}.append(slots, weights);
  // Backward dispatches the gradients of results; what is combined keeps the activations' type.
  if (narrow) block.graph().narrow_gradient(done.tensor);
  const Ref y = block.like("experts.combined", x);
  if (early) {
    block.append(Kind::unpermute, "experts.combine", {done, routing.experts}, {y});
  } else {
    block.append(Kind::combine, "experts.combine", {done, routing.weights, routing.experts}, {y});
  }
  if (config.shared == 0) return y;
  const Ref shared = append_mlp(block, parts, "shared", config.shared * config.shared_ffn, x);
  const Ref both = block.like("experts.sum", x);
  block.append(Kind::add, "experts.add", {y, shared}, {both});
  return both;
}

}  // namespace lockstep
