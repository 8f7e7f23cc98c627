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
  if (const TimePoint issued = issued_at(stream); issued > queue_.now()) {
    queue_.push(make_event(Kind::issued, stream, issued));
    return;
  }
  state.busy = true;
  begin_operation(stream);
}

TimePoint Engine::issued_at(std::uint32_t stream) const {
  const Stream& of = workload_->streams[stream];
  const Activity& operation = of.all()[streams_[stream].index];
  if (!operation.launched_after) return operation.not_before;
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
      if (computing_at_.empty()) {
        queue_.push(make_event(Kind::computed, stream, compute(own, operation)));
      } else {
        begin_computing(stream, operation);
      }
      return;
    case Activity::Kind::send: {
      const Correspondent to = of.end(operation);
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
  state.slows = operation.processor == Activity::kOwnProcessor;
  const bool slowed = state.slows && communicating_[at] > 0;
  if (state.slows) {
    std::vector<std::uint32_t>& others = computing_at_[at];
    others.insert(std::lower_bound(others.begin(), others.end(), stream), stream);
  }
  state.until = slowed
                    ? queue_.now() + scaled(operation.duration, workload_->slowed_permille, kWhole)
                    : compute(at, operation);
  queue_.push(make_event(Kind::computed, stream, state.until));
}

/// What is left of computation in flight takes longer from the first collective on, and less long
/// from the end of the last.
void Engine::communicates(EndpointId at, int more) {
  if (communicating_.empty()) return;
  const bool before = communicating_[at] > 0;
  communicating_[at] += more;
  const bool now = communicating_[at] > 0;
  if (before == now) return;
  for (const std::uint32_t stream : computing_at_[at]) {
    StreamState& state = streams_[stream];
    if (state.until <= queue_.now()) continue;
    const Duration left = state.until - queue_.now();
    const std::int64_t slow = workload_->slowed_permille;
    state.until = queue_.now() + (now ? scaled(left, slow, kWhole) : scaled(left, kWhole, slow));
    queue_.push(make_event(Kind::computed, stream, state.until));
  }
}

/// When the operation is done that its stream has reached.
TimePoint Engine::compute(EndpointId at, const Activity& operation) {
  if (operation.processor == Activity::kOwnProcessor) return queue_.now() + operation.duration;
  TimePoint& free = processor_free_[(std::uint64_t{at} << 32U) | operation.processor];
  free = std::max(free, queue_.now()) + operation.duration;
  return free;
}

void Engine::finish_operation(std::uint32_t stream) {
  StreamState& state = streams_[stream];
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
