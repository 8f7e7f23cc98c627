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
  LOCKSTEP_CHECK(false);
}

}  // namespace

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model)
    : network_{&network},
      workload_{&workload},
      transport_{make_transport(network, model)},
      routes_{network.endpoints.size()},
      ports_(network.endpoints.size()) {
  for (const CollectiveCall& call : workload.calls) add_call(call);
  add_streams();
  begin_free_calls();
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) run_stream(stream);
  run_ready();
  transport_->settle(queue_);
}

Engine::Engine(const Engine& other)
    : network_{other.network_},
      workload_{other.workload_},
      transport_{other.transport_->clone()},
      queue_{other.queue_},
      routes_{other.routes_},
      matcher_{other.matcher_},
      lanes_{other.lanes_},
      streams_{other.streams_},
      calls_{other.calls_},
      ports_{other.ports_},
      transfers_{other.transfers_},
      spare_transfers_{other.spare_transfers_},
      first_operation_{other.first_operation_},
      waiting_for_{other.waiting_for_},
      dependents_{other.dependents_},
      call_ends_{other.call_ends_},
      stream_ends_{other.stream_ends_},
      end_{other.end_},
      transfer_count_{other.transfer_count_} {}

void Engine::add_call(const CollectiveCall& call) {
  const Schedule& schedule = *call.schedule;
  const auto members = static_cast<std::uint32_t>(call.members.size());
  LOCKSTEP_CHECK(schedule.ranks() == static_cast<int>(members));
  LOCKSTEP_CHECK(schedule.slots() == 0);
  LOCKSTEP_CHECK(call.starts.empty() || call.starts.size() == members);
  for (const EndpointId member : call.members) LOCKSTEP_CHECK(member < network_->endpoints.size());
  CallState state;
  state.first_lane = static_cast<std::uint32_t>(lanes_.size());
  state.first_party = static_cast<std::uint32_t>(network_->endpoints.size());
  if (!calls_.empty())
    state.first_party =
        calls_.back().first_party + static_cast<std::uint32_t>(calls_.back().lanes_left.size());
  state.lanes = static_cast<std::uint32_t>(schedule.lanes());
  state.lanes_left.assign(members, state.lanes);
  state.stream.assign(members, kNone);
  const auto id = static_cast<std::uint32_t>(calls_.size());
  for (std::uint32_t member = 0; member < members; ++member)
    for (std::uint32_t lane = 0; lane < state.lanes; ++lane)
      lanes_.push_back({.steps = schedule.steps(static_cast<int>(member), static_cast<int>(lane)),
                        .call = id,
                        .member = member,
                        .lane = lane});
  calls_.push_back(std::move(state));
  call_ends_.emplace_back(members);
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
  waiting_for_.assign(operations, 0);
  dependents_.resize(operations);
  for (std::uint32_t s = 0; s < streams_.size(); ++s) {
    const auto& list = workload_->streams[s].operations;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      for (const OperationRef& ref : list[i].after) {
        dependents_[operation_id(ref)].push_back({s, i});
        ++waiting_for_[operation_id({s, i})];
      }
      if (list[i].kind == Operation::Kind::collective)
        calls_.at(list[i].call).stream.at(list[i].member) = s;
    }
  }
}

std::uint32_t Engine::operation_id(OperationRef ref) const {
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
        push(Kind::begins, calls_[call].first_lane + member * calls_[call].lanes, starts[member]);
      }
    }
  }
}

bool Engine::advance() {
  if (queue_.empty()) return false;
  queue_.advance();
  Event event;
  while (queue_.pop_now(event)) handle(event);
  transport_->settle(queue_);
  return true;
}

void Engine::push(Kind kind, std::uint32_t id, TimePoint at) {
  Event event;
  event.at_ps = at.ps();
  event.id = id;
  event.kind = static_cast<std::uint32_t>(kind) & 15U;
  queue_.push(event);
}

void Engine::handle(const Event& event) {
  if (event.kind < kEngineEvents) {
    transport_->handle(event, queue_, arrived_);
    for (std::size_t i = 0; i < arrived_.size(); ++i) finish_transfer(arrived_[i]);
    arrived_.clear();
  } else {
    switch (static_cast<Kind>(event.kind)) {
      case Kind::reduced: {
        const std::uint32_t receiver = transfers_[event.id].receiver;
        spare_transfers_.push_back(event.id);
        transfer_done(receiver);
        break;
      }
      case Kind::computed:
        finish_operation(event.id);
        break;
      case Kind::begins:
        begin_member(lanes_[event.id].call, lanes_[event.id].member);
        break;
    }
  }
  run_ready();
}

