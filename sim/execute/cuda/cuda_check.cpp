#include "sim/execute/cuda/cuda_check.hpp"

namespace lockstep::cuda {

std::string words_of(cudaError_t status) {
  (void)cudaGetLastError();
  return std::string{cudaGetErrorString(status)} + " (" + cudaGetErrorName(status) + ")";
}

std::string words_of(cublasStatus_t status) {
  return cublasGetStatusString(status);
}

std::string words_of(ncclResult_t status) {
  return std::string{ncclGetErrorString(status)} + " (" + ncclGetLastError(nullptr) + ")";
}

}  // namespace lockstep::cuda
