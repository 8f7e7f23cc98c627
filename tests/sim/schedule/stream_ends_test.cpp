#include "sim/schedule/stream_ends.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace lockstep;

namespace {

TimePoint ps(std::int64_t at) {
  return TimePoint{Duration::picoseconds(at)};
}

std::vector<TimePoint> ends(const std::vector<std::int64_t>& of) {
  std::vector<TimePoint> out;
  for (const std::int64_t each : of) out.push_back(ps(each));
  return out;
}

}  // namespace

TEST_CASE("a stream that has come far alone keeps its ends where it follows later") {
  // 300 ends of 400 by itself, which take all room at once from 100 on; then those of another.
  constexpr std::int64_t kOperations = 400;
  StreamEnds of;
  of.add(kOperations);
  of.add(kOperations);
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < kOperations; ++i) {
    of.set(0, static_cast<std::size_t>(i), ps(7 * i + 1));
    if (i < 300) of.set(1, static_cast<std::size_t>(i), ps(9 * i + 2));
    expected.push_back(i < 300 ? 9 * i + 2 : i < 350 ? 7 * i + 1 + 5'000 : 10'000 + i);
  }
  of.follow(1, 300, 350, {0, Duration::picoseconds(5'000)});
  for (std::int64_t i = 350; i < kOperations; ++i)
    of.set(1, static_cast<std::size_t>(i), ps(10'000 + i));
  CHECK(of[1] == ends(expected));
  CHECK(of.own(1) == 350);
}

TEST_CASE("ends of a stream that follows others are theirs, later") {
  StreamEnds of;
  of.add(3);
  of.add(5);
  for (std::size_t i = 0; i < 3; ++i) of.set(0, i, ps(10 * static_cast<std::int64_t>(i + 1)));
  of.set(1, 0, ps(12));
  of.set(1, 1, ps(99));  // foreseen
  of.follow(1, 1, 3, {0, Duration::picoseconds(4)});
  CHECK(of[1] == ends({12, 24, 34, 0, 0}));
  of.set(1, 3, ps(50));
  of.set(1, 3, ps(51));
  of.set(1, 4, ps(60));
  CHECK(of[1] == ends({12, 24, 34, 51, 60}));
  CHECK(of[1].back() == ps(60));
  std::vector<TimePoint> part(3);
  of.copy(1, 2, 5, part.data());
  CHECK(part == ends({34, 51, 60}));
  StreamEnds flat;
  flat.add(of[0]);
  flat.add(of[1]);
  CHECK(flat == of);
  flat.set(1, 4, ps(61));
  CHECK_FALSE(flat == of);
}

TEST_CASE("own ends of a stream that are its twin's are not kept, others are") {
  for (const std::int64_t own : {20, 21}) {
    StreamEnds of;
    of.add(3);
    of.add(3);
    for (std::size_t i = 0; i < 3; ++i) of.set(0, i, ps(10 * static_cast<std::int64_t>(i + 1)));
    of.follow(1, 0, 1, {0, {}, true});
    of.set(1, 1, ps(own));
    of.follow(1, 2, 3, {0, {}, true});
    CHECK(of[1] == ends({10, own, 30}));
    of.set(0, 1, ps(15));  // shows which of its ends the stream has itself
    CHECK(of[1] == ends({10, own == 20 ? 15 : own, 30}));
  }
}

// Against plain lists. Streams follow each other as cells of endpoints do: even ones follow even
// ones, an odd one the even one before it as its twin, or another odd one.
TEST_CASE("ends in pieces are those of plain lists") {
  constexpr std::size_t kStreams = 8;
  constexpr std::size_t kOperations = 60;
  for (std::uint32_t seed = 0; seed < 2'000; ++seed) {
    std::mt19937 random{seed};
    const auto below = [&](std::size_t most) { return random() % most; };
    StreamEnds of;
    std::vector<std::vector<TimePoint>> plain(kStreams);
    std::vector<std::size_t> done(kStreams, 0);
    for (std::size_t s = 0; s < kStreams; ++s) {
      of.add(kOperations);
      plain[s].resize(kOperations);
    }
    for (int turn = 0; turn < 150; ++turn) {
      const auto s = static_cast<std::uint32_t>(below(kStreams));
      const std::size_t from = done[s];
      const bool is_twin = s % 2 == 1 && below(3) > 0;
      const auto like =
          static_cast<std::uint32_t>(is_twin ? s - 1 : 2 * below(kStreams / 2) + s % 2);
      if (like != s && done[like] > from && below(2) == 0) {
        const std::size_t to = from + 1 + below(done[like] - from);
        const auto later = Duration::picoseconds(is_twin ? 0 : static_cast<int>(below(3)));
        for (std::size_t i = from; i < to; ++i) plain[s][i] = plain[like][i] + later;
        for (std::size_t i = to; i < kOperations; ++i) plain[s][i] = {};
        of.follow(s, from, to, {like, later, is_twin});
        done[s] = to;
        continue;
      }
      const std::size_t foreseen = std::min(kOperations, from + 1 + below(6));
      const std::size_t ended = from + below(foreseen - from + 1);
      for (std::size_t i = from; i < foreseen; ++i) {
        plain[s][i] = ps(static_cast<std::int64_t>(100 * i + below(2)));
        of.set(s, i, plain[s][i]);
      }
      done[s] = ended;
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      // What was foreseen may have been foreseen anew, of fewer operations.
      std::vector<TimePoint> got(done[s]);
      of.copy(s, 0, done[s], got.data());
      REQUIRE(got ==
              std::vector<TimePoint>{plain[s].begin(),
                                     plain[s].begin() + static_cast<std::ptrdiff_t>(done[s])});
      const std::size_t from = below(done[s] + 1);
      std::vector<TimePoint> part(done[s] - from);
      of.copy(s, from, done[s], part.data());
      for (std::size_t i = from; i < done[s]; ++i) {
        REQUIRE(part[i - from] == plain[s][i]);
        REQUIRE(of.at(s, i) == plain[s][i]);
      }
    }
  }
}
