#include "sim/engine/recorded_work.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/collectives.hpp"
#include "sim/engine/reused_calls.hpp"

namespace lockstep::engine {

namespace {

void take_one(std::int64_t permille, std::vector<std::int64_t>& out) {
  const auto found = std::find(out.begin(), out.end(), permille);
  LOCKSTEP_CHECK(found != out.end());
  out.erase(found);
}

}  // namespace

void RecordedWork::join(const Siblings& siblings) {
  state_ = &siblings.state;
  collectives_ = &siblings.collectives;
  streams_ = &siblings.streams;
  reused_ = &siblings.reused;
}

void RecordedWork::touch(std::uint32_t stream) {
  const Place& place = place_[stream];
  if (place.cell == kNone) return;
  Cell& cell = cells_[place.cell];
  if (!std::exchange(cell.touched, true)) touched_.push_back(place.cell);
  if (cell.mode == Mode::records &&
      std::find(cell.changed.begin(), cell.changed.end(), place.own) == cell.changed.end())
    cell.changed.push_back(place.own);
}

void RecordedWork::touch_all() {
  for (Cell& cell : cells_) {
    cell.elsewhere.resize(cell.endpoints.size());
    if (!streams_->slowed().empty()) {
      for (std::size_t i = 0; i < cell.endpoints.size(); ++i)
        cell.elsewhere[i] = streams_->slowing(cell.endpoints[i]);
      for (const std::uint32_t stream : cell.streams)
        if (calls(stream))
          take_one(permille_of_call(stream),
                   cell.elsewhere[index_of(cell, streams_->endpoint_of(stream))]);
    }
    touch(cell.streams.front());
  }
}

bool RecordedWork::knows_launch(std::uint32_t stream, const Activity& operation) const {
  const Place& place = place_[stream];
  if (!operation.launched_after || place.cell == kNone) return true;
  const Cell& cell = cells_[place.cell];
  if (cell.mode != Mode::records) return true;
  ActivityRef ref = *operation.launched_after;
  ref.stream += (*streams_)[stream].first_stream;
  const Record& record = records_[cell.record];
  const Place& by = place_[ref.stream];
  const bool within = by.cell == place.cell && ref.index >= record.from[by.own];
  const bool known =
      std::any_of(record.launched_by.begin(), record.launched_by.end(), [&](const Launcher& of) {
        return of.operation.stream == ref.stream && of.operation.index == ref.index;
      });
  return within || known;
}

void RecordedWork::end_record(std::uint32_t stream) {
  const std::uint32_t cell = place_[stream].cell;
  if (cell != kNone && cells_[cell].mode == Mode::records) complete(cells_[cell]);
}

void RecordedWork::catch_up(std::uint32_t stream) {
  const std::uint32_t id = place_[stream].cell;
  if (id == kNone) return;
  if (cells_[id].mode == Mode::records && place_[stream].own >= cells_[id].first)
    put_like_first(cells_[id], place_[stream].own);
  if (cells_[id].mode != Mode::follows) return;
  const Cell& cell = cells_[id];
  const Record& record = records_[cell.record];
  const Duration later = cell.since - record.began;
  const auto after = std::lower_bound(
      record.instants.begin(), record.instants.end(), state_->now(),
      [later](const Instant& instant, TimePoint now) { return instant.at + later < now; });
  put(id, static_cast<std::size_t>(after - record.instants.begin()));
}

/// An own stream that is behind `index` comes to it after a cut.
void RecordedWork::released(std::uint32_t stream, std::uint32_t index) {
  const std::uint32_t id = place_[stream].cell;
  if (id == kNone || (*streams_)[stream].index != index) return;
  end_record(stream);
  catch_up(stream);
}

void RecordedWork::communicates(std::uint32_t stream, std::int64_t permille, bool begins) {
  const std::uint32_t id = cell_at_[streams_->endpoint_of(stream)];
  if (id == kNone || is_own(stream)) return;
  Cell& cell = cells_[id];
  std::vector<std::int64_t>& before = cell.elsewhere[index_of(cell, streams_->endpoint_of(stream))];
  std::vector<std::int64_t> after = before;
  if (begins) {
    after.push_back(permille);
  } else {
    take_one(permille, after);
  }
  if (slowest(after) != slowest(before)) {
    end_record(cell.streams.front());
    catch_up(cell.streams.front());
    touch(cell.streams.front());
  }
  before = std::move(after);
}

void RecordedWork::computes(std::uint32_t stream) {
  const std::uint32_t id = cell_at_[streams_->endpoint_of(stream)];
  if (id == kNone || is_own(stream)) return;
  end_record(cells_[id].streams.front());
  catch_up(cells_[id].streams.front());
}

std::size_t RecordedWork::index_of(const Cell& cell, EndpointId endpoint) {
  return static_cast<std::size_t>(
      std::lower_bound(cell.endpoints.begin(), cell.endpoints.end(), endpoint) -
      cell.endpoints.begin());
}

void RecordedWork::resume(std::uint32_t id) {
  const Cell& cell = cells_[id];
  if (cell.mode != Mode::follows) return;
  const Record& record = records_[cell.record];
  if (!record.complete || record.instants.empty()) return;
  if (record.instants.back().at + (cell.since - record.began) == state_->now())
    put(id, record.instants.size());
}

void RecordedWork::finish_instant() {
  // NOLINTNEXTLINE(modernize-loop-convert): safe where what follows touches another cell
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    const std::uint32_t id = touched_[i];
    Cell& cell = cells_[id];
    cell.touched = false;
    if (cell.mode == Mode::records) {
      add_instant(cell);
      if (is_idle(cell)) complete(cell);
    } else if (cell.mode == Mode::plain && may_begin(cell)) {
      begin(id);
    }
    cell.changed.clear();
  }
  touched_.clear();
}

