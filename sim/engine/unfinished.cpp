#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/engine.hpp"

namespace lockstep {

// Who could not finish, in words. Unfinished work is never a silent success.

std::string Engine::describe(std::uint32_t track) const {
  if (is_lane(track)) return describe(lanes_[track]);
  const std::uint32_t stream = track - kStream;
  return fmt::format("rank {}, stream \"{}\", operation {}", workload_->streams[stream].endpoint,
                     workload_->streams[stream].name, streams_[stream].index);
}

std::string Engine::describe(const Lane& lane) const {
  const CallState& state = calls_[lane.call];
  std::string text = fmt::format("rank {}, {}", lane.member, workload_->calls[lane.call].name);
  if (state.lanes > 1) text += fmt::format(", lane {}", lane.lane);
  return text + fmt::format(", step {} of {}", lane.step, lane.steps);
}

std::string Engine::describe_post(const ConnectionKey& key, const Post& post) const {
  std::uint32_t peer = post.sending ? key.to : key.from;
  if (is_lane(post.track)) peer -= calls_[lanes_[post.track].call].first_party;
  std::string text = fmt::format("{}: waits to {} {} bytes {} rank {}", describe(post.track),
                                 post.sending ? "send" : "receive", post.bytes,
                                 post.sending ? "to" : "from", peer);
  if (key.channel != 0) text += fmt::format(" on channel {}", key.channel);
  const std::int64_t step =
      is_lane(post.track) ? lanes_[post.track].step : streams_[post.track - kStream].index;
  return text + (step == 0 ? std::string{"; no step matched before"}
                           : fmt::format("; the last step that matched is {}", step - 1));
}

void Engine::add_unfinished(const ConnectionKey& key, const SlottedConnection& connection,
                            std::vector<Unfinished>& out) const {
  for (std::size_t i = 0; i < connection.sends.size(); ++i) {
    const Post& send = connection.sends[i];
    out.push_back(
        {endpoint_of(send.track), fmt::format("{}; all {} slots of the connection are taken",
                                              describe_post(key, send), connection.slots)});
  }
  for (std::size_t i = 0; i < connection.receives.size(); ++i) {
    const Post& receive = connection.receives[i];
    out.push_back({endpoint_of(receive.track), describe_post(key, receive)});
  }
  for (std::size_t i = 0; i < connection.on_the_way.size(); ++i) {
    const Transfer& left = transfers_[connection.on_the_way[i]];
    out.push_back({left.from, fmt::format("rank {}: nobody at rank {} takes {} bytes that it sent",
                                          member_of(key.from), member_of(key.to), left.bytes)});
  }
}

/// The rank of a party of a call; the end point of one of streams.
std::uint32_t Engine::member_of(std::uint32_t party) const {
  return party < ports_.size() ? party : party - calls_[call_of_party(party)].first_party;
}

/// Members whose streams never came to the call, and steps that wait for others that never end.
void Engine::add_unfinished_calls(std::vector<Unfinished>& out) const {
  constexpr const char* kNeverReached = ": its stream never reached it";
  for (std::uint32_t id = 0; id < calls_.size(); ++id) {
    const CallState& state = calls_[id];
    const CollectiveCall& call = workload_->calls[id];
    if (state.members_left == 0) continue;
    for (std::uint32_t i = 0; i < call.members.size() * state.lanes; ++i) {
      const std::uint32_t member = i / state.lanes;
      const std::uint32_t number = i % state.lanes;
      if (state.first_lane == kNone) {
        Lane lane{.call = id, .member = member, .lane = number};
        lane.steps = call.schedule->steps(static_cast<int>(member), static_cast<int>(number));
        out.push_back({call.members[member], describe(lane) + kNeverReached});
        continue;
      }
      const Lane& lane = lanes_[state.first_lane + i];
      if (lane.blocked)
        out.push_back({lane.endpoint, describe(lane) + ": waits for a step of another lane"});
      if (!lane.begun) out.push_back({lane.endpoint, describe(lane) + kNeverReached});
    }
  }
}

void Engine::add_unfinished_streams(std::vector<Unfinished>& out) const {
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    const std::vector<Activity>& operations = workload_->streams[stream].all();
    if (streams_[stream].index == operations.size()) continue;
    const std::uint32_t track = kStream | stream;
    const Activity& next = operations[streams_[stream].index];
    const std::uint32_t call = next.kind == Activity::Kind::collective
                                   ? workload_->streams[stream].member_slot(next).call
                                   : kNone;
    if (call != kNone && workload_->calls[call].takes && streams_[stream].busy) {
      out.push_back(
          {endpoint_of(track), fmt::format("{}: waits for {} others in {}", describe(track),
                                           calls_[call].awaited, workload_->calls[call].name)});
    }
    if (streams_[stream].busy) continue;
    out.push_back(
        {endpoint_of(track), describe(track) + ": waits for operations of other streams"});
  }
}

std::vector<Unfinished> Engine::unfinished() const {
  std::vector<Unfinished> out;
  matcher_.each_waiting([&](const ConnectionKey& key, const Post& post) {
    out.push_back({endpoint_of(post.track), describe_post(key, post)});
  });
  for (const auto& [key, connection] : connections_) add_unfinished(key, connection, out);
  for (const Transfer& transfer : transfers_) {
    if (!transfer.bound || transfer.posted == 0) continue;
    const bool sending = transfer.posted == Transfer::kSender;
    const std::uint32_t track = sending ? transfer.sender : transfer.receiver;
    const std::uint32_t party = calls_[lanes_[track].call].first_party;
    out.push_back({endpoint_of(track),
                   describe_post({party + lanes_[transfer.sender].member,
                                  party + lanes_[transfer.receiver].member, transfer.channel},
                                 {track, sending, transfer.reduces, true, transfer.bytes, 0})});
  }
  add_unfinished_calls(out);
  add_unfinished_streams(out);
  std::sort(out.begin(), out.end(), [](const Unfinished& a, const Unfinished& b) {
    return a.endpoint != b.endpoint ? a.endpoint < b.endpoint : a.text < b.text;
  });
  return out;
}

}  // namespace lockstep
