#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/memory/memory.hpp"
#include "sim/trace/summary.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/simulate.hpp"

/// The scenarios that ship, run as `lockstep run` does, to be held to what they say they show.
namespace lockstep::test {

/// A scenario of configs/scenarios by its name, with overrides as of --set.
[[nodiscard]] Scenario shipped_scenario(const std::string& name,
                                        const std::vector<std::string>& overrides = {});

/// Messages, as GroupTraffic counts their bytes.
struct Sent {
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const Sent&, const Sent&) = default;
};

/// One of them, simulated.
class Shown {
 public:
  explicit Shown(const std::string& name, const std::vector<std::string>& overrides = {});

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const TrainingStepTimeline& timeline() const { return step_.timeline; }
  [[nodiscard]] const TrainingStepSummary& summary() const { return summary_; }

  [[nodiscard]] Fidelity fidelity() const { return step_.fidelity; }
  [[nodiscard]] double step_s() const { return summary_.step.seconds(); }
  [[nodiscard]] double samples_per_s() const;
  [[nodiscard]] double tokens_per_s() const;
  /// Of the model alone, nothing done again, as lockstep prints it.
  [[nodiscard]] double model_flops_per_gpu_per_s() const;
  /// Training on all samples or tokens of the scenario.
  [[nodiscard]] double training_s() const;

  /// Communication of the rank that ends last; nothing where it has none in this group.
  [[nodiscard]] GroupTraffic traffic(std::string_view group) const;
  [[nodiscard]] double exposed_s(std::string_view group) const;
  /// Communication of a group in routines whose name ends so ("forward"), on a simulated rank.
  [[nodiscard]] Sent sent(std::string_view group, std::string_view routine,
                          std::size_t simulated = 0) const;
  /// The links by their names, such as "host0 -> leaf0". Errors: InternalError for none.
  [[nodiscard]] std::int64_t link_bytes(std::string_view name) const;

  [[nodiscard]] std::size_t simulated_ranks() const { return step_.timeline.ranks.size(); }
  /// Of a simulated rank, by its place in the timeline.
  [[nodiscard]] MemoryAccount memory(std::size_t simulated = 0) const;
  [[nodiscard]] CategoryBytes resident(std::size_t simulated = 0) const;
  /// The most that any simulated rank holds.
  [[nodiscard]] std::int64_t peak_bytes() const;
  [[nodiscard]] std::int64_t gpu_bytes() const;

 private:
  Scenario scenario_;
  std::shared_ptr<const Program> program_;
  SimulatedTrainingStep step_;
  TrainingStepSummary summary_;
};

/// |a - b| <= part * |b|.
[[nodiscard]] bool within(double a, double b, double part);

}  // namespace lockstep::test
