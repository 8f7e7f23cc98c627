#include "strategies/nccl/nccl_choice.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/strategies/nccl/nccl_helpers.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/files/protocol.hpp"

namespace lockstep {
namespace {

/// "ring:channels=8 with simple on 16".
std::string choice(const NcclFacts& facts, Collective collective, Bytes size,
                   std::string_view algorithms = "", std::string_view protocols = "") {
  const NcclFilters filters = parse_nccl_filters(algorithms, protocols).filters;
  const auto found = nccl_choice(tuning_of(), facts, collective, size, filters);
  if (!found) return "none";
  return fmt::format("{} with {} on {}", found->spec, nccl_name(found->protocol), found->channels);
}

TEST_CASE("rings are as many as take different links") {
  // On one NVSwitch all are alike; through several nodes each crosses on another NIC.
  CHECK(choice(hgx_h100(1), Collective::all_reduce, 1_GiB) == "ring:channels=1 with simple on 24");
  CHECK(choice(hgx_h100(2), Collective::all_reduce, 1_GiB) == "ring:channels=8 with simple on 16");
  CHECK(choice(hgx_h100(2), Collective::all_gather, 1_GiB) == "ring:channels=8 with simple on 16");
  CHECK(choice(facts_of("dgx1"), Collective::reduce_scatter, 1_GiB) ==
        "ring:channels=6 with simple on 12");
}

TEST_CASE("small messages take as few rings as channels") {
  // 16 ranks * 512 threads * 8 B = 64 KiB per channel with LL
  CHECK(choice(hgx_h100(2), Collective::all_reduce, 128_KiB, "ring", "ll") ==
        "ring:channels=2 with ll on 2");
}

/// One GPU of each of 16 nodes.
NcclFacts one_of_each() {
  NcclFacts facts = hgx_h100(16);
  facts.ranks = 16;
  return facts;
}

TEST_CASE("trees take chunks of a step per channel") {
  // 16 channels * 512 KiB = 8 MiB per loop
  CHECK(choice(one_of_each(), Collective::all_reduce, 256_MiB, "tree", "simple") ==
        "double_binary_tree:chunks=32 with simple on 16");
  // LL: 32 KiB of data per step; 64 KiB / (512 * 8 B) = 16 channels, one chunk each
  CHECK(choice(one_of_each(), Collective::all_reduce, 64_KiB, "tree", "ll") ==
        "double_binary_tree:chunks=1 with ll on 16");
}

TEST_CASE(
    "trees over nodes of several GPUs send the same bytes over the same NICs with fewer flows") {
  // 128 ranks: a hierarchy below 128 MiB, rings from there on.
  CHECK(choice(hgx_h100(16), Collective::all_reduce, 64_MiB, "tree", "simple") ==
        "hierarchical with simple on 16");
  CHECK(choice(hgx_h100(16), Collective::all_reduce, 128_MiB, "tree", "simple") ==
        "ring:channels=8 with simple on 16");
}

TEST_CASE("every NIC has a ring, also where two GPUs share one") {
  NcclFacts facts = hgx_h100(2);
  facts.ring.channels = 4;
  CHECK(choice(facts, Collective::all_gather, 1_GiB, "ring", "simple") ==
        "ring:channels=8 with simple on 16");
}

TEST_CASE("trees with LL128 halve chunks that would be too few") {
  // 1 + lg 16 + .1 = 5.1 steps; fewer than 5.1 * 64 = 326.4 per channel: 576000 B become 288000,
  // 144000 and 72000 B (not above 128 KiB); 1 MiB / 16 channels has none at all of these, so on to
  // 36000 and 18000 B (not above 32 KiB): ceil(65536 / 18000) = 4.
  CHECK(choice(one_of_each(), Collective::all_reduce, 1_MiB, "tree", "ll128") ==
        "double_binary_tree:chunks=4 with ll128 on 16");
  // 8 GiB: 932 of 576000 B per channel are enough
  CHECK(choice(one_of_each(), Collective::all_reduce, 8_GiB, "tree", "ll128") ==
        "double_binary_tree:chunks=933 with ll128 on 16");
}

TEST_CASE("broadcast and reduce are pipelined chains") {
  for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
    // 24 channels * 512 KiB = 12 MiB
    CHECK(choice(hgx_h100(1), collective, 1_GiB, "", "simple") ==
          "chain:chunks=86 with simple on 24");
    CHECK(choice(hgx_h100(1), collective, 8_B) == "chain:chunks=1 with ll on 1");
  }
}

TEST_CASE("more than 1024 pieces are not asked for") {
  CHECK(choice(facts_of("pcie-box"), Collective::broadcast, 8_GiB, "", "simple") ==
        "chain:chunks=1024 with simple on 2");
}

TEST_CASE("switches that reduce, and PAT, have algorithms of their own") {
  NcclFacts facts = facts_of("dgx-h100");
  CHECK(choice(facts, Collective::all_reduce, 1_GiB) == "nvls with simple on 24");
  facts = facts_of("dgx-h100", nodes(2));
  CHECK(choice(facts, Collective::all_reduce, 1_GiB) == "nvls with simple on 16");
  facts.has_collnet = true;
  CHECK(choice(facts, Collective::all_reduce, 1_GiB, "collnetchain") == "sharp with simple on 16");
  CHECK(choice(facts, Collective::all_reduce, 1_GiB, "nvls") ==
        "sharp:inside=nvls with simple on 16");
  CHECK(choice(facts, Collective::all_reduce, 1_GiB, "nvlstree") == "nvls with simple on 16");
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    CHECK(choice(facts, collective, 1_GiB, "nvls") == "sharp with simple on 16");
    CHECK(choice(facts, collective, 1_GiB, "collnetdirect") == "sharp with simple on 16");
  }
  CHECK(choice(facts_of("star"), Collective::all_gather, 1_GiB, "pat") == "pat with simple on 4");
}

