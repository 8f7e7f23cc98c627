#include "sim/engine/event_loop/engine.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/deadlock_report.hpp"

namespace lockstep {

namespace {

engine::SeparateReplay replay_separately(const Network& network, const Workload& workload,
                                         NetworkModel model) {
  Engine engine{network, workload, model};
  engine.advance_to_end({});
  std::vector<UInt128> carried = engine.carried();
  return {engine.take_result(), std::move(carried)};
}

}  // namespace

using engine::EventKind;
using engine::FrontierEnds;

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model, bool reuses)
    : Engine{network, workload, model, reuses, FrontierEnds{}} {}

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model,
               StepEndsLog& log)
    : Engine{network, workload, model, false, FrontierEnds{}, &log} {
  LOCKSTEP_CHECK(workload.streams.empty());
}

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model,
               ExternalTransport& external)
    : Engine{network, workload, model, false, FrontierEnds{external}} {}

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model,
               ExternalMember& external, std::uint32_t member)
    : Engine{network, workload, model, false, FrontierEnds{external, member}} {}

Engine::Engine(const Network& network, const Workload& workload, NetworkModel model, bool reuses,
               const FrontierEnds& frontier, StepEndsLog* log)
    : state_{network, workload, model},
      tracks_{collectives_, streams_},
      work_{network},
      transfers_{state_, frontier},
      collectives_{state_},
      streams_{state_} {
  state_.step_ends = log;
  if (frontier.any()) {
    LOCKSTEP_CHECK(workload.calls.size() == 1 && workload.streams.empty());
    LOCKSTEP_CHECK(workload.calls.front().schedule->slots() == 0);
  }
  if (reuses) {
    reused_.emplace(state_, replay_separately);
    held_.emplace(state_, *reused_);
  }
  join();
  streams_.announce_calls();
  streams_.announce_speed_changes();
  if (collectives_.share_ends()) work_.share_ends();
  collectives_.begin_uncalled();
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) streams_.run(stream);
  finish_instant();
  begin_offered();
  streams_.change_speeds();
  transfers_.settle();
  if (held_ && held_->has_met()) replay_met();
}

void Engine::record_work() {
  LOCKSTEP_CHECK(reused_.has_value());
  recorded_.emplace(state_, *reused_);
  if (!recorded_->useful()) {
    recorded_.reset();
    return;
  }
  join();
  recorded_->touch_all();
  recorded_->finish_instant();
}

Engine::Engine(const Engine& other)
    : state_{other.state_},
      tracks_{collectives_, streams_},
      work_{other.work_},
      transfers_{other.transfers_},
      collectives_{other.collectives_},
      streams_{other.streams_},
      reused_{other.reused_},
      held_{other.held_} {
  LOCKSTEP_CHECK(!other.recorded_);
  join();
}

Engine::Engine(const Engine& other, ExternalMember& external) : Engine{other} {
  transfers_.frontier().set_member(external);
}

/// Makes the parts know each other.
void Engine::join() {
  engine::ReusedCalls* reused = reused_ ? &*reused_ : nullptr;
  work_.join(state_, tracks_);
  engine::HeldCalls* held = held_ ? &*held_ : nullptr;
  transfers_.join({state_, tracks_, collectives_, work_, reused, held});
  collectives_.join({state_, transfers_, work_, streams_, reused, held});
  if (held_) held_->join({state_, collectives_, *reused_});
  engine::RecordedWork* recorded = recorded_ ? &*recorded_ : nullptr;
  streams_.join({state_, transfers_, collectives_, reused, recorded});
  if (recorded) recorded->join({state_, collectives_, streams_, *reused});
  if (reused) reused->join({state_, collectives_, streams_});
}

/// What comes soon asks for its memory, one of many before the first has to wait for it.
void Engine::fetch(std::span<const Event> soon) const {
  constexpr std::size_t kVerySoon = 8;
  for (const Event& event : soon)
    if (event.kind == static_cast<std::uint32_t>(EventKind::met)) collectives_.fetch(event.id);
  const auto each = [&](auto visit) {
    for (const Event& event : soon)
      if (event.kind == static_cast<std::uint32_t>(EventKind::computed)) visit(event.id);
  };
  each([&](std::uint32_t stream) { streams_.fetch(stream); });
  if (soon.size() > kVerySoon) return;
  each([&](std::uint32_t stream) { streams_.fetch_next(stream); });
  each([&](std::uint32_t stream) { streams_.fetch_others(stream); });
}

bool Engine::advance() {
  if (state_.queue.empty()) {
    if (!held_ || !held_->meet_all()) return false;
    replay_met();
    return true;
  }
  state_.queue.advance([this](std::span<const Event> events) { fetch(events); });
  Event event;
  do {
    ++state_.instant;
    while (state_.queue.pop_now(event)) handle(event);
    work_.do_all();
    transfers_.start_matched();
    if (!state_.queue.has_now()) begin_offered();
    if (!state_.queue.has_now()) streams_.change_speeds();
  } while (state_.queue.has_now());
  if (recorded_) recorded_->finish_instant();
  transfers_.settle();
  if (held_ && held_->has_met()) replay_met();
  return true;
}

