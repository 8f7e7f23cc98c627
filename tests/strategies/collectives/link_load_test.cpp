#include "sim/engine/link_load.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "strategies/collectives/registry/registry.hpp"

using namespace lockstep;

namespace {

/// A bidirectional ring of n: link i goes from i to i+1, link n+i from i to i-1. Fewest hops; where
/// both ways are as long, clockwise (towards i+1).
class RingRouter final : public Router {
 public:
  explicit RingRouter(EndpointId n) : n_{n} {}
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    const EndpointId clockwise = (to + n_ - from) % n_;
    const bool forward = clockwise <= n_ - clockwise;
    for (EndpointId at = from; at != to;) {
      route.hops.push_back({forward ? at : n_ + at, kWeightUnit});
      at = forward ? (at + 1) % n_ : (at + n_ - 1) % n_;
    }
    return true;
  }

 private:
  EndpointId n_;
};

double load(const char* name, int n) {
  const Link link{1_GBps, 1_us, true};
  const auto size = static_cast<std::size_t>(n);
  const Network network{std::vector<Link>(2 * size, link), std::vector<Endpoint>(size),
                        std::make_shared<RingRouter>(static_cast<EndpointId>(n))};
  return *busiest_link_load(*make_schedule(*find_algorithm(Collective::all_reduce, name), {n}),
                            network);
}

}  // namespace

TEST_CASE("busiest-link load on a bidirectional ring distinguishes algorithms of equal cost") {
  for (const int n : {8, 16, 64}) {
    CAPTURE(n);
    const int lg = n == 8 ? 3 : n == 16 ? 4 : 6;
    // Every round one block on every clockwise link: 2(n-1)/n.
    CHECK(load("ring", n) == doctest::Approx(2.0 * (n - 1) / n));
    // Two rounds; a clockwise link carries distances 1 .. n/2, d blocks of M/n from each:
    // n/2 * (n/2 + 1) / 2 / n = n/8 + 1/4 a round.
    CHECK(load("direct", n) == doctest::Approx(n / 4.0 + 0.5));
    // Round k: distance 2^k. Pairs that point the same way overlap on 2^k messages of M: 1 + 2 + 4
    // + ... = n - 1.
    CHECK(load("recursive_doubling", n) == doctest::Approx(n - 1.0));
    // Near first: M/2^(k+1) over distance 2^k, both halves: lg n * (1/2 + 1/2).
    CHECK(load("halving_doubling_near", n) == doctest::Approx(lg));
    // Far first: M/2 over distance n/2, M/4 over n/4, ...: twice the sum of (n/2^k) / 2^k =
    // 2 * n/4 * (1 - 4^-lg) / (1 - 1/4) = (2/3) n (1 - 1/n^2).
    CHECK(load("halving_doubling", n) == doctest::Approx(2.0 / 3 * n * (1 - 1.0 / n / n)));
    // Swing goes d = 1, 1, 3, 5, 11, ... far, from every other rank: at most (d+1)/2 pairs lie over
    // one link. Each message is M; or M/2, M/4, ... and back again.
    double halving = 0;
    double exchanging = 0;
    for (int s = 0, d = 1; s < lg; ++s, d = 2 * d + (s % 2 == 1 ? -1 : 1)) {
      halving += 2.0 * (d + 1) / 2 / (2 << s);
      exchanging += (d + 1.0) / 2;
    }
    CHECK(load("swing", n) == doctest::Approx(halving));
    CHECK(load("swing_latency", n) == doctest::Approx(exchanging));
    // Half each way round, side by side.
    CHECK(load("bidirectional_ring", n) == doctest::Approx(1.0 * (n - 1) / n));
  }
  // The same as figures, recomputed by an independent program over the published algorithms.
  CHECK(load("direct", 8) == doctest::Approx(2.5));
  CHECK(load("direct", 64) == doctest::Approx(16.5));
  CHECK(load("swing", 8) == doctest::Approx(2.0));
  CHECK(load("swing", 16) == doctest::Approx(2.375));
  CHECK(load("swing", 64) == doctest::Approx(3.09).epsilon(1e-3));
  CHECK(load("swing_latency", 8) == doctest::Approx(4));
  CHECK(load("swing_latency", 16) == doctest::Approx(7));
  CHECK(load("swing_latency", 64) == doctest::Approx(24));
  CHECK(load("halving_doubling", 8) == doctest::Approx(5.25));
  CHECK(load("halving_doubling", 16) == doctest::Approx(10.625));
  CHECK(load("halving_doubling", 64) == doctest::Approx(42.66).epsilon(1e-3));
}
