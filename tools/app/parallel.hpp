#pragma once

#include <cstddef>
#include <functional>

namespace lockstep::app {

/// Calls work(0) … work(count-1), each once, on as many threads as the machine has cores. An
/// exception of the lowest index that threw one is thrown on when all have ended.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace lockstep::app
