#include "tests/strategies/box/known_gpus.hpp"

#include <algorithm>

#include "strategies/box/simulate_box.hpp"

namespace lockstep {

namespace {

class KnownPlan final : public LoadedPlan {
 public:
  explicit KnownPlan(double seconds) : seconds_{seconds} {}
  void write(Region, std::span<const double>) override {}
  [[nodiscard]] std::vector<double> read(Region where) override {
    return std::vector<double>(static_cast<std::size_t>(where.count), 1.0);
  }
  void poison(BufferId) override {}
  void scatter_numbers(BufferId, const NumberRange&, std::uint64_t) override {}
  void run() override {}
  [[nodiscard]] std::vector<double> seconds(int, int repeats) override {
    return std::vector<double>(static_cast<std::size_t>(repeats), seconds_);
  }

 private:
  double seconds_;
};

}  // namespace

std::unique_ptr<LoadedPlan> KnownGpus::load(const Plan& plan, const LoadOptions& options) {
  double seconds = 5e-6 * static_cast<double>(plan.launches.size());
  if (plan.launches.empty()) seconds = simulate_plan(plan, fit_).seconds();
  return std::make_unique<KnownPlan>(options.nccl ? 2 * seconds : seconds);
}

}  // namespace lockstep
