#include "tools/app/explain/explain_cost.hpp"

#include <utility>

#include "strategies/collectives/registry/registry.hpp"
#include "tools/app/explain/explain_bound.hpp"

namespace lockstep::app {

namespace {

CostTerm bytes_term(CostTerm::Kind kind, std::int64_t blocks, Bytes block,
                    const std::optional<Rate>& rate) {
  CostTerm out{kind, blocks, block, {}, rate, {}};
  if (rate) out.time = time_for(repeated_work(block, blocks), rate->steps());
  return out;
}

void add_terms(const CollectiveCost& cost, const AlphaBeta& hop, Bytes block, ExplainedCost& out) {
  using Kind = CostTerm::Kind;
  out.terms.push_back({Kind::latency, cost.rounds, block, hop.alpha, {}, cost.rounds * hop.alpha});
  if (cost.path_blocks > 0)
    out.terms.push_back(bytes_term(Kind::sending, cost.path_blocks, block, hop.beta));
  if (cost.reduced_blocks > 0)
    out.terms.push_back(bytes_term(Kind::reduction, cost.reduced_blocks, block, hop.gamma));
  out.formula = ideal_time(cost, block, hop);
}

void compare(const Stage& stage, ExplainedCost& out) {
  const NetworkModel model = stage.setup->model();
  out.simulated = replay_stage(stage, model);
  if (!stage.input.hop) return;  // one rank sends nothing
  if (out.formula && !out.near && model != NetworkModel::alpha_beta &&
      !agree(out.simulated->time, *out.formula, out.rounds))
    out.ports_only = replay_stage(stage, NetworkModel::alpha_beta).time;
}

std::vector<BoundTerm> bounds_of(const Stage& stage, const CollectiveAlgorithm& algorithm,
                                 const std::optional<StageReplay>& simulated) {
  LowerBound bound = bound_of(stage, algorithm);
  if (simulated) bound = bound_on_run(std::move(bound), simulated->time, simulated->messages);
  return terms_of(bound, algorithm.auxiliary_ranks);
}

/// Whose sending counts: not that of switches.
int senders_of(const Stage& stage, const CollectiveAlgorithm& algorithm) {
  return algorithm.auxiliary_ranks == AuxiliaryRanks::hosts ? stage.schedule->ranks()
                                                            : stage.input.n;
}

}  // namespace

bool agree(Duration a, Duration b, std::int64_t rounds) {
  const Duration rounding = Duration::picoseconds(1) * (rounds + 1);
  return a - b <= rounding && b - a <= rounding;
}

ExplainedCost explain_cost(const Stage& stage, const CollectiveAlgorithm& algorithm,
                           bool replayed) {
  ExplainedCost out;
  out.hop = stage.input.hop;
  out.hop_to = stage.setup->layout().per_node < stage.input.n ? stage.setup->layout().per_node : 1;
  out.traffic = count_traffic(*stage.schedule, senders_of(stage, algorithm));
  const auto exact = cost_of(algorithm, stage.input);
  const auto cost = exact ? exact : estimate_of(algorithm, stage.input);
  out.near = cost && !exact;
  if (cost && stage.input.hop) add_terms(*cost, *stage.input.hop, stage.layout.block, out);
  out.rounds = cost ? cost->rounds : 0;
  if (replayed) compare(stage, out);
  if (stage.input.n > 1) out.bounds = bounds_of(stage, algorithm, out.simulated);
  return out;
}

}  // namespace lockstep::app
