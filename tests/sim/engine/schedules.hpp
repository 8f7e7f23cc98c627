#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "sim/schedule/schedule.hpp"
#include "sim/schedule/workload.hpp"

/// Small schedules for tests of the engine, written out here so that they need no registry.
namespace lockstep::test {

/// Ring all-reduce over n ranks; `phased` says its repetition.
class TinyRing : public Schedule {
 public:
  explicit TinyRing(int n, bool phased = true) : n_{n}, phased_{phased} {}
  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] std::int64_t blocks() const override { return n_; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return 2 * (n_ - 1); }
  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const auto sent = static_cast<int>((rank + 2 * n_ - index % n_) % n_);
    step.sends.push_back({(rank + 1) % n_, {Buffer::data, sent, 1}});
    step.receives.push_back({(rank + n_ - 1) % n_,
                             {Buffer::data, (sent + n_ - 1) % n_, 1},
                             index < n_ - 1 ? Combine::reduce : Combine::copy});
  }
  [[nodiscard]] std::vector<Phase> phases() const override {
    if (!phased_) return {};
    return {{0, n_ - 1}, {n_ - 1, n_ - 1}};
  }

 private:
  int n_;
  bool phased_;
};

/// Any schedule from a function (rank, lane, index, step).
class Scripted final : public Schedule {
 public:
  using Script = std::function<void(int, int, std::int64_t, ScheduleStep&)>;
  Scripted(int ranks, int lanes, std::int64_t steps, Script script, int slots = 0)
      : ranks_{ranks}, lanes_{lanes}, steps_{steps}, script_{std::move(script)}, slots_{slots} {}
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] int lanes() const override { return lanes_; }
  [[nodiscard]] int slots() const override { return slots_; }
  [[nodiscard]] std::int64_t blocks() const override { return 64; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return steps_; }
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    script_(rank, lane, index, step);
  }

 private:
  int ranks_;
  int lanes_;
  std::int64_t steps_;
  Script script_;
  int slots_;
};

/// All-to-all of n ranks in one step: each sends to all others and receives from them.
inline Scripted::Script exchange_all(int n) {
  return [n](int rank, int, std::int64_t, ScheduleStep& step) {
    for (int i = 1; i < n; ++i) {
      const int to = (rank + i) % n;
      const int from = (rank + n - i) % n;
      step.sends.push_back({to, {Buffer::data, to, 1}});
      step.receives.push_back({from, {Buffer::data, from, 1}, Combine::copy});
    }
  };
}

/// One collective over the end points 0 … ranks-1.
inline Workload one_call(std::shared_ptr<const Schedule> schedule, Bytes block,
                         std::vector<TimePoint> starts = {}) {
  CollectiveCall call;
  call.name = "all_reduce tiny";
  call.members.resize(static_cast<std::size_t>(schedule->ranks()));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  call.schedule = std::move(schedule);
  call.block = block;
  call.starts = std::move(starts);
  Workload workload;
  workload.calls.push_back(std::move(call));
  return workload;
}

/// A rank that stands for several which talk to each other.
class Murmur final : public Schedule {
 public:
  explicit Murmur(std::int64_t steps) : steps_{steps} {}
  [[nodiscard]] int ranks() const override { return 1; }
  [[nodiscard]] std::int64_t blocks() const override { return 1; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return steps_; }
  void step(int, int, std::int64_t index, ScheduleStep& step) const override {
    step.sends.push_back({0, {Buffer::data, 0, 1 + index}});
    step.receives.push_back({0, {Buffer::data, 0, 1 + index}, Combine::copy});
  }

 private:
  std::int64_t steps_;
};

/// Random draws.
struct Draw {
  std::mt19937_64 bits;
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
};

/// Times before `end` in which some endpoints compute more slowly. Of a stream of its own, so that
/// what else `seed` draws stays.
inline void add_slow_windows(Workload& workload, EndpointId endpoints, TimePoint end,
                             std::uint64_t seed) {
  Draw draw{std::mt19937_64{~seed}};
  const std::int64_t last = end.ps() + 1;
  for (std::int64_t i = draw.below(4); i > 0; --i) {
    const auto at = static_cast<EndpointId>(draw.below(endpoints));
    std::int64_t from = draw.one_in(4) ? 0 : draw.below(last);
    for (std::int64_t windows = 1 + draw.below(3); windows > 0; --windows) {
      const std::int64_t until = from + 1 + draw.below(1 + last / 4);
      const std::int64_t ppm = 1000 * (100 + draw.below(900));
      workload.speed_changes.push_back({at, TimePoint{Duration::picoseconds(from)}, ppm});
      if (draw.one_in(5)) break;
      workload.speed_changes.push_back({at, TimePoint{Duration::picoseconds(until)}});
      from = until + (draw.one_in(3) ? 0 : draw.below(1 + last / 4));
    }
  }
  std::stable_sort(workload.speed_changes.begin(), workload.speed_changes.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
}

}  // namespace lockstep::test