const Activity& RecordedWork::current(std::uint32_t stream) const {
  return streams_->program(stream).operations[(*streams_)[stream].index];
}

/// Whether the stream is in a collective.
bool RecordedWork::calls(std::uint32_t stream) const {
  const StreamState& state = (*streams_)[stream];
  return state.busy && !state.computing;
}

std::int64_t RecordedWork::permille_of_call(std::uint32_t stream) const {
  const Workload& workload = *state_->workload;
  const std::uint32_t call = streams_->program(stream).member_slot(current(stream)).call;
  return workload.permille_during(workload.calls[call]);
}

TimePoint RecordedWork::end_of_call(std::uint32_t stream) const {
  const std::uint32_t call = streams_->program(stream).member_slot(current(stream)).call;
  return collectives_->call(call).until;
}

std::uint32_t RecordedWork::ends_for_all(std::uint32_t stream) {
  const Place& place = place_[stream];
  if (place.cell == kNone || cells_[place.cell].mode != Mode::records) return kNone;
  Cell& cell = cells_[place.cell];
  if (cell.first == cell.streams.size()) return kNone;
  const std::uint32_t out = cell.streams[place.own % cell.first];
  if (!is_cut(out, (*streams_)[out].index)) return out;
  complete(cell);
  return kNone;
}

bool RecordedWork::is_idle(const Cell& cell) const {
  const auto end =
      cell.mode == Mode::records ? cell.streams.begin() + cell.first : cell.streams.end();
  return std::none_of(cell.streams.begin(), end,
                      [&](std::uint32_t stream) { return (*streams_)[stream].busy; });
}

/// Whether the ends of all that is in flight are known, and none waits for its launch.
bool RecordedWork::may_begin(const Cell& cell) const {
  if (is_idle(cell) ||
      std::any_of(cell.endpoints.begin(), cell.endpoints.end(), [&](EndpointId endpoint) {
        return streams_->computes_at(endpoint, cell.streams);
      }))
    return false;
  return std::all_of(cell.streams.begin(), cell.streams.end(), [&](std::uint32_t stream) {
    const StreamProgram& of = streams_->program(stream);
    const StreamState& state = (*streams_)[stream];
    if (!state.busy) return state.index == of.size || streams_->waits(stream);
    return state.computing || collectives_->call(of.member_slot(current(stream)).call).known;
  });
}

