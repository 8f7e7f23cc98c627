#pragma once

#include "sim/execute/command_graph/backend.hpp"

/// What open_backend.cpp looks for in the library. The GPUs of this machine; memory is plain
/// cudaMalloc, nothing of a card's settings is changed. The caller owns it. Errors: NoDevice where
/// there is no GPU or no driver.
extern "C" lockstep::Backend* lockstep_cuda_backend();
