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

constexpr std::array kFacts{Fact::one_device,      Fact::reads_defined,   Fact::sharded,
                            Fact::weights_listed,  Fact::routines_made,   Fact::stages_ordered,
                            Fact::gradients_whole, Fact::weights_updated, Fact::complete};

void check_order(const StrategyPass& pass, FactSet held) {
  for (const Fact fact : kFacts) {
    if (pass.needs.has(fact) && !held.has(fact))
      throw InternalError{fmt::format("pass {} needs {}", pass.name, to_string(fact))};
    if (pass.precedes.has(fact) && held.has(fact))
      throw InternalError{fmt::format("pass {} runs after {}", pass.name, to_string(fact))};
  }
}

void check_facts(const TrainingStepAssembly& step, FactSet held, std::string_view after) {
  for (const Fact fact : kFacts) {
    if (!held.has(fact)) continue;
    const std::string where = violation(fact, step);
    if (!where.empty())
      throw InternalError{fmt::format("after {}, {}: {}", after, to_string(fact), where)};
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
