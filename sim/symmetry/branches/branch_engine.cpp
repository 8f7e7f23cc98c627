#include "sim/symmetry/branches/branch_engine.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/base/check.hpp"
#include "sim/network/share_error.hpp"

namespace lockstep::fold {
namespace {

constexpr std::uint64_t bit(std::uint32_t connection) {
  return std::uint64_t{1} << connection;
}

/// Calls visit(connection) for each bit.
template <typename Visit>
void each(std::uint64_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<std::uint32_t>(std::countr_zero(bits)));
}

}  // namespace

BranchEngine::BranchEngine(const BranchPlan& plan, ExternalMember& external)
    : plan_{&plan},
      external_{&external},
      times_(plan.connections.size()),
      connections_(plan.connections.size()),
      lanes_left_(plan.reduce_rates.size(), plan.lanes_each),
      ends_(plan.reduce_rates.size()),
      reductions_(plan.reduce_rates.size()) {
  for (const BranchPlan::Lane& lane : plan.lanes)
    lanes_.push_back(
        {lane.first_run < lane.last_run ? plan.runs[lane.first_run].steps : 0, lane.first_run, 0});
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    lanes_[lane].outstanding = 1;
    const TimePoint start = plan.starts[plan.lanes[lane].member];
    if (start == TimePoint{}) {
      transfer_done(lane);
    } else {
      work_.push_back({start.ps(), lane});
    }
  }
  run_ready();
  do_pieces();
  find_next();
}

bool BranchEngine::advance() {
  if (next_ps_ == kNever) return false;
  now_ps_ = next_ps_;
  take_events();
  take_external_posts();
  do {
    take_work();
    run_ready();
    do_pieces();
  } while (std::any_of(work_.begin(), work_.end(),
                       [this](const Work& work) { return work.at_ps == now_ps_; }));
  settle();
  find_next();
  return true;
}

/// First bytes arrive: flows begin. Last ones do: transfers are through.
void BranchEngine::take_events() {
  std::uint64_t due = 0;
  each(pending_, [&](std::uint32_t c) {
    if (times_[c] == now_ps_) due |= bit(c);
  });
  pending_ &= ~due;
  each(due, [&](std::uint32_t c) {
    if ((flowing_ & bit(c)) != 0) {
      flowing_ &= ~bit(c);
      left_ |= bit(c);
      connections_[c].rate = 0;
      finish(c);
    } else if (connections_[c].work == 0) {
      finish(c);
    } else {
      flowing_ |= bit(c);
      arrived_ |= bit(c);
    }
  });
  run_ready();
}

void BranchEngine::take_work() {
  for (std::size_t i = 0; i < work_.size();) {
    if (work_[i].at_ps != now_ps_) {
      ++i;
      continue;
    }
    const std::uint32_t lane = work_[i].lane;
    work_[i] = work_.back();
    work_.pop_back();
    transfer_done(lane);
  }
}

void BranchEngine::post_at(TimePoint at, std::uint32_t /*member*/, std::uint32_t channel,
                           const Post& post) {
  const std::uint32_t connection = plan_->connection_of[channel];
  if (connection >= connections_.size()) return;  // nobody ever comes to the other end
  external_posts_.push_back(
      {at.ps(),
       post.place,
       {connection, post.sending, post.reduces, post.bytes, post.bytes * post.times}});
  next_ps_ = std::min(next_ps_, at.ps());
}

void BranchEngine::take_external_posts() {
  std::size_t kept = 0;
  for (const ExternalPost& each : external_posts_) {
    if (each.at_ps == now_ps_) {
      post_external(each);
    } else {
      external_posts_[kept++] = each;
    }
  }
  external_posts_.resize(kept);
}

void BranchEngine::post_external(const ExternalPost& of_external) {
  Connection& connection = connections_[of_external.end.connection];
  const std::uint8_t end = of_external.end.sends ? kSender : kReceiver;
  if ((connection.posted & end) != 0) {
    later_.push_back(of_external);
    return;
  }
  connection.posted_place = of_external.place;
  post(of_external.end);
}