/// Of what is in flight or next.
std::vector<RecordedWork::Launcher> RecordedWork::launched_by(const Cell& cell, Part part) const {
  std::vector<Launcher> out;
  for (std::uint32_t own = part.from; own < part.to; ++own) {
    const std::uint32_t stream = cell.streams[own];
    const StreamProgram& of = streams_->program(stream);
    const StreamState& state = (*streams_)[stream];
    const std::size_t next = state.computing ? state.ahead : state.index + (state.busy ? 1U : 0U);
    for (std::size_t i = state.index; i <= next && i < of.size; ++i) {
      if (!of.operations[i].launched_after) continue;
      ActivityRef by = *of.operations[i].launched_after;
      by.stream += state.first_stream;
      if (by.index >= (*streams_)[by.stream].index) continue;
      if (!out.empty() && out.back().operation.stream == by.stream &&
          out.back().operation.index == by.index)
        continue;
      out.push_back({own, by});
    }
  }
  return out;
}

/// Adds the state of some own streams to a key, relative to the first of them and to now.
void RecordedWork::add_state(const Cell& cell, Part part, const std::vector<Launcher>& launched,
                             fold::KeyBuilder& key) const {
  const auto left = [&](TimePoint until) { return (until - state_->now()).ps(); };
  for (const auto& [own, by] : launched) {
    const std::uint32_t first = (*streams_)[cell.streams[own]].first_stream;
    key.add(own - part.from)
        .add(by.stream - first)
        .add(by.index)
        .add(left(streams_->ends().at(by.stream, by.index)));
  }
  for (std::uint32_t own = part.from; own < part.to; ++own) {
    const std::uint32_t stream = cell.streams[own];
    const StreamState& state = (*streams_)[stream];
    key.add(state.index).add((state.busy ? 1 : 0) + (state.computing ? 2 : 0));
    if (state.computing) {
      key.add(state.ahead).add(state.slows ? 1 : 0).add(left(state.began));
      for (std::uint32_t i = state.index; i < state.ahead; ++i)
        key.add(left(streams_->ends().at(stream, i)));
    } else if (state.busy) {
      key.add(left(end_of_call(stream)));
    }
  }
}

/// All endpoints, which have one program.
bool RecordedWork::are_in_one_state(const Cell& cell) const {
  const std::uint32_t alike = patterns_[cell.pattern].alike;
  if (alike == 0 || cell.endpoints.size() == 1) return false;
  fold::Key first;
  for (std::uint32_t i = 0; i < cell.endpoints.size(); ++i) {
    const Part part{i * alike, (i + 1) * alike};
    fold::KeyBuilder key;
    key.add(slowest(cell.elsewhere[i]));
    add_state(cell, part, launched_by(cell, part), key);
    if (i == 0) first = key.key();
    if (key.key() != first) return false;
  }
  return true;
}

void RecordedWork::begin(std::uint32_t id) {
  Cell& cell = cells_[id];
  const bool one = are_in_one_state(cell);
  const Part part{
      0, one ? patterns_[cell.pattern].alike : static_cast<std::uint32_t>(cell.streams.size())};
  std::vector<Launcher> launched = launched_by(cell, part);
  fold::KeyBuilder key;
  key.add(cell.pattern).add(part.to);
  for (std::size_t i = 0; i < (one ? 1 : cell.elsewhere.size()); ++i)
    key.add(slowest(cell.elsewhere[i]));
  add_state(cell, part, launched, key);
  const auto [found, is_new] =
      known_.try_emplace(key.key(), static_cast<std::uint32_t>(records_.size()));
  cell.since = state_->now();
  if (!is_new) {
    follow(id, found->second);
    return;
  }
  cell.record = found->second;
  cell.mode = Mode::records;
  cell.first = part.to;
  Record& record = records_.emplace_back();
  record.leader = id;
  record.first = part.to;
  record.began = state_->now();
  record.launched_by = std::move(launched);
  for (std::uint32_t own = 0; own < part.to; ++own)
    record.from.push_back((*streams_)[cell.streams[own]].index);
}

