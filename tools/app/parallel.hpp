#pragma once

#include <cstddef>
#include <functional>

namespace lockstep::app {

/// Calls work(0) … work(count-1), each once, on as many threads as cores. Rethrows the exception
/// with the lowest index after all have finished.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace lockstep::app
