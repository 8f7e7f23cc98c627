#include <algorithm>

#include "sim/execute/cuda/launch.cuh"

namespace lockstep::cuda {

void launch_doubles(const KernelLaunch& launch, const kernels::Arguments& arguments,
                    cudaStream_t stream) {
  launch_kernel<double>(launch, arguments, stream);
}

}  // namespace lockstep::cuda
