#include "strategies/interop/chakra/chakra_workload.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "sim/engine/replay.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/strategies/interop/chakra/chakra_encoder.hpp"
#include "tests/strategies/interop/text/corpus.hpp"
#include "tests/strategies/interop/text/refused.hpp"
#include "tests/strategies/interop/text/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// 1 GB/s is 1 kB a microsecond; a hop takes 2 us.
const Rate kRate = 1_GBps;
const Duration kHop = 2_us;

std::shared_ptr<const Schedule> ring(Collective collective, std::span<const int> ranks, Bytes) {
  if (collective != Collective::all_reduce) return nullptr;
  return std::make_shared<TinyRing>(static_cast<int>(ranks.size()));
}

std::vector<EndpointId> everyone(std::size_t ranks) {
  std::vector<EndpointId> out(ranks);
  std::iota(out.begin(), out.end(), EndpointId{0});
  return out;
}

Workload workload_of(const ChakraTrace& trace, const ChooseSchedule& choose = ring) {
  return to_workload(trace, everyone(trace.ranks.size()), choose);
}

/// Rank i's file has the i-th nodes.
ChakraTrace trace_of(const std::vector<std::vector<std::string>>& ranks) {
  const TemporaryFolder folder;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    folder.write("t." + std::to_string(i) + ".et", trace_bytes(ranks[i]));
  return read_chakra(folder.path());
}

