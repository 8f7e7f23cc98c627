#include "sim/trace/memory/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/base/check.hpp"
#include "sim/trace/memory/caching_allocator.hpp"
#include "sim/trace/memory/instance_bytes.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNoOperation = UINT32_MAX;

/// When an instance is held. Never written: from the start on, if resident.
struct Lifetime {
  TimePoint from;
  TimePoint to;
  std::uint32_t first = kNoOperation;  // the operation that takes its room
  bool used = false;
  bool resident = false;

  /// A resident tensor is held until after the end, so that it never is freed.
  [[nodiscard]] bool held_at(TimePoint at) const {
    return resident || (used && from <= at && at < to);
  }
};

void begin(Lifetime& life, const Interval& interval, std::uint32_t operation) {
  if (life.resident) return;
  if (life.first == kNoOperation || interval.start < life.from) {
    life.from = interval.start;
    life.first = operation;
  }
}

void keep(Lifetime& life, TimePoint until) {
  if (!life.used || life.to < until) life.to = until;
  life.used = true;
}

[[nodiscard]] std::vector<Lifetime> lifetimes(const RoleProgram& role, const RankTimeline& rank) {
  std::vector<Lifetime> lives(role.instances.size());
  for (std::uint32_t i = 0; i < lives.size(); ++i) lives[i].resident = role.tensor(i).resident;
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const Interval interval = rank.operations[i];
    for (const std::uint32_t written : role.operations[i].writes) {
      begin(lives[written], interval, i);
      keep(lives[written], interval.end);
    }
    for (const std::uint32_t read : role.operations[i].reads) keep(lives[read], interval.end);
  }
  return lives;
}

/// Room taken or given back. Ordered by time, frees first.
struct Change {
  TimePoint at;
  bool allocates = false;
  std::uint32_t instance = 0;

  friend auto operator<=>(const Change&, const Change&) = default;
};

[[nodiscard]] std::vector<Change> changes_of(const std::vector<Lifetime>& lives,
                                             const std::vector<bool>& counted) {
  std::vector<Change> changes;
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    const Lifetime& life = lives[i];
    if (!counted[i] || life.resident || life.first == kNoOperation || life.from >= life.to) {
      continue;
    }
    changes.push_back({life.from, true, i});
    changes.push_back({life.to, false, i});
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}

/// The account of one memory: those instances that are `counted`.
class Account {
 public:
  Account(const RoleProgram& role, const std::vector<Lifetime>& lives,
          const std::vector<Bytes>& sizes, const std::vector<bool>& counted)
      : role_{&role}, lives_{&lives}, sizes_{&sizes}, counted_{&counted} {}

