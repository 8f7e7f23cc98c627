#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/kernels/part_layout.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// How a program's collective is packed into the messages that a schedule moves.
enum class MessageForm : std::uint8_t {
  whole,     // everybody has the same message, or takes it as it comes
  gathered,  // every member's part, for everyone
  parts,     // every member has a part for everyone: summed, or each for itself
};

/// Errors: ExecutionError for a collective that programs do not have, and for a schedule of fewer
/// ranks than members.
[[nodiscard]] MessageForm message_form(const Communication& how, const Schedule& schedule,
                                       std::size_t members);

/// Elements of a member's part, so that it fills its share of the schedule's blocks.
[[nodiscard]] std::int64_t padded_part(const Schedule& schedule, std::size_t members,
                                       std::int64_t part);

/// Whether members hold the same part of one message; null: nothing. Errors: ExecutionError.
void check_same_parts(const Communication& how, const std::vector<const PartLayout*>& layouts);

/// Errors: ExecutionError where more or less comes than is to come.
void check_all_come(std::int64_t come, std::int64_t wanted);

/// A schedule's moves, after which something is missing. Errors: ExecutionError, always.
[[noreturn]] void refuse_unfinished(const std::string& problem);

}  // namespace lockstep