/// Ends of the nodes, rank by rank, in microseconds.
std::vector<std::int64_t> ends(const Workload& workload, std::size_t hosts) {
  const ReplayResult result = replay(star(hosts, kRate, kHop), workload, NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  std::vector<std::int64_t> out;
  for (const auto& stream : result.stream_ends) out.push_back(stream[0].ps() / 1'000'000);
  return out;
}

using Times = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("nodes take their durations, one at a time on a GPU and one on a CPU") {
  const std::string on_cpu = node_bytes(2, kCompute, {}, attribute("is_cpu_op", 1, kBool), 4);
  const ChakraTrace trace =
      trace_of({{compute_node(0, 10), compute_node(1, 5), on_cpu, node_bytes(3, kLoad, {}, "", 3),
                 node_bytes(4, kMetadata, {1}, "", 1), node_bytes(5, kStore, {4})}});
  CHECK(ends(workload_of(trace), 1) == Times{10, 15, 4, 3, 16, 16});
}

TEST_CASE("messages go to the members that play the ranks") {
  const ChakraTrace trace = trace_of({{send_node(0, 1, 1000)}, {receive_node(0, 0, 1000)}});
  const std::vector<EndpointId> members{3, 1};
  const Workload workload = to_workload(trace, members, ring);
  CHECK(workload.slots == Workload::kNoLimit);
  CHECK(workload.streams[0].endpoint == 3);
  CHECK(workload.streams[0].operations[0].peer == 1);
  CHECK(workload.streams[1].operations[0].peer == 3);
  CHECK(workload.streams[1].name == "n0");
  // 1000 B leave in 1 us and arrive 2 us later.
  CHECK(ends(workload, 4) == Times{1, 3});
}

TEST_CASE("collectives meet in order of appearance within their group") {
  // Ranks 0 and 2 are group "a", which waits for rank 2's 100 us. All are in the nameless one.
  const ChakraTrace trace = trace_of(
      {{collective_node(0, 0, 4000, "a"), collective_node(1, 0, 3000), collective_node(2, 0, 6000)},
       {collective_node(0, 0, 3000), collective_node(1, 0, 6000, "", {0})},
       {compute_node(9, 100), collective_node(3, 0, 3000), collective_node(4, 0, 4000, "a", {9}),
        collective_node(5, 0, 6000)}});
  const Workload workload = workload_of(trace);
  REQUIRE(workload.calls.size() == 3);
  CHECK(workload.calls[0].name == "all_reduce 0");
  CHECK(workload.calls[0].members == everyone(3));
  CHECK(workload.calls[0].block == 1000_B);
  CHECK(workload.calls[1].name == "all_reduce 1");
  CHECK(workload.calls[2].name == "all_reduce 0 of a");
  CHECK(workload.calls[2].members == std::vector<EndpointId>{0, 2});
  CHECK(workload.calls[2].block == 2000_B);
  // "a": two rounds of 2 us + 2 us after 100 us.
  CHECK(ends(workload, 3)[0] == 108);
}

TEST_CASE(
    "the message of collectives to which every rank brings its part is the sum of the parts") {
  const auto any = [](Collective, std::span<const int> ranks, Bytes) {
    return std::make_shared<TinyRing>(static_cast<int>(ranks.size()));
  };
  const auto block_of = [&any](unsigned comm_type) {
    const std::string node = collective_node(0, comm_type, 301);
    return workload_of(trace_of({{node}, {node}, {node}}), any).calls[0].block;
  };
  CHECK(block_of(0) == 101_B);  // all_reduce: 301 bytes in three blocks
  CHECK(block_of(7) == 101_B);  // reduce_scatter
  CHECK(block_of(6) == 101_B);  // all_to_all
  CHECK(block_of(2) == 301_B);  // all_gather
  CHECK(block_of(3) == 301_B);  // gather
}

TEST_CASE("a collective of one rank is nothing") {
  const Workload workload = workload_of(trace_of({{collective_node(0, 6, 8)}}));
  CHECK(workload.calls.empty());
  CHECK(ends(workload, 1) == Times{0});
}

TEST_CASE("a schedule is asked for once for the same ranks and the same message") {
  const std::vector<std::string> nodes{collective_node(0, 0, 8), collective_node(1, 0, 8),
                                       collective_node(2, 0, 9), collective_node(3, 0, 8, "g")};
  const std::vector<std::string> others{nodes[0], nodes[1], nodes[2]};
  std::vector<std::string> asked;
  (void)workload_of(trace_of({others, nodes, nodes}),
                    [&asked](Collective collective, std::span<const int> ranks, Bytes message) {
                      asked.push_back(std::to_string(message.count()));
                      for (const int rank : ranks) asked.back() += " " + std::to_string(rank);
                      return ring(collective, ranks, message);
                    });
  CHECK(asked == std::vector<std::string>{"8 0 1 2", "9 0 1 2", "8 1 2"});
}

TEST_CASE("collectives without a schedule are reported, each kind once") {
  const std::vector<std::string> nodes{collective_node(0, 6, 8), collective_node(1, 6, 8),
                                       collective_node(2, 2, 8)};
  const ChakraTrace trace = trace_of({nodes, nodes});
  const auto problems = refused([&trace] { return workload_of(trace); });
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].find(
            "/t.0.et: node 0: no schedule for all_to_all of 8 bytes among 2 ranks alone") !=
        std::string::npos);
  CHECK(problems[1].find("node 2: no schedule for all_gather of 16 bytes") != std::string::npos);
}

TEST_CASE("a ring by others takes its closed form") {
  const auto path = corpus("chakra/custom_ring_allreduce_8npus_1MB");
  if (!path) return;
  // Every rank sends 128 KiB, receives 128 KiB, and in the first seven of 14 rounds computes for
  // 7 us; each waits for the one before. All ranks do so together, so a round takes the hop, the
  // message and the computation.
  const Duration round = kHop + 128_KiB / kRate;
  const Workload workload = workload_of(read_chakra(*path));
  const ReplayResult result = replay(star(8, kRate, kHop), workload, NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  CHECK(result.end.since_start() == 14 * round + 7 * 7_us);
}

TEST_CASE("one collective by others takes the closed form of its algorithm") {
  const auto path = corpus("chakra/all_reduce_4npus_1MB");
  if (!path) return;
  // A ring of four: six rounds of a quarter of the message.
  const Workload workload = workload_of(read_chakra(*path));
  const ReplayResult result = replay(star(4, kRate, kHop), workload, NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  CHECK(result.end.since_start() == 6 * (kHop + 256_KiB / kRate));
}
