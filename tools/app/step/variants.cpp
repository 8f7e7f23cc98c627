#include "tools/app/step/variants.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/config/json/config_error.hpp"

namespace lockstep::app {

namespace {

TrainingStepRequest request_of(TrainingStepRequest request, const ScenarioVariant& variant) {
  request.overrides.insert(request.overrides.end(), variant.overrides.begin(),
                           variant.overrides.end());
  request.overrides.emplace_back("variants=[]");
  request.suggestions = 0;
  request.trace.clear();
  request.on_progress = {};
  if (request.on_phase)
    request.on_phase = [report = request.on_phase, name = variant.name](Phase phase) {
      if (!phase.name.empty()) phase.name += fmt::format(" (variant {})", name);
      report(phase);
    };
  return request;
}

VariantResult run_variant(const TrainingStepRequest& request, const ScenarioVariant& variant) {
  VariantResult out{variant.name, variant.overrides};
  try {
    out.result = run_step(request_of(request, variant));
  } catch (const DoesNotFit& error) {
    out.shortfall = error.shortfall();
  } catch (const ConfigError& error) {
    out.problem = error.problems().front().message;
  }
  return out;
}

}  // namespace

std::vector<VariantResult> run_variants(const TrainingStepRequest& request,
                                        const Scenario& scenario) {
  std::vector<VariantResult> out;
  for (const ScenarioVariant& variant : scenario.variants)
    out.push_back(run_variant(request, variant));
  return out;
}

}  // namespace lockstep::app
