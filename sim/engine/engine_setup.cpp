#include <map>

#include "sim/base/check.hpp"
#include "sim/engine/engine.hpp"

namespace lockstep {

// What there is before anything happens.

void Engine::add_call(const CollectiveCall& call) {
  const auto members = static_cast<std::uint32_t>(call.members.size());
  CallState state;
  state.first_party = static_cast<std::uint32_t>(ports_.size() + members_.size());
  state.members_left = members;
  state.order = lane_count_;
  if (call.takes) {
    state.lanes = 0;
    state.awaited = members;
  } else {
    LOCKSTEP_CHECK(call.schedule->ranks() == static_cast<int>(members));
    LOCKSTEP_CHECK(call.schedule->lanes() >= 1);
    LOCKSTEP_CHECK(call.schedule->slots() >= 0);
    LOCKSTEP_CHECK(call.starts.empty() || call.starts.size() == members);
    for (const EndpointId member : call.members) LOCKSTEP_CHECK(member < ports_.size());
    state.lanes = static_cast<std::uint32_t>(call.schedule->lanes());
  }
  lane_count_ += std::uint64_t{members} * state.lanes;
  calls_.push_back(std::move(state));
  members_.resize(members_.size() + members);
  call_ends_.emplace_back(members);
}

void Engine::add_streams() {
  std::uint32_t operations = 0;
  for (const Stream& stream : workload_->streams) {
    LOCKSTEP_CHECK(stream.endpoint < network_->endpoints.size());
    first_operation_.push_back(operations);
    operations += static_cast<std::uint32_t>(stream.all().size());
    stream_ends_.emplace_back(stream.all().size());
  }
  streams_.resize(workload_->streams.size());
  LOCKSTEP_CHECK(streams_.size() < kStream);
  LOCKSTEP_CHECK(workload_->slowed_permille >= 1000);
  if (workload_->slowed_permille > 1000) {
    computing_at_.resize(network_->endpoints.size());
    communicating_.resize(network_->endpoints.size());
    slowed_.resize(network_->endpoints.size());
  }
  waiting_for_.assign(operations, 0);
  add_dependencies();
  add_callers();
}

/// Gives every stream its lists of dependents, one an operation, those of a pattern in common.
/// Returns the streams whose `after` fill them.
std::vector<std::uint32_t> Engine::place_lists() {
  std::map<const void*, std::uint32_t> first;    // stream of a pattern
  std::map<std::uint32_t, std::uint32_t> alike;  // streams that belong together, by their first
  std::vector<std::uint32_t> out;
  std::uint32_t lists = 0;
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    const Stream& stream = workload_->streams[s];
    streams_[s].first_stream = stream.first_stream;
    const std::uint32_t as =
        stream.pattern ? first.try_emplace(stream.pattern.get(), s).first->second : s;
    // Those that belong together follow the patterns of others that belong together.
    const std::uint32_t others = workload_->streams[as].first_stream;
    LOCKSTEP_CHECK(!stream.pattern ||
                   alike.try_emplace(stream.first_stream, others).first->second == others);
    if (as != s) {
      streams_[s].first_list = streams_[as].first_list;
      LOCKSTEP_CHECK(s - stream.first_stream == as - streams_[as].first_stream);
      continue;
    }
    streams_[s].first_list = lists;
    lists += static_cast<std::uint32_t>(stream.all().size());
    out.push_back(s);
  }
  first_dependent_.assign(lists + 1, 0);
  return out;
}

