#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "sim/network/maxmin/sparse_shares.hpp"
#include "tests/sim/engine/bed.hpp"

/// The properties of sim/network/maxmin/README.md, each against every way in which shares are
/// found: sparsely, in components, and with ports alone. Ends of flows are equal to the picosecond;
/// each expectation is another run, so that it is derived from the property alone.
namespace lockstep {
namespace {

using test::Bed;

struct PropertyFlow {
  Bytes size;
  std::vector<Hop> hops;
  std::int64_t start = 0;  // picoseconds
  TrafficWeight traffic_weight = 1;
};

struct PropertySystem {
  std::vector<Rate> links;
  std::vector<PropertyFlow> flows;
};

enum class Shares { sparse, components, ports };

std::vector<std::int64_t> ends_of(const PropertySystem& system, Shares shares) {
  Bed bed;
  for (const Rate rate : system.links) bed.link(rate);
  for (const PropertyFlow& flow : system.flows) {
    Route route;
    route.hops.assign(flow.hops.begin(), flow.hops.end());
    bed.flow_on(flow.size, route, TimePoint{Duration::picoseconds(flow.start)},
                flow.traffic_weight);
  }
  if (shares == Shares::components) {  // more flows on one link than are shared sparsely
    const LinkId link = bed.link(1_GBps);
    for (std::size_t i = 0; i <= maxmin::SparseShares::kMost; ++i) bed.flow(1_B, {link});
  }
  auto out = bed.ends(shares == Shares::ports ? NetworkModel::alpha_beta : NetworkModel::fluid);
  out.resize(system.flows.size());
  return out;
}

/// Calls check(shares) for each way to find shares.
template <class Check>
void for_all(Check check) {
  for (const Shares shares : {Shares::sparse, Shares::components, Shares::ports}) {
    CAPTURE(static_cast<int>(shares));
    check(shares);
  }
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : next_{seed} {}

  std::int64_t number(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(next_() % static_cast<std::uint64_t>(most - least + 1));
  }
  Rate rate() {
    return Rate::bytes_per_second(static_cast<std::uint64_t>(number(1, 7)) * 1'000'000'000);
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    std::shuffle(values.begin(), values.end(), next_);
  }

  /// Flows over 1 to 3 links, some split, some with traffic weights, at different times.
  PropertySystem system(std::int64_t links, std::int64_t flows) {
    PropertySystem out;
    for (std::int64_t i = 0; i < links; ++i) out.links.push_back(rate());
    for (std::int64_t i = 0; i < flows; ++i) {
      std::vector<LinkId> order(out.links.size());
      std::iota(order.begin(), order.end(), LinkId{0});
      shuffle(order);
      order.resize(static_cast<std::size_t>(std::min<std::int64_t>(links, number(1, 3))));
      const auto parts = static_cast<Weight>(number(1, 4));
      PropertyFlow flow{Bytes{number(1, 40'000)}, {}, number(0, 1) * number(0, 20'000'000)};
      for (const LinkId link : order) flow.hops.push_back({link, kWeightUnit / parts});
      flow.traffic_weight = static_cast<TrafficWeight>(number(0, 1) * number(0, 6) + 1);
      out.flows.push_back(std::move(flow));
    }
    return out;
  }

 private:
  std::mt19937_64 next_;
};

}  // namespace

TEST_CASE("one solution: the order of links and flows changes no end") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const PropertySystem system = draw.system(3 + static_cast<std::int64_t>(seed % 6), 20);
    std::vector<LinkId> place(system.links.size());
    std::iota(place.begin(), place.end(), LinkId{0});
    draw.shuffle(place);
    std::vector<std::size_t> order(system.flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    draw.shuffle(order);
    PropertySystem other = system;
    for (std::size_t i = 0; i < place.size(); ++i) other.links[place[i]] = system.links[i];
    for (std::size_t i = 0; i < order.size(); ++i) {
      other.flows[i] = system.flows[order[i]];
      for (Hop& hop : other.flows[i].hops) hop.link = place[hop.link];
      std::reverse(other.flows[i].hops.begin(), other.flows[i].hops.end());
    }
    for_all([&](Shares shares) {
      const auto before = ends_of(system, shares);
      const auto after = ends_of(other, shares);
      for (std::size_t i = 0; i < order.size(); ++i) CHECK(after[i] == before[order[i]]);
    });
  }
}

TEST_CASE(
    "exact multiplicity: m flows of a weight take what one flow of m times the weight takes") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    PropertySystem many = draw.system(4, 12);
    for (PropertyFlow& flow : many.flows)
      for (Hop& hop : flow.hops) hop.weight = kWeightUnit / 4;
    PropertySystem one = many;
    const std::int64_t times = draw.number(2, 4);
    for (std::int64_t i = 1; i < times; ++i) many.flows.push_back(many.flows.front());
    for (Hop& hop : one.flows.front().hops) hop.weight *= static_cast<Weight>(times);
    for_all([&](Shares shares) {
      const auto of_one = ends_of(one, shares);
      auto of_many = ends_of(many, shares);
      CHECK(of_many.back() == of_many.front());
      of_many.resize(of_one.size());
      CHECK(of_many == of_one);
    });
  }
}

TEST_CASE("exact multiplicity: a traffic weight of m is m flows of an m-th of the size each") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    PropertySystem weighted = draw.system(4, 12);
    PropertySystem parts{weighted.links, {}};
    std::vector<std::size_t> whole;  // of each part
    for (std::size_t i = 0; i < weighted.flows.size(); ++i) {
      PropertyFlow& flow = weighted.flows[i];
      flow.traffic_weight = static_cast<TrafficWeight>(draw.number(1, 5));
      PropertyFlow part = flow;
      part.traffic_weight = 1;
      flow.size = Bytes{flow.size.count() * flow.traffic_weight};
      for (int m = 0; m < flow.traffic_weight; ++m) {
        parts.flows.push_back(part);
        whole.push_back(i);
      }
    }
    // With ports alone, every part has a cap of its own and the whole has one for all.
    for (const Shares shares : {Shares::sparse, Shares::components}) {
      CAPTURE(static_cast<int>(shares));
      const auto of_whole = ends_of(weighted, shares);
      const auto of_parts = ends_of(parts, shares);
      for (std::size_t i = 0; i < whole.size(); ++i) CHECK(of_parts[i] == of_whole[whole[i]]);
    }
  }
}

