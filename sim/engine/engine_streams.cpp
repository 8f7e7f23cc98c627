#include "sim/engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

// Streams: operation after operation, each when what it waits for is done.

void Engine::run_stream(std::uint32_t stream) {
  StreamState& state = streams_[stream];
  const std::vector<Activity>& operations = workload_->streams[stream].all();
  if (state.busy || state.index == operations.size()) return;
  if (waiting_for_[first_operation_[stream] + state.index] > 0) return;
  if (const TimePoint issued = issued_at(stream, state.index); issued > queue_.now()) {
    late_launch_ = std::max(late_launch_, issued);
    queue_.push(make_event(Kind::issued, stream, issued));
    return;
  }
  state.busy = true;
  begin_operation(stream);
}

TimePoint Engine::issued_at(std::uint32_t stream, std::uint32_t index) const {
  const Stream& of = workload_->streams[stream];
  const Activity& operation = of.all()[index];
  if (!operation.launched_after)
    return TimePoint{operation.not_before.since_start() - streams_[stream].earlier};
  const ActivityRef from = of.named(*operation.launched_after);
  return stream_ends_[from.stream][from.index] + (operation.not_before - TimePoint{});
}

void Engine::begin_operation(std::uint32_t stream) {
  const Stream& of = workload_->streams[stream];
  const EndpointId own = of.endpoint;
  const Activity& operation = of.all()[streams_[stream].index];
  const std::uint32_t track = kStream | stream;
  switch (operation.kind) {
    case Activity::Kind::compute:
      begin_computing(stream, operation);
      return;
    case Activity::Kind::send: {
      const Correspondent to = of.end(operation);
      count_message({own, to.peer, to.tag}, true);
      post({own, to.peer, to.tag},
           {track, true, false, false, operation.size.count(), next_order_++, 1, instant_},
           workload_->slots);
      return;
    }
    case Activity::Kind::receive: {
      const Correspondent from = of.end(operation);
      post({from.peer, own, from.tag}, {track, false, false, false, operation.size.count()},
           workload_->slots);
      return;
    }
    case Activity::Kind::collective: {
      const auto [call, member] = of.member_slot(operation);
      begin_member(call, member);
      return;
    }
  }
}

namespace {

/// Rounded to the nearest picosecond.
[[nodiscard]] Duration scaled(Duration of, std::int64_t numerator, std::int64_t denominator) {
  if (std::int64_t product = 0; !__builtin_mul_overflow(of.ps(), numerator, &product) &&
                                !__builtin_add_overflow(product, denominator / 2, &product))
    return Duration::picoseconds(product / denominator);
  const Int128 product = Int128{of.ps()} * numerator;
  return Duration::picoseconds(
      static_cast<std::int64_t>((product + denominator / 2) / Int128{denominator}));
}

constexpr std::int64_t kWhole = 1000;

}  // namespace

void Engine::begin_computing(std::uint32_t stream, const Activity& operation) {
  StreamState& state = streams_[stream];
  const EndpointId at = workload_->streams[stream].endpoint;
  state.computing = true;
  state.began = queue_.now();
  state.slows = operation.processor == Activity::kOwnProcessor && !computing_at_.empty();
  if (state.slows) {
    std::vector<std::uint32_t>& others = computing_at_[at];
    others.insert(std::lower_bound(others.begin(), others.end(), stream), stream);
  }
  if (operation.processor == Activity::kOwnProcessor) {
    time_run(stream, state.index, queue_.now() + time_of(stream, state.index));
  } else {
    state.ahead = state.index + 1;
    state.until = compute(at, operation);
    look_at_end(stream);
  }
}

/// At the present speed.
Duration Engine::time_of(std::uint32_t stream, std::uint32_t index) const {
  const Stream& of = workload_->streams[stream];
  const Duration alone = of.all()[index].duration;
  const bool slower = streams_[stream].slows && slowed_[of.endpoint];
  return slower ? scaled(alone, workload_->slowed_permille, kWhole) : alone;
}

