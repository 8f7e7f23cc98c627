#include "sim/execute/command_graph/fake_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/execute/kernels/random_bits.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kMostProblems = 8;

/// Per stream, how many of its commands are done.
using Clock = std::vector<std::uint32_t>;

struct Access {
  Region where{};
  bool writes = false;
  CommandId by = 0;
};

/// Calls each(region, writes) for all that a command touches.
template <class Each>
void for_each_access(const CommandGraph& graph, const Command& command, Each&& each) {
  using Kind = Command::Kind;
  if (command.kind == Kind::mark) return;
  if (command.kind == Kind::launch) {
    const CommandGraphLaunch& launch = graph.launches[command.launch];
    for (const Region& region : launch.reads) each(region, false);
    for (const Region& region : launch.writes) each(region, true);
    return;
  }
  each(command.from, false);
  each(command.to, true);
}

[[nodiscard]] bool overlap(const Region& a, const Region& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

[[nodiscard]] bool covers(const Region& a, const Region& b) {
  return a.first <= b.first && b.first + b.count <= a.first + a.count;
}

/// The streams of a command graph as queues.
class Queues {
 public:
  explicit Queues(const CommandGraph& graph)
      : graph_{graph}, queues_(graph.streams.size()), done_(graph.commands.size(), false) {
    for (CommandId i = 0; i < graph.commands.size(); ++i) {
      queues_[graph.commands[i].stream].push_back(i);
    }
  }

  /// Draws one that may begin; kNoCommand where none may.
  [[nodiscard]] CommandId next(std::uint64_t& draws) {
    draws = mixed(draws, queues_.size());
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      auto& queue = queues_[(draws + i) % queues_.size()];
      if (queue.empty() || !may_begin(graph_.commands[queue.front()])) continue;
      const CommandId out = queue.front();
      queue.pop_front();
      done_[out] = true;
      return out;
    }
    return kNoCommand;
  }
  [[nodiscard]] CommandId first_left() const {
    CommandId out = kNoCommand;
    for (const auto& queue : queues_) {
      if (!queue.empty()) out = std::min(out, queue.front());
    }
    return out;
  }

 private:
  [[nodiscard]] bool may_begin(const Command& command) const {
    return std::all_of(command.waits.begin(), command.waits.end(), [this](CommandId event) {
      return graph_.commands[event].signals && done_[event];
    });
  }

  const CommandGraph& graph_;
  std::vector<std::deque<CommandId>> queues_;
  std::vector<bool> done_;
};

class Checker {
 public:
  explicit Checker(const CommandGraph& graph)
      : graph_{graph},
        known_(graph.streams.size(), Clock(graph.streams.size())),
        accesses_(graph.buffers.size()) {}

  std::vector<CommandGraphFault> run() {
    for (CommandId i = 0; i < graph_.commands.size(); ++i) check(i);
    check_ring();
    return std::move(problems_);
  }

 private:
  void note(CommandId command, std::string what) {
    if (problems_.size() < kMostProblems) problems_.push_back({command, std::move(what)});
  }

  void check(CommandId id) {
    const Command& command = graph_.commands[id];
    Clock& known = known_[command.stream];
    for (const CommandId event : command.waits) wait(id, event, known);
    for (const CommandId before : command.after) {
      if (!follows(before, known)) note(id, text(id) + " does not wait for " + text(before));
    }
    for_each_access(graph_, command, [&](const Region& where, bool writes) {
      touch({where, writes, id}, known);
    });
    check_lengths(id, command);
    ++known[command.stream];
    clocks_.push_back(known);
  }

  void wait(CommandId id, CommandId event, Clock& known) {
    if (event >= id || !graph_.commands[event].signals) {
      note(id, text(id) + " waits for an event that nobody has recorded: " + text(event));
      return;
    }
    const Clock& there = clocks_[event];
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::max(known[i], there[i]);
  }

  [[nodiscard]] bool follows(CommandId before, const Clock& known) const {
    if (before >= clocks_.size()) return false;
    const StreamIndex stream = graph_.commands[before].stream;
    return known[stream] >= clocks_[before][stream];
  }

  void touch(const Access& access, const Clock& known) {
    const Region& where = access.where;
    const CommandGraphBuffer& buffer = graph_.buffers[where.buffer];
    if (where.first < 0 || where.count < 0 || where.first + where.count > buffer.elements) {
      note(access.by, fmt::format("{} reaches beyond {}", text(access.by), buffer.name));
    }
    std::vector<Access>& before = accesses_[where.buffer];
    for (const Access& other : before) {
      if (!(other.writes || access.writes) || !overlap(other.where, where)) continue;
      if (other.by == access.by || follows(other.by, known)) continue;
      note(access.by, fmt::format("{} and {} meet in {}, and nothing says which comes first",
                                  text(other.by), text(access.by), buffer.name));
    }
    if (access.writes) {
      std::erase_if(before, [&](const Access& other) { return covers(where, other.where); });
    }
    before.push_back(access);
  }

  void check_lengths(CommandId id, const Command& command) {
    if (command.kind == Command::Kind::launch || command.to.count == command.from.count) return;
    note(id, text(id) + " moves between lengths that differ");
  }

  /// Streams as queues: whatever the order in which commands were issued.
  void check_ring() {
    Queues queues{graph_};
    std::uint64_t draws = 1;
    while (queues.next(draws) != kNoCommand) {
    }
    const CommandId left = queues.first_left();
    if (left != kNoCommand) note(left, text(left) + " never completes");
  }

  [[nodiscard]] std::string text(CommandId id) const {
    return fmt::format("command {} of {}", id, graph_.streams[graph_.commands[id].stream].name);
  }

  const CommandGraph& graph_;
  std::vector<Clock> known_;   // per stream
  std::vector<Clock> clocks_;  // per command, when it is done
  std::vector<std::vector<Access>> accesses_;
  std::vector<CommandGraphFault> problems_;
};

}  // namespace

std::vector<CommandGraphFault> check_command_graph(const CommandGraph& graph) {
  return Checker{graph}.run();
}

std::vector<CommandId> drawn_order(const CommandGraph& graph, std::uint64_t seed) {
  Queues queues{graph};
  std::vector<CommandId> out;
  out.reserve(graph.commands.size());
  std::uint64_t draws = seed;
  for (CommandId next = queues.next(draws); next != kNoCommand; next = queues.next(draws)) {
    draws = mixed(draws, seed);
    out.push_back(next);
  }
  LOCKSTEP_CHECK(out.size() == graph.commands.size());
  return out;
}

}  // namespace lockstep
