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
  for (const CollectiveCall& call : workload.calls) add_call(call);
  add_streams();
  begin_free_calls();
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) run_stream(stream);
  run_ready();
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
      lanes_{other.lanes_},
      streams_{other.streams_},
      calls_{other.calls_},
      ports_{other.ports_},
      transfers_{other.transfers_},
      spare_transfers_{other.spare_transfers_},
      issue_in_order_{other.issue_in_order_},
      next_order_{other.next_order_},
      first_operation_{other.first_operation_},
      waiting_for_{other.waiting_for_},
      dependents_{other.dependents_},
      carried_{other.carried_},
      call_ends_{other.call_ends_},
      stream_ends_{other.stream_ends_},
      end_{other.end_},
      blocked_lanes_{other.blocked_lanes_},
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
  do {
    while (queue_.pop_now(event)) handle(event);
    start_matched();
  } while (queue_.has_now());
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
      case Kind::reduced:
        transfer_done(event.id);
        break;
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
    if (lane.repeats_left > 0 && repeat_step(lane)) return;
    if (lane.bound_send != kNone) unbind(lane.bound_send);
    if (lane.bound_receive != kNone) unbind(lane.bound_receive);
    if (lane.step == lane.steps) {
      finish_lane(lane);
      return;
    }
    step_.clear();
    workload_->calls[lane.call].schedule->step(static_cast<int>(lane.member),
                                               static_cast<int>(lane.lane), lane.step, step_);
    if (!step_.after.empty() && !dependencies_met(lane)) {
      lane.blocked = true;
      ++blocked_lanes_;
      return;
    }
    lane.outstanding = static_cast<std::uint32_t>(step_.sends.size() + step_.receives.size());
    if (lane.outstanding > 0) {
      plan_repeats(lane);
      post_step(lane_id);
      return;
    }
    ++lane.step;
    if (blocked_lanes_ > 0) wake_blocked_lanes(lane);
  }
}

/// Posts the step again whose transfers are bound. False if the schedule has to be asked.
bool Engine::repeat_step(Lane& lane) {
  const std::uint32_t bound =
      (lane.bound_send != kNone ? 1U : 0U) + (lane.bound_receive != kNone ? 1U : 0U);
  if (bound != lane.pattern) return false;
  --lane.repeats_left;
  lane.outstanding = bound;
  if (lane.bound_receive != kNone) post_bound(lane.bound_receive, Transfer::kReceiver);
  if (lane.bound_send != kNone) post_bound(lane.bound_send, Transfer::kSender);
  return true;
}