  [[nodiscard]] MemoryUse use() {
    MemoryUse out;
    CategoryBytes held;
    for (std::uint32_t i = 0; i < lives_->size(); ++i) {
      if ((*counted_)[i] && (*lives_)[i].resident) held[category(i)] += (*sizes_)[i];
    }
    out.curve.push_back({TimePoint{}, held});
    const std::vector<Change> changes = changes_of(*lives_, *counted_);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      apply(changes[i], held);
      const bool last = i + 1 == changes.size() || changes[i + 1].at != changes[i].at;
      if (last) append(out.curve, changes[i].at, held);
    }
    out.peak = peak(out.curve);
    return out;
  }

 private:
  [[nodiscard]] Category category(std::uint32_t instance) const {
    return role_->tensor(instance).category;
  }

  void apply(const Change& change, CategoryBytes& held) const {
    Bytes& of = held[category(change.instance)];
    const Bytes size = (*sizes_)[change.instance];
    of = change.allocates ? of + size : of - size;
  }

  static void append(std::vector<MemoryPoint>& curve, TimePoint at, const CategoryBytes& held) {
    if (curve.back().at == at) {
      curve.back().held = held;
    } else if (curve.back().held != held) {
      curve.push_back({at, held});
    }
  }

  [[nodiscard]] MemoryPeak peak(const std::vector<MemoryPoint>& curve) const {
    const auto highest = std::max_element(
        curve.begin(), curve.end(),
        [](const MemoryPoint& a, const MemoryPoint& b) { return a.held.total() < b.held.total(); });
    MemoryPeak out;
    out.held = highest->held;
    out.at = highest->at;
    for (std::uint32_t i = 0; i < lives_->size(); ++i) {
      if (!(*counted_)[i] || !(*lives_)[i].held_at(out.at)) continue;
      out.instances.push_back({i, (*sizes_)[i]});
      note_operation(out, (*lives_)[i]);
    }
    sort_largest_first(out.instances);
    out.tensors = tensors_of(out.instances);
    return out;
  }

  static void note_operation(MemoryPeak& peak, const Lifetime& life) {
    if (life.resident || life.from != peak.at) return;
    if (!peak.operation || life.first < *peak.operation) peak.operation = life.first;
  }

  [[nodiscard]] std::vector<HeldTensor> tensors_of(const std::vector<HeldInstance>& held) const {
    struct Places {
      HeldTensor of;
      std::set<int> positions;
      std::set<int> microbatches;
    };
    std::vector<Places> by_tensor(role_->program->tensors.size());
    for (const HeldInstance& each : held) {
      const TensorInstance& instance = role_->instances[each.instance];
      Places& places = by_tensor[instance.tensor];
      places.of.tensor = instance.tensor;
      places.of.instances += 1;
      places.of.bytes += each.bytes;
      places.positions.insert(instance.position);
      places.microbatches.insert(instance.microbatch);
    }
    std::vector<HeldTensor> out;
    for (Places& places : by_tensor) {
      if (places.of.instances == 0) continue;
      places.of.positions = static_cast<std::int64_t>(places.positions.size());
      places.of.microbatches = static_cast<std::int64_t>(places.microbatches.size());
      out.push_back(places.of);
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const HeldTensor& a, const HeldTensor& b) { return a.bytes > b.bytes; });
    return out;
  }

  const RoleProgram* role_;
  const std::vector<Lifetime>* lives_;
  const std::vector<Bytes>* sizes_;
  const std::vector<bool>* counted_;
};

}  // namespace

Bytes CategoryBytes::total() const {
  Bytes sum;
  for (const Bytes each : bytes) sum += each;
  return sum;
}

std::string to_string(const HeldTensor& held, const std::string& name) {
  std::string places;
  const auto say = [&](std::int64_t count, std::string_view what) {
    if (count > 1) places += fmt::format("{}{} {}", places.empty() ? "" : ", ", count, what);
  };
  say(held.positions, "layers");
  say(held.microbatches, "microbatches");
  if (held.instances != held.positions * held.microbatches) say(held.instances, "instances");
  return places.empty() ? name : fmt::format("{} ({})", name, places);
}

Bytes reserved_bytes(const RoleProgram& role, const RankTimeline& rank,
                     std::optional<Bytes> capacity) {
  LOCKSTEP_CHECK(role.operations.size() == rank.operations.size());
  const std::vector<Lifetime> lives = lifetimes(role, rank);
  const std::vector<Bytes> sizes = instance_bytes(role);
  std::vector<bool> on_device(role.instances.size());
  CachingAllocator allocator{capacity.value_or(Bytes{})};
  for (std::uint32_t i = 0; i < on_device.size(); ++i) {
    on_device[i] = !held_by_host(role, i);
    if (on_device[i] && lives[i].resident) allocator.take(i, sizes[i]);
  }
  for (const Change& change : changes_of(lives, on_device)) {
    if (change.allocates)
      allocator.take(change.instance, sizes[change.instance]);
    else
      allocator.give_back(change.instance);
  }
  return allocator.most_reserved();
}

MemoryAccount memory_account(const RoleProgram& role, const RankTimeline& rank) {
  LOCKSTEP_CHECK(role.operations.size() == rank.operations.size());
  const std::vector<Lifetime> lives = lifetimes(role, rank);
  const std::vector<Bytes> sizes = instance_bytes(role);
  std::vector<bool> on_device(role.instances.size());
  std::vector<bool> on_host(role.instances.size());
  for (std::uint32_t i = 0; i < role.instances.size(); ++i) {
    on_host[i] = held_by_host(role, i);
    on_device[i] = !on_host[i];
  }
  return {Account{role, lives, sizes, on_device}.use(), Account{role, lives, sizes, on_host}.use()};
}

}  // namespace lockstep