void RecordedWork::follow(std::uint32_t id, std::uint32_t of) {
  Record& record = records_[of];
  Cell& cell = cells_[id];
  if (record.complete && record.instants.empty()) return;
  cell.record = of;
  cell.mode = Mode::follows;
  if (record.complete) {
    state_->queue.push(make_event(EventKind::resumes, id,
                                  record.instants.back().at + (cell.since - record.began)));
  } else {
    record.followers.push_back(id);
  }
}

/// The end of an instant in which streams of the leader have changed.
void RecordedWork::add_instant(Cell& cell) {
  if (cell.changed.empty()) return;
  Record& record = records_[cell.record];
  for (const std::uint32_t own : cell.changed) {
    const std::uint32_t stream = cell.streams[own];
    Change change{own, static_cast<std::uint32_t>(record.ends.size()), (*streams_)[stream]};
    if (change.state.computing) {
      record.ends.resize(record.ends.size() + change.state.ahead - change.state.index);
      streams_->ends().copy(stream, change.state.index, change.state.ahead,
                            record.ends.data() + change.first_end);
    } else if (change.state.busy) {
      change.state.until = end_of_call(stream);
    }
    record.changes.push_back(change);
  }
  record.instants.push_back({state_->now(), record.changes.size()});
}

/// The record ends with the last instant that it has.
void RecordedWork::complete(Cell& cell) {
  Record& record = records_[cell.record];
  record.complete = true;
  record.instants.shrink_to_fit();
  record.changes.shrink_to_fit();
  record.ends.shrink_to_fit();
  put_others(cell);
  cell.mode = Mode::plain;
  cell.changed.clear();
  const TimePoint last = record.instants.empty() ? record.began : record.instants.back().at;
  const std::vector<std::uint32_t> followers = std::exchange(record.followers, {});
  for (const std::uint32_t id : followers) {
    const Cell& follower = cells_[id];
    if (follower.mode != Mode::follows || &records_[follower.record] != &record) continue;
    const TimePoint resumes = last + (follower.since - record.began);
    if (resumes <= state_->now()) {
      put(id, record.instants.size());
    } else {
      state_->queue.push(make_event(EventKind::resumes, id, resumes));
    }
  }
}

/// Puts a cell in the state after so many instants of the record that it follows.
void RecordedWork::put(std::uint32_t id, std::size_t instants) {
  Cell& cell = cells_[id];
  const Record& record = records_[cell.record];
  const Duration later = cell.since - record.began;
  cell.mode = Mode::plain;
  const std::size_t changes = instants == 0 ? 0 : record.instants[instants - 1].changes;
  std::vector<const Change*> last(record.first, nullptr);
  for (std::size_t i = 0; i < changes; ++i) last[record.changes[i].own] = &record.changes[i];
  for (const std::uint32_t stream : cell.streams) streams_->fetch(stream);
  for (const std::uint32_t stream : cell.streams) streams_->fetch_ends(stream);
  for (std::uint32_t own = 0; own < cell.streams.size(); ++own) {
    const Change* change = last[own % record.first];
    if (change == nullptr) continue;
    const StreamState& state = change->state;
    const std::size_t in_flight = state.computing ? state.ahead - state.index : 0;
    const auto ends = std::span{record.ends}.subspan(change->first_end, in_flight);
    const StreamEnds::Shift ended =
        own < record.first ? StreamEnds::Shift{cells_[record.leader].streams[change->own], later}
                           : StreamEnds::Shift{cell.streams[change->own], {}, true};
    put_stream(cell.streams[own], {&state, ends, later, ended});
  }
  for (const std::uint32_t stream : cell.streams) push_end(stream);
  put_slowing(cell);
}

