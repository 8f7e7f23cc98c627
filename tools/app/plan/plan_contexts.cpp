#include "tools/app/plan/plan_contexts.hpp"

#include <utility>

namespace lockstep::app {

TrainingStepSimulator& PlanContext::simulator(const std::string& stack) {
  const auto found = simulators_.find(stack);
  if (found != simulators_.end()) return found->second;
  return simulators_.try_emplace(stack, setting.simulated(stack), setting.options(stack))
      .first->second;
}

std::unique_ptr<PlanContext> PlanContexts::take(std::size_t setting) {
  const std::lock_guard lock(mutex_);
  auto& free = free_[setting];
  if (free.empty()) return std::make_unique<PlanContext>(space_, *settings_[setting], walk_);
  auto out = std::move(free.back());
  free.pop_back();
  return out;
}

void PlanContexts::give_back(std::size_t setting, std::unique_ptr<PlanContext> context) {
  const std::lock_guard lock(mutex_);
  free_[setting].push_back(std::move(context));
}

}  // namespace lockstep::app