void BranchEngine::post(const BranchPlan::End& end) {
  Connection& connection = connections_[end.connection];
  if (connection.posted == 0) {
    connection.bytes = end.bytes;
  } else {
    LOCKSTEP_CHECK(connection.bytes == end.bytes);
  }
  connection.posted |= end.sends ? kSender : kReceiver;
  if (!end.sends) {
    connection.reduces = end.reduces;
    connection.reduced = end.reduced;
  }
  if (connection.posted == (kSender | kReceiver)) begin(end.connection);
}

void BranchEngine::begin(std::uint32_t c) {
  const BranchPlan::Connection& plan = plan_->connections[c];
  Connection& connection = connections_[c];
  LOCKSTEP_CHECK(((pending_ | arrived_) & bit(c)) == 0);
  connection.posted = 0;
  connection.place = connection.posted_place;
  connection.work = plan.hops == 0 ? 0 : work_of(Bytes{connection.bytes});
  times_[c] = (now() + Duration::picoseconds(plan.latency_ps)).ps();
  pending_ |= bit(c);
  ++transfers_;
  if (plan.sender != BranchPlan::kAttachment && plan.receiver != BranchPlan::kAttachment) return;
  external_->begun(connection.place);
  const auto more = std::find_if(later_.begin(), later_.end(), [c](const ExternalPost& post) {
    return post.end.connection == c;
  });
  if (more == later_.end()) return;
  const ExternalPost next = *more;
  later_.erase(more);
  post_external(next);
}

void BranchEngine::finish(std::uint32_t c) {
  const BranchPlan::Connection& plan = plan_->connections[c];
  const Connection& connection = connections_[c];
  if (plan.sender == BranchPlan::kAttachment) {
    external_->done(connection.place);
  } else {
    transfer_done(plan.sender);
  }
  if (plan.receiver == BranchPlan::kAttachment) {
    external_->done(connection.place);
  } else if (connection.reduces && plan_->reduce_rates[plan_->lanes[plan.receiver].member]) {
    pieces_.push_back({plan.receiver, connection.reduced});
  } else {
    transfer_done(plan.receiver);
  }
}

void BranchEngine::transfer_done(std::uint32_t lane) {
  if (--lanes_[lane].outstanding == 0) ready_.push_back(lane);
}

void BranchEngine::run_ready() {
  for (const std::uint32_t lane : ready_) run_lane(lane);
  ready_.clear();
}

/// Goes on with the next step that has transfers.
void BranchEngine::run_lane(std::uint32_t id) {
  Lane& lane = lanes_[id];
  const BranchPlan::Lane& plan = plan_->lanes[id];
  while (lane.run < plan.last_run) {
    const BranchPlan::Run& run = plan_->runs[lane.run];
    if (lane.left == 0 || run.first_end == run.last_end) {
      if (++lane.run < plan.last_run) lane.left = plan_->runs[lane.run].steps;
      continue;
    }
    --lane.left;
    lane.outstanding = run.last_end - run.first_end;
    for (std::uint32_t i = run.first_end; i < run.last_end; ++i) post(plan_->ends[i]);
    return;
  }
  if (--lanes_left_[plan.member] == 0) ends_[plan.member] = now();
}

/// Those of one end point in the order of its lanes.
void BranchEngine::do_pieces() {
  if (pieces_.empty()) return;
  if (pieces_.size() > 1)
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const Piece& a, const Piece& b) { return a.lane < b.lane; });
  for (const Piece& piece : pieces_) {
    const std::uint32_t member = plan_->lanes[piece.lane].member;
    const TimePoint done =
        reductions_[member].add(Bytes{piece.bytes}, *plan_->reduce_rates[member], now());
    work_.push_back({done.ps(), piece.lane});
  }
  pieces_.clear();
}

