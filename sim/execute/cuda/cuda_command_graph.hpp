#pragma once

#include <memory>
#include <vector>

#include "sim/execute/command_graph/command_graph.hpp"
#include "sim/execute/cuda/cuda_gemms.hpp"
#include "sim/execute/cuda/cuda_memory.hpp"

namespace lockstep::cuda {

/// State of a machine's GPUs, shared by all command graphs.
struct Machine {
  explicit Machine(int devices);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Enables peer access between all GPUs. Throws DeviceError naming two that do not support it.
  void allow_peers(int devices);
  /// NCCL communicators of the first GPUs, created on first use.
  [[nodiscard]] const std::vector<ncclComm_t>& communicators(int devices);

  int devices;
  CublasGemms gemms;

 private:
  int peers_ = 1;  // GPUs with peer access enabled
  std::vector<ncclComm_t> communicators_{};
};

[[nodiscard]] std::unique_ptr<LoadedCommandGraph> load_graph(Machine& machine,
                                                             const CommandGraph& graph,
                                                             const LoadOptions& options);

}  // namespace lockstep::cuda
