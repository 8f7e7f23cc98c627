#include "sim/network/event_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <span>
#include <tuple>
#include <vector>

using namespace lockstep;

namespace {
Event event(std::int64_t at, std::uint32_t id) {
  Event out;
  out.at_ps = at;
  out.id = id;
  return out;
}
}  // namespace

TEST_CASE("events come in the order of time, and of pushing within an instant") {
  // Against a stable sort of everything pushed, with pushes between the pops, many at equal times.
  std::mt19937_64 draw(7);
  EventQueue queue;
  std::vector<std::pair<std::int64_t, std::uint32_t>> pushed;
  std::vector<std::pair<std::int64_t, std::uint32_t>> popped;
  std::uint32_t next = 0;
  const auto push = [&](std::int64_t at) {
    pushed.emplace_back(at, next);
    queue.push(event(at, next++));
  };
  for (int i = 0; i < 500; ++i) push(static_cast<std::int64_t>(draw() % 50));
  while (!queue.empty()) {
    const auto expected = queue.next();
    queue.advance();
    REQUIRE(expected == queue.now());
    REQUIRE(queue.next() == queue.now());
    Event out;
    while (queue.pop_now(out)) {
      popped.emplace_back(out.at_ps, out.id);
      REQUIRE(queue.now().ps() == out.at_ps);
      if (next < 20'000) {
        const std::int64_t reach = std::int64_t{1} << (draw() % 40);
        push(out.at_ps + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(reach)));
      }
    }
  }
  std::stable_sort(pushed.begin(), pushed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  CHECK(popped == pushed);
  CHECK(queue.next() == std::nullopt);
}

TEST_CASE("few events are announced before they come, and stay in their order") {
  std::mt19937_64 draw(11);
  EventQueue queue;
  std::vector<bool> announced(24, false);
  std::vector<bool> popped(24, false);
  for (std::uint32_t id = 0; id < 24; ++id)
    queue.push(event(1 + static_cast<std::int64_t>(draw() % 100'000), id));
  std::int64_t last = 0;
  while (!queue.empty()) {
    queue.advance([&](std::span<const Event> soon) {
      CHECK(!soon.empty());
      for (const Event& each : soon) {
        CHECK_FALSE(popped[each.id]);
        announced[each.id] = true;
      }
    });
    Event out;
    while (queue.pop_now(out)) {
      CHECK(announced[out.id]);
      CHECK(out.at_ps >= last);
      last = out.at_ps;
      popped[out.id] = true;
    }
  }
  CHECK(std::all_of(popped.begin(), popped.end(), [](bool was) { return was; }));
}

TEST_CASE("the past cannot be scheduled") {
  EventQueue queue;
  queue.push(event(10, 0));
  queue.advance();
  CHECK_THROWS_AS(queue.push(event(9, 1)), InternalError);
}

TEST_CASE("an event may be as late as a time can be") {
  // 63 bits are no multiple of a digit's: the last digit's buckets are there all the same.
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  EventQueue queue;
  for (std::uint32_t bit = 0; bit < 63; ++bit) queue.push(event(kLast >> bit, bit));
  for (std::uint32_t bit = 63; bit-- > 0;) {
    queue.advance();
    Event out;
    REQUIRE(queue.pop_now(out));
    CHECK(out.at_ps == kLast >> bit);
    CHECK(out.id == bit);
  }
  CHECK(queue.empty());
}
