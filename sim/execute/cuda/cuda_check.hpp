#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <string>

#include "sim/execute/command_graph/backend.hpp"

/// Every call of CUDA, cuBLAS and NCCL goes through check(), whose error states its purpose.
namespace lockstep::cuda {

/// The status in words. Resets CUDA's last error, so that the next call does not report it again.
[[nodiscard]] std::string words_of(cudaError_t status);
[[nodiscard]] std::string words_of(cublasStatus_t status);
[[nodiscard]] std::string words_of(ncclResult_t status);

inline bool went_well(cudaError_t status) {
  return status == cudaSuccess;
}
inline bool went_well(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS;
}
inline bool went_well(ncclResult_t status) {
  return status == ncclSuccess;
}

/// `doing` is only called on failure. Throws DeviceError.
template <class Status, class Doing>
void check(Status status, Doing&& doing) {
  if (!went_well(status)) throw DeviceError{doing() + ": " + words_of(status)};
}

/// A constant description for check().
inline auto doing(const char* text) {
  return [text] { return std::string{text}; };
}

}  // namespace lockstep::cuda
