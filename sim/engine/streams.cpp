#include "sim/engine/streams.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/collectives.hpp"
#include "sim/engine/recorded_work.hpp"
#include "sim/engine/reused_calls.hpp"
#include "sim/engine/transfers.hpp"

namespace lockstep::engine {

namespace {

constexpr std::int64_t kWhole = 1000;  // of times in thousandths

}  // namespace

std::int64_t slowest(const std::vector<std::int64_t>& permilles) {
  return permilles.empty() ? kWhole : *std::max_element(permilles.begin(), permilles.end());
}

Streams::Streams(const ReplayState& state)
    : workload_{state.workload},
      streams_(workload_->streams.size()),
      runs_ahead_{state.by_track && !workload_->shares_processors()} {
  programs_.reserve(streams_.size());
  for (const Stream& stream : workload_->streams) {
    LOCKSTEP_CHECK(stream.endpoint < state.network->endpoints.size());
    ends_.add(stream.all().size());
    programs_.emplace_back(stream);
  }
  LOCKSTEP_CHECK(streams_.size() < kStream);
  LOCKSTEP_CHECK(workload_->slowed_permille >= 1000);
  const bool slows = std::any_of(workload_->calls.begin(), workload_->calls.end(),
                                 [](const auto& call) { return call.slowed_permille > kWhole; });
  const bool changes = !workload_->speed_changes.empty();
  if (changes) {
    speed_.resize(state.network->endpoints.size(), SpeedChange::kNormal);
    in_force_ = speed_;
  }
  if (workload_->slowed_permille > kWhole || slows || changes) {
    computing_at_.resize(state.network->endpoints.size());
    slowing_.resize(state.network->endpoints.size());
    slowed_.resize(state.network->endpoints.size(), kWhole);
  }
  add_dependencies();
}

void Streams::join(const Siblings& siblings) {
  state_ = &siblings.state;
  transfers_ = &siblings.transfers;
  collectives_ = &siblings.collectives;
  reused_ = siblings.reused;
  recorded_ = siblings.recorded;
}

void Streams::announce_calls() {
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    const Stream& stream = workload_->streams[s];
    for (const CallMemberSlot& slot : stream.calls)
      collectives_->set_caller(slot.call, slot.member, s);
    for (const Activity& operation : stream.operations)
      if (operation.kind == Activity::Kind::collective)
        collectives_->set_caller(operation.call, operation.member, s);
  }
}

void Streams::announce_speed_changes() {
  for (std::uint32_t i = 0; i < workload_->speed_changes.size(); ++i) {
    const SpeedChange& change = workload_->speed_changes[i];
    LOCKSTEP_CHECK(change.endpoint < speed_.size());
    LOCKSTEP_CHECK(change.ppm > 0 && change.ppm <= SpeedChange::kNormal);
    if (change.at > state_->now()) {
      state_->queue.push(make_event(EventKind::changes_speed, i, change.at));
    } else {
      speed_[change.endpoint] = in_force_[change.endpoint] = change.ppm;
    }
  }
}

void Streams::change_speed_of_endpoint(std::uint32_t change) {
  const SpeedChange& of = workload_->speed_changes[change];
  speed_[of.endpoint] = of.ppm;
  changed_.push_back(of.endpoint);
}

void Streams::run(std::uint32_t stream) {
  StreamState& state = streams_[stream];
  const StreamProgram& program = programs_[stream];
  if (recorded_ != nullptr && recorded_->follows(stream)) return;
  if (state.busy || state.index == program.size) return;
  if (waits(stream)) return;
  if (const TimePoint issued = issued_at(stream, state.index); issued > state_->now()) {
    late_launch_ = std::max(late_launch_, issued);
    if (recorded_ != nullptr) recorded_->end_record(stream);
    state_->queue.push(make_event(EventKind::issued, stream, issued));
    return;
  }
  if (recorded_ != nullptr) {
    if (!may_be_recorded(stream, program.operations[state.index])) recorded_->end_record(stream);
    recorded_->touch(stream);
  }
  state.busy = true;
  begin_operation(stream);
}

/// Whether the operation that the stream comes to may be part of a record.
bool Streams::may_be_recorded(std::uint32_t stream, const Activity& operation) const {
  if (!recorded_->knows_launch(stream, operation)) return false;
  if (operation.kind != Activity::Kind::collective || !recorded_->leads(stream)) return true;
  return reused_->ends_together(programs_[stream].member_slot(operation).call);
}

void Streams::touch(std::uint32_t stream) {
  if (recorded_ != nullptr) recorded_->touch(stream);
}

/// Whether something that the operation waits for has not ended. A stream's operations end in their
/// order, and of a run in flight only the last has dependents.
bool Streams::waits_at(std::uint32_t stream, std::uint32_t index) const {
  const auto& after = programs_[stream].operations[index].after;
  const std::uint32_t first = streams_[stream].first_stream;
  return std::any_of(after.begin(), after.end(), [&](const ActivityRef& ref) {
    return streams_[first + ref.stream].index <= ref.index;
  });
}

