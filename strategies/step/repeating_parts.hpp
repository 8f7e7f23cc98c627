#pragma once

#include <optional>
#include <vector>

#include "sim/engine/periodic_replay.hpp"
#include "sim/program/periods.hpp"
#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

/// Of every stream of a lowered program, the part that its role repeats. `ranks`: as
/// LoweredProgram::places.
[[nodiscard]] std::vector<RepeatingPart> repeating_parts(const ShortenedProgram& program,
                                                         const std::vector<RoleProgram>& roles,
                                                         const std::vector<int>& ranks,
                                                         const LoweredProgram& lowered);

/// The most that a rank holds in the whole step, from its timeline in the shorter one, whose state
/// at `settled` is that of a period later. Buffers that all microbatches use are held in the
/// periods left out, even where the shorter step has not used all of them at once. None where a
/// single period is left out in which some are not held any more.
[[nodiscard]] std::optional<Bytes> peak_with_all_periods(const ShortenedProgram& program,
                                                         const RoleProgram& role,
                                                         const RankTimeline& rank,
                                                         const PeriodicReplay& replayed);

/// What ranks of a role hold throughout of the microbatches that were left out.
[[nodiscard]] Bytes resident_of_left_out(const ShortenedProgram& program, const RoleProgram& role);

}  // namespace lockstep
