#pragma once

#include <memory>
#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/execute/cuda/cuda_gemms.hpp"
#include "sim/execute/cuda/cuda_memory.hpp"

namespace lockstep::cuda {

/// What the GPUs of a machine share, for all command graphs.
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
  CublasGemms gemms;

 private:
  int peers_ = 1;  // GPUs that may reach each other
  std::vector<ncclComm_t> communicators_{};
};

[[nodiscard]] std::unique_ptr<LoadedCommandGraph> load_graph(Machine& machine,
                                                             const CommandGraph& graph,
                                                             const LoadOptions& options);

}  // namespace lockstep::cuda
