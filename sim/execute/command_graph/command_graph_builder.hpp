#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"

namespace lockstep {

/// Builds a command graph command by command, in a valid sequential order. Dependencies may be
/// redundant; the builder emits only the waits needed, skipping commands already ordered through
/// stream order and earlier waits (vector clocks; Fidge 1988, Mattern 1989).
class CommandGraphBuilder {
 public:
  explicit CommandGraphBuilder(int devices) { graph_.devices = devices; }

  BufferId add_buffer(std::string name, int device, NumberType type, std::int64_t elements);
  StreamIndex add_stream(std::string name, int device);

  /// Makes the stream's next command depend on `before`; no effect for kNoCommand.
  void depend(StreamIndex stream, CommandId before);
  CommandId copy(StreamIndex stream, Region to, Region from, StreamIndex from_stream = 0);
  CommandId combine(StreamIndex stream, Command::Kind how, Region to, Region from);
  CommandId launch(StreamIndex stream, CommandGraphLaunch what);
  CommandId mark(StreamIndex stream);

  /// The last command of a stream; kNoCommand if it has none.
  [[nodiscard]] CommandId last(StreamIndex stream) const { return streams_[stream].last; }
  /// Further dependencies of the stream's next command.
  [[nodiscard]] const std::vector<CommandId>& pending(StreamIndex stream) const {
    return streams_[stream].pending;
  }
  [[nodiscard]] const CommandGraph& graph() const { return graph_; }
  [[nodiscard]] CommandGraph take() { return std::move(graph_); }

 private:
  /// Per stream, the number of its commands known to have completed.
  using Clock = std::vector<std::uint32_t>;
  struct StreamState {
    CommandId last = kNoCommand;
    std::uint32_t issued = 0;
    std::vector<CommandId> pending{};
    std::shared_ptr<const Clock> known = std::make_shared<const Clock>();
  };
  struct Issued {
    std::uint32_t place = 0;             // 1-based position in its stream
    std::shared_ptr<const Clock> known;  // known by its stream when it started
  };

  CommandId issue(Command command);
  void take_pending(Command& command);
  [[nodiscard]] static std::uint32_t at(const Clock& clock, StreamIndex stream) {
    return stream < clock.size() ? clock[stream] : 0;
  }

  CommandGraph graph_;
  std::vector<StreamState> streams_{};
  std::vector<Issued> issued_{};  // as plan_.commands
};

}  // namespace lockstep