TimePoint Streams::issued_at(std::uint32_t stream, std::uint32_t index) const {
  const Activity& operation = programs_[stream].operations[index];
  const StreamState& state = streams_[stream];
  if (!operation.launched_after)
    return TimePoint{operation.not_before.since_start() - state.earlier};
  const auto [from, place] = *operation.launched_after;
  return ends_.at(state.first_stream + from, place) + (operation.not_before - TimePoint{});
}

void Streams::begin_operation(std::uint32_t stream) {
  const StreamProgram& of = programs_[stream];
  const EndpointId own = of.endpoint;
  const Activity& operation = of.operations[streams_[stream].index];
  const std::uint32_t track = kStream | stream;
  switch (operation.kind) {
    case Activity::Kind::compute:
      begin_computing(stream, operation);
      return;
    case Activity::Kind::send: {
      const Correspondent to = of.end(operation);
      if (reused_ != nullptr) reused_->count_message({own, to.peer, to.tag}, true);
      transfers_->post({own, to.peer, to.tag},
                       {track, true, false, false, operation.size.count(), state_->next_order++, 1,
                        state_->instant},
                       workload_->slots);
      return;
    }
    case Activity::Kind::receive: {
      const Correspondent from = of.end(operation);
      transfers_->post({from.peer, own, from.tag},
                       {track, false, false, false, operation.size.count()}, workload_->slots);
      return;
    }
    case Activity::Kind::collective: {
      const auto [call, member] = of.member_slot(operation);
      collectives_->begin_member(call, member);
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

/// What took `of` at one pace, at another.
[[nodiscard]] Duration at_pace(Duration of, const Pace& before, const Pace& after) {
  if (before.ppm == after.ppm) return scaled(of, after.permille, before.permille);
  return scaled(of, after.permille * before.ppm, before.permille * after.ppm);
}

/// That of one operation.
[[nodiscard]] Pace seen_by(const Activity& operation, const Pace& pace) {
  return operation.any_speed ? Pace{pace.permille} : pace;
}

}  // namespace

void Streams::begin_computing(std::uint32_t stream, const Activity& operation) {
  StreamState& state = streams_[stream];
  const EndpointId at = programs_[stream].endpoint;
  state.computing = true;
  state.began = state_->now();
  state.slows = operation.processor == Activity::kOwnProcessor && !computing_at_.empty();
  if (state.slows) {
    if (recorded_ != nullptr) recorded_->computes(stream);
    std::vector<std::uint32_t>& others = computing_at_[at];
    others.insert(std::lower_bound(others.begin(), others.end(), stream), stream);
  }
  if (operation.processor == Activity::kOwnProcessor) {
    time_run(stream, state.index, state_->now() + time_of(stream, state.index));
    end_record_if_due();
  } else {
    state.ahead = state.index + 1;
    state.until = on_processor(at, operation);
    look_at_end(stream);
  }
}

/// At the present speed.
Duration Streams::time_of(std::uint32_t stream, std::uint32_t index) const {
  const StreamProgram& of = programs_[stream];
  const Activity& operation = of.operations[index];
  if (!streams_[stream].slows) return operation.duration;
  const Pace now = seen_by(operation, pace(of.endpoint));
  return now == Pace{} ? operation.duration : at_pace(operation.duration, Pace{}, now);
}

Pace Streams::pace(EndpointId at) const {
  return {slowed_[at], in_force_.empty() ? SpeedChange::kNormal : in_force_[at]};
}

/// Of an operation whose predecessor's end is known.
TimePoint Streams::start_of(std::uint32_t stream, std::uint32_t index) {
  const TimePoint before = ends_.at(stream, index - 1);
  const TimePoint issued = issued_at(stream, index);
  if (recorded_ != nullptr &&
      (issued > before || !recorded_->knows_launch(stream, programs_[stream].operations[index])))
    ends_record_of_ = stream;
  if (issued <= before) return before;
  late_launch_ = std::max(late_launch_, issued);
  return issued;
}

/// The rest of a run, from an operation that ends at `end` on. A run goes on where nothing waits
/// for an operation but its successor, a computation, which waits for nothing else.
void Streams::time_run(std::uint32_t stream, std::uint32_t index, TimePoint end) {
  StreamState& state = streams_[stream];
  const Activity* operations = programs_[stream].operations;
  const std::uint32_t* list = &first_dependent_[state.first_list];
  ends_.set(stream, index, end);
  touch(stream);
  const std::uint32_t last = programs_[stream].size - 1;
  const auto is_cut = [&](std::uint32_t i) {
    if (recorded_ == nullptr) return false;
    return recorded_->is_cut(stream, i) ||
           (recorded_->leads(stream) && !recorded_->knows_launch(stream, operations[i + 1]));
  };
  while (runs_ahead_ && index < last && !is_cut(index) && list[index] == list[index + 1] &&
         operations[index + 1].kind == Activity::Kind::compute && !waits_at(stream, index + 1)) {
    ++index;
    end = start_of(stream, index) + time_of(stream, index);
    ends_.set(stream, index, end);
  }
  state.ahead = index + 1;
  state.until = end;
  if (!(state.looks > state_->now() && state.looks <= end)) look_at_end(stream);
}

/// Where a stream has begun a run that is no part of a record.
void Streams::end_record_if_due() {
  const std::uint32_t stream = std::exchange(ends_record_of_, kNone);
  if (stream != kNone) recorded_->end_record(stream);
}

void Streams::look_at_end(std::uint32_t stream) {
  StreamState& state = streams_[stream];
  state.looks = state.until;
  state_->queue.push(make_event(EventKind::computed, stream, state.until));
}

void Streams::communicates(std::uint32_t stream, std::int64_t permille, bool begins) {
  if (slowing_.empty()) return;
  const EndpointId at = endpoint_of(stream);
  if (recorded_ != nullptr) recorded_->communicates(stream, permille, begins);
  std::vector<std::int64_t>& all = slowing_[at];
  if (begins) {
    all.push_back(permille);
  } else {
    all.erase(std::find(all.begin(), all.end(), permille));
  }
  changed_.push_back(at);
}

void Streams::change_speeds() {
  // NOLINTNEXTLINE(modernize-loop-convert): grows where the end of a record changes others
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const EndpointId at = changed_[i];
    const Pace before = pace(at);
    slowed_[at] = slowest(slowing_[at]);
    if (!speed_.empty()) in_force_[at] = speed_[at];
    if (pace(at) == before) continue;  // as before this instant
    for (const std::uint32_t stream : computing_at_[at]) change_pace(stream, before, pace(at));
    end_record_if_due();
  }
  changed_.clear();
}

void Streams::change_pace(std::uint32_t stream, const Pace& before, const Pace& after) {
  StreamState& state = streams_[stream];
  while (ends_.at(stream, state.index) <= state_->now()) {
    ++state.index;
    LOCKSTEP_CHECK(state.index < state.ahead);
    state.began = start_of(stream, state.index);
  }
  if (state.began >= state_->now()) {
    time_run(stream, state.index, state.began + time_of(stream, state.index));
    return;
  }
  const Activity& operation = programs_[stream].operations[state.index];
  const Duration left = ends_.at(stream, state.index) - state_->now();
  time_run(stream, state.index,
           state_->now() + at_pace(left, seen_by(operation, before), seen_by(operation, after)));
}

/// When an operation on a shared processor is done that its stream has reached.
TimePoint Streams::on_processor(EndpointId at, const Activity& operation) {
  TimePoint& free = processor_free_[(std::uint64_t{at} << 32U) | operation.processor];
  free = std::max(free, state_->now()) + operation.duration;
  return free;
}

void Streams::finish_operation(std::uint32_t stream) {
  StreamState& state = streams_[stream];
  if (state.computing) state.index = state.ahead - 1;
  if (recorded_ != nullptr && recorded_->is_own(stream)) {
    if (recorded_->is_cut(stream, state.index)) recorded_->end_record(stream);
    recorded_->touch(stream);
  }
  ends_.set(stream, state.index, state_->now());
  state_->end = state_->now();
  const std::uint32_t list = state.first_list + state.index;
  ++state.index;
  state.busy = false;
  if (std::exchange(state.computing, false) && state.slows)
    std::erase(computing_at_[programs_[stream].endpoint], stream);
  state_->ready.push_back(kStream | stream);
  for (std::uint32_t i = first_dependent_[list]; i < first_dependent_[list + 1]; ++i) {
    const std::uint32_t waiting = state.first_stream + dependents_[i].stream;
    if (streams_[waiting].index != dependents_[i].index || waits(waiting)) continue;
    if (recorded_ != nullptr && !recorded_->is_own(stream))
      recorded_->released(waiting, dependents_[i].index);
    state_->ready.push_back(kStream | waiting);
  }
}

void Streams::end_run(std::uint32_t stream) {
  // Where communication has slowed it down or sped it up, another event says when it ends.
  const StreamState& state = streams_[stream];
  if (!state.computing || follows(stream)) return;
  if (state.until == state_->now()) {
    finish_operation(stream);
  } else if (state.looks == state_->now()) {
    look_at_end(stream);
  }
}

std::uint32_t Streams::not_begun(std::uint32_t stream) const {
  const StreamState& state = streams_[stream];
  if (!state.computing) return state.index + 1;
  std::uint32_t active = state.index;
  for (std::uint32_t last = state.ahead - 1; active < last;) {
    const std::uint32_t middle = active + (last - active) / 2;
    if (ends_.at(stream, middle) <= state_->now()) {
      active = middle + 1;
    } else {
      last = middle;
    }
  }
  return active + 1;
}

void Streams::launch_earlier(const std::vector<RepeatingPart>& parts, Duration period,
                             std::int64_t periods) {
  for (std::size_t s = 0; s < streams_.size(); ++s)
    streams_[s].earlier = (period - parts[s].launch) * periods;
}

}  // namespace lockstep::engine
