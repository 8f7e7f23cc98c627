#include "sim/engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "sim/check.hpp"

namespace lockstep {

namespace {

std::unique_ptr<Transport> make_transport(const Network& network, NetworkModel model) {
  switch (model) {
    case NetworkModel::fluid:
      return make_fluid_transport(network);
    case NetworkModel::alpha_beta:
      return make_alpha_beta_transport(network);
    case NetworkModel::queue:
      return make_queue_transport(network);
  }
  throw InternalError("no such network model");
}

}  // namespace

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model)
    : network_{&network},
      workload_{&workload},
      transport_{make_transport(network, model)},
      routes_{network.endpoints.size()},
      ports_(network.endpoints.size()),
      carried_(network.links.size(), 0) {
  issue_in_order_ = model == NetworkModel::queue ||
                    std::any_of(network.endpoints.begin(), network.endpoints.end(),
                                [](const Endpoint& e) { return e.message_overhead > Duration{}; });
  by_track_ = model != NetworkModel::queue;
  for (const CollectiveCall& call : workload.calls) add_call(call);
  add_streams();
  find_shared_ends();
  begin_free_calls();
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) run_stream(stream);
  run_ready();
  do_all_work();
  start_matched();
  transport_->settle(queue_);
}

Engine::Engine(const Engine& other)
    : network_{other.network_},
      workload_{other.workload_},
      transport_{other.transport_->clone()},
      queue_{other.queue_},
      routes_{other.routes_},
      matcher_{other.matcher_},
      connections_{other.connections_},
      processor_free_{other.processor_free_},
      lanes_{other.lanes_},
      streams_{other.streams_},
      streams_at_{other.streams_at_},
      communicating_{other.communicating_},
      calls_{other.calls_},
      ports_{other.ports_},
      transfers_{other.transfers_},
      spare_transfers_{other.spare_transfers_},
      issue_in_order_{other.issue_in_order_},
      by_track_{other.by_track_},
      next_order_{other.next_order_},
      instant_{other.instant_},
      tracks_share_ends_{other.tracks_share_ends_},
      first_operation_{other.first_operation_},
      waiting_for_{other.waiting_for_},
      dependents_{other.dependents_},
      carried_{other.carried_},
      call_ends_{other.call_ends_},
      stream_ends_{other.stream_ends_},
      end_{other.end_},
      blocked_lanes_{other.blocked_lanes_},
      transfer_count_{other.transfer_count_},
      log_{other.log_} {}

void Engine::add_call(const CollectiveCall& call) {
  const auto members = static_cast<std::uint32_t>(call.members.size());
  if (call.takes) {
    CallState state;
    state.first_party =
        calls_.empty() ? static_cast<std::uint32_t>(network_->endpoints.size()) : next_party();
    state.lanes = 0;
    state.lanes_left.assign(members, 0);
    state.stream.assign(members, kNone);
    state.awaited = members;
    calls_.push_back(std::move(state));
    call_ends_.emplace_back(members);
    return;
  }
  const Schedule& schedule = *call.schedule;
  LOCKSTEP_CHECK(schedule.ranks() == static_cast<int>(members));
  LOCKSTEP_CHECK(schedule.slots() >= 0);
  LOCKSTEP_CHECK(call.starts.empty() || call.starts.size() == members);
  for (const EndpointId member : call.members) LOCKSTEP_CHECK(member < network_->endpoints.size());
  CallState state;
  state.first_lane = static_cast<std::uint32_t>(lanes_.size());
  state.first_party =
      calls_.empty() ? static_cast<std::uint32_t>(network_->endpoints.size()) : next_party();
  state.lanes = static_cast<std::uint32_t>(schedule.lanes());
  state.lanes_left.assign(members, state.lanes);
  state.stream.assign(members, kNone);
  state.phases = schedule.phases();
  const auto id = static_cast<std::uint32_t>(calls_.size());
  for (std::uint32_t member = 0; member < members; ++member)
    for (std::uint32_t lane = 0; lane < state.lanes; ++lane)
      lanes_.push_back({.steps = schedule.steps(static_cast<int>(member), static_cast<int>(lane)),
                        .call = id,
                        .member = member,
                        .lane = lane,
                        .endpoint = call.members[member]});
  calls_.push_back(std::move(state));
  call_ends_.emplace_back(members);
}

std::uint32_t Engine::next_party() const {
  return calls_.back().first_party + static_cast<std::uint32_t>(calls_.back().lanes_left.size());
}

