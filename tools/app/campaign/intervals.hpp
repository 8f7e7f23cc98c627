#pragma once

#include <array>
#include <optional>

#include "tools/app/campaign/file/campaign_file.hpp"
#include "tools/app/campaign/file/long_time.hpp"

/// Checkpoint intervals in closed form: training time between two saves.
namespace lockstep::app {

/// What the closed forms know of a job.
struct IntervalInputs {
  double mtbf_s = 0;     // of the job; infinite: no failures
  double save_s = 0;     // by which a save stalls training
  double restore_s = 0;  // mean time from a failure to training: detection, restart, reload
};

/// sqrt(2 C M). Young, A first order approximation to the optimum checkpoint interval, CACM 17(9),
/// 1974.
[[nodiscard]] double young_interval(const IntervalInputs& in);
/// sqrt(2 C (M + R)). Daly, A higher order estimate of the optimum checkpoint interval for restart
/// dumps, FGCS 22(3), 2006, first-order model; as in Herault and Robert, Fault-Tolerance Techniques
/// for High-Performance Computing, 2015, section 1.3.
[[nodiscard]] double daly_interval(const IntervalInputs& in);
/// M (1 + W(-exp(-1 - C/M))), W Lambert's function: the minimum of exponential_time(), which does
/// not depend on R. Daly 2006, section 4.
[[nodiscard]] double exponential_interval(const IntervalInputs& in);
/// Tc - C with the period Tc = C + sqrt(2 (M + R) C + C^2). arXiv 2410.18124.
[[nodiscard]] double availability_interval(const IntervalInputs& in);

/// By rule; none for IntervalRule::given and simulated.
[[nodiscard]] std::optional<double> closed_interval(IntervalRule rule, const IntervalInputs& in);

/// Expected wall time over training time with exponential failures, also in restarts:
/// M exp(R/M) (exp((tau + C)/M) - 1) / tau. Daly 2006, equation 20 (its complete solution).
[[nodiscard]] double exponential_time(double interval_s, const IntervalInputs& in);

}  // namespace lockstep::app
