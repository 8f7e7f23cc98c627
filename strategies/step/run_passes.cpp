#include "strategies/step/run_passes.hpp"

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "strategies/step/facts.hpp"

namespace lockstep {

namespace {

#ifdef LOCKSTEP_DEBUG
constexpr bool kChecksFacts = true;
#else
constexpr bool kChecksFacts = false;
#endif

void check_order(const StrategyPass& pass, FactSet held) {
  for (const auto& [fact, name, violation] : fact_checks()) {
    if (pass.needs.has(fact) && !held.has(fact))
      throw InternalError{fmt::format("pass {} needs {}", pass.name, name)};
    if (pass.precedes.has(fact) && held.has(fact))
      throw InternalError{fmt::format("pass {} runs after {}", pass.name, name)};
  }
}

void check_facts(const TrainingStepAssembly& step, FactSet held, std::string_view after) {
  for (const auto& [fact, name, violation] : fact_checks()) {
    if (!held.has(fact)) continue;
    const std::string where = violation(step);
    if (!where.empty()) throw InternalError{fmt::format("after {}, {}: {}", after, name, where)};
  }
}

}  // namespace

void run_passes(TrainingStepAssembly& step, std::span<const StrategyPass> passes, bool checks) {
  const bool checks_facts = kChecksFacts || checks;
  FactSet held = kFactsOfModel;
  if (checks_facts) check_facts(step, held, "build_model");
  for (const StrategyPass& pass : passes) {
    if (!pass.applies(step)) continue;
    check_order(pass, held);
    pass.run(step);
    held = held.without(pass.ends).with(pass.gives);
    if (checks_facts) check_facts(step, held, pass.name);
  }
}

}  // namespace lockstep
