#pragma once

#include <cstdint>
#include <optional>

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

/// The evaluations that the step time of a run contains: what the row says, or, of a time that is
/// that of a whole MLPerf run divided by its steps, what the benchmark prescribes. None: the time
/// is that of training steps alone.
[[nodiscard]] std::optional<Evaluations> evaluations_of(const MeasuredRun& run);

/// Forward passes of one global batch for each training step, in the mean. Both training and
/// evaluation proceed in whole global batches.
[[nodiscard]] double evaluation_passes_per_step(const Evaluations& of, std::int64_t global_batch);

}  // namespace lockstep
