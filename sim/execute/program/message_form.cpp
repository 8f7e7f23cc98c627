#include "sim/execute/program/message_form.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/math.hpp"
#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep {

MessageForm message_form(const Communication& how, const Schedule& schedule, std::size_t members) {
  if (schedule.ranks() < static_cast<int>(members)) {
    throw ExecutionError{
        fmt::format("a schedule of {} ranks for {} members", schedule.ranks(), members)};
  }
  switch (how.collective) {
    case Collective::all_reduce:
    case Collective::send_recv:
    case Collective::broadcast:
    case Collective::reduce:
      return MessageForm::whole;
    case Collective::all_gather:
      return MessageForm::gathered;
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return MessageForm::parts;
    default:
      throw ExecutionError{fmt::format("no meaning for {}", to_string(how.collective))};
  }
}

std::int64_t padded_part(const Schedule& schedule, std::size_t members, std::int64_t part) {
  const std::int64_t blocks = schedule.blocks() / static_cast<std::int64_t>(members);
  return round_up(std::max<std::int64_t>(1, part), blocks);
}

void check_same_parts(const Communication& how, const std::vector<const PartLayout*>& layouts) {
  const PartLayout* first = nullptr;
  for (const PartLayout* layout : layouts) {
    if (layout == nullptr) continue;
    if (first == nullptr) first = layout;
    const bool alike = how.collective == Collective::send_recv ||
                       (layout->axes == first->axes && layout->first_flat == first->first_flat);
    if (alike && layout->elements() == first->elements()) continue;
    throw ExecutionError{"members hold different parts of one message"};
  }
}

void check_all_come(std::int64_t come, std::int64_t wanted) {
  if (come == wanted) return;
  throw ExecutionError{fmt::format("{} elements come where {} are to come", come, wanted)};
}

void refuse_unfinished(const std::string& problem) {
  throw ExecutionError{problem.empty() ? "deadlock: its schedule never completes" : problem};
}

}  // namespace lockstep
