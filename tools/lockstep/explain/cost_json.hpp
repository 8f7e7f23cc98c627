#pragma once

#include "tools/app/explain/explain.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/app.hpp"

/// Parts of an explained cost as JSON, for `explain` and for the page that teaches.
namespace lockstep::cli {

/// Terms of the closed form: name, symbol, amount, each, time_s.
[[nodiscard]] Json terms_json(const ExplainedCost& cost);
/// Terms of the lower bound: name, from, time_s.
[[nodiscard]] Json bounds_json(const ExplainedCost& cost);
/// Adds the bytes sent by a rank and by all, and the number of messages, if counted.
void add_traffic(const ExplainedCost& cost, Bytes block, Json& out);

}  // namespace lockstep::cli
