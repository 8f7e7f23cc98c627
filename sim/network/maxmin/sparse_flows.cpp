#include "sim/network/maxmin/fluid_transport.hpp"

namespace lockstep::maxmin {

// As long as few flows cross any link, each keeps its own end: no components and no groups, which
// pay where many flows get another share at once. Nothing but the shares and the work left counts
// for what follows, so that flows may go over to components at any instant, for good.

void FluidTransport::end_sparse(FlowId id, EventQueue& queue, std::vector<TransferId>& arrived) {
  Flow& flow = flows_.flow(id);
  if (flow.ends_later) {
    const TimePoint since{Duration::picoseconds(flow.since_ps)};
    queue_end(id, since + time_for(flow.work, flow.rate), queue);
    return;
  }
  sparse_shares_.detach(flows_, id);
  flow.state = Flow::State::travelling;
  flow.rate = 0;
  deliver(id, queue, arrived);
}

void FluidTransport::settle_sparse(EventQueue& queue) {
  if (!join_sparse(queue)) {
    leave_sparse(queue.now());
    return;
  }
  if (!sparse_shares_.has_changes()) return;
  ++solves_;
  shares_.clear();
  if (!sparse_shares_.solve(flows_, shares_)) {
    leave_sparse(queue.now());
    return;
  }
  for (const FlowId id : joining_)
    if (flows_.flow(id).rate == 0) give_rate(id, sparse_shares_.rate(flows_, id), queue);
  joining_.clear();
  for (const SparseShares::Share& share : shares_)
    if (flows_.flow(share.flow).rate != share.rate) give_rate(share.flow, share.rate, queue);
}

/// False where there are too many flows on some link.
bool FluidTransport::join_sparse(EventQueue& queue) {
  if (joining_.empty()) return true;
  for (const FlowId id : joining_) {
    if (!sparse_shares_.attach(flows_, id)) return false;
    flows_.flow(id).state = Flow::State::sharing;
  }
  bool all_alone = true;
  for (const FlowId id : joining_) {
    const std::uint64_t rate = sparse_shares_.rate_alone(flows_, id);
    if (rate != 0) {
      give_rate(id, rate, queue);
    } else {
      all_alone = false;
    }
  }
  if (all_alone) joining_.clear();
  return true;
}

/// Of a flow that becomes slower the queued event stays, and finds out when it does end.
void FluidTransport::give_rate(FlowId id, std::uint64_t rate, EventQueue& queue) {
  Flow& flow = flows_.flow(id);
  const std::int64_t now_ps = queue.now().ps();
  const bool queued = flow.rate != 0;
  if (queued) flow.work -= static_cast<Int128>(flow.rate) * (now_ps - flow.since_ps);
  flow.since_ps = now_ps;
  flow.rate = rate;
  const TimePoint end = queue.now() + time_alone(flow);
  if (queued && end.ps() >= flow.event_ps) {
    flow.ends_later = end.ps() > flow.event_ps;
    return;
  }
  if (queued) flow.version = (flow.version + 1) & kVersionMask;
  queue_end(id, end, queue);
}

void FluidTransport::queue_end(FlowId id, TimePoint end, EventQueue& queue) {
  Flow& flow = flows_.flow(id);
  flow.event_ps = end.ps();
  flow.ends_later = false;
  queue.push(make_event(TransportEvent::flow_ends, id, end, flow.version));
}

void FluidTransport::follow_sparse(const LinkTwins::Parting& parting) {
  const auto [known, added] = parting;
  const auto on_known = sparse_shares_.on_link(known);
  if (flows_.users(known) == on_known.size()) {
    for (const Crossing crossing : on_known) add_sparse_hop(crossing.flow, parting);
    return;
  }
  for (FlowId id = 0; id < flows_.size(); ++id)
    if (flows_.crosses(id, known)) add_sparse_hop(id, parting);
}

void FluidTransport::add_sparse_hop(FlowId id, const LinkTwins::Parting& parting) {
  const auto [known, added] = parting;
  if (flows_.flow(id).state == Flow::State::sharing)
    sparse_shares_.add_hop(flows_, id, known, added);
  flows_.add_hop(id, known, added);
}

/// Hands all flows over to components: they come to their links once more, with what is left.
void FluidTransport::leave_sparse(TimePoint now) {
  sparse_ = false;
  solver_.begin();
  flows_.begin_lists();
  component_of_.resize(flows_.links(), kNone);
  use_.resize(flows_.links());
  visited_.resize(flows_.links(), 0);
  joining_.clear();
  for (FlowId id = 0; id < flows_.size(); ++id) {
    Flow& flow = flows_.flow(id);
    const bool shares = flow.state == Flow::State::sharing;
    if (!shares && flow.state != Flow::State::joining) continue;
    if (shares) {
      flow.work -= static_cast<Int128>(flow.rate) * (now.ps() - flow.since_ps);
      flow.version = (flow.version + 1) & kVersionMask;
    }
    arrive(id);
  }
}

}  // namespace lockstep::maxmin