TEST_CASE("traffic weights share a link in proportion, and a flow alone has all of it") {
  const auto flow = [](std::int64_t kb, LinkId link, TrafficWeight weight) {
    return PropertyFlow{test::kilobytes(kb), {{link, kWeightUnit}}, 0, weight};
  };
  // 3 GB/s in parts of 2 and 1: 4 kB take 2 us; then 1 kB of 3 is left, at 3 GB/s.
  const PropertySystem two{{3_GBps}, {flow(4, 0, 2), flow(3, 0, 1)}};
  const PropertySystem one{{3_GBps}, {flow(6, 0, 3)}};
  for_all([&](Shares shares) {
    CHECK(ends_of(two, shares)[0] == 2'000'000);
    CHECK(ends_of(two, shares)[1] == 2'333'333);
    CHECK(ends_of(one, shares).front() == 2'000'000);
  });
}

TEST_CASE("locality: flows that share no link, directly or through others, change nothing") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const PropertySystem a = draw.system(4, 10);
    PropertySystem b = draw.system(3, 8);
    PropertySystem both = a;
    both.links.insert(both.links.end(), b.links.begin(), b.links.end());
    for (PropertyFlow flow : b.flows) {
      for (Hop& hop : flow.hops) hop.link += static_cast<LinkId>(a.links.size());
      both.flows.push_back(std::move(flow));
    }
    for_all([&](Shares shares) {
      auto alone = ends_of(a, shares);
      const auto other = ends_of(b, shares);
      alone.insert(alone.end(), other.begin(), other.end());
      CHECK(ends_of(both, shares) == alone);
    });
  }
}

TEST_CASE("monotony: a link whose flows all cross a tighter one with the same weight is slack") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const PropertySystem without = draw.system(4, 16);
    PropertySystem with = without;
    const auto slack = static_cast<LinkId>(with.links.size());
    with.links.push_back(Rate::from_steps(with.links[0].steps() + draw.rate().steps()));
    for (PropertyFlow& flow : with.flows) {
      const auto tight = std::find_if(flow.hops.begin(), flow.hops.end(),
                                      [](const Hop& hop) { return hop.link == 0; });
      if (tight != flow.hops.end() && draw.number(0, 2) > 0)
        flow.hops.push_back({slack, tight->weight});
    }
    for_all([&](Shares shares) { CHECK(ends_of(with, shares) == ends_of(without, shares)); });
  }
}

TEST_CASE("monotony: flows that a link carries all at the rates they have alone keep these rates") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    PropertySystem system;
    std::uint64_t sum = 0;
    for (LinkId i = 0; i < 8; ++i) {
      system.links.push_back(draw.rate());
      sum += system.links.back().steps();
      system.flows.push_back({Bytes{draw.number(1, 40'000)},
                              {{i, kWeightUnit}, {8, kWeightUnit}},
                              draw.number(0, 20'000'000)});
    }
    system.links.push_back(Rate::from_steps(sum));
    for_all([&](Shares shares) {
      std::vector<std::int64_t> alone;
      for (const PropertyFlow& flow : system.flows)
        alone.push_back(ends_of({system.links, {flow}}, shares).front());
      CHECK(ends_of(system, shares) == alone);
    });
  }
}

TEST_CASE("equal classes: flows of an equitable partition end together, as in its quotient") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const std::int64_t links = draw.number(3, 7);
    PropertySystem whole{std::vector<Rate>(static_cast<std::size_t>(links), draw.rate()), {}};
    PropertySystem quotient{{whole.links.front()}, {}};
    for (std::int64_t kind = 0; kind < 3; ++kind) {
      const std::int64_t first = draw.number(0, links - 1);
      const std::int64_t step = draw.number(1, links - 1);
      PropertyFlow flow{Bytes{draw.number(1, 40'000)}, {}, draw.number(0, 20'000'000)};
      for (std::int64_t i = 0; i < links; ++i) {
        PropertyFlow own = flow;
        for (const std::int64_t at : {i + first, i + first + step})
          own.hops.push_back({static_cast<LinkId>(at % links), kWeightUnit / 4});
        whole.flows.push_back(std::move(own));
      }
      flow.hops.push_back({0, kWeightUnit / 2});  // two flows of the kind cross each link
      quotient.flows.push_back(std::move(flow));
    }
    for_all([&](Shares shares) {
      const auto each = ends_of(whole, shares);
      const auto of_kind = ends_of(quotient, shares);
      for (std::size_t i = 0; i < each.size(); ++i)
        CHECK(each[i] == of_kind[i / static_cast<std::size_t>(links)]);
    });
  }
}

}  // namespace lockstep
