#include "strategies/nccl/facts_of.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/strategies/nccl/nccl_helpers.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"

namespace lockstep {
namespace {

/// "12 x 30 GB/s"; "none".
std::string shown(const NcclGraph& graph) {
  if (graph.channels == 0) return "none";
  return fmt::format("{} x {}", graph.channels, to_string(graph.intra));
}

/// Architecture, CPU, links and way to the NIC.
std::string kinds(const NcclFacts& facts) {
  return fmt::format("{} {} {} {}/{}", nccl_name(facts.architecture), nccl_name(facts.cpu),
                     facts.nvlink ? "nvlink" : "pci", nccl_name(facts.intra_path),
                     nccl_name(facts.inter_path));
}

TEST_CASE("a DGX H100 has the 12 channels of 30 GB/s that NCCL finds, and 24 are used") {
  const NcclFacts facts = facts_of("dgx-h100");
  // 370.8 GB/s: 6 channels of 60 GB/s, split in two
  CHECK(shown(facts.ring) == "12 x 30 GB/s");
  CHECK(facts.channels == 24);
  CHECK(facts.same_channels);
  CHECK(kinds(facts) == "hopper intel nvlink nvl/pix");
  // 8 GPUs that add up for each other: 9 * 40 <= 370.8
  CHECK(shown(facts.nvls) == "8 x 40 GB/s");
}

TEST_CASE("several DGX H100 have a channel of 48 GB/s per NIC") {
  // NICs of 50 GB/s on PCIe of 48; 7 of the 8 channels pass each GPU's NVLink, 336 of 370.8 GB/s
  for (const int count : {2, 16}) {
    const NcclFacts facts = facts_of("dgx-h100", nodes(count));
    CHECK(facts.nodes == count);
    CHECK(facts.ranks == 8 * count);
    CHECK(shown(facts.ring) == "8 x 48 GB/s");
    CHECK(facts.channels == 16);
    CHECK_FALSE(facts.same_channels);
    CHECK(kinds(facts) == "hopper intel nvlink nvl/pix");
  }
}

TEST_CASE("a DGX A100 has 12 channels of 20 GB/s, several have one of 24 GB/s per NIC") {
  const NcclFacts one = facts_of("dgx-a100");
  CHECK(shown(one.ring) == "12 x 20 GB/s");  // 240 GB/s: 6 of 40, split in two
  CHECK(one.channels == 24);
  CHECK(shown(one.nvls) == "none");
  CHECK(kinds(one) == "ampere amd nvlink nvl/pix");
  const NcclFacts four = facts_of("dgx-a100", nodes(4));
  CHECK(shown(four.ring) == "8 x 24 GB/s");  // PCIe 4.0; 7 * 24 of 240 GB/s
  CHECK(four.channels == 16);
}

TEST_CASE("a DGX-1V has six rings of one NVLink, several have one of 12 GB/s per NIC") {
  const NcclFacts one = facts_of("dgx1");
  CHECK(shown(one.ring) == "6 x 20 GB/s");
  CHECK(one.channels == 12);
  CHECK_FALSE(one.same_channels);
  CHECK(kinds(one) == "volta intel nvlink nvl/pix");
  CHECK(shown(facts_of("dgx1", nodes(4)).ring) == "4 x 12 GB/s");
}

TEST_CASE("an NVL72 rack is one node") {
  const NcclFacts rack = facts_of("nvl72");
  CHECK(rack.nodes == 1);
  CHECK(rack.ranks == 72);
  CHECK(shown(rack.ring) == "16 x 45 GB/s");  // 721.8 GB/s: 8 of 90, split in two
  CHECK(kinds(rack) == "blackwell other nvlink nvl/pix");
  const NcclFacts racks = facts_of("nvl72", nodes(2));
  CHECK(shown(racks.ring) == "16 x 45.1 GB/s");
  CHECK(kinds(racks) == "blackwell other nvlink nvl/p2c");  // NICs hang on Grace
}

TEST_CASE("two GPUs of a rack have the 640 GB/s with LL128 that NCCL prints for a pair of B200") {
  // min(720 * .92, 16 * 40) GB/s (NVIDIA/nccl issue 2343), and 14 + 2 * 1.9 us
  const auto all = nccl_estimates(tuning_of(), facts_of("nvl72", ranks(2)), Collective::all_reduce,
                                  Bytes{640'000'000});
  CHECK(of(all, NcclAlgorithm::ring, NcclProtocol::ll128).time == 1'017'800_ns);
}

TEST_CASE("eight GPUs of Blackwell reach with NVLS what was measured") {
  // 8 * 80 * .74 * 7/8 * 2 = 829 GB/s of bus bandwidth; 845 with B300 (NVIDIA/nccl issue 2140)
  const NcclFacts facts = facts_of("nvl72", ranks(8));
  CHECK(shown(facts.nvls) == "8 x 80 GB/s");
  const auto all = nccl_estimates(tuning_of(), facts, Collective::all_reduce, 8_GiB);
  const Duration time = of(all, NcclAlgorithm::nvls, NcclProtocol::simple).time;
  const double bus = 8.589934592 * 2 * 7 / 8 / time.seconds();
  CHECK(bus > 825);
  CHECK(bus < 829);
}

TEST_CASE("machines on PCIe have one channel, which the sockets limit") {
  const NcclFacts one = facts_of("pcie-box");
  CHECK(shown(one.ring) == "1 x 15 GB/s");  // 16 GB/s between AMD sockets
  CHECK(one.channels == 2);
  CHECK(one.same_channels);
  CHECK(kinds(one) == "ampere amd pci sys/pix");
  CHECK(kinds(facts_of("pcie-box", nodes(2))) == "ampere amd pci sys/phb");
}

TEST_CASE("NVLink that ends at the sockets does not join a node") {
  CHECK(kinds(facts_of("summit")) == "volta other pci sys/pix");
  CHECK(shown(facts_of("summit").ring) == "2 x 15 GB/s");  // 32 GB/s of X-Bus: 30, split in two
}

TEST_CASE("hosts on a star are nodes of one") {
  const NcclFacts facts = facts_of("star");
  CHECK(facts.ranks == 8);
  CHECK(facts.nodes == 8);
  CHECK(shown(facts.ring) == "1 x 48 GB/s");  // 50 GB/s of network
  CHECK(facts.channels == 4);                 // twice, and twice again: fast and few
  CHECK(shown(facts.nvls) == "none");
  CHECK(kinds(facts) == "hopper other pci loc/pix");
}

TEST_CASE("written-out clusters are looked at as well") {
  const NcclFacts facts = facts_of("custom-graph");
  CHECK(facts.nodes == 2);
  CHECK(shown(facts.ring) == "1 x 12 GB/s");  // one NIC a box
  CHECK(facts.same_channels);
  CHECK(kinds(facts) == "volta other nvlink nvl/phb");
}

TEST_CASE("the transport of the NICs is a fact between nodes alone") {
  CHECK(facts_of("aws-p5", {2, std::nullopt, 0}).transport_latency > 10_us);
  CHECK(facts_of("aws-p5", {1, std::nullopt, 0}).transport_latency == Duration{});
  CHECK(facts_of("dgx-h100", {2, std::nullopt, 0}).transport_latency == Duration{});
}

TEST_CASE("every shipped cluster has facts that a choice can be made by") {
  for (const std::string& id : device_ids(kConfigs / "clusters")) {
    CAPTURE(id);
    const NcclFacts facts = facts_of(id);
    CHECK(facts.ring.channels >= 1);
    for (const Bytes size : {8_B, 1_MiB, 1_GiB}) {
      CHECK(nccl_pick(tuning_of(), facts, Collective::all_reduce, size).has_value());
    }
  }
}

}  // namespace
}  // namespace lockstep
