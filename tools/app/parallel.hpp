#pragma once

#include <cstddef>
#include <functional>

namespace lockstep::app {

/// Calls work(0) … work(count-1), each once, on as many threads as cores, or on `threads`. After an
/// exception no further one begins; rethrows that with the lowest index after all have finished.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work,
                 std::size_t threads = 0);

}  // namespace lockstep::app
