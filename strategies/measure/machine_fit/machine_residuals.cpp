#include <algorithm>
#include <cmath>
#include <map>

#include "sim/cost/roofline.hpp"
#include "sim/execute/command_graph/backend.hpp"
#include "strategies/measure/machine_fit/fit_links.hpp"
#include "strategies/measure/machine_fit/fit_machine.hpp"

namespace lockstep {

namespace {

using Kind = MachineMeasurement::Kind;
using Measurements = std::vector<MachineMeasurement>;

/// Of copies between GPUs, the sizes that their figures do not come from too.
void add_links(const Measurements& measurements, const MachineLinks& links,
               std::map<std::string, std::vector<double>>& errors) {
  for (const MachineMeasurement& each : measurements) {
    if (each.kind != Kind::peer || each.what != "copy") continue;
    for (const MachineLink& link : links.pairs) {
      if (link.from != each.from || link.to != each.to) continue;
      errors["copies between GPUs"].push_back(seconds_of(link, each.bytes) / each.seconds - 1);
    }
  }
}

}  // namespace

std::vector<MachineResidual> residuals_of(const std::vector<MachineMeasurement>& measurements,
                                          const MachineFit& fit) {
  const Roofline cost{fit.model};
  std::map<std::string, std::vector<double>> errors;
  for (const MachineMeasurement& each : measurements) {
    if (each.kind != Kind::kernel) continue;
    const std::string of = each.what + " " + std::string{to_string(each.kernel.math)};
    errors[of].push_back(cost.time(each.kernel).seconds() / each.seconds - 1);
  }
  add_links(measurements, fit.links, errors);
  std::vector<MachineResidual> out;
  for (const auto& [of, values] : errors) {
    std::vector<double> sizes;
    double sum = 0;
    for (const double value : values) {
      sizes.push_back(std::abs(value));
      sum += value;
    }
    std::sort(sizes.begin(), sizes.end());
    const auto rows = static_cast<std::int64_t>(values.size());
    const auto ninth = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(rows))) - 1;
    out.push_back({of, rows, median(sizes), sizes[ninth], sum / static_cast<double>(rows)});
  }
  return out;
}

}  // namespace lockstep
