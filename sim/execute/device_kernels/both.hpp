#pragma once

/// Marks functions compiled for host and GPU.
#ifdef __CUDACC__
#define LOCKSTEP_BOTH __host__ __device__
#else
#define LOCKSTEP_BOTH
#endif

/// Unrolls short loops over arrays, so that a GPU keeps the arrays in registers.
#ifdef __CUDA_ARCH__
#define LOCKSTEP_UNROLL _Pragma("unroll")
#else
#define LOCKSTEP_UNROLL
#endif
