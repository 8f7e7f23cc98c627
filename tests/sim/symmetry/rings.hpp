#pragma once

#include <memory>
#include <numeric>

#include "sim/schedule/workload.hpp"

/// Rings by hand, so that tests of folding need no algorithm.
namespace lockstep::test {

/// `rounds` rounds in which every rank sends a block to the next and takes one from the last.
class Rounds final : public Schedule {
 public:
  Rounds(int n, std::int64_t rounds) : n_{n}, rounds_{rounds} {}
  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] std::int64_t blocks() const override { return 1; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return rounds_; }
  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    step.sends.push_back({(rank + 1) % n_, {}});
    step.sends.back().chunk.count = 1;
    step.receives.push_back({(rank + n_ - 1) % n_, {}});
    step.receives.back().chunk.count = 1;
  }
  [[nodiscard]] std::vector<Phase> phases() const override { return {{0, rounds_}}; }

 private:
  int n_;
  std::int64_t rounds_;
};

inline Workload ring(int n, std::int64_t rounds, Bytes block) {
  CollectiveCall call{"ring", std::make_shared<Rounds>(n, rounds), {}, block, {}};
  call.members.resize(static_cast<std::size_t>(n));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  return {{call}, {}};
}

}  // namespace lockstep::test
