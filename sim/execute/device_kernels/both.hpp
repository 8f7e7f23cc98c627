#pragma once

/// Marks functions that run on the host and on a GPU alike.
#ifdef __CUDACC__
#define LOCKSTEP_BOTH __host__ __device__
#else
#define LOCKSTEP_BOTH
#endif

/// In front of loops of a few steps over arrays, which a GPU then keeps in registers.
#ifdef __CUDA_ARCH__
#define LOCKSTEP_UNROLL _Pragma("unroll")
#else
#define LOCKSTEP_UNROLL
#endif
