#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "strategies/step/training_step_simulator.hpp"
#include "tools/app/plan/walk.hpp"

namespace lockstep::app {

/// State with which one thread evaluates points of a setting, including its caches.
class PlanContext {
 public:
  PlanContext(const PlanSpace& space, const PlanSetting& of, const WalkOptions& options)
      : setting{of}, bounds{of}, walk{space, of, bounds, options} {}
  PlanContext(const PlanContext&) = delete;
  PlanContext& operator=(const PlanContext&) = delete;

  /// For layouts under one software stack.
  [[nodiscard]] TrainingStepSimulator& simulator(const std::string& stack);

  const PlanSetting& setting;
  SettingBounds bounds;
  LayoutWalk walk;

 private:
  std::map<std::string, TrainingStepSimulator> simulators_;
};

/// Pool of contexts per setting; each is used by one thread at a time.
class PlanContexts {
 public:
  /// The arguments must outlive this object.
  PlanContexts(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
               const WalkOptions& walk)
      : space_{space}, settings_{settings}, walk_{walk}, free_(settings.size()) {}

  /// A context, returned to the pool at the end of the scope.
  class Lent {
   public:
    Lent(PlanContexts& pool, std::size_t setting)
        : pool_{pool}, setting_{setting}, context_{pool.take(setting)} {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() { pool_.give_back(setting_, std::move(context_)); }
    [[nodiscard]] PlanContext& operator*() { return *context_; }
    [[nodiscard]] PlanContext* operator->() { return context_.get(); }

   private:
    PlanContexts& pool_;
    std::size_t setting_;
    std::unique_ptr<PlanContext> context_;
  };

 private:
  [[nodiscard]] std::unique_ptr<PlanContext> take(std::size_t setting);
  void give_back(std::size_t setting, std::unique_ptr<PlanContext> context);

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  WalkOptions walk_;
  std::mutex mutex_;
  std::vector<std::vector<std::unique_ptr<PlanContext>>> free_;
};

}  // namespace lockstep::app
