#include "tests/sim/execute/device_program/lanes.hpp"
#include "sim/base/check.hpp"

#include <ucontext.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "sim/execute/kernels/random_bits.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace lockstep {

namespace {

constexpr std::size_t kStack = std::size_t{256} << 10;

}  // namespace

struct Lanes::State {
  ucontext_t caller{};
  std::vector<ucontext_t> lanes{};
  std::vector<std::vector<char>> stacks{};
  std::vector<bool> ended{};
  const std::function<void(int)>* body = nullptr;
  int running = 0;
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;
  const void* caller_stack = nullptr;  // for sanitizers
  std::size_t caller_size = 0;

  static State*& current() {
    static thread_local State* state = nullptr;
    return state;
  }

  static void begin() {
    State& own = *current();
    own.arrived(nullptr);
    const int lane = own.running;
    (*own.body)(lane);
    own.ended[static_cast<std::size_t>(lane)] = true;
    own.leave(nullptr);
    swapcontext(&own.lanes[static_cast<std::size_t>(lane)], &own.caller);
  }

  void go_on(int lane) {
    running = lane;
    State* before = std::exchange(current(), this);
    auto& stack = stacks[static_cast<std::size_t>(lane)];
#ifdef __SANITIZE_ADDRESS__
    void* kept = nullptr;
    __sanitizer_start_switch_fiber(&kept, stack.data(), stack.size());
#else
    (void)stack;
#endif
    swapcontext(&caller, &lanes[static_cast<std::size_t>(lane)]);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
    current() = before;
  }
  /// In a lane, when it goes on.
  void arrived([[maybe_unused]] void* kept) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(kept, &caller_stack, &caller_size);
#endif
  }
  /// In a lane, before others go on; null: for ever.
  void leave([[maybe_unused]] void** kept) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(kept, caller_stack, caller_size);
#endif
  }

  [[nodiscard]] std::vector<int> order() {
    std::vector<int> out(lanes.size());
    std::iota(out.begin(), out.end(), 0);
    const std::uint64_t draw = mixed(seed, draws++);
    std::sort(out.begin(), out.end(), [draw](int a, int b) {
      return mixed(draw, static_cast<std::uint64_t>(a)) <
             mixed(draw, static_cast<std::uint64_t>(b));
    });
    return out;
  }
};

Lanes::Lanes(int count, std::uint64_t seed) : state_{std::make_unique<State>()} {
  const auto lanes = static_cast<std::size_t>(count);
  state_->seed = seed;
  state_->lanes.resize(lanes);
  state_->ended.resize(lanes);
  for (std::size_t i = 0; i < lanes; ++i) state_->stacks.emplace_back(kStack);
}

Lanes::~Lanes() = default;

int Lanes::count() const {
  return static_cast<int>(state_->lanes.size());
}

void Lanes::run(const std::function<void(int)>& body) {
  State& of = *state_;
  of.body = &body;
  of.ended.assign(of.lanes.size(), false);
  for (std::size_t i = 0; i < of.lanes.size(); ++i) {
    getcontext(&of.lanes[i]);
    of.lanes[i].uc_stack.ss_sp = of.stacks[i].data();
    of.lanes[i].uc_stack.ss_size = of.stacks[i].size();
    of.lanes[i].uc_link = &of.caller;
    makecontext(&of.lanes[i], &State::begin, 0);
  }
  while (true) {
    for (const int lane : of.order()) of.go_on(lane);
    const auto ended = std::count(of.ended.begin(), of.ended.end(), true);
    if (ended == count()) return;
    if (ended > 0) throw InternalError{"some lanes have ended while others wait for them"};
  }
}

void Lanes::wait() {
  State& of = *state_;
  const auto lane = static_cast<std::size_t>(of.running);
  void* kept = nullptr;
  of.leave(&kept);
  swapcontext(&of.lanes[lane], &of.caller);
  of.arrived(kept);
}

}  // namespace lockstep
