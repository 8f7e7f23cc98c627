#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/execute/kernels/part_layout.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Packing of a program's collective into messages of a schedule.
enum class MessageForm : std::uint8_t {
  whole,     // every member has, or receives, the same message
  gathered,  // every member's part is sent to all
  parts,     // every member has a part for every other, reduced or separate
};

/// Throws ExecutionError for collectives that programs do not have, and for a schedule with fewer
/// ranks than members.
[[nodiscard]] MessageForm message_form(const Communication& how, const Schedule& schedule,
                                       std::size_t members);

/// Elements per member, padded to whole blocks of the schedule.
[[nodiscard]] std::int64_t padded_part(const Schedule& schedule, std::size_t members,
                                       std::int64_t part);

/// Checks that members have the same part of a message; null: none. Throws ExecutionError.
void check_same_parts(const Communication& how, const std::vector<const PartLayout*>& layouts);

/// Throws ExecutionError unless the numbers agree.
void check_all_come(std::int64_t come, std::int64_t wanted);

/// Reports that a schedule left data missing. Always throws ExecutionError.
[[noreturn]] void refuse_unfinished(const std::string& problem);

}  // namespace lockstep
