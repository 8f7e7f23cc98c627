#include "tools/app/ranks/rank_draws.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tools/app/errors.hpp"
#include "tools/app/ranks/speed_draw.hpp"

/// Ranks and speeds of stragglers that are drawn.
namespace lockstep::app {

namespace {

RankChoice share(double of_all) {
  RankChoice out;
  out.share = of_all;
  return out;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

/// Of whole thousandths within the bounds.
Moments moments_of(const SpeedDraw& draw, double lowest, double highest) {
  constexpr int kRanks = 20'000;
  double sum = 0;
  double squares = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    const double speed = draw.of(rank, 7);
    REQUIRE(speed >= lowest);
    REQUIRE(speed <= highest);
    REQUIRE(std::abs(std::round(1000 * speed) - 1000 * speed) < 1e-9);
    sum += speed;
    squares += speed * speed;
  }
  const double mean = sum / kRanks;
  return {mean, std::sqrt(squares / kRanks - mean * mean)};
}

}  // namespace

// 20,000 draws: the mean's own deviation is that of one draw over 141, within four of it here.
TEST_CASE("speeds follow the distribution that they are drawn from") {
  // Uniform over [a, b]: mean (a + b) / 2, deviation (b - a) / sqrt(12).
  const Moments uniform = moments_of({SpeedDraw::Kind::uniform, 0.9, 0.99}, 0.9, 0.99);
  CHECK(uniform.mean == doctest::Approx(0.945).epsilon(0.001));
  CHECK(uniform.deviation == doctest::Approx(0.09 / std::sqrt(12.0)).epsilon(0.03));
  const Moments normal = moments_of({SpeedDraw::Kind::normal, 0.95, 0.02}, 0.8, 1.1);
  CHECK(normal.mean == doctest::Approx(0.95).epsilon(0.001));
  CHECK(normal.deviation == doctest::Approx(0.02).epsilon(0.03));
  SpeedDraw slower{SpeedDraw::Kind::normal, 0.95, 0.2};
  slower.most = 1;
  CHECK(moments_of(slower, 0.001, 1).mean < 0.95);
  CHECK(moments_of({SpeedDraw::Kind::normal, 0.9, 0}, 0.9, 0.9).deviation < 1e-6);
  CHECK(moments_of({SpeedDraw::Kind::uniform, 0.5, 0.5}, 0.5, 0.5).deviation < 1e-6);
  CHECK(SpeedDraw{SpeedDraw::Kind::same, 0.12345}.of(3, 7) == 0.12345);
}

TEST_CASE("a rank's draw depends on seed and rank, and ranks of options in turn are different") {
  const SpeedDraw draw{SpeedDraw::Kind::uniform, 0.001, 1};
  CHECK(draw.of(3, 7) == draw.of(3, 7));
  CHECK(draw.of(3, 7) != draw.of(4, 7));
  CHECK(draw.of(3, 7) != draw.of(3, 8));
  const auto drawn = [](std::uint64_t seed) {
    RankDraws draws{1000, seed, "the cluster"};
    return std::pair{draws.next({share(0.5), "set_rank"}), draws.next({share(0.5), "set_rank"})};
  };
  const auto [first, second] = drawn(1);
  CHECK(first.size() == 500);
  std::set<int> all(first.begin(), first.end());
  all.insert(second.begin(), second.end());
  CHECK(all.size() == 1000);
  CHECK(drawn(1).first == first);
  CHECK(drawn(2).first != first);
  // At least one, and the nearest number: 1.5 % of 100 are 2.
  CHECK(RankDraws{100, 1, "the cluster"}.next({share(0.0001), "set_rank"}).size() == 1);
  CHECK(RankDraws{100, 1, "the cluster"}.next({share(0.015), "set_rank"}).size() == 2);
  RankDraws few{4, 1, "the cluster"};
  CHECK(few.next({share(0.75), "set_rank"}).size() == 3);
  CHECK_THROWS_AS((void)few.next({share(0.5), "set_rank"}), RequestError);
  RankDraws again{4, 1, "the cluster"};
  CHECK(again.next({share(1), "set_rank"}).size() == 4);
  CHECK(again.next({share(1), "set_rank", true}).size() == 4);
  RankChoice beyond;
  beyond.intervals = {{2, 4}};
  CHECK_THROWS_AS((void)again.next({beyond, "set_rank"}), RequestError);
}

TEST_CASE("the drawn ranks are those of shares, and those whose values are drawn") {
  RankDraws draws{10, 1, "the cluster"};
  RankChoice named;
  named.intervals = {{2, 3}, {7, std::nullopt}};
  CHECK(draws.next({named, "set_rank"}) == std::vector<int>{2, 3, 7, 8, 9});
  CHECK(draws.drawn().empty());
  RankChoice twice;
  twice.intervals = {{5, 5}, {3, 6}, {3, 3}};
  CHECK(draws.next({twice, "set_rank"}) == std::vector<int>{3, 4, 5, 6});
  (void)draws.next({named, "set_rank", false, true});
  CHECK(draws.drawn() == std::set<int>{2, 3, 7, 8, 9});
  (void)draws.next({share(1), "set_rank"});
  CHECK(draws.drawn().size() == 10);
}

}  // namespace lockstep::app
