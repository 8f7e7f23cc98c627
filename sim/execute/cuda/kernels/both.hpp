#pragma once

/// Marks functions that run on the host and on a GPU alike.
#ifdef __CUDACC__
#define LOCKSTEP_BOTH __host__ __device__
#else
#define LOCKSTEP_BOTH
#endif
