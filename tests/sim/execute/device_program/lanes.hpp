#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

/// Threads of a GPU's block, on the host.
namespace lockstep {

/// Lanes that run one at a time, each until it waits for all others; in what order is drawn anew
/// each time. So what a lane reads that another writes, with no wait between them, is wrong in some
/// order.
class Lanes {
 public:
  Lanes(int count, std::uint64_t seed);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  [[nodiscard]] int count() const;
  /// body(lane) in every lane. Errors: InternalError where some end while others wait.
  void run(const std::function<void(int lane)>& body);
  /// Within run(): until all lanes wait.
  void wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A team as GPUs have them (device/launch.cuh): waits where that one does and nowhere else.
template <class Real>
class LaneTeam {
 public:
  LaneTeam(Lanes& lanes, int lane, std::vector<Real>& sums, std::vector<Real>& scratch)
      : lanes_{lanes}, lane_{lane}, sums_{sums}, scratch_{scratch} {}

  [[nodiscard]] std::int64_t lane() const { return lane_; }
  [[nodiscard]] std::int64_t lanes() const { return lanes_.count(); }
  [[nodiscard]] Real* scratch() const { return scratch_.data(); }
  void wait() { lanes_.wait(); }
  [[nodiscard]] Real sum(Real own) {
    return over_all(own, [](Real a, Real b) { return a + b; });
  }
  [[nodiscard]] Real maximum(Real own) {
    return over_all(own, [](Real a, Real b) { return a > b ? a : b; });
  }

 private:
  template <class Combine>
  [[nodiscard]] Real over_all(Real own, Combine combine) {
    wait();
    sums_[static_cast<std::size_t>(lane_)] = own;
    wait();
    Real out = sums_[0];
    for (std::size_t i = 1; i < sums_.size(); ++i) out = combine(out, sums_[i]);
    return out;
  }

  Lanes& lanes_;
  int lane_;
  std::vector<Real>& sums_;
  std::vector<Real>& scratch_;
};

}  // namespace lockstep