void Engine::add_streams() {
  std::uint32_t operations = 0;
  for (const Stream& stream : workload_->streams) {
    LOCKSTEP_CHECK(stream.endpoint < network_->endpoints.size());
    first_operation_.push_back(operations);
    operations += static_cast<std::uint32_t>(stream.operations.size());
    stream_ends_.emplace_back(stream.operations.size());
  }
  streams_.resize(workload_->streams.size());
  LOCKSTEP_CHECK(workload_->slowed_permille >= 1000);
  if (workload_->slowed_permille > 1000) {
    streams_at_.resize(network_->endpoints.size());
    communicating_.resize(network_->endpoints.size());
    for (std::uint32_t s = 0; s < streams_.size(); ++s)
      streams_at_[workload_->streams[s].endpoint].push_back(s);
  }
  waiting_for_.assign(operations, 0);
  dependents_.resize(operations);
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    const auto& list = workload_->streams[s].operations;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      for (const ActivityRef& ref : list[i].after) {
        dependents_[operation_id(ref)].push_back({s, i});
        ++waiting_for_[operation_id({s, i})];
      }
      if (list[i].kind != Activity::Kind::collective) continue;
      std::uint32_t& caller = calls_.at(list[i].call).stream.at(list[i].member);
      LOCKSTEP_CHECK(caller == kNone);  // a member takes part in a call once
      caller = s;
    }
  }
}

/// Whether what one track does can have to wait for another's.
void Engine::find_shared_ends() {
  std::vector<bool> taken(network_->endpoints.size(), false);
  const auto take = [&](EndpointId endpoint) {
    if (taken[endpoint]) tracks_share_ends_ = true;
    taken[endpoint] = true;
  };
  for (const Lane& lane : lanes_)
    if (lane.steps > 0) take(lane.endpoint);
}

std::uint32_t Engine::operation_id(ActivityRef ref) const {
  LOCKSTEP_CHECK(ref.stream < first_operation_.size());
  LOCKSTEP_CHECK(ref.index < workload_->streams[ref.stream].operations.size());
  return first_operation_[ref.stream] + ref.index;
}

/// Members that no stream calls begin on their own.
void Engine::begin_free_calls() {
  for (std::uint32_t call = 0; call < calls_.size(); ++call) {
    const auto& starts = workload_->calls[call].starts;
    for (std::uint32_t member = 0; member < calls_[call].stream.size(); ++member) {
      if (calls_[call].stream[member] != kNone) continue;
      if (starts.empty() || starts[member] == TimePoint{}) {
        begin_member(call, member);
      } else {
        queue_.push(make_event(Kind::begins, calls_[call].first_lane + member * calls_[call].lanes,
                               starts[member]));
      }
    }
  }
}

bool Engine::advance() {
  if (queue_.empty()) return false;
  queue_.advance();
  Event event;
  do {
    ++instant_;
    while (queue_.pop_now(event)) handle(event);
    do_all_work();
    start_matched();
  } while (queue_.has_now());
  transport_->settle(queue_);
  return true;
}

void Engine::handle(const Event& event) {
  if (event.kind == static_cast<std::uint32_t>(TransportEvent::left)) {
    transfer_done(transfers_[event.id].sender);
  } else if (event.kind < kEngineEvents) {
    transport_->handle(event, queue_, arrived_);
    for (const TransferId id : arrived_) finish_transfer(id);
    arrived_.clear();
  } else {
    switch (static_cast<Kind>(event.kind)) {
      case Kind::done:
        transfer_done(event.id);
        break;
      case Kind::taken: {
        const std::uint32_t receiver = transfers_[event.id].receiver;
        free_slot(event.id);
        transfer_done(receiver);
        break;
      }
      case Kind::computed: {
        const StreamState& state = streams_[event.id];
        // Where it was slowed down or sped up, another event says when it ends.
        const bool ends = state.computing && state.until == queue_.now();
        if (streams_at_.empty() || ends) finish_operation(event.id);
        break;
      }
      case Kind::issued:
        run_stream(event.id);
        break;
      case Kind::met:
        finish_timed_call(event.id);
        break;
      case Kind::begins:
        begin_member(lanes_[event.id].call, lanes_[event.id].member);
        break;
    }
  }
  run_ready();
}

ReplayResult Engine::result() const {
  ReplayResult out;
  out.end = end_;
  out.call_ends = call_ends_;
  out.stream_ends = stream_ends_;
  for (const UInt128 carried : carried_)
    out.link_bytes.emplace_back(
        static_cast<std::int64_t>((carried + kWeightUnit / 2) / UInt128{kWeightUnit}));
  out.transfers = transfer_count_;
  out.log = log_;
  out.solves = transport_->solves();
  if (queue_.empty()) out.unfinished = unfinished();
  return out;
}

ReplayResult replay(const Network& network, const Workload& workload, NetworkModel model) {
  Engine engine(network, workload, model);
  while (engine.advance()) {
  }
  return engine.result();
}

}  // namespace lockstep
