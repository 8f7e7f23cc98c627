#include "strategies/interop/msccl/msccl_step_conflicts.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace lockstep {

namespace {

/// Blocks of one buffer, each with the last that touched it.
class LastWriters {
 public:
  /// Makes `writer` the last of [first, end) and adds those that were to `before`.
  void write(std::int64_t first, std::int64_t end, std::size_t writer,
             std::vector<std::size_t>& before) {
    if (first == end) return;
    cut(first);
    cut(end);
    const auto begin = runs_.lower_bound(first);
    const auto behind = runs_.lower_bound(end);
    for (auto run = begin; run != behind; ++run) before.push_back(run->second.writer);
    runs_.erase(begin, behind);
    runs_[first] = {end, writer};
  }
  [[nodiscard]] bool touches(std::int64_t first, std::int64_t end) const {
    auto run = runs_.lower_bound(end);
    return first < end && run != runs_.begin() && std::prev(run)->second.end > first;
  }

 private:
  struct Run {
    std::int64_t end = 0;
    std::size_t writer = 0;
  };

  /// Makes a run that goes across `at` two.
  void cut(std::int64_t at) {
    auto run = runs_.lower_bound(at);
    if (run == runs_.begin()) return;
    --run;
    if (run->second.end <= at) return;
    runs_[at] = run->second;
    run->second.end = at;
  }

  std::map<std::int64_t, Run> runs_;  // by first block
};

using Buffers = std::array<LastWriters, 3>;

LastWriters& of(Buffers& buffers, Buffer buffer) {
  return buffers[static_cast<std::size_t>(buffer)];
}

template <class Message, class Visit>
void for_each_chunk(const ScheduleStep& step, const Message& message, const Visit& visit) {
  visit(message.chunk);
  for (const Chunk& chunk : step.more(message.more)) visit(chunk);
}

bool overlap(Chunk a, Chunk b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

void sort_and_unite(std::vector<std::size_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

class ConflictSearch {
 public:
  explicit ConflictSearch(const ScheduleStep& step) : step_{step} {
    std::vector<std::size_t> ignored;
    for (std::size_t i = 0; i < step.sends.size(); ++i) {
      for_each_chunk(step, step.sends[i], [&](Chunk chunk) {
        of(sources_, chunk.buffer).write(chunk.first, chunk.first + chunk.count, i, ignored);
      });
    }
  }

  std::vector<MscclConflicts> run() {
    for (std::size_t i = 0; i < step_.receives.size(); ++i) add(i);
    return std::move(out_);
  }

 private:
  void add(std::size_t which) {
    MscclConflicts conflicts;
    for_each_chunk(step_, step_.receives[which], [&](Chunk chunk) {
      of(targets_, chunk.buffer)
          .write(chunk.first, chunk.first + chunk.count, which, conflicts.receives);
    });
    sort_and_unite(conflicts.receives);
    std::vector<bool> waited = waited_for_by(conflicts.receives);
    if (writes_a_source(which)) {
      waited.resize(step_.sends.size());
      for (std::size_t i = 0; i < step_.sends.size(); ++i) {
        if (waited[i] || !overwrites(which, i)) continue;
        conflicts.sends.push_back(i);
        waited[i] = true;
      }
    }
    waited_.push_back(std::move(waited));
    out_.push_back(std::move(conflicts));
  }

  [[nodiscard]] std::vector<bool> waited_for_by(const std::vector<std::size_t>& receives) const {
    std::vector<bool> out;
    for (const std::size_t receive : receives) {
      const std::vector<bool>& more = waited_[receive];
      if (!more.empty()) out.resize(step_.sends.size());
      for (std::size_t i = 0; i < more.size(); ++i) out[i] = out[i] || more[i];
    }
    return out;
  }

  [[nodiscard]] bool writes_a_source(std::size_t which) {
    bool writes = false;
    for_each_chunk(step_, step_.receives[which], [&](Chunk chunk) {
      writes = writes || of(sources_, chunk.buffer).touches(chunk.first, chunk.first + chunk.count);
    });
    return writes;
  }

  [[nodiscard]] bool overwrites(std::size_t receive, std::size_t send) const {
    bool found = false;
    for_each_chunk(step_, step_.receives[receive], [&](Chunk target) {
      for_each_chunk(step_, step_.sends[send],
                     [&](Chunk source) { found = found || overlap(target, source); });
    });
    return found;
  }

  const ScheduleStep& step_;
  Buffers sources_;
  Buffers targets_;
  std::vector<std::vector<bool>> waited_;  // by receive, the sends that are over before it is
  std::vector<MscclConflicts> out_;
};

}  // namespace

std::vector<MscclConflicts> find_msccl_conflicts(const ScheduleStep& step) {
  return ConflictSearch{step}.run();
}

}  // namespace lockstep
