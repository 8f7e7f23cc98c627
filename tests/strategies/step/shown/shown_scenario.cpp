#include "tests/strategies/step/shown/shown_scenario.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/step/build_program.hpp"

namespace lockstep::test {

namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

[[nodiscard]] std::shared_ptr<const Program> program_of(const Scenario& scenario) {
  return std::make_shared<const Program>(
      build_program(scenario.model, scenario.parallel, scenario.cluster.cluster.gpus_per_node()));
}

[[nodiscard]] SimulatedTrainingStep step_of(const Scenario& scenario,
                                            std::shared_ptr<const Program> program) {
  const auto cost =
      cost_model(scenario.cluster.device, scenario.stack, scenario.sustained, kConfigs);
  SimulationOptions options;
  options.nccl_tuning = kConfigs + "/nccl/2.30.json";
  return simulate(std::move(program), scenario.parallel, scenario.cluster.cluster,
                  scenario.cluster.device, *cost, options);
}

}  // namespace

Scenario shipped_scenario(const std::string& name, const std::vector<std::string>& overrides) {
  return load_scenario(kConfigs + "/scenarios/" + name + ".json", overrides, kConfigs);
}

Shown::Shown(const std::string& name, const std::vector<std::string>& overrides)
    : scenario_{shipped_scenario(name, overrides)},
      program_{program_of(scenario_)},
      step_{step_of(scenario_, program_)},
      summary_{summarise(step_.timeline)} {}

double Shown::samples_per_s() const {
  return static_cast<double>(scenario_.parallel.global_batch) / step_s();
}

double Shown::tokens_per_s() const {
  return samples_per_s() * static_cast<double>(count_flops(scenario_.model).tokens);
}

double Shown::model_flops_per_gpu_per_s() const {
  return samples_per_s() * count_flops(scenario_.model).training() / scenario_.parallel.ranks();
}

double Shown::training_s() const {
  LOCKSTEP_CHECK(scenario_.samples);
  const bool of_tokens = scenario_.model.transformer() != nullptr;
  return *scenario_.samples / (of_tokens ? tokens_per_s() : samples_per_s());
}

GroupTraffic Shown::traffic(std::string_view group) const {
  for (const GroupTraffic& traffic : summary_.groups) {
    if (traffic.group == group) return traffic;
  }
  return {std::string{group}, 0, {}, {}, {}, Bytes{0}};
}

double Shown::exposed_s(std::string_view group) const {
  return traffic(group).exposed.seconds();
}

Sent Shown::sent(std::string_view group, std::string_view routine, std::size_t simulated) const {
  const RoleProgram& role = timeline().roles.at(timeline().ranks.at(simulated).role);
  Sent out;
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const auto& how = role.operations[i].operation->communication;
    const std::string& in = program_->routines[role.operations[i].call.routine].name;
    if (!how || how->group != group || !in.ends_with(routine)) continue;
    ++out.count;
    out.bytes += message_bytes(role, i).count();
  }
  return out;
}

std::int64_t Shown::link_bytes(std::string_view name) const {
  const Cluster& cluster = scenario_.cluster.cluster;
  for (std::size_t i = 0; i < cluster.link_count(); ++i) {
    if (cluster.link_name(static_cast<LinkId>(i)) == name) {
      return timeline().link_bytes.at(i).count();
    }
  }
  LOCKSTEP_CHECK(false);
  return 0;
}

MemoryAccount Shown::memory(std::size_t simulated) const {
  const RankTimeline& rank = timeline().ranks.at(simulated);
  return memory_account(timeline().roles.at(rank.role), rank);
}

CategoryBytes Shown::resident(std::size_t simulated) const {
  return resident_bytes(timeline().roles.at(timeline().ranks.at(simulated).role));
}

std::int64_t Shown::peak_bytes() const {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < simulated_ranks(); ++i) {
    most = std::max(most, memory(i).device.peak.held.total().count());
  }
  return most;
}

std::int64_t Shown::gpu_bytes() const {
  LOCKSTEP_CHECK(scenario_.cluster.device.memory);
  return scenario_.cluster.device.memory->size.count();
}

bool within(double a, double b, double part) {
  return std::abs(a - b) <= part * std::abs(b);
}

}  // namespace lockstep::test
