#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/operation.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// What a figure of the hardware is: of a rate more is faster, of a duration less. relative: a rate
/// whose value differs by kernel, 1 being as it is.
enum class FigureUnit : std::uint8_t { bytes_per_second, flops_per_second, seconds, relative };

/// A figure that a step's time may depend on.
struct Figure {
  enum class Of : std::uint8_t {
    link_bandwidth,
    link_latency,
    peak,
    memory_bandwidth,
    reduce_rate,
    host_time,
    kernel_rate,
  };
  Of of = Of::peak;
  LinkKind link = LinkKind::network;                // of links
  OperationClass kernels = OperationClass::matmul;  // of kernel rates
  std::string name;                                 // "nic bandwidth"
  FigureUnit unit = FigureUnit::relative;
  double value = 1;  // in the unit
  double most = 0;   // the highest, where links of a kind differ

  [[nodiscard]] bool is_rate() const { return unit != FigureUnit::seconds; }
  /// Multiplies it by `factor` in a request.
  void scale(TrainingStepRequest& request, double factor) const;
};

/// The figures of a simulated step: bandwidth and latency of every kind of link with traffic,
/// figures of the GPU, launch time of the host, rates of kernels by class. Peaks and memory
/// bandwidth are left out where a calibration or a sustained rate stands for them.
[[nodiscard]] std::vector<Figure> figures_of(const TrainingStepRequest& request,
                                             const TrainingStepResult& result);

/// By name, whatever the case, with dots, hyphens or underscores for spaces. "network" stands for
/// "nic" and the reverse. Throws RequestError with the names.
[[nodiscard]] const Figure& find_figure(const std::vector<Figure>& figures, std::string_view name);

}  // namespace lockstep::app
