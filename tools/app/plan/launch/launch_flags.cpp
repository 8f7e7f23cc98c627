#include "tools/app/plan/launch/launch_flags.hpp"

#include <fmt/format.h>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/layers.hpp"
#include "tools/app/plan/launch/launch_writers.hpp"

namespace lockstep::app {

namespace {

LaunchFlags flags_of(LaunchFramework framework, const Scenario& scenario) {
  switch (framework) {
    case LaunchFramework::torchtitan:
      return torchtitan_flags(scenario);
    case LaunchFramework::deepspeed:
      return deepspeed_flags(scenario);
    case LaunchFramework::nemo:
      return nemo_flags(scenario);
    case LaunchFramework::megatron:
      break;
  }
  return megatron_flags(scenario);
}

}  // namespace

const std::vector<std::pair<std::string_view, LaunchFramework>>& launch_frameworks() {
  static const std::vector<std::pair<std::string_view, LaunchFramework>> all{
      {"megatron", LaunchFramework::megatron},
      {"torchtitan", LaunchFramework::torchtitan},
      {"deepspeed", LaunchFramework::deepspeed},
      {"nemo", LaunchFramework::nemo},
  };
  return all;
}

LaunchFlags launch_flags(LaunchFramework framework, const Scenario& scenario) {
  LaunchFlags out = flags_of(framework, scenario);
  const StateConfig& state = scenario.parallel.state;
  if (state.takes_matrices())
    out.left_out.push_back(fmt::format("optimizer {}: set it with the learning rates",
                                       name_of(optimizer_names(), state.optimizer)));
  return out;
}

std::string with_comments(const LaunchFlags& flags) {
  std::string out;
  for (const std::string& each : flags.left_out) out += fmt::format("# not expressed: {}\n", each);
  return out + flags.text;
}

std::vector<int> layers_by_chunk(const Scenario& scenario) {
  const ParallelConfig& parallel = scenario.parallel;
  if (!parallel.stages.empty()) return parallel.stages;
  const bool has_layers = scenario.model.transformer() != nullptr;
  const int layers = has_layers ? static_cast<int>(layers_of(scenario.model)) : 0;
  const int chunks = parallel.pp * parallel.vpp;
  const int missing = parallel.short_edges ? 1 : 0;
  std::vector<int> out(static_cast<std::size_t>(chunks), (layers + 2 * missing) / chunks);
  out.front() -= missing;
  out.back() -= missing;
  return out;
}

std::string pipeline_layout_text(const std::vector<int>& layers, std::int64_t modules) {
  std::string out = "E";
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i + 1;
    const bool edge = i == 0;
    while (!edge && end + 1 < layers.size() && layers[end] == layers[i]) ++end;
    const auto count = static_cast<std::size_t>(layers[i]);
    const bool last = end == layers.size();
    if (end - i > 1) {
      out += fmt::format("({}|)*{}", std::string(count, 't'), end - i);
    } else {
      out += count > 1 ? fmt::format("t*{}", count) : std::string(count, 't');
      if (!last) out += "|";
    }
    i = end;
  }
  return out + std::string(static_cast<std::size_t>(modules), 'm') + ",L";
}

}  // namespace lockstep::app