/// Shares change for what came, and for what shares links with what came or went.
void BranchEngine::settle() {
  if ((arrived_ | left_) == 0) return;
  std::uint64_t concerned = 0;
  each(arrived_, [&](std::uint32_t c) {
    const BranchPlan::Connection& plan = plan_->connections[c];
    if ((plan.rivals & flowing_) == 0) {
      give(c, plan.alone);
    } else {
      concerned |= bit(c);
    }
  });
  each(left_, [&](std::uint32_t c) { concerned |= plan_->connections[c].rivals & flowing_; });
  arrived_ = left_ = 0;
  if (concerned != 0) share(concerned);
}

/// Among these and all that are connected with them through links.
void BranchEngine::share(std::uint64_t connections) {
  ++solves_;
  std::uint64_t seen = 0;
  while (connections != seen) {
    const std::uint64_t added = connections & ~seen;
    seen = connections;
    each(added, [&](std::uint32_t c) { connections |= plan_->connections[c].rivals & flowing_; });
  }
  solve(connections);
}

// As MaxMinSolver::solve: all links of the lowest level freeze together.
void BranchEngine::solve(std::uint64_t connections) {
  std::array<std::uint64_t, UINT8_MAX + 1> rest;
  std::array<std::uint64_t, UINT8_MAX + 1> level;
  std::array<std::uint8_t, UINT8_MAX + 1> open;
  std::array<std::uint8_t, BranchPlan::kMostConnections * BranchPlan::kMostHops> links;
  std::size_t link_count = 0;
  const auto hops = [this](std::uint32_t c) {
    const BranchPlan::Connection& plan = plan_->connections[c];
    return std::span{plan.links.data(), plan.hops};
  };
  each(connections, [&](std::uint32_t c) {
    for (const std::uint8_t link : hops(c)) open[link] = 0;
  });
  each(connections, [&](std::uint32_t c) {
    for (const std::uint8_t link : hops(c))
      if (open[link]++ == 0) links[link_count++] = link;
  });
  for (const std::uint8_t link : std::span{links.data(), link_count}) {
    rest[link] = plan_->capacities[link];
    level[link] = rest[link] / open[link];
  }
  while (connections != 0) {
    std::uint64_t lowest = UINT64_MAX;
    for (const std::uint8_t link : std::span{links.data(), link_count})
      if (open[link] > 0) lowest = std::min(lowest, level[link]);
    if (lowest == 0) throw ShareError{};
    std::uint64_t frozen = 0;
    each(connections, [&](std::uint32_t c) {
      for (const std::uint8_t link : hops(c))
        if (level[link] == lowest) frozen |= bit(c);
    });
    connections &= ~frozen;
    each(frozen, [&](std::uint32_t c) {
      if (connections_[c].rate != lowest) give(c, lowest);
      for (const std::uint8_t link : hops(c)) {
        rest[link] -= lowest;
        --open[link];
      }
    });
    if (connections == 0) return;
    for (const std::uint8_t link : std::span{links.data(), link_count})
      if (open[link] > 0) level[link] = rest[link] / open[link];
  }
}

void BranchEngine::give(std::uint32_t c, std::uint64_t rate) {
  Connection& connection = connections_[c];
  connection.work -= static_cast<Int128>(connection.rate) * (now_ps_ - connection.since_ps);
  connection.since_ps = now_ps_;
  connection.rate = rate;
  if (connection.work != memo_work_ || rate != memo_rate_) {
    memo_work_ = connection.work;
    memo_rate_ = rate;
    memo_ps_ = time_for(connection.work, rate).ps();
  }
  times_[c] = (now() + Duration::picoseconds(memo_ps_)).ps();
  pending_ |= bit(c);
}

void BranchEngine::find_next() {
  std::int64_t next = kNever;
  each(pending_, [&](std::uint32_t c) { next = std::min(next, times_[c]); });
  for (const Work& work : work_) next = std::min(next, work.at_ps);
  for (const ExternalPost& post : external_posts_) next = std::min(next, post.at_ps);
  next_ps_ = next;
}

}  // namespace lockstep::fold
