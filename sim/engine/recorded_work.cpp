#include "sim/engine/recorded_work.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/collectives.hpp"
#include "sim/engine/reused_calls.hpp"

namespace lockstep::engine {

namespace {

/// Records of fewer operations from cut to cut cost more than they save.
constexpr std::size_t kLeastBetweenCuts = 6;

void take_one(std::int64_t permille, std::vector<std::int64_t>& out) {
  const auto found = std::find(out.begin(), out.end(), permille);
  LOCKSTEP_CHECK(found != out.end());
  out.erase(found);
}

}  // namespace

/// Finds the endpoints with own streams, and those of one pattern.
class RecordedWork::Finder {
 public:
  Finder(const ReplayState& state, const ReusedCalls& reused, RecordedWork& out)
      : workload_{*state.workload}, reused_{reused}, out_{out} {
    out_.place_.resize(workload_.streams.size());
    out_.cell_at_.assign(state.network->endpoints.size(), kNone);
  }

  void run() {
    std::vector<std::vector<std::uint32_t>> at(out_.cell_at_.size());
    for (std::uint32_t s = 0; s < workload_.streams.size(); ++s)
      at[workload_.streams[s].endpoint].push_back(s);
    for (EndpointId endpoint = 0; endpoint < at.size(); ++endpoint) add(endpoint, at[endpoint]);
    drop_single();
    for (std::uint32_t id = 0; id < out_.cells_.size(); ++id) {
      const Cell& cell = out_.cells_[id];
      out_.cell_at_[cell.endpoint] = id;
      for (std::uint32_t own = 0; own < cell.streams.size(); ++own)
        out_.place_[cell.streams[own]] = {id, own, out_.patterns_[cell.pattern].cuts[own].data()};
    }
  }

 private:
  void add(EndpointId endpoint, const std::vector<std::uint32_t>& streams) {
    if (streams.empty()) return;
    const std::uint32_t first = workload_.streams[streams.front()].first_stream;
    Cell cell{.endpoint = endpoint};
    fold::KeyBuilder key;
    bool calls = false;
    for (const std::uint32_t s : streams) {
      const Stream& of = workload_.streams[s];
      if (!of.pattern || of.first_stream != first) return;
      const bool own = is_own(of, key, calls);
      key.add(std::uint64_t{s - first})
          .add(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(of.pattern.get())))
          .add(own ? 1 : 0);
      if (own) cell.streams.push_back(s);
    }
    if (!calls) return;  // computations one after the other are one event anyway
    const auto [found, is_new] =
        pattern_of_.try_emplace(key.key(), static_cast<std::uint32_t>(out_.patterns_.size()));
    if (is_new) out_.patterns_.push_back(pattern(cell, streams, first));
    cell.pattern = found->second;
    ++out_.patterns_[cell.pattern].cells;
    out_.cells_.push_back(std::move(cell));
  }

  [[nodiscard]] bool is_own(const Stream& of, fold::KeyBuilder& key, bool& calls) const {
    bool some = false;
    for (const Activity& operation : of.all()) {
      if (operation.kind == Activity::Kind::compute) continue;
      if (operation.kind != Activity::Kind::collective) return false;
      const std::uint32_t call = of.member_slot(operation).call;
      const fold::Key* shape = reused_.shape_of_private(call);
      if (shape == nullptr) return false;
      key.add(*shape).add(workload_.calls[call].slowed_permille);
      some = true;
    }
    calls = calls || some;
    return true;
  }

  [[nodiscard]] Pattern pattern(const Cell& cell, const std::vector<std::uint32_t>& streams,
                                std::uint32_t first) const {
    Pattern out;
    std::map<std::uint32_t, std::uint32_t> own;  // by stream, relative to the first
    for (const std::uint32_t s : cell.streams) {
      own.emplace(s - first, static_cast<std::uint32_t>(out.cuts.size()));
      out.cuts.emplace_back(workload_.streams[s].all().size(), 0);
    }
    const auto cut = [&](const ActivityRef& ref) {
      if (const auto found = own.find(ref.stream); found != own.end())
        out.cuts[found->second][ref.index] = 1;
    };
    for (const std::uint32_t s : streams) {
      const bool is_own = own.contains(s - first);
      const std::vector<Activity>& operations = workload_.streams[s].all();
      std::map<std::uint32_t, std::uint32_t> done;  // of other streams, before the next operation
      for (std::uint32_t i = 0; i < operations.size(); ++i) {
        const auto& after = operations[i].after;
        bool waits_for_others = !is_own;
        for (const ActivityRef& ref : after) {
          if (!is_own || own.contains(ref.stream)) continue;
          std::uint32_t& known = done[ref.stream];
          if (ref.index < known) continue;
          known = ref.index + 1;
          waits_for_others = true;
        }
        if (!waits_for_others) continue;
        for (const ActivityRef& ref : after) cut(ref);
        if (is_own && i > 0) cut({s - first, i - 1});
      }
    }
    return out;
  }

