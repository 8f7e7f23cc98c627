#pragma once

#include <string>
#include <vector>

#include "tools/app/explain/explain_cost.hpp"

/// The cost of an algorithm in words, for the page and the JSON of `lockstep explain`.
namespace lockstep::cli {

using app::BoundTerm;
using app::CostTerm;
using app::ExplainedCost;

/// alpha, beta and gamma on this cluster; empty for one rank.
[[nodiscard]] std::vector<std::string> model_lines(const ExplainedCost& cost);

struct TermWords {
  std::string name;    // "latency"
  std::string symbol;  // "rounds * alpha"
  std::string amount;  // "6 rounds"
  std::string each;    // "2 us"
};
[[nodiscard]] TermWords words_of(const CostTerm& term);

struct BoundWords {
  std::string name;  // "bandwidth"
  std::string from;  // "bytes through the ports of rank 3"
};
[[nodiscard]] BoundWords words_of(const BoundTerm& bound);

/// Formula and simulation compared, and what limits the latter; empty if not simulated.
[[nodiscard]] std::vector<std::string> comparison_lines(const ExplainedCost& cost);

}  // namespace lockstep::cli