// --- collectives

void Engine::begin_member(std::uint32_t call, std::uint32_t member) {
  const CallState& state = calls_[call];
  const std::uint32_t first = state.first_lane + member * state.lanes;
  for (std::uint32_t lane = first; lane < first + state.lanes; ++lane) {
    lanes_[lane].begun = true;
    ready_.push_back(lane);
  }
}

/// Goes on with a lane whose present step has not been posted yet.
void Engine::run_lane(std::uint32_t lane_id) {
  Lane& lane = lanes_[lane_id];
  for (;;) {
    if (lane.step == lane.steps) {
      finish_lane(lane);
      return;
    }
    const CollectiveCall& call = workload_->calls[lane.call];
    step_.clear();
    call.schedule->step(static_cast<int>(lane.member), static_cast<int>(lane.lane), lane.step,
                        step_);
    if (!step_.after.empty() && !dependencies_met(lane)) {
      lane.blocked = true;
      return;
    }
    lane.outstanding = static_cast<std::uint32_t>(step_.sends.size() + step_.receives.size());
    if (lane.outstanding > 0) {
      post_step(lane_id);
      return;
    }
    ++lane.step;
    wake_blocked_lanes(lane);
  }
}

bool Engine::dependencies_met(const Lane& lane) const {
  const CallState& state = calls_[lane.call];
  const std::uint32_t first = state.first_lane + lane.member * state.lanes;
  return std::all_of(step_.after.begin(), step_.after.end(), [&](const StepRef& ref) {
    return lanes_[first + static_cast<std::uint32_t>(ref.lane)].step > ref.step;
  });
}

void Engine::post_step(std::uint32_t lane_id) {
  const Lane& lane = lanes_[lane_id];
  const std::uint32_t party = calls_[lane.call].first_party;
  const std::int64_t block = workload_->calls[lane.call].block.count();
  for (const Receive& receive : step_.receives)
    post({party + static_cast<std::uint32_t>(receive.peer), party + lane.member,
          static_cast<std::uint32_t>(receive.channel)},
         {lane_id, false, receive.combine == Combine::reduce, receive.chunk.count * block,
          lane.step});
  for (const Send& send : step_.sends)
    post({party + lane.member, party + static_cast<std::uint32_t>(send.peer),
          static_cast<std::uint32_t>(send.channel)},
         {lane_id, true, false, send.chunk.count * block, lane.step});
}

void Engine::finish_lane(const Lane& lane) {
  CallState& state = calls_[lane.call];
  if (--state.lanes_left[lane.member] > 0) return;
  call_ends_[lane.call][lane.member] = queue_.now();
  end_ = queue_.now();
  if (const std::uint32_t stream = state.stream[lane.member]; stream != kNone)
    finish_operation(stream);
}

void Engine::wake_blocked_lanes(const Lane& done) {
  const CallState& state = calls_[done.call];
  if (state.lanes == 1) return;
  const std::uint32_t first = state.first_lane + done.member * state.lanes;
  for (std::uint32_t id = first; id < first + state.lanes; ++id) {
    if (!lanes_[id].blocked) continue;
    lanes_[id].blocked = false;
    ready_.push_back(id);  // looks at its dependencies again
  }
}

// --- streams

void Engine::run_stream(std::uint32_t stream) {
  StreamState& state = streams_[stream];
  const auto& operations = workload_->streams[stream].operations;
  if (state.busy || state.index == operations.size()) return;
  if (waiting_for_[first_operation_[stream] + state.index] > 0) return;
  state.busy = true;
  begin_operation(stream);
}

void Engine::begin_operation(std::uint32_t stream) {
  const EndpointId own = workload_->streams[stream].endpoint;
  const Operation& operation = workload_->streams[stream].operations[streams_[stream].index];
  const auto track = static_cast<std::uint32_t>(lanes_.size()) + stream;
  const auto step = static_cast<std::int64_t>(streams_[stream].index);
  switch (operation.kind) {
    case Operation::Kind::compute:
      push(Kind::computed, stream, queue_.now() + operation.duration);
      return;
    case Operation::Kind::send:
      post({own, operation.peer, operation.tag},
           {track, true, false, operation.size.count(), step});
      return;
    case Operation::Kind::receive:
      post({operation.peer, own, operation.tag},
           {track, false, false, operation.size.count(), step});
      return;
    case Operation::Kind::collective:
      LOCKSTEP_CHECK(workload_->calls[operation.call].members[operation.member] == own);
      begin_member(operation.call, operation.member);
      return;
  }
}