  /// Leaves out endpoints that have nothing in common with others, and those cut too often.
  void drop_single() {
    std::vector<bool> pays;
    for (const Pattern& pattern : out_.patterns_) {
      std::size_t operations = 0;
      std::size_t cuts = 1;
      for (const std::vector<std::uint8_t>& stream : pattern.cuts) {
        operations += stream.size();
        cuts += static_cast<std::size_t>(std::count(stream.begin(), stream.end(), 1));
      }
      pays.push_back(pattern.cells > 1 && operations >= kLeastBetweenCuts * cuts);
    }
    std::erase_if(out_.cells_, [&](const Cell& cell) { return !pays[cell.pattern]; });
  }

  const Workload& workload_;
  const ReusedCalls& reused_;
  RecordedWork& out_;
  std::map<fold::Key, std::uint32_t> pattern_of_;
};

RecordedWork::RecordedWork(const ReplayState& state, const ReusedCalls& reused) {
  Finder{state, reused, *this}.run();
}

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
    if (!streams_->slowed().empty()) {
      cell.elsewhere = streams_->slowing(cell.endpoint);
      for (const std::uint32_t stream : cell.streams)
        if (calls(stream)) take_one(permille_of_call(stream), cell.elsewhere);
    }
    touch(cell.streams.front());
  }
}

void RecordedWork::launches(std::uint32_t stream, const Activity& operation) {
  const Place& place = place_[stream];
  if (!operation.launched_after || place.cell == kNone) return;
  Cell& cell = cells_[place.cell];
  if (cell.mode != Mode::records) return;
  const ActivityRef ref = *operation.launched_after;
  const Record& record = records_[cell.record];
  const Place& by = place_[state_->workload->streams[stream].named(ref).stream];
  const bool within = by.cell == place.cell && ref.index >= record.from[by.own];
  const bool known = std::any_of(
      record.launched_by.begin(), record.launched_by.end(),
      [&](const ActivityRef& of) { return of.stream == ref.stream && of.index == ref.index; });
  if (!within && !known) complete(cell);
}

void RecordedWork::end_record(std::uint32_t stream) {
  const std::uint32_t cell = place_[stream].cell;
  if (cell != kNone && cells_[cell].mode == Mode::records) complete(cells_[cell]);
}

void RecordedWork::catch_up(std::uint32_t stream) {
  const std::uint32_t id = place_[stream].cell;
  if (id == kNone || cells_[id].mode != Mode::follows) return;
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
  std::vector<std::int64_t> after = cell.elsewhere;
  if (begins) {
    after.push_back(permille);
  } else {
    take_one(permille, after);
  }
  if (slowest(after) != slowest(cell.elsewhere)) {
    end_record(cell.streams.front());
    catch_up(cell.streams.front());
    touch(cell.streams.front());
  }
  cell.elsewhere = std::move(after);
}

void RecordedWork::computes(std::uint32_t stream) {
  const std::uint32_t id = cell_at_[streams_->endpoint_of(stream)];
  if (id == kNone || is_own(stream)) return;
  end_record(cells_[id].streams.front());
  catch_up(cells_[id].streams.front());
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
  return state_->workload->streams[stream].all()[(*streams_)[stream].index];
}

/// Whether the stream is in a collective.
bool RecordedWork::calls(std::uint32_t stream) const {
  const StreamState& state = (*streams_)[stream];
  return state.busy && !state.computing;
}

std::int64_t RecordedWork::permille_of_call(std::uint32_t stream) const {
  const Workload& workload = *state_->workload;
  const std::uint32_t call = workload.streams[stream].member_slot(current(stream)).call;
  return std::max(workload.calls[call].slowed_permille, workload.slowed_permille);
}

TimePoint RecordedWork::end_of_call(std::uint32_t stream) const {
  const std::uint32_t call = state_->workload->streams[stream].member_slot(current(stream)).call;
  return collectives_->call(call).until;
}

bool RecordedWork::is_idle(const Cell& cell) const {
  return std::none_of(cell.streams.begin(), cell.streams.end(),
                      [&](std::uint32_t stream) { return (*streams_)[stream].busy; });
}

/// Whether the ends of all that is in flight are known, and none waits for its launch.
bool RecordedWork::may_begin(const Cell& cell) const {
  if (is_idle(cell) || streams_->computes_at(cell.endpoint, cell.streams)) return false;
  return std::all_of(cell.streams.begin(), cell.streams.end(), [&](std::uint32_t stream) {
    const Stream& of = state_->workload->streams[stream];
    const StreamState& state = (*streams_)[stream];
    if (!state.busy) return state.index == of.all().size() || streams_->waits(stream);
    return state.computing || collectives_->call(of.member_slot(current(stream)).call).known;
  });
}

/// Operations that have ended, after which the host launches what is in flight or next.
std::vector<ActivityRef> RecordedWork::launched_by(const Cell& cell) const {
  std::vector<ActivityRef> out;
  for (const std::uint32_t stream : cell.streams) {
    const Stream& of = state_->workload->streams[stream];
    const StreamState& state = (*streams_)[stream];
    const std::size_t next = state.computing ? state.ahead : state.index + (state.busy ? 1U : 0U);
    for (std::size_t i = state.index; i <= next && i < of.all().size(); ++i) {
      const auto& by = of.all()[i].launched_after;
      if (!by || by->index >= (*streams_)[of.named(*by).stream].index) continue;
      if (!out.empty() && out.back().stream == by->stream && out.back().index == by->index)
        continue;
      out.push_back(*by);
    }
  }
  return out;
}

