#include "sim/execute/command_graph/command_graph_builder.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

BufferId CommandGraphBuilder::add_buffer(std::string name, int device, NumberType type,
                                         std::int64_t elements) {
  LOCKSTEP_CHECK(0 <= device && device < graph_.devices);
  graph_.buffers.push_back({std::move(name), device, type, elements});
  return static_cast<BufferId>(graph_.buffers.size() - 1);
}

StreamIndex CommandGraphBuilder::add_stream(std::string name, int device) {
  graph_.streams.push_back({std::move(name), device});
  streams_.emplace_back();
  return static_cast<StreamIndex>(streams_.size() - 1);
}

void CommandGraphBuilder::depend(StreamIndex stream, CommandId before) {
  if (before == kNoCommand || graph_.commands[before].stream == stream) return;
  std::vector<CommandId>& pending = streams_[stream].pending;
  if (std::find(pending.begin(), pending.end(), before) == pending.end()) pending.push_back(before);
}

/// The latest first: what it follows needs no wait of its own.
void CommandGraphBuilder::take_pending(Command& command) {
  StreamState& stream = streams_[command.stream];
  command.after = std::exchange(stream.pending, {});
  if (command.after.empty()) return;
  std::vector<CommandId> latest = command.after;
  std::sort(latest.rbegin(), latest.rend());
  Clock known = *stream.known;
  known.resize(streams_.size());
  for (const CommandId before : latest) {
    Command& other = graph_.commands[before];
    if (at(known, other.stream) >= issued_[before].place) continue;
    command.waits.push_back(before);
    other.signals = true;
    const Clock& there = *issued_[before].known;
    for (std::size_t i = 0; i < there.size(); ++i) known[i] = std::max(known[i], there[i]);
    known[other.stream] = std::max(known[other.stream], issued_[before].place);
  }
  stream.known = std::make_shared<const Clock>(std::move(known));
}

CommandId CommandGraphBuilder::issue(Command command) {
  take_pending(command);
  StreamState& stream = streams_[command.stream];
  stream.last = static_cast<CommandId>(graph_.commands.size());
  issued_.push_back({++stream.issued, stream.known});
  graph_.commands.push_back(std::move(command));
  return stream.last;
}

CommandId CommandGraphBuilder::copy(StreamIndex stream, Region to, Region from,
                                    StreamIndex from_stream) {
  const bool near = graph_.buffers[to.buffer].device == graph_.buffers[from.buffer].device;
  return issue({.kind = near ? Command::Kind::copy : Command::Kind::peer_copy,
                .stream = stream,
                .to = to,
                .from = from,
                .from_stream = from_stream});
}

CommandId CommandGraphBuilder::combine(StreamIndex stream, Command::Kind how, Region to,
                                       Region from) {
  LOCKSTEP_CHECK(how == Command::Kind::add || how == Command::Kind::maximum);
  LOCKSTEP_CHECK(graph_.buffers[to.buffer].device == graph_.buffers[from.buffer].device);
  return issue({.kind = how, .stream = stream, .to = to, .from = from});
}

CommandId CommandGraphBuilder::launch(StreamIndex stream, CommandGraphLaunch what) {
  graph_.launches.push_back(std::move(what));
  return issue({.kind = Command::Kind::launch,
                .stream = stream,
                .launch = static_cast<std::uint32_t>(graph_.launches.size() - 1)});
}

CommandId CommandGraphBuilder::mark(StreamIndex stream) {
  return issue({.kind = Command::Kind::mark, .stream = stream});
}

}  // namespace lockstep
