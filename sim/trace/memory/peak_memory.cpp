#include "sim/trace/memory/peak_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// Bytes of each tensor on the device; 0 of those that a host holds.
[[nodiscard]] std::vector<std::int64_t> device_bytes(const RoleProgram& role) {
  const Program& program = *role.program;
  std::vector<std::int64_t> out;
  out.reserve(program.tensors.size());
  const bool is_host = program.roles[role.role].host;
  for (const Tensor& tensor : program.tensors) {
    const bool held_by_host = is_host || tensor.on_host;
    out.push_back(held_by_host ? 0 : local_bytes(program.mesh, tensor).count());
  }
  return out;
}

/// Bytes that all resident instances take.
[[nodiscard]] std::int64_t resident_total(const RoleProgram& role,
                                          const std::vector<std::int64_t>& bytes) {
  std::int64_t out = 0;
  for (const TensorInstance& instance : role.instances)
    if (role.program->tensors[instance.tensor].resident) out += bytes[instance.tensor];
  return out;
}

/// Bytes that come or go at an instant.
struct Change {
  TimePoint at;
  std::int64_t bytes = 0;
};

/// Changes of all streams in order of time. Those of a stream mostly come in order.
class Changes {
 public:
  explicit Changes(std::size_t streams) : of_stream_(streams) {}

  void add(StreamId stream, TimePoint at, std::int64_t bytes) {
    if (bytes != 0) of_stream_[stream].push_back({at, bytes});
  }

  [[nodiscard]] std::vector<Change> take() && {
    constexpr auto earlier = [](const Change& a, const Change& b) { return a.at < b.at; };
    std::vector<Change> out;
    for (std::vector<Change>& each : of_stream_) {
      if (!std::is_sorted(each.begin(), each.end(), earlier))
        std::sort(each.begin(), each.end(), earlier);
      const auto middle = static_cast<std::ptrdiff_t>(out.size());
      out.insert(out.end(), each.begin(), each.end());
      std::inplace_merge(out.begin(), out.begin() + middle, out.end(), earlier);
    }
    return out;
  }

 private:
  std::vector<std::vector<Change>> of_stream_;
};

/// When an instance that is not resident is held.
struct Life {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t first = kNone;  // the operation that takes its memory
  std::uint32_t last = kNone;   // the operation at whose end it is freed
};

/// The first writer to begin and the last user to end; operations that come later in the program
/// override others only where they begin earlier or end later.
[[nodiscard]] std::vector<Life> lives_of(const RoleProgram& role, const OperationTimes& when) {
  std::vector<Life> lives(role.instances.size());
  const auto keep = [&](Life& life, std::uint32_t operation) {
    if (life.last == Life::kNone || when.end_of(life.last) < when.end_of(operation))
      life.last = operation;
  };
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    for (const std::uint32_t written : role.operations[i].writes) {
      Life& life = lives[written];
      if (life.first == Life::kNone || when.start_of(i) < when.start_of(life.first)) life.first = i;
      keep(life, i);
    }
    for (const std::uint32_t read : role.operations[i].reads) keep(lives[read], i);
  }
  return lives;
}

/// What comes and goes, in order of time.
struct Flow {
  std::vector<Change> taken;
  std::vector<Change> freed;
};

/// The highest sum of changes in order of time, on top of `held`: of the instants of the period,
/// each after all of its changes.
[[nodiscard]] std::int64_t highest(std::int64_t held, const Flow& flow,
                                   const MemoryPeriod& period) {
  auto taken = flow.taken.begin();
  auto freed = flow.freed.begin();
  const auto change_until = [&](TimePoint at) {
    for (; taken != flow.taken.end() && taken->at <= at; ++taken) held += taken->bytes;
    for (; freed != flow.freed.end() && freed->at <= at; ++freed) held -= freed->bytes;
  };
  change_until(period.from);
  std::int64_t out = held;
  while (taken != flow.taken.end() && taken->at <= period.to) {
    change_until(taken->at);
    out = std::max(out, held);
  }
  return out;
}

constexpr TimePoint kEnd{Duration::picoseconds(INT64_MAX)};

}  // namespace

Bytes peak_memory(const RoleProgram& role, const RankTimeline& rank) {
  return peak_memory_in(role, rank, {TimePoint{}, kEnd, std::vector<bool>(role.instances.size())});
}

Bytes peak_memory_in(const RoleProgram& role, const RankTimeline& rank,
                     const MemoryPeriod& period) {
  LOCKSTEP_CHECK(role.operations.size() == rank.operations.size());
  LOCKSTEP_CHECK(role.instances.size() == period.throughout.size());
  const std::vector<std::int64_t> bytes = device_bytes(role);
  const std::vector<Life> lives = lives_of(role, rank.operations);
  std::vector<std::int64_t> taken(role.operations.size());
  std::vector<std::int64_t> freed(role.operations.size());
  std::int64_t held = resident_total(role, bytes);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const Life& life = lives[i];
    if (life.first == Life::kNone || role.tensor(static_cast<std::uint32_t>(i)).resident) continue;
    if (rank.operations.start_of(life.first) >= rank.operations.end_of(life.last)) continue;
    const std::int64_t size = bytes[role.instances[i].tensor];
    if (period.throughout[i]) {
      held += size;
      continue;
    }
    taken[life.first] += size;
    freed[life.last] += size;
  }
  Changes takes{role.program->streams.size()};
  Changes frees{role.program->streams.size()};
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    const StreamId stream = role.operations[i].operation->stream;
    takes.add(stream, rank.operations.start_of(i), taken[i]);
    frees.add(stream, rank.operations.end_of(i), freed[i]);
  }
  return Bytes{highest(held, {std::move(takes).take(), std::move(frees).take()}, period)};
}

Bytes peak_memory_in_order(const RoleProgram& role) {
  const std::vector<std::int64_t> bytes = device_bytes(role);
  std::vector<Life> lives(role.instances.size());
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    for (const std::uint32_t written : role.operations[i].writes) {
      Life& life = lives[written];
      if (life.first == Life::kNone) life.first = i;
      life.last = i;
    }
    for (const std::uint32_t read : role.operations[i].reads) lives[read].last = i;
  }
  std::vector<std::int64_t> change(role.operations.size() + 1);  // at the start of an operation
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (lives[i].first == Life::kNone || role.tensor(static_cast<std::uint32_t>(i)).resident)
      continue;
    change[lives[i].first] += bytes[role.instances[i].tensor];
    change[lives[i].last + 1] -= bytes[role.instances[i].tensor];
  }
  std::int64_t held = resident_total(role, bytes);
  std::int64_t most = held;
  for (const std::int64_t each : change) most = std::max(most, held += each);
  return Bytes{most};
}

}  // namespace lockstep