/// Who waits for whom: counted first, then put where the counts say.
void Engine::add_dependencies() {
  const std::vector<std::uint32_t> filling = place_lists();
  for (const std::uint32_t s : filling) {
    const Stream& stream = workload_->streams[s];
    for (const Activity& operation : stream.all())
      for (const ActivityRef& ref : operation.after) ++first_dependent_[list_of(ref, stream) + 1];
  }
  for (std::size_t i = 1; i < first_dependent_.size(); ++i)
    first_dependent_[i] += first_dependent_[i - 1];
  dependents_.resize(first_dependent_.back());
  std::vector<std::uint32_t> next{first_dependent_.begin(), first_dependent_.end() - 1};
  for (const std::uint32_t s : filling) {
    const Stream& stream = workload_->streams[s];
    for (std::uint32_t i = 0; i < stream.all().size(); ++i)
      for (const ActivityRef& ref : stream.all()[i].after)
        dependents_[next[list_of(ref, stream)]++] = {s - stream.first_stream, i};
  }
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    const std::vector<Activity>& list = workload_->streams[s].all();
    for (std::uint32_t i = 0; i < list.size(); ++i)
      waiting_for_[first_operation_[s] + i] = static_cast<std::uint32_t>(list[i].after.size());
  }
}

void Engine::add_callers() {
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    for (const Activity& operation : workload_->streams[s].all()) {
      if (operation.kind != Activity::Kind::collective) continue;
      const auto [call, member] = workload_->streams[s].member_slot(operation);
      LOCKSTEP_CHECK(call < calls_.size());
      LOCKSTEP_CHECK(member < workload_->calls[call].members.size());
      LOCKSTEP_CHECK(workload_->calls[call].members[member] == workload_->streams[s].endpoint);
      std::uint32_t& caller = member_state(call, member).stream;
      // A member takes part in a call once, unless there is no other that could be ahead of it.
      const bool alone = workload_->calls[call].members.size() == 1;
      LOCKSTEP_CHECK(caller == kNone || (alone && caller == s));
      caller = s;
    }
  }
}

/// Whether what one track does can have to wait for another's.
void Engine::find_shared_ends() {
  std::vector<bool> taken(network_->endpoints.size(), false);
  for (std::size_t id = 0; id < calls_.size() && !tracks_share_ends_; ++id) {
    const CollectiveCall& call = workload_->calls[id];
    for (std::uint32_t i = 0; i < call.members.size() * calls_[id].lanes; ++i) {
      const std::uint32_t member = i / calls_[id].lanes;
      const auto lane = static_cast<int>(i % calls_[id].lanes);
      if (call.schedule->steps(static_cast<int>(member), lane) == 0) continue;
      if (taken[call.members[member]]) tracks_share_ends_ = true;
      taken[call.members[member]] = true;
    }
  }
}

/// Of what a stream waits for. Streams of patterns wait for each other alone.
std::uint32_t Engine::list_of(ActivityRef ref, const Stream& waiting) const {
  const auto [stream, index] = waiting.named(ref);
  LOCKSTEP_CHECK(stream < streams_.size());
  LOCKSTEP_CHECK(index < workload_->streams[stream].all().size());
  LOCKSTEP_CHECK(streams_[stream].first_stream == waiting.first_stream);
  return streams_[stream].first_list + index;
}

/// Whether streams call some of the members and not others, which then wait for those.
bool Engine::follows(std::uint32_t call) {
  std::size_t called = 0;
  const std::size_t members = workload_->calls[call].members.size();
  for (std::uint32_t member = 0; member < members; ++member)
    called += member_state(call, member).stream != kNone ? 1 : 0;
  calls_[call].has_followers = called > 0 && called < members && !workload_->calls[call].takes;
  return calls_[call].has_followers;
}

/// Members that no stream calls begin on their own, or with the first that one calls where no times
/// are given.
void Engine::begin_free_calls() {
  for (std::uint32_t call = 0; call < calls_.size(); ++call) {
    const auto& starts = workload_->calls[call].starts;
    if (starts.empty() && follows(call)) continue;
    for (std::uint32_t member = 0; member < workload_->calls[call].members.size(); ++member) {
      if (member_state(call, member).stream != kNone) continue;
      if (starts.empty() || starts[member] == TimePoint{}) {
        begin_member(call, member);
      } else {
        queue_.push(make_event(Kind::begins, calls_[call].first_party + member, starts[member]));
      }
    }
  }
}

}  // namespace lockstep
