#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace lockstep::cli {

/// How long a phase will still take, from its share that is done at several times. Simulations
/// often begin slowly and become faster, as more and more repeats what was simulated before. So
/// the estimate takes the faster of the rates of all so far and of the latter half of the time,
/// and there is none before a twentieth is done or a minute is over.
class TimeLeft {
 public:
  /// A new phase: `share` of it is done at `seconds`.
  void begin(double seconds, double share);
  void add(double seconds, double share);
  /// In seconds from the last report on; none: not known yet.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  void thin_out();

  std::vector<std::pair<double, double>> reports_;  // seconds, share; spread over the time
  std::pair<double, double> last_{0, 0};
};

}  // namespace lockstep::cli
