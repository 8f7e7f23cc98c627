#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// "chunk 3 of data", "chunks 3 to 5 of scratch".
[[nodiscard]] std::string to_text(const Chunk& chunk);
/// "1 chunk", "2 chunks".
[[nodiscard]] std::string in_chunks(std::int64_t count);
/// "rank 2, lane 0, step 5".
[[nodiscard]] std::string to_text(const ScheduleStepIndex& place);
/// "last written by lane 0, step 5", "never written".
[[nodiscard]] std::string last_written(const std::optional<ScheduleStepIndex>& place);

}  // namespace lockstep
