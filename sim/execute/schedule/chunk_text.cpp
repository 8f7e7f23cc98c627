#include "sim/execute/schedule/chunk_text.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace lockstep {

std::string to_text(const Chunk& chunk) {
  constexpr std::array<std::string_view, 3> kNames{"data", "output", "scratch"};
  const std::string_view buffer = kNames.at(static_cast<std::size_t>(chunk.buffer));
  if (chunk.count == 1) return fmt::format("chunk {} of {}", chunk.first, buffer);
  return fmt::format("chunks {} to {} of {}", chunk.first, chunk.first + chunk.count - 1, buffer);
}

std::string in_chunks(std::int64_t count) {
  return count == 1 ? "1 chunk" : fmt::format("{} chunks", count);
}

std::string to_text(const ScheduleStepIndex& place) {
  return fmt::format("rank {}, lane {}, step {}", place.rank, place.lane, place.step);
}

std::string last_written(const std::optional<ScheduleStepIndex>& place) {
  if (!place) return "never written";
  return fmt::format("last written by lane {}, step {}", place->lane, place->step);
}

}  // namespace lockstep