/// Held calls that something else has come to are replayed up to this instant, as if they had been
/// from the beginning: what they did until now concerns nobody but their members, who know.
void Engine::replay_met() {
  const TimePoint until = state_.now();
  EventQueue present = std::exchange(state_.queue, EventQueue{});
  transfers_.begin_past();
  for (const engine::HeldCalls::Begin& begin : held_->release_met())
    state_.queue.push(
        make_event(EventKind::held_begins, collectives_.party(begin.call, begin.member), begin.at));
  for (auto next = state_.queue.next(); next && *next <= until; next = state_.queue.next()) {
    state_.queue.advance();
    do {
      ++state_.instant;
      Event event;
      while (state_.queue.pop_now(event)) handle(event);
      work_.do_all();
      transfers_.start_matched();
    } while (state_.queue.has_now());
    transfers_.settle();
  }
  EventQueue past = std::exchange(state_.queue, std::move(present));
  transfers_.end_past(past, state_.queue);
  transfers_.settle();
  held_->replayed_past();
}

void Engine::handle(const Event& event) {
  if (event.kind < kEngineEvents) {
    transfers_.handle(event);
  } else {
    switch (static_cast<EventKind>(event.kind)) {
      case EventKind::done:
        tracks_.step_part_done(event.id);
        break;
      case EventKind::taken:
        transfers_.take(event.id);
        break;
      case EventKind::computed:
        streams_.end_run(event.id);
        break;
      case EventKind::issued:
        streams_.run(event.id);
        break;
      case EventKind::met:
        collectives_.finish_timed(event.id);
        break;
      case EventKind::begins:
        collectives_.begin_member(collectives_.call_of_party(event.id),
                                  collectives_.member_of(event.id));
        break;
      case EventKind::external:
        transfers_.take_from_frontier(event.id);
        break;
      case EventKind::resumes:
        recorded_->resume(event.id);
        break;
      case EventKind::changes_speed:
        streams_.change_speed_of_endpoint(event.id);
        break;
      case EventKind::held_ends:
        held_->end_members(event.id, event.version);
        break;
      case EventKind::held_begins:
        collectives_.replay_member(collectives_.call_of_party(event.id),
                                   collectives_.member_of(event.id));
        break;
    }
  }
  run_ready();
}

void Engine::run_ready() {
  // NOLINTNEXTLINE(modernize-loop-convert): grows while it is run
  for (std::size_t i = 0; i < state_.ready.size(); ++i) tracks_.run(state_.ready[i]);
  state_.ready.clear();
}

/// What follows from the events that have been handled.
void Engine::finish_instant() {
  run_ready();
  work_.do_all();
  transfers_.start_matched();
}

void Engine::begin_offered() {
  while (reused_ && reused_->has_offers()) {
    reused_->begin_offered();
    finish_instant();
  }
}

void Engine::post_at(TimePoint at, std::uint32_t member, std::uint32_t channel, const Post& post) {
  const std::uint32_t own = collectives_.party(0, transfers_.frontier().member_index());
  const std::uint32_t other = collectives_.party(0, member);
  const ConnectionKey key =
      post.sending ? ConnectionKey{own, other, channel} : ConnectionKey{other, own, channel};
  transfers_.frontier().push(at, {post, key, false});
}

void Engine::finish_at(TimePoint at, const Post& post) {
  transfers_.frontier().push(at, {post, {}, true});
}

ReplayResult Engine::result() const {
  ReplayResult out = totals();
  out.call_ends = collectives_.ends();
  out.stream_ends = streams_.ends();
  out.log = transfers_.log();
  return out;
}

ReplayResult Engine::take_result() {
  ReplayResult out = totals();
  out.call_ends = std::move(collectives_.ends());
  out.stream_ends = std::move(streams_.ends());
  out.log = std::move(transfers_.log());
  return out;
}

ReplayResult Engine::totals() const {
  ReplayResult out;
  out.end = state_.end;
  out.transfers = transfers_.count();
  std::vector<UInt128> all = transfers_.carried();
  if (reused_) reused_->add_to(all, out.transfers);
  for (const UInt128 carried : all)
    out.link_bytes.emplace_back(
        static_cast<std::int64_t>((carried + kWeightUnit / 2) / UInt128{kWeightUnit}));
  out.solves = transfers_.solves();
  if (state_.queue.empty())
    out.unfinished =
        engine::DeadlockReport{*state_.workload, tracks_, transfers_, collectives_, streams_}
            .write();
  return out;
}

ReplayResult replay(const Network& network, const Workload& workload, NetworkModel model,
                    const OnReplay& report) {
  Engine engine(network, workload, model);
  engine.advance_to_end(report);
  return engine.take_result();
}

}  // namespace lockstep
