#pragma once

#include <memory>
#include <vector>

#include "sim/execute/cuda/cuda_memory.hpp"
#include "sim/execute/cuda/cuda_products.hpp"
#include "sim/execute/device_plan/plan.hpp"

namespace lockstep::cuda {

/// What the GPUs of a machine share, for all plans.
struct Machine {
  explicit Machine(int devices);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Lets every GPU reach the memory of every other. Errors: DeviceError naming two that cannot.
  void allow_peers(int devices);
  /// NCCL among the first GPUs, made when it is first asked for.
  [[nodiscard]] const std::vector<ncclComm_t>& communicators(int devices);

  int devices;
  Products products;

 private:
  int peers_ = 1;  // GPUs that may reach each other
  std::vector<ncclComm_t> communicators_{};
};

[[nodiscard]] std::unique_ptr<LoadedPlan> load_plan(Machine& machine, const Plan& plan,
                                                    const LoadOptions& options);

}  // namespace lockstep::cuda
