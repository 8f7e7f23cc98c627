#include "strategies/interop/msccl/msccl_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <tuple>
#include <utility>

#include "strategies/interop/text/dependency_cycle.hpp"

namespace lockstep {

namespace {

std::string in_chunks(std::int64_t count) {
  return count == 1 ? "1 chunk" : fmt::format("{} chunks", count);
}

std::string in_messages(std::size_t count) {
  return count == 1 ? "1 message" : fmt::format("{} messages", count);
}

// Chunks.

class ChunkCheck {
 public:
  ChunkCheck(const MscclProgram& program, const MscclLayout& layout, Problems& problems)
      : program_{program}, layout_{layout}, problems_{problems} {}

  void run() {
    for (const MscclGpu& gpu : program_.gpus) {
      for (const MscclThreadBlock& block : gpu.blocks) {
        for (const MscclStep& step : block.steps) check(gpu, block, step);
      }
    }
  }

 private:
  void check(const MscclGpu& gpu, const MscclThreadBlock& block, const MscclStep& step) {
    const auto note = [&](std::string message) {
      problems_.note(step.at, name_of(gpu, block, step), std::move(message));
    };
    const auto check_operand = [&](MscclOperand operand) {
      const std::int64_t size = layout_.size(gpu, operand.buffer);
      if (operand.offset + std::int64_t{step.count} <= size) return;
      note(fmt::format("names {} from {} on of buffer \"{}\", which has {}", in_chunks(step.count),
                       operand.offset, kMscclBufferNames[static_cast<std::size_t>(operand.buffer)],
                       in_chunks(size)));
    };
    if (has_source(step.operation)) check_operand(step.source);
    if (has_destination(step.operation)) check_operand(step.destination);
    if (is_local(step.operation) && overlaps_itself(gpu, step))
      note("copies onto a part of its own source");
  }

  static bool is_local(MscclOperation operation) {
    return operation == MscclOperation::copy || operation == MscclOperation::reduce ||
           operation == MscclOperation::add_residual;
  }

  [[nodiscard]] bool overlaps_itself(const MscclGpu& gpu, const MscclStep& step) const {
    const Chunk from = layout_.place(gpu, step.source, step.count);
    const Chunk to = layout_.place(gpu, step.destination, step.count);
    return from.buffer == to.buffer && from.first != to.first &&
           std::abs(from.first - to.first) < step.count;
  }

  const MscclProgram& program_;
  const MscclLayout& layout_;
  Problems& problems_;
};

// Connections.

/// One end of a connection.
struct End {
  int source = 0;
  int destination = 0;
  int channel = 0;
  bool receiving = false;
  const MscclGpu* gpu = nullptr;
  const MscclThreadBlock* block = nullptr;
};

auto connection_of(const End& end) {
  return std::tie(end.source, end.destination, end.channel);
}

bool comes_before(const End& a, const End& b) {
  return std::tuple_cat(connection_of(a), std::tie(a.receiving, a.block->id)) <
         std::tuple_cat(connection_of(b), std::tie(b.receiving, b.block->id));
}

/// The steps of one end that use its connection, in order.
std::vector<const MscclStep*> messages_of(const End& end) {
  std::vector<const MscclStep*> messages;
  for (const MscclStep& step : end.block->steps) {
    if (end.receiving ? receives(step.operation) : sends(step.operation)) messages.push_back(&step);
  }
  return messages;
}

class ConnectionCheck {
 public:
  ConnectionCheck(const MscclProgram& program, Problems& problems) : problems_{problems} {
    for (const MscclGpu& gpu : program.gpus) {
      for (const MscclThreadBlock& block : gpu.blocks) add(gpu, block);
    }
    std::sort(ends_.begin(), ends_.end(), comes_before);
  }

  void run() {
    for (std::size_t i = 0; i < ends_.size();) {
      std::size_t end = i + 1;
      while (end < ends_.size() && connection_of(ends_[i]) == connection_of(ends_[end])) ++end;
      check(std::span{ends_}.subspan(i, end - i));
      i = end;
    }
  }

 private:
  void add(const MscclGpu& gpu, const MscclThreadBlock& block) {
    if (block.send >= 0) ends_.push_back({gpu.id, block.send, block.channel, false, &gpu, &block});
    if (block.receive >= 0)
      ends_.push_back({block.receive, gpu.id, block.channel, true, &gpu, &block});
  }

  /// `ends` are those of one connection, senders first.
  void check(std::span<const End> ends) {
    bool doubled = false;
    for (std::size_t i = 1; i < ends.size(); ++i) {
      if (ends[i].receiving != ends[i - 1].receiving) continue;
      doubled = true;
      note(ends[i],
           fmt::format("tb {} {} gpu {} on channel {} already; a connection belongs to "
                       "one tb at either end",
                       ends[i - 1].block->id, ends[i].receiving ? "receives from" : "sends to",
                       peer_of(ends[i]), ends[i].channel));
    }
    if (doubled) return;
    const bool whole = ends.size() == 2;
    const End& first = ends.front();
    const auto messages = messages_of(first);
    const auto met = whole ? messages_of(ends[1]) : std::vector<const MscclStep*>{};
    if (messages.size() == met.size()) return check_lengths(ends, messages, met);
    note(first, fmt::format("{} {} {} gpu {} on channel {}, which {} {}",
                            first.receiving ? "receives" : "sends", in_messages(messages.size()),
                            first.receiving ? "from" : "to", peer_of(first), first.channel,
                            first.receiving ? "sends" : "receives", met.size()));
  }