TEST_CASE("what NCCL does not choose for is grouped sends and receives") {
  // LL up to 16 KiB per message; 8 ranks
  CHECK(choice(hgx_h100(1), Collective::all_to_all, 128_KiB) == "direct with ll on 24");
  CHECK(choice(hgx_h100(1), Collective::all_to_all, 1_MiB) == "direct with simple on 24");
  CHECK(choice(hgx_h100(1), Collective::send_recv, 16_KiB) == "shift with ll on 24");
  CHECK(choice(hgx_h100(1), Collective::send_recv, 17_KiB) == "shift with simple on 24");
  CHECK(choice(hgx_h100(1), Collective::barrier, 8_B) == "none");
}

// ncclAllReduce and its siblings copy the buffer of a communicator of one rank, whatever NCCL_ALGO
// says (NCCL 2.30, ncclLaunchOneRank).
TEST_CASE("one rank has nothing to choose and nothing to send") {
  NcclFacts facts = hgx_h100(1);
  facts.ranks = 1;
  for (const char* algorithms : {"", "tree"}) {
    for (const Collective each :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
      CHECK(choice(facts, each, 1_MiB, algorithms) == "ring:channels=1 with simple on 1");
    for (const Collective each : {Collective::broadcast, Collective::reduce})
      CHECK(choice(facts, each, 1_MiB, algorithms) == "chain:chunks=1 with simple on 1");
  }
  CHECK(choice(facts, Collective::all_to_all, 1_MiB) == "direct with simple on 24");
}

TEST_CASE("wishes that leave nothing give no choice") {
  CHECK(choice(hgx_h100(1), Collective::all_gather, 1_MiB, "tree") == "none");
}

TEST_CASE("every protocol of a choice is a file") {
  const auto ids = protocol_ids(kConfigs / "protocols");
  for (const std::string_view name : NcclNames<NcclProtocol>::all) {
    CHECK(std::find(ids.begin(), ids.end(), name) != ids.end());
  }
}

TEST_CASE("steps of NCCL's chunks are the slots of the protocols") {
  for (const NcclProtocol protocol : nccl_values<NcclProtocol>()) {
    const Protocol file =
        load_protocol(kConfigs / "protocols" / (std::string{nccl_name(protocol)} + ".json"));
    CHECK(file.slot_payload() == tuning_of().chunks.step[protocol]);
  }
}

TEST_CASE("what protocols add to a hop is the difference of NCCL's own latencies") {
  using enum NcclProtocol;
  const auto hop = [](NcclHop kind, NcclProtocol protocol) {
    return *tuning_of().hop_latency[kind][NcclAlgorithm::ring][protocol];
  };
  for (const NcclProtocol protocol : {ll, ll128, simple}) {
    const Protocol file =
        load_protocol(kConfigs / "protocols" / (std::string{nccl_name(protocol)} + ".json"));
    const auto added = [&](NcclHop kind) { return hop(kind, protocol) - hop(kind, ll); };
    CHECK(file.added(LinkKind::nvlink) == added(NcclHop::nvlink));
    CHECK(file.added(LinkKind::pcie) == added(NcclHop::pci));
    CHECK(file.added(LinkKind::network) == added(NcclHop::net));
  }
}

}  // namespace
}  // namespace lockstep
