#pragma once

#include "sim/execute/command_graph/backend.hpp"

/// Entry point of the library, used by open_backend.cpp. Uses the GPUs of this machine with plain
/// cudaMalloc and changes no device settings. The caller owns the result. Throws NoDevice without a
/// GPU or driver.
extern "C" lockstep::Backend* lockstep_cuda_backend();