void Engine::plan_repeats(Lane& lane) {
  lane.repeats_left = 0;
  if (step_.sends.size() > 1 || step_.receives.size() > 1) return;
  lane.pattern = lane.outstanding;
  const auto& phases = calls_[lane.call].phases;
  const auto after =
      std::upper_bound(phases.begin(), phases.end(), lane.step,
                       [](std::int64_t step, const Phase& phase) { return step < phase.first; });
  if (after == phases.begin()) return;
  const Phase& phase = *std::prev(after);
  const std::int64_t end = std::min(phase.first + phase.count, lane.steps);
  lane.repeats_left = std::max<std::int64_t>(0, end - 1 - lane.step);
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
  const bool repeats = lane.repeats_left > 0;
  for (const Receive& receive : step_.receives)
    post(
        {party + static_cast<std::uint32_t>(receive.peer), party + lane.member,
         static_cast<std::uint32_t>(receive.channel)},
        {lane_id, false, receive.combine == Combine::reduce, repeats, receive.chunk.count * block});
  for (const Send& send : step_.sends)
    post({party + lane.member, party + static_cast<std::uint32_t>(send.peer),
          static_cast<std::uint32_t>(send.channel)},
         {lane_id, true, false, repeats, send.chunk.count * block, next_order_++});
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
  const std::uint32_t first = state.first_lane + done.member * state.lanes;
  for (std::uint32_t id = first; id < first + state.lanes; ++id) {
    if (!lanes_[id].blocked) continue;
    lanes_[id].blocked = false;
    --blocked_lanes_;
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
  switch (operation.kind) {
    case Operation::Kind::compute:
      push(Kind::computed, stream, queue_.now() + operation.duration);
      return;
    case Operation::Kind::send:
      post({own, operation.peer, operation.tag},
           {track, true, false, false, operation.size.count(), next_order_++});
      return;
    case Operation::Kind::receive:
      post({operation.peer, own, operation.tag},
           {track, false, false, false, operation.size.count()});
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

void Engine::begin_transfer(const ConnectionKey& key, const Post& send, const Post& receive) {
  LOCKSTEP_CHECK(send.bytes == receive.bytes);
  TransferId id = 0;
  if (spare_transfers_.empty()) {
    id = static_cast<TransferId>(transfers_.size());
    transfers_.emplace_back();
  } else {
    id = spare_transfers_.back();
    spare_transfers_.pop_back();
  }
  Transfer& transfer = transfers_[id];
  transfer = {.sender = send.track,
              .receiver = receive.track,
              .bytes = send.bytes,
              .from = endpoint_of(send.track),
              .to = endpoint_of(receive.track),
              .channel = key.channel,
              .order = send.order,
              .reduces = receive.reduces,
              .bound = send.repeats && receive.repeats};
  if (transfer.bound) {
    lanes_[send.track].bound_send = id;
    lanes_[receive.track].bound_receive = id;
  } else {
    account(transfer.from, transfer.to, transfer.bytes, 1);
  }
  ++transfer_count_;
  if (issue_in_order_) {
    matched_.push_back(id);
  } else {
    start(id);
  }
}

/// Hands a transfer that both ends have reached to the network.
void Engine::start(TransferId id) {
  Transfer& transfer = transfers_[id];
  const TimePoint at = issue_time(transfer.from);
  if (transfer.times > 1) {
    transport_->start_again(transfer.kept, at, queue_);
    return;
  }
  const Route* route = routes_.find(*network_->router, transfer.from, transfer.to);
  LOCKSTEP_CHECK(route != nullptr);
  transfer.kept = transport_->start(id, *route, Bytes{transfer.bytes}, at, transfer.bound, queue_);
}

void Engine::start_matched() {
  if (matched_.empty()) return;
  std::sort(matched_.begin(), matched_.end(), [this](TransferId a, TransferId b) {
    return transfers_[a].order < transfers_[b].order;
  });
  for (const TransferId id : matched_) start(id);
  matched_.clear();
}

/// When the sender's software lets go of its next message.
TimePoint Engine::issue_time(EndpointId from) {
  const Duration overhead = network_->endpoints[from].message_overhead;
  if (overhead == Duration{}) return queue_.now();
  TimePoint& free = ports_[from].send_free;
  free = std::max(queue_.now(), free) + overhead;
  return free;
}

void Engine::post_bound(TransferId id, std::uint8_t end) {
  Transfer& transfer = transfers_[id];
  transfer.posted |= end;
  if (end == Transfer::kSender) transfer.order = next_order_++;
  if (transfer.posted != (Transfer::kSender | Transfer::kReceiver)) return;
  transfer.posted = 0;
  ++transfer.times;
  ++transfer_count_;
  if (issue_in_order_) {
    matched_.push_back(id);
  } else {
    start(id);
  }
}

/// One end goes on to other things. An end that waits already does so like any other from now on.
void Engine::unbind(TransferId id) {
  const Transfer transfer = transfers_[id];
  lanes_[transfer.sender].bound_send = kNone;
  lanes_[transfer.receiver].bound_receive = kNone;
  account(transfer.from, transfer.to, transfer.bytes, transfer.times);
  transport_->drop(transfer.kept);
  spare_transfers_.push_back(id);
  if (transfer.posted == 0) return;
  const bool sending = transfer.posted == Transfer::kSender;
  const Lane& sender = lanes_[transfer.sender];
  const Lane& receiver = lanes_[transfer.receiver];
  const std::uint32_t party = calls_[sender.call].first_party;
  const Lane& waiting = sending ? sender : receiver;
  post({party + sender.member, party + receiver.member, transfer.channel},
       {sending ? transfer.sender : transfer.receiver, sending, transfer.reduces && !sending,
        waiting.repeats_left > 0, transfer.bytes, transfer.order});
}

void Engine::account(EndpointId from, EndpointId to, std::int64_t bytes, std::int64_t times) {
  const Route* route = routes_.find(*network_->router, from, to);
  LOCKSTEP_CHECK(route != nullptr);
  const UInt128 total = static_cast<UInt128>(bytes) * static_cast<UInt128>(times);
  for (const Hop& hop : route->hops) carried_[hop.link] += total * hop.weight;
}

void Engine::finish_transfer(TransferId id) {
  const Transfer& transfer = transfers_[id];
  const std::uint32_t receiver = transfer.receiver;
  if (!transfer.bound) spare_transfers_.push_back(id);
  transfer_done(transfer.sender);
  const std::optional<Rate>& reduce_rate = network_->endpoints[transfer.to].reduce_rate;
  if (!transfer.reduces || !reduce_rate) {
    transfer_done(receiver);
    return;
  }
  push(Kind::reduced, receiver, reduce(transfer.to, Bytes{transfer.bytes}, *reduce_rate));
}

/// When the rank has reduced these bytes too, after what it has to reduce already.
TimePoint Engine::reduce(EndpointId at, Bytes bytes, Rate rate) {
  PortState& port = ports_[at];
  if (queue_.now() >= port.reduce_free) {
    port.reduce_since = queue_.now();
    port.reduce_backlog = Bytes{};
  }
  port.reduce_backlog += bytes;
  port.reduce_free = port.reduce_since + port.reduce_backlog / rate;
  return port.reduce_free;
}

void Engine::transfer_done(std::uint32_t track) {
  if (track >= lanes_.size()) {
    finish_operation(track - static_cast<std::uint32_t>(lanes_.size()));
    return;
  }
  Lane& lane = lanes_[track];
  if (--lane.outstanding > 0) return;
  ++lane.step;
  if (blocked_lanes_ > 0) wake_blocked_lanes(lane);
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
  for (const UInt128 carried : carried_)
    out.link_bytes.emplace_back(
        static_cast<std::int64_t>((carried + kWeightUnit / 2) / UInt128{kWeightUnit}));
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
