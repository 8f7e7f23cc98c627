#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/concurrent.hpp"
#include "tools/app/collective/crossover.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {
namespace {

using namespace literals;

CollectiveRequest request_of(const std::string& algorithms) {
  CollectiveRequest out;
  out.cluster = {.cluster = "star", .ranks = 4};
  add_candidates({.collectives = "all_reduce", .algorithms = algorithms}, out);
  out.sizes = {64_MiB};
  return out;
}

// A ring of 4 on ports of B bytes/s: 6 rounds of a quarter of the message, one latency a round
// (Patarasuk and Yuan 2009); the bound is 2 (n-1)/n of the message over a port.
TEST_CASE("a ring takes what its formula says, and not less than the bound") {
  const CollectiveReport done = run_collective(request_of("ring"));
  REQUIRE(done.rows.size() == 1);
  const CollectiveRow& row = done.row(0, 0);
  const Network& network = done.setup->network();
  Route route;
  REQUIRE(network.router->route(0, 1, route));
  const Rate port = network.links[route.hops.front().link].bandwidth;
  const Duration round = route.latency + 16_MiB / port;
  CHECK(row.result.time == 6 * round);
  CHECK(row.bound.time() <= row.result.time);
  CHECK(row.counts.rounds == 6);
  CHECK(row.fastest);
}

TEST_CASE("the fastest of several is marked, one at each size") {
  CollectiveRequest request = request_of("ring,naive,direct");
  request.sizes = {8_B, 64_MiB};
  const CollectiveReport done = run_collective(request);
  REQUIRE(done.candidates.size() == 3);
  for (std::size_t s = 0; s < 2; ++s) {
    int marked = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      marked += done.row(c, s).fastest ? 1 : 0;
      if (!done.row(c, s).fastest) continue;
      for (std::size_t other = 0; other < 3; ++other)
        CHECK(done.row(c, s).result.time <= done.row(other, s).result.time);
    }
    CHECK(marked == 1);
  }
}

// Nodes of 8 on 6 rails: of 64 KiB and 1 MiB the same blocks, but other numbers of chunks.
TEST_CASE("rounds are those of each size, whichever other sizes are asked for") {
  CollectiveRequest request;
  request.cluster = {.cluster = "dgx-h100", .nodes = 6};
  add_candidates({.collectives = "reduce_scatter", .algorithms = "sharp"}, request);
  std::vector<std::optional<std::int64_t>> alone;
  for (const Bytes size : {64_KiB, 1_MiB}) {
    request.sizes = {size};
    alone.push_back(run_collective(request).row(0, 0).counts.rounds);
  }
  REQUIRE(alone[0] != alone[1]);
  for (const bool turned : {false, true}) {
    request.sizes = turned ? std::vector<Bytes>{1_MiB, 64_KiB} : std::vector<Bytes>{64_KiB, 1_MiB};
    const CollectiveReport done = run_collective(request);
    CHECK(done.row(0, 0).counts.rounds == alone[turned ? 1 : 0]);
    CHECK(done.row(0, 1).counts.rounds == alone[turned ? 0 : 1]);
  }
}

TEST_CASE("one algorithm at one size reports its phases, and the share that is simulated") {
  CollectiveRequest request = request_of("direct");
  // 128 * 127 messages in each of two rounds: more than the engine is silent for.
  request.cluster.ranks = 128;
  std::vector<std::string> names;
  std::vector<double> shares;
  request.on_phase = [&](const Phase& now) {
    if (names.empty() || names.back() != now.name) names.push_back(now.name);
    if (now.name == "simulating") shares.push_back(now.share);
  };
  request.check = true;
  for (const bool fold : {false, true}) {
    request.fold = fold;
    names.clear();
    shares.clear();
    (void)run_collective(request);
    std::vector<std::string> expected{"preparing the schedule"};
    if (fold) expected.emplace_back("finding equivalent ranks");
    for (const char* name : {"simulating", "counting rounds", "computing the lower bound",
                             "checking the result on numbers"})
      expected.emplace_back(name);
    CHECK(names == expected);
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    CHECK(shares.front() == 0);
    CHECK(shares.back() <= 1);
    if (!fold) CHECK(shares.back() > 0.5);  // 8,192 instants and arrivals of 32,512 apart
  }
}

TEST_CASE("of several algorithms those whose replay needs too much memory are left out") {
  // 2048 * 2047 messages at once, some kilobyte each with its links: gigabytes.
  CollectiveRequest request = request_of("binomial_tree,one_shot");
  request.cluster.ranks = 2048;
  request.fold = false;
  request.most_memory = 256_MiB;
  const CollectiveReport done = run_collective(request);
  REQUIRE(done.candidates.size() == 1);
  CHECK(done.candidates[0].text() == "binomial_tree");
  REQUIRE(done.left_out.size() == 1);
  CHECK(done.left_out[0].place == "algorithm one_shot");
  CHECK(done.left_out[0].message.find("GiB of memory, --max-memory allows 0.25 GiB") !=
        std::string::npos);
  CHECK_THROWS_AS((void)run_collective([&] {
                    request.candidates.erase(request.candidates.begin());
                    return request;
                  }()),
                  RequestError);
}

TEST_CASE("progress is reported from nothing to all") {
  CollectiveRequest request = request_of("ring,direct");
  std::size_t last = 99;
  std::size_t total = 0;
  request.on_progress = [&](const WorkProgress& now) {
    CHECK((now.done == 0 || now.done == last + 1));
    last = now.done;
    total = now.total;
  };
  (void)run_collective(request);
  CHECK(total == 2);
  CHECK(last == 2);
}

TEST_CASE("faults name the field of the request") {
  const auto place = [](const std::function<void()>& act) {
    try {
      act();
    } catch (const RequestError& error) {
      return error.place();
    }
    return std::string{"nothing thrown"};
  };
  CHECK(place([] { (void)request_of("rng"); }) == "algorithm");
  CHECK(place([] { (void)run_collective(request_of("halving_doubling:order=x")); }) == "algorithm");
  CollectiveRequest none = request_of("ring");
  none.cluster.cluster = "stra";
  CHECK(place([&] { (void)run_collective(none); }) == "cluster");
  CollectiveRequest model = request_of("ring");
  model.network.model = "magic";
  CHECK(place([&] { (void)run_collective(model); }) == "network");
  CollectiveRequest routes = request_of("ring");
  routes.cluster.routes = "best";
  CHECK(place([&] { (void)run_collective(routes); }) == "routes");
  CollectiveRequest nvls = request_of("nvls");
  CHECK(place([&] { (void)run_collective(nvls); }) == "algorithm nvls");
}

TEST_CASE("a crossover is where the fastest changes, to the element") {
  CollectiveRequest request = request_of("ring,recursive_doubling");
  request.sizes = {8_B, 1_GiB};
  const CrossoverReport done = find_crossovers(request);
  REQUIRE(done.collectives.size() == 1);
  REQUIRE(done.collectives[0].changes.size() == 1);
  const Crossover& change = done.collectives[0].changes[0];
  CHECK(done.candidates[change.from].text() == "recursive_doubling");
  CHECK(done.candidates[change.to].text() == "ring");
  CHECK(change.to_time <= change.from_time);
  request.sizes = {change.size - request.type->size};
  const CollectiveReport before = run_collective(request);
  CHECK(before.row(change.from, 0).fastest);
}

}  // namespace
}  // namespace lockstep::app
