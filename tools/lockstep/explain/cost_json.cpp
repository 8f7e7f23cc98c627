#include "tools/lockstep/explain/cost_json.hpp"

#include "tools/lockstep/explain/explain_cost_words.hpp"

namespace lockstep::cli {

Json terms_json(const ExplainedCost& cost) {
  Json out = Json::array();
  for (const CostTerm& term : cost.terms) {
    const TermWords words = words_of(term);
    out.push_back({{"name", words.name},
                   {"symbol", words.symbol},
                   {"amount", words.amount},
                   {"each", words.each},
                   {"time_s", term.time.seconds()}});
  }
  return out;
}

Json bounds_json(const ExplainedCost& cost) {
  Json out = Json::array();
  for (const BoundTerm& bound : cost.bounds) {
    const BoundWords words = words_of(bound);
    out.push_back({{"name", words.name}, {"from", words.from}, {"time_s", bound.time.seconds()}});
  }
  return out;
}

void add_traffic(const ExplainedCost& cost, Bytes block, Json& out) {
  if (!cost.traffic) return;
  out["sent_per_rank_bytes"] = cost.traffic->sent_blocks * block.count();
  out["sent_in_total_bytes"] = cost.traffic->total_blocks * block.count();
  out["messages"] = cost.traffic->messages;
}

}  // namespace lockstep::cli
