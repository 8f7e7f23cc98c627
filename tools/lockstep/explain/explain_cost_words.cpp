#include "tools/lockstep/explain/explain_cost_words.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lockstep::cli {

namespace {

using app::agree;

std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
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
std::vector<std::string> reasons(const ExplainedCost& cost) {
  const std::int64_t rounds = cost.rounds;
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

std::string bytes_text(const CostTerm& term) {
  return fmt::format("{} of {} = {}", counted(term.count, "chunk"), to_string(term.block),
                     to_string(term.block * term.count));
}

std::string rate_text(const CostTerm& term) {
  return term.rate ? "at " + to_string(*term.rate) : "no time";
}

}  // namespace

std::vector<std::string> model_lines(const ExplainedCost& cost) {
  if (!cost.hop) return {};
  const AlphaBeta& hop = *cost.hop;
  return {fmt::format("alpha = {} per message: latency from rank 0 to rank {}",
                      to_string(hop.alpha), cost.hop_to),
          fmt::format("beta = 1 / ({}): slowest link of that route", to_string(hop.beta)),
          hop.gamma
              ? fmt::format("gamma = 1 / ({}): reduction rate of the device", to_string(*hop.gamma))
              : std::string{"gamma = 0: reductions take no time on this device"}};
}

TermWords words_of(const CostTerm& term) {
  switch (term.kind) {
    case CostTerm::Kind::latency:
      return {"latency", "rounds * alpha", counted(term.count, "round"), to_string(term.alpha)};
    case CostTerm::Kind::sending:
      return {"sending", "bytes * beta", bytes_text(term), rate_text(term)};
    case CostTerm::Kind::reduction:
      break;
  }
  return {"reduction", "bytes * gamma", bytes_text(term), rate_text(term)};
}

BoundWords words_of(const BoundTerm& bound) {
  switch (bound.kind) {
    case BoundTerm::Kind::latency:
      return {"latency", "longest path between two ranks that must exchange data"};
    case BoundTerm::Kind::bandwidth:
      return {"bandwidth",
              fmt::format("bytes through the {}{}", bound.cut,
                          bound.reduced_in_switches ? ", with reduction in switches" : "")};
    case BoundTerm::Kind::reduction:
      break;
  }
  return {"reduction", "all reductions, shared by all ranks"};
}

std::vector<std::string> comparison_lines(const ExplainedCost& cost) {
  if (!cost.simulated || !cost.hop) return {};
  std::vector<std::string> out = reasons(cost);
  if (!cost.simulated->busiest_link.empty())
    out.push_back(fmt::format("busiest link: {}, {:.1f} % of the time",
                              cost.simulated->busiest_link, 100 * cost.simulated->busy));
  return out;
}

}  // namespace lockstep::cli
