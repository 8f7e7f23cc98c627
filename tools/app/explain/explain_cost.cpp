#include "tools/app/explain/explain_cost.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "strategies/collectives/registry/registry.hpp"
#include "tools/app/explain/explain_bound.hpp"

namespace lockstep::app {

namespace {

std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::vector<std::string> model_lines(const Stage& stage) {
  if (!stage.input.hop) return {};
  const AlphaBeta& hop = *stage.input.hop;
  const int far =
      stage.setup->layout().per_node < stage.input.n ? stage.setup->layout().per_node : 1;
  return {fmt::format("alpha = {} per message: latency from rank 0 to rank {}",
                      to_string(hop.alpha), far),
          fmt::format("beta = 1 / ({}): slowest link of that route", to_string(hop.beta)),
          hop.gamma
              ? fmt::format("gamma = 1 / ({}): reduction rate of the device", to_string(*hop.gamma))
              : std::string{"gamma = 0: reductions take no time on this device"}};
}

CostTerm bytes_term(const char* name, const char* symbol, std::int64_t blocks, Bytes block,
                    const std::optional<Rate>& rate) {
  CostTerm out{name,
               symbol,
               fmt::format("{} of {} = {}", counted(blocks, "chunk"), to_string(block),
                           to_string(block * blocks)),
               rate ? "at " + to_string(*rate) : "no time",
               {}};
  if (rate) out.time = time_for(repeated_work(block, blocks), rate->steps());
  return out;
}

void add_terms(const CollectiveCost& cost, const AlphaBeta& hop, Bytes block, ExplainedCost& out) {
  out.terms.push_back({"latency", "rounds * alpha", counted(cost.rounds, "round"),
                       to_string(hop.alpha), cost.rounds * hop.alpha});
  if (cost.path_blocks > 0)
    out.terms.push_back(bytes_term("sending", "bytes * beta", cost.path_blocks, block, hop.beta));
  if (cost.reduced_blocks > 0)
    out.terms.push_back(
        bytes_term("reduction", "bytes * gamma", cost.reduced_blocks, block, hop.gamma));
  out.formula = ideal_time(cost, block, hop);
}

bool agree(Duration a, Duration b, std::int64_t rounds) {
  const Duration rounding = Duration::picoseconds(1) * (rounds + 1);
  return a - b <= rounding && b - a <= rounding;
}

/// " (+1.5 %)"; of a tiny part, that one decimal would not show, in words.
std::string percent_more(Duration simulated, Duration formula) {
  if (formula == Duration{}) return {};
  const double percent = 100 * (simulated.seconds() / formula.seconds() - 1);
  return std::abs(percent) < 0.05 ? " (less than 0.1 %)" : fmt::format(" ({:+.1f} %)", percent);
}

std::string difference(Duration simulated, Duration formula) {
  const bool more = simulated > formula;
  return fmt::format("{} {} than the formula{}",
                     to_string(more ? simulated - formula : formula - simulated),
                     more ? "more" : "less", percent_more(simulated, formula));
}

/// Why the engine's time is not the formula's.
std::vector<std::string> reasons(const ExplainedCost& cost, std::int64_t rounds) {
  if (!cost.formula) return {"no closed form for these parameters; simulation only"};
  const Duration simulated = cost.simulated->time;
  if (agree(simulated, *cost.formula, rounds))
    return {"simulation and formula agree to the picosecond"};
  if (cost.near)
    return {difference(simulated, *cost.formula),
            "the formula is an estimate: equal rounds, and one port for all concurrent messages"};
  std::vector<std::string> out = {difference(simulated, *cost.formula)};
  const Duration ports = cost.ports_only.value_or(simulated);
  if (!agree(ports, *cost.formula, rounds))
    out.push_back(fmt::format(
        "with ports as the only limits: {}; the formula assumes equal hops without overlap",
        to_string(ports)));
  if (simulated > ports && !agree(simulated, ports, rounds))
    out.push_back(
        fmt::format("{} more: contention on links behind the ports", to_string(simulated - ports)));
  return out;
}

void compare(const Stage& stage, std::int64_t rounds, ExplainedCost& out) {
  const NetworkModel model = stage.setup->model();
  out.simulated = replay_stage(stage, model);
  if (!stage.input.hop) return;  // one rank sends nothing
  if (out.formula && !out.near && model != NetworkModel::alpha_beta &&
      !agree(out.simulated->time, *out.formula, rounds))
    out.ports_only = replay_stage(stage, NetworkModel::alpha_beta).time;
  out.comparison = reasons(out, rounds);
  if (!out.simulated->busiest_link.empty())
    out.comparison.push_back(fmt::format("busiest link: {}, {:.1f} % of the time",
                                         out.simulated->busiest_link, 100 * out.simulated->busy));
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

ExplainedCost explain_cost(const Stage& stage, const CollectiveAlgorithm& algorithm,
                           bool replayed) {
  ExplainedCost out;
  out.model = model_lines(stage);
  out.traffic = count_traffic(*stage.schedule, senders_of(stage, algorithm));
  const auto exact = cost_of(algorithm, stage.input);
  const auto cost = exact ? exact : estimate_of(algorithm, stage.input);
  out.near = cost && !exact;
  if (cost && stage.input.hop) add_terms(*cost, *stage.input.hop, stage.layout.block, out);
  if (replayed) compare(stage, cost ? cost->rounds : 0, out);
  if (stage.input.n > 1) out.bounds = bounds_of(stage, algorithm, out.simulated);
  return out;
}

}  // namespace lockstep::app
