#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/event_loop/engine.hpp"
#include "sim/engine/periodic_replay.hpp"
#include "sim/engine/replay_reusing.hpp"

namespace lockstep {

/// What decides about everything to come while nothing is on the links: where each stream is, what
/// it does, and when that ends. Times are relative to now.
struct Engine::Snapshot {
  TimePoint at;
  std::vector<std::uint32_t> places;  // per stream
  std::vector<std::int64_t> state;

  [[nodiscard]] bool is_one_period_after(const Snapshot& before,
                                         const std::vector<RepeatingPart>& parts) const {
    for (std::size_t s = 0; s < places.size(); ++s)
      if (places[s] != before.places[s] + parts[s].length) return false;
    return state == before.state;
  }
};

namespace {

/// So many instants of a period are compared with those one period later.
constexpr std::uint32_t kCompared = 64;

/// The stream with the most operations in a period.
[[nodiscard]] std::uint32_t busiest(const std::vector<RepeatingPart>& parts) {
  const auto most = std::max_element(
      parts.begin(), parts.end(),
      [](const RepeatingPart& a, const RepeatingPart& b) { return a.length < b.length; });
  return static_cast<std::uint32_t>(most - parts.begin());
}

}  // namespace

/// Whether every stream is within its part, with all that it has begun.
bool Engine::is_in(const std::vector<RepeatingPart>& parts) const {
  for (std::size_t s = 0; s < parts.size(); ++s) {
    const engine::StreamState& stream = streams_[s];
    const std::uint32_t end =
        stream.computing ? stream.ahead : stream.index + (stream.busy ? 1U : 0U);
    if (stream.index < parts[s].first || end > parts[s].last) return false;
  }
  return true;
}

Engine::Snapshot Engine::snapshot() const {
  const TimePoint now = state_.now();
  const auto left = [&](TimePoint until) { return (until - now).ps(); };
  Snapshot out;
  out.at = now;
  out.places.reserve(streams_.size());
  out.state.reserve(6 * streams_.size() + streams_.slowed().size());
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const engine::StreamState& stream = streams_[s];
    out.places.push_back(stream.index);
    out.state.push_back((stream.busy ? 1 : 0) + (stream.computing ? 2 : 0) +
                        (stream.slows ? 4 : 0));
    if (stream.computing) {
      out.state.push_back(stream.ahead - stream.index);
      out.state.insert(out.state.end(),
                       {left(stream.began), left(stream.until), left(stream.looks)});
    } else if (stream.busy) {
      const Stream& of = state_.workload->streams[s];
      const Activity& operation = of.all()[stream.index];
      const bool calls = operation.kind == Activity::Kind::collective;
      out.state.push_back(calls ? left(collectives_.call(of.member_slot(operation).call).until)
                                : 0);
    }
  }
  out.state.insert(out.state.end(), streams_.slowed().begin(), streams_.slowed().end());
  return out;
}

std::optional<Duration> Engine::advance_to_period(const std::vector<RepeatingPart>& parts) {
  LOCKSTEP_CHECK(parts.size() == streams_.size());
  const std::uint32_t pace = busiest(parts);
  const RepeatingPart& part = parts[pace];
  const std::uint32_t apart = std::max(1U, part.length / kCompared);
  std::unordered_map<std::uint32_t, Snapshot> seen;  // by place in the period
  std::uint32_t last = engine::kNone;                // looked at
  std::uint32_t next = part.first;                   // to be kept
  while (advance()) {
    const std::uint32_t index = streams_[pace].index;
    if (index > part.last) return std::nullopt;
    if (index == last || index < part.first ||
        transfers_.messages_in_flight() + collectives_.calls_in_flight() > 0)
      continue;
    const std::uint32_t place = (index - part.first) % part.length;
    const auto known = seen.find(place);
    if ((known == seen.end() && index < next) || !is_in(parts)) continue;
    last = index;
    Snapshot now = snapshot();
    if (known == seen.end()) {
      seen.emplace(place, std::move(now));
      next = index + apart;
      continue;
    }
    const bool punctual = streams_.late_launch() <= known->second.at;
    if (punctual && now.is_one_period_after(known->second, parts)) return now.at - known->second.at;
    known->second = std::move(now);
  }
  return std::nullopt;
}

void Engine::launch_earlier(const std::vector<RepeatingPart>& parts, Duration period,
                            std::int64_t periods) {
  streams_.launch_earlier(parts, period, periods);
}

std::optional<PeriodicReplay> replay_periodic(const Network& network, const Workload& workload,
                                              NetworkModel model,
                                              const std::vector<RepeatingPart>& parts,
                                              std::int64_t left_out) {
  if (parts.empty() || !workload.speed_changes.empty()) return std::nullopt;
  if (!can_reuse(network, workload, model)) return std::nullopt;
  Engine engine(network, workload, model, true);
  const std::optional<Duration> period = engine.advance_to_period(parts);
  if (!period) return std::nullopt;
  if (std::any_of(parts.begin(), parts.end(),
                  [&](const RepeatingPart& part) { return part.launch > *period; }))
    return std::nullopt;
  const TimePoint settled{engine.now().since_start() - *period};
  engine.launch_earlier(parts, *period, left_out);
  engine.advance_to_end({});
  return PeriodicReplay{engine.take_result(), *period, settled};
}

}  // namespace lockstep