  void check_lengths(std::span<const End> ends, const std::vector<const MscclStep*>& sent,
                     const std::vector<const MscclStep*>& received) {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i]->count == received[i]->count) continue;
      const End& to = ends[1];
      problems_.note(
          received[i]->at, name_of(*to.gpu, *to.block, *received[i]),
          fmt::format("receives {}, but meets {}, which sends {}", in_chunks(received[i]->count),
                      name_of(*ends[0].gpu, *ends[0].block, *sent[i]), in_chunks(sent[i]->count)));
    }
  }

  static int peer_of(const End& end) { return end.receiving ? end.source : end.destination; }

  void note(const End& end, std::string message) {
    problems_.note(end.block->at, fmt::format("gpu {}, tb {}", end.gpu->id, end.block->id),
                   std::move(message));
  }

  std::vector<End> ends_;
  Problems& problems_;
};

// Dependencies.

/// The steps of one GPU, numbered through, and what each waits for.
class DependencyCheck {
 public:
  DependencyCheck(const MscclGpu& gpu, Problems& problems) : gpu_{gpu}, problems_{problems} {
    for (const MscclThreadBlock& block : gpu.blocks) {
      first_.push_back(static_cast<std::uint32_t>(steps_.size()));
      for (const MscclStep& step : block.steps) steps_.push_back({&block, &step});
    }
  }

  void run() {
    std::vector<std::vector<std::uint32_t>> after(steps_.size());
    bool all_exist = true;
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const auto& [block, step] = steps_[i];
      if (step->id > 0) after[i].push_back(i - 1);
      if (step->waits_for_tb < 0) continue;
      all_exist = exists(*block, *step) && all_exist;
      if (all_exist) after[i].push_back(index_of(*step));
    }
    if (!all_exist) return;
    if (const auto cycle = find_cycle(after); !cycle.empty()) report(cycle);
  }

 private:
  struct Place {
    const MscclThreadBlock* block = nullptr;
    const MscclStep* step = nullptr;
  };

  bool exists(const MscclThreadBlock& block, const MscclStep& step) {
    const auto refuse = [&](std::string message) {
      problems_.note(step.at, name_of(gpu_, block, step), std::move(message));
      return false;
    };
    if (step.waits_for_tb >= std::ssize(gpu_.blocks)) {
      return refuse(fmt::format("waits for tb {}, but gpu {} has {} of them", step.waits_for_tb,
                                gpu_.id, gpu_.blocks.size()));
    }
    const auto& steps = gpu_.blocks[static_cast<std::size_t>(step.waits_for_tb)].steps;
    if (0 <= step.waits_for_step && step.waits_for_step < std::ssize(steps)) return true;
    return refuse(fmt::format("waits for step {} of tb {}, which has {}", step.waits_for_step,
                              step.waits_for_tb, steps.size()));
  }

  [[nodiscard]] std::uint32_t index_of(const MscclStep& waiting) const {
    return first_[static_cast<std::size_t>(waiting.waits_for_tb)] +
           static_cast<std::uint32_t>(waiting.waits_for_step);
  }

  void report(const std::vector<std::uint32_t>& cycle) {
    constexpr std::size_t kMostShown = 8;
    std::string ring;
    for (std::size_t i = 0; i < cycle.size() && i < kMostShown; ++i) ring += text_of(cycle[i]);
    if (cycle.size() > kMostShown) ring += "... -> ";
    const auto& [block, step] = steps_[cycle.front()];
    problems_.note(step->at, name_of(gpu_, *block, *step),
                   fmt::format("waits for itself: {}tb {}, step {}", ring, block->id, step->id));
  }

  [[nodiscard]] std::string text_of(std::uint32_t index) const {
    return fmt::format("tb {}, step {} -> ", steps_[index].block->id, steps_[index].step->id);
  }

  const MscclGpu& gpu_;
  Problems& problems_;
  std::vector<Place> steps_;
  std::vector<std::uint32_t> first_;  // of each thread block
};

}  // namespace

void check_msccl_chunks(const MscclProgram& program, const MscclLayout& layout,
                        Problems& problems) {
  ChunkCheck{program, layout, problems}.run();
}

void check_msccl_connections(const MscclProgram& program, Problems& problems) {
  ConnectionCheck{program, problems}.run();
}

void check_msccl_dependencies(const MscclProgram& program, Problems& problems) {
  for (const MscclGpu& gpu : program.gpus) DependencyCheck{gpu, problems}.run();
}

}  // namespace lockstep
