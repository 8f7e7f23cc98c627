#include "sim/execute/program_order/drawn_order.hpp"

#include <algorithm>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/random_bits.hpp"
#include "sim/execute/program_order/program_waits.hpp"

namespace lockstep::execution {

DrawnOrder::DrawnOrder(ExecutionState& state, OperationRunner& runner, std::uint64_t seed)
    : state_{state}, runner_{runner}, draws_{seed} {
  for (RankCursor& cursor : state.cursors()) {
    for (std::size_t stream = 0; stream < cursor.streams.size(); ++stream) {
      if (!cursor.streams[stream].empty()) lanes_.push_back({&cursor, stream});
    }
  }
}

void DrawnOrder::run() {
  std::int64_t left = state_.operations();
  while (left > 0) {
    std::int64_t ended = sweep(false);
    if (ended == 0) ended = sweep(true);
    if (ended == 0) throw ExecutionError{"the execution cannot go on: " + waits_text(state_)};
    left -= ended;
  }
}

/// Goes through all lanes in a drawn order and lets each do a few operations, or, not being
/// patient, none. Returns how many operations have ended.
std::int64_t DrawnOrder::sweep(bool patient) {
  for (std::size_t i = lanes_.size(); i > 1; --i) {
    draws_ = mixed(draws_, i);
    std::swap(lanes_[i - 1], lanes_[draws_ % i]);
  }
  std::int64_t ended = 0;
  for (const Lane& lane : lanes_) {
    draws_ = mixed(draws_, lane.stream);
    const std::uint64_t most = patient ? 1 : draws_ % 5;
    for (std::uint64_t i = 0; i < most && advance(lane); ++i) ++ended;
  }
  return ended;
}

/// Whether the next operation of a lane has ended.
bool DrawnOrder::advance(const Lane& lane) {
  RankCursor& cursor = *lane.cursor;
  const std::uint32_t index = cursor.head(lane.stream);
  if (index == kNoOperation) return false;
  if (!cursor.begun[index]) {
    if (!may_begin(cursor, index)) return false;
    cursor.begun[index] = true;
    runner_.begin(cursor, index);
  }
  if (!runner_.end(cursor, index)) return false;
  state_.end(cursor, index);
  ++cursor.next[lane.stream];
  return true;
}

bool DrawnOrder::may_begin(const RankCursor& cursor, std::uint32_t operation) const {
  const IndexList& after = cursor.operation(operation).after;
  const bool ready = std::all_of(after.begin(), after.end(),
                                 [&](std::uint32_t before) { return cursor.done[before]; });
  if (!ready) return false;
  return cursor.kind(operation) != OperationKind::send ||
         state_.has_room(*cursor.messages[operation]);
}

}  // namespace lockstep::execution
