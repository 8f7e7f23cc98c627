#pragma once

/// Marks functions compiled for host and GPU.
#ifdef __CUDACC__
#define LOCKSTEP_BOTH __host__ __device__
#else
#define LOCKSTEP_BOTH
#endif

/// Unrolls short loops over arrays, so that the arrays are kept in registers.
#if defined(__CUDA_ARCH__) || defined(__clang__)
#define LOCKSTEP_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define LOCKSTEP_UNROLL
#else
#define LOCKSTEP_UNROLL _Pragma("GCC unroll 8")
#endif