/// Of an operation whose predecessor's end is known.
TimePoint Engine::start_of(std::uint32_t stream, std::uint32_t index) {
  const TimePoint before = stream_ends_[stream][index - 1];
  const TimePoint issued = issued_at(stream, index);
  if (issued <= before) return before;
  late_launch_ = std::max(late_launch_, issued);
  return issued;
}

/// The rest of a run, from an operation that ends at `end` on. A run goes on where nothing waits
/// for an operation but its successor, a computation, which waits for nothing else.
void Engine::time_run(std::uint32_t stream, std::uint32_t index, TimePoint end) {
  StreamState& state = streams_[stream];
  const std::vector<Activity>& operations = workload_->streams[stream].all();
  const std::uint32_t* list = &first_dependent_[state.first_list];
  const std::uint32_t* waits = &waiting_for_[first_operation_[stream]];
  std::vector<TimePoint>& ends = stream_ends_[stream];
  ends[index] = end;
  const std::uint32_t last = static_cast<std::uint32_t>(operations.size()) - 1;
  while (runs_ahead_ && index < last && list[index] == list[index + 1] &&
         operations[index + 1].kind == Activity::Kind::compute && waits[index + 1] == 0) {
    ++index;
    end = start_of(stream, index) + time_of(stream, index);
    ends[index] = end;
  }
  state.ahead = index + 1;
  state.until = end;
  if (!(state.looks > queue_.now() && state.looks <= end)) look_at_end(stream);
}

void Engine::look_at_end(std::uint32_t stream) {
  StreamState& state = streams_[stream];
  state.looks = state.until;
  queue_.push(make_event(Kind::computed, stream, state.until));
}

void Engine::communicates(EndpointId at, int more) {
  if (communicating_.empty()) return;
  const bool before = communicating_[at] > 0;
  communicating_[at] += more;
  if (before != (communicating_[at] > 0)) changed_.push_back(at);
}

/// At the end of an instant: what is left of computation in flight takes longer from the first
/// collective on, and less long from the end of the last.
void Engine::change_speeds() {
  for (const EndpointId at : changed_) {
    const bool slower = communicating_[at] > 0;
    if (slowed_[at] == slower) continue;  // as before this instant
    slowed_[at] = slower;
    for (const std::uint32_t stream : computing_at_[at]) change_speed(stream, slower);
  }
  changed_.clear();
}

void Engine::change_speed(std::uint32_t stream, bool slower) {
  StreamState& state = streams_[stream];
  const std::vector<TimePoint>& ends = stream_ends_[stream];
  while (ends[state.index] <= queue_.now()) {
    ++state.index;
    LOCKSTEP_CHECK(state.index < state.ahead);
    state.began = start_of(stream, state.index);
  }
  if (state.began >= queue_.now()) {
    time_run(stream, state.index, state.began + time_of(stream, state.index));
    return;
  }
  const Duration left = ends[state.index] - queue_.now();
  const std::int64_t slow = workload_->slowed_permille;
  const Duration takes = slower ? scaled(left, slow, kWhole) : scaled(left, kWhole, slow);
  time_run(stream, state.index, queue_.now() + takes);
}

/// When an operation on a shared processor is done that its stream has reached.
TimePoint Engine::compute(EndpointId at, const Activity& operation) {
  TimePoint& free = processor_free_[(std::uint64_t{at} << 32U) | operation.processor];
  free = std::max(free, queue_.now()) + operation.duration;
  return free;
}

void Engine::finish_operation(std::uint32_t stream) {
  StreamState& state = streams_[stream];
  if (state.computing) state.index = state.ahead - 1;
  stream_ends_[stream][state.index] = queue_.now();
  end_ = queue_.now();
  const std::uint32_t list = state.first_list + state.index;
  ++state.index;
  state.busy = false;
  if (std::exchange(state.computing, false) && state.slows)
    std::erase(computing_at_[workload_->streams[stream].endpoint], stream);
  ready_.push_back(kStream | stream);
  for (std::uint32_t i = first_dependent_[list]; i < first_dependent_[list + 1]; ++i) {
    const std::uint32_t waiting = state.first_stream + dependents_[i].stream;
    if (--waiting_for_[first_operation_[waiting] + dependents_[i].index] == 0)
      ready_.push_back(kStream | waiting);
  }
}

}  // namespace lockstep
