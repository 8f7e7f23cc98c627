#pragma once

#include <optional>
#include <string>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// "chunk 3 of data", "chunks 3 to 5 of scratch".
[[nodiscard]] std::string to_text(const Chunk& chunk);
/// "rank 2, lane 0, step 5".
[[nodiscard]] std::string to_text(const ScheduleStepIndex& place);
/// "last written by lane 0, step 5", "never written".
[[nodiscard]] std::string last_written(const std::optional<ScheduleStepIndex>& place);

}  // namespace lockstep