/// The stream does what that of the first endpoint does, which has counted their calls.
void RecordedWork::put_like_first(const Cell& cell, std::uint32_t own) {
  const std::uint32_t like = cell.streams[own % cell.first];
  StreamState state = (*streams_)[like];
  std::vector<TimePoint> ends(state.computing ? state.ahead - state.index : 0);
  streams_->ends().copy(like, state.index, state.index + ends.size(), ends.data());
  if (state.busy && !state.computing) state.until = end_of_call(like);
  put_stream(cell.streams[own], {&state, ends, {}, {like, {}, true}, false});
}

/// Those that the first endpoint has stood for have events again.
void RecordedWork::put_others(const Cell& cell) {
  if (cell.first == cell.streams.size()) return;
  for (std::uint32_t own = cell.first; own < cell.streams.size(); ++own) {
    put_like_first(cell, own);
    push_end(cell.streams[own]);
    state_->ready.push_back(kStream | cell.streams[own]);
  }
  put_slowing(cell, 1);
  for (std::size_t i = 1; i < cell.endpoints.size(); ++i)
    streams_->keep_slowed(cell.endpoints[i], cell.endpoints.front());
}

/// What the collectives in flight of its endpoints from the given one on, and those of their other
/// streams, slow down.
void RecordedWork::put_slowing(const Cell& cell, std::size_t from) {
  if (streams_->slowed().empty()) return;
  std::vector<std::vector<std::int64_t>> slowing = cell.elsewhere;
  for (const std::uint32_t stream : cell.streams)
    if (calls(stream))
      slowing[index_of(cell, streams_->endpoint_of(stream))].push_back(permille_of_call(stream));
  for (std::size_t i = from; i < cell.endpoints.size(); ++i)
    streams_->set_slowing(cell.endpoints[i], std::move(slowing[i]));
}

void RecordedWork::put_stream(std::uint32_t stream, const Like& like) {
  const std::uint32_t from = (*streams_)[stream].index;
  end_calls(stream, from, like);
  if (const std::uint32_t to = like.state->index; from < to) {
    followed_ += to - from;
    streams_->end_as(stream, to, like.ended);
  }
  streams_->set_state(stream, *like.state, like.ends, like.later);
}

/// The calls of the operations that the stream is put behind, and the one that it is put in.
void RecordedWork::end_calls(std::uint32_t stream, std::uint32_t from, const Like& like) {
  const StreamProgram& of = streams_->program(stream);
  const StreamState& after = *like.state;
  const std::uint32_t begun_before = from + (calls(stream) ? 1U : 0U);
  const bool in_call = after.busy && !after.computing;
  for (std::uint32_t i = from; i < after.index + (in_call ? 1U : 0U); ++i) {
    const Activity& operation = of.operations[i];
    if (operation.kind != Activity::Kind::collective) continue;
    const auto [call, member] = of.member_slot(operation);
    const bool counts = like.counts || state_->workload->calls[call].members.size() == 1;
    if (i >= begun_before && member == 0 && counts) reused_->count_use(call);
    if (i < after.index) {
      collectives_->end_known(call, member,
                              streams_->ends().at(like.ended.stream, i) + like.ended.later);
    } else {
      collectives_->set_known(call, after.until + like.later);
    }
  }
}

/// Events that it has had while it followed were void. A call ends with one event.
void RecordedWork::push_end(std::uint32_t stream) {
  const StreamState& state = (*streams_)[stream];
  if (state.computing) {
    state_->queue.push(make_event(EventKind::computed, stream, state.until));
  } else if (state.busy) {
    const auto [call, member] = streams_->program(stream).member_slot(current(stream));
    if (member == 0) state_->queue.push(make_event(EventKind::met, call, end_of_call(stream)));
  }
}

}  // namespace lockstep::engine
