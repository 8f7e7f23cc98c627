#include <algorithm>
#include <utility>

#include "sim/engine/recorded_work.hpp"
#include "sim/engine/streams.hpp"

namespace lockstep::engine {

bool Streams::follows(std::uint32_t stream) const {
  return recorded_ != nullptr && recorded_->follows(stream);
}

bool Streams::leads(std::uint32_t stream) const {
  return recorded_ != nullptr && recorded_->leads(stream);
}

std::uint32_t Streams::ends_for_all(std::uint32_t stream) const {
  return recorded_ == nullptr ? kNone : recorded_->ends_for_all(stream);
}

void Streams::replays(std::uint32_t stream) const {
  if (recorded_ != nullptr && stream != kNone) recorded_->end_record(stream);
}

void Streams::catch_up(std::uint32_t stream) const {
  if (recorded_ != nullptr) recorded_->catch_up(stream);
}

void Streams::fetch(std::uint32_t stream) const {
  __builtin_prefetch(&streams_[stream]);
  ends_.fetch(stream);
  __builtin_prefetch(&programs_[stream]);
}

void Streams::fetch_ends(std::uint32_t stream) const {
  ends_.fetch_last(stream);
  const StreamProgram& of = programs_[stream];
  if (of.calls != nullptr) __builtin_prefetch(of.calls);
  if (!computing_at_.empty()) __builtin_prefetch(&computing_at_[of.endpoint]);
}

void Streams::fetch_next(std::uint32_t stream) const {
  const StreamProgram& of = programs_[stream];
  const std::uint32_t next = next_of(stream);
  ends_.fetch_last(stream);
  if (next >= of.size) return;
  __builtin_prefetch(&of.operations[next].kind);
  __builtin_prefetch(&of.operations[next].launched_after);
  if (!computing_at_.empty()) __builtin_prefetch(&computing_at_[of.endpoint]);
}

void Streams::fetch_others(std::uint32_t stream) const {
  const StreamProgram& of = programs_[stream];
  const std::uint32_t next = next_of(stream);
  if (next >= of.size) return;
  const Activity& operation = of.operations[next];
  if (operation.kind == Activity::Kind::collective) {
    if (of.calls != nullptr) __builtin_prefetch(of.calls + operation.call);
  } else if (operation.kind != Activity::Kind::compute && of.messages != nullptr) {
    __builtin_prefetch(of.messages + operation.peer);
  }
}

void Streams::end_as(std::uint32_t stream, std::uint32_t index, const StreamEnds::Shift& as) {
  ends_.follow(stream, streams_[stream].index, index, as);
  state_->end = std::max(state_->end, ends_.at(stream, index - 1));
}

void Streams::set_state(std::uint32_t stream, const StreamState& like,
                        std::span<const TimePoint> ends, Duration later) {
  StreamState& state = streams_[stream];
  if (!computing_at_.empty()) {
    std::vector<std::uint32_t>& computing = computing_at_[endpoint_of(stream)];
    std::erase(computing, stream);
    if (like.computing && like.slows)
      computing.insert(std::lower_bound(computing.begin(), computing.end(), stream), stream);
  }
  state.index = like.index;
  state.busy = like.busy;
  state.computing = like.computing;
  state.slows = like.slows;
  state.ahead = like.ahead;
  state.began = like.began + later;
  state.until = like.until + later;
  state.looks = state.until;
  for (std::size_t i = 0; i < ends.size(); ++i) ends_.set(stream, like.index + i, ends[i] + later);
}

bool Streams::computes_at(EndpointId at, const std::vector<std::uint32_t>& but) const {
  if (computing_at_.empty()) return false;
  return std::any_of(computing_at_[at].begin(), computing_at_[at].end(), [&](std::uint32_t stream) {
    return std::find(but.begin(), but.end(), stream) == but.end();
  });
}

void Streams::set_slowing(EndpointId at, std::vector<std::int64_t> permilles) {
  if (slowing_.empty()) return;
  slowed_[at] = slowest(permilles);
  slowing_[at] = std::move(permilles);
}

void Streams::keep_slowed(EndpointId at, EndpointId like) {
  if (slowing_.empty()) return;
  slowed_[at] = slowed_[like];
  changed_.push_back(at);
}

}  // namespace lockstep::engine
