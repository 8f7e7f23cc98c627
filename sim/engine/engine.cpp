#include "sim/engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

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

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model, bool reuses)
    : Engine{network, workload, model, reuses, LeftOut{}} {}

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model,
               ExternalTransport& external)
    : Engine{network, workload, model, false, LeftOut{.transport = &external}} {}

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model,
               ExternalMember& external, std::uint32_t member)
    : Engine{network, workload, model, false, LeftOut{.external = &external, .member = member}} {}

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model, bool reuses,
               const LeftOut& left)
    : network_{&network},
      workload_{&workload},
      model_{model},
      transport_{make_transport(network, model)},
      routes_{network.endpoints.size()},
      ports_(network.endpoints.size()),
      carried_(network.links.size(), 0),
      external_{left.transport},
      external_member_{left.external},
      external_member_index_{left.member} {
  if (external_ != nullptr || external_member_ != nullptr) {
    LOCKSTEP_CHECK(workload.calls.size() == 1 && workload.streams.empty());
    LOCKSTEP_CHECK(workload.calls.front().schedule->slots() == 0);
  }
  issue_in_order_ = model == NetworkModel::queue ||
                    std::any_of(network.endpoints.begin(), network.endpoints.end(),
                                [](const Endpoint& e) { return e.message_overhead > Duration{}; });
  by_track_ = model != NetworkModel::queue;
  runs_ahead_ = by_track_ && !workload.shares_processors();
  for (const CollectiveCall& call : workload.calls) add_call(call);
  add_streams();
  find_shared_ends();
  if (reuses) begin_to_reuse();
  begin_free_calls();
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) run_stream(stream);
  run_ready();
  do_all_work();
  start_matched();
  begin_offered();
  change_speeds();
  transport_->settle(queue_);
}

Engine::Engine(const Engine& other)
    : network_{other.network_},
      workload_{other.workload_},
      model_{other.model_},
      transport_{other.transport_->clone()},
      queue_{other.queue_},
      routes_{other.routes_},
      matcher_{other.matcher_},
      connections_{other.connections_},
      processor_free_{other.processor_free_},
      lanes_{other.lanes_},
      spare_lanes_{other.spare_lanes_},
      streams_{other.streams_},
      computing_at_{other.computing_at_},
      communicating_{other.communicating_},
      slowed_{other.slowed_},
      changed_{other.changed_},
      runs_ahead_{other.runs_ahead_},
      calls_{other.calls_},
      members_{other.members_},
      lane_count_{other.lane_count_},
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
      first_dependent_{other.first_dependent_},
      carried_{other.carried_},
      call_ends_{other.call_ends_},
      stream_ends_{other.stream_ends_},
      end_{other.end_},
      blocked_lanes_{other.blocked_lanes_},
      transfer_count_{other.transfer_count_},
      finished_transfers_{other.finished_transfers_},
      on_links_{other.on_links_},
      late_launch_{other.late_launch_},
      log_{other.log_},
      known_{other.known_},
      external_{other.external_},
      external_member_{other.external_member_},
      external_member_index_{other.external_member_index_},
      from_external_{other.from_external_},
      spare_from_external_{other.spare_from_external_} {}

bool Engine::advance() {
  if (queue_.empty()) return false;
  queue_.advance();
  Event event;
  do {
    ++instant_;
    while (queue_.pop_now(event)) handle(event);
    do_all_work();
    start_matched();
    if (!queue_.has_now()) begin_offered();
    if (!queue_.has_now()) change_speeds();
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
      case Kind::taken:
        take(event.id);
        break;
      case Kind::computed: {
        // Where communication has slowed it down or sped it up, another event says when it ends.
        const StreamState& state = streams_[event.id];
        if (!state.computing) break;
        if (state.until == queue_.now()) {
          finish_operation(event.id);
        } else if (state.looks == queue_.now()) {
          look_at_end(event.id);
        }
        break;
      }
      case Kind::issued:
        run_stream(event.id);
        break;
      case Kind::met:
        finish_timed_call(event.id);
        break;
      case Kind::begins:
        begin_member(call_of_party(event.id), member_of(event.id));
        break;
      case Kind::external:
        take_from_external(event.id);
        break;
    }
  }
  run_ready();
}

ReplayResult Engine::result() const {
  ReplayResult out = totals();
  out.call_ends = call_ends_;
  out.stream_ends = stream_ends_;
  out.log = log_;
  return out;
}

ReplayResult Engine::take_result() {
  ReplayResult out = totals();
  out.call_ends = std::move(call_ends_);
  out.stream_ends = std::move(stream_ends_);
  out.log = std::move(log_);
  return out;
}

ReplayResult Engine::totals() const {
  ReplayResult out;
  out.end = end_;
  out.transfers = transfer_count_;
  std::vector<UInt128> all = carried_;
  add_known(all, out.transfers);
  for (const UInt128 carried : all)
    out.link_bytes.emplace_back(
        static_cast<std::int64_t>((carried + kWeightUnit / 2) / UInt128{kWeightUnit}));
  out.solves = transport_->solves();
  if (queue_.empty()) out.unfinished = unfinished();
  return out;
}

ReplayResult replay(const Network& network, const Workload& workload, NetworkModel model,
                    const OnReplay& report) {
  Engine engine(network, workload, model);
  engine.advance_to_end(report);
  return engine.take_result();
}

}  // namespace lockstep
