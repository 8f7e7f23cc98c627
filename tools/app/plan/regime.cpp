#include "tools/app/plan/regime.hpp"

#include <map>

namespace lockstep::app {

std::string regime_of(const Breakdown& busiest) {
  std::map<std::string, Duration> parts;
  for (std::size_t i = 0; i < kOperationClasses; ++i) {
    const auto of = static_cast<OperationClass>(i);
    const bool flops = of == OperationClass::matmul || of == OperationClass::attention ||
                       of == OperationClass::convolution;
    parts[flops ? "compute" : "memory"] += busiest.computation[i];
  }
  for (const auto& [group, time] : busiest.exposed) parts[group] += time;
  parts["pipeline"] += busiest.bubble;
  parts["launch"] += busiest.issue;
  std::string most = "compute";
  for (const auto& [name, time] : parts)
    if (time > parts[most]) most = name;
  return most;
}

}  // namespace lockstep::app
