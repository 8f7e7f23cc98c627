#include "tools/app/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace lockstep::app {

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work,
                 std::size_t most_threads) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(count);
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
        next = count;  // all before this one have begun
      }
    }
  };
  const std::size_t cores =
      most_threads > 0 ? most_threads : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(loop);
  loop();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace lockstep::app