void Engine::finish_operation(std::uint32_t stream) {
  StreamState& state = streams_[stream];
  stream_ends_[stream][state.index] = queue_.now();
  end_ = queue_.now();
  const std::uint32_t done = first_operation_[stream] + state.index;
  ++state.index;
  state.busy = false;
  const auto first_stream_track = static_cast<std::uint32_t>(lanes_.size());
  ready_.push_back(first_stream_track + stream);
  for (const OperationRef& dependent : dependents_[done])
    if (--waiting_for_[operation_id(dependent)] == 0)
      ready_.push_back(first_stream_track + dependent.stream);
}

// --- transfers

void Engine::post(const ConnectionKey& key, const Post& post) {
  const std::optional<Post> met = matcher_.meet(key, post);
  if (!met) return;
  if (post.sending) {
    begin_transfer(key, post, *met);
  } else {
    begin_transfer(key, *met, post);
  }
}

EndpointId Engine::endpoint_of(std::uint32_t track) const {
  if (track >= lanes_.size()) return workload_->streams[track - lanes_.size()].endpoint;
  const Lane& lane = lanes_[track];
  return workload_->calls[lane.call].members[lane.member];
}

void Engine::begin_transfer(const ConnectionKey& /*key*/, const Post& send, const Post& receive) {
  LOCKSTEP_CHECK(send.bytes == receive.bytes);
  const EndpointId from = endpoint_of(send.track);
  const EndpointId to = endpoint_of(receive.track);
  const Route* route = routes_.find(*network_->router, from, to);
  LOCKSTEP_CHECK(route != nullptr);
  TransferId id = 0;
  if (spare_transfers_.empty()) {
    id = static_cast<TransferId>(transfers_.size());
    transfers_.emplace_back();
  } else {
    id = spare_transfers_.back();
    spare_transfers_.pop_back();
  }
  transfers_[id] = {send.track, receive.track, send.bytes, to, receive.reduces};
  ++transfer_count_;
  TimePoint at = queue_.now();
  if (const Duration overhead = network_->endpoints[from].message_overhead; overhead > Duration{}) {
    TimePoint& free = ports_[from].send_free;
    at = std::max(at, free) + overhead;
    free = at;
  }
  transport_->start(id, *route, Bytes{send.bytes}, at, queue_);
}

void Engine::finish_transfer(TransferId id) {
  const Transfer transfer = transfers_[id];
  transfer_done(transfer.sender);
  const std::optional<Rate>& reduce_rate = network_->endpoints[transfer.to].reduce_rate;
  if (!transfer.reduces || !reduce_rate) {
    spare_transfers_.push_back(id);
    transfer_done(transfer.receiver);
    return;
  }
  TimePoint& free = ports_[transfer.to].reduce_free;
  free = std::max(queue_.now(), free) + Bytes{transfer.bytes} / *reduce_rate;
  push(Kind::reduced, id, free);
}

void Engine::transfer_done(std::uint32_t track) {
  if (track >= lanes_.size()) {
    finish_operation(track - static_cast<std::uint32_t>(lanes_.size()));
    return;
  }
  Lane& lane = lanes_[track];
  if (--lane.outstanding > 0) return;
  ++lane.step;
  wake_blocked_lanes(lane);
  ready_.push_back(track);
}

void Engine::run_ready() {
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    const std::uint32_t track = ready_[i];
    if (track < lanes_.size()) {
      run_lane(track);
    } else {
      run_stream(track - static_cast<std::uint32_t>(lanes_.size()));
    }
  }
  ready_.clear();
}

// --- results

ReplayResult Engine::result() const {
  ReplayResult out;
  out.end = end_;
  out.call_ends = call_ends_;
  out.stream_ends = stream_ends_;
  out.link_bytes = transport_->link_bytes();
  out.link_bytes.resize(network_->links.size());
  out.transfers = transfer_count_;
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