fold::Key RecordedWork::key_of(const Cell& cell, const std::vector<ActivityRef>& launched) const {
  const auto left = [&](TimePoint until) { return (until - state_->now()).ps(); };
  fold::KeyBuilder key;
  key.add(cell.pattern).add(slowest(cell.elsewhere));
  for (const ActivityRef& by : launched) {
    const ActivityRef named = state_->workload->streams[cell.streams.front()].named(by);
    key.add(by.stream).add(by.index).add(left(streams_->ends()[named.stream][named.index]));
  }
  for (const std::uint32_t stream : cell.streams) {
    const StreamState& state = (*streams_)[stream];
    key.add(state.index).add((state.busy ? 1 : 0) + (state.computing ? 2 : 0));
    if (state.computing) {
      key.add(state.ahead).add(state.slows ? 1 : 0).add(left(state.began));
      for (std::uint32_t i = state.index; i < state.ahead; ++i)
        key.add(left(streams_->ends()[stream][i]));
    } else if (state.busy) {
      key.add(left(end_of_call(stream)));
    }
  }
  return key.key();
}

void RecordedWork::begin(std::uint32_t id) {
  Cell& cell = cells_[id];
  std::vector<ActivityRef> launched = launched_by(cell);
  const auto [found, is_new] =
      known_.try_emplace(key_of(cell, launched), static_cast<std::uint32_t>(records_.size()));
  cell.since = state_->now();
  if (!is_new) {
    follow(id, found->second);
    return;
  }
  cell.record = found->second;
  cell.mode = Mode::records;
  Record& record = records_.emplace_back();
  record.leader = id;
  record.began = state_->now();
  record.launched_by = std::move(launched);
  for (const std::uint32_t stream : cell.streams) record.from.push_back((*streams_)[stream].index);
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
      const std::vector<TimePoint>& ends = streams_->ends()[stream];
      record.ends.insert(record.ends.end(), ends.begin() + change.state.index,
                         ends.begin() + change.state.ahead);
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

/// Puts an endpoint in the state after so many instants of the record that it follows.
void RecordedWork::put(std::uint32_t id, std::size_t instants) {
  Cell& cell = cells_[id];
  const Record& record = records_[cell.record];
  const Duration later = cell.since - record.began;
  cell.mode = Mode::plain;
  const std::size_t changes = instants == 0 ? 0 : record.instants[instants - 1].changes;
  std::vector<const Change*> last(cell.streams.size(), nullptr);
  for (std::size_t i = 0; i < changes; ++i) last[record.changes[i].own] = &record.changes[i];
  std::vector<std::int64_t> slowing = cell.elsewhere;
  for (const Change* change : last)
    if (change != nullptr) put_stream(cell, record, *change, later);
  for (const std::uint32_t stream : cell.streams) {
    push_end(stream);
    if (calls(stream)) slowing.push_back(permille_of_call(stream));
  }
  streams_->set_slowing(cell.endpoint, std::move(slowing));
}

void RecordedWork::put_stream(const Cell& cell, const Record& record, const Change& change,
                              Duration later) {
  const std::uint32_t stream = cell.streams[change.own];
  const Stream& of = state_->workload->streams[stream];
  const StreamState& before = (*streams_)[stream];
  const StreamState& after = change.state;
  const std::uint32_t first = before.index;
  const std::uint32_t begun_before = first + (calls(stream) ? 1U : 0U);
  followed_ += after.index - first;
  streams_->end_as(stream, cells_[record.leader].streams[change.own], after.index, later);
  const bool in_call = after.busy && !after.computing;
  for (std::uint32_t i = first; i < after.index + (in_call ? 1U : 0U); ++i) {
    const Activity& operation = of.all()[i];
    if (operation.kind != Activity::Kind::collective) continue;
    const std::uint32_t call = of.member_slot(operation).call;
    if (i >= begun_before) reused_->count_use(call);
    if (i < after.index) {
      collectives_->end_known(call, streams_->ends()[stream][i]);
    } else {
      collectives_->set_known(call, after.until + later);
    }
  }
  const std::size_t in_flight = after.computing ? after.ahead - after.index : 0;
  streams_->set_state(stream, after, std::span{record.ends}.subspan(change.first_end, in_flight),
                      later);
}

/// Events that it has had while it followed were void.
void RecordedWork::push_end(std::uint32_t stream) {
  const StreamState& state = (*streams_)[stream];
  if (state.computing) {
    state_->queue.push(make_event(EventKind::computed, stream, state.until));
  } else if (state.busy) {
    const std::uint32_t call = state_->workload->streams[stream].member_slot(current(stream)).call;
    state_->queue.push(make_event(EventKind::met, call, end_of_call(stream)));
  }
}

}  // namespace lockstep::engine
