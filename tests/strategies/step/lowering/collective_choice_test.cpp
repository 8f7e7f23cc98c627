#include "strategies/step/lowering/collective_choice.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <optional>
#include <string>

#include "strategies/nccl/tuning_file.hpp"
#include "strategies/step/lowering/costs/kernel_times.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/in_network/lower_with_switches.hpp"
#include "topologies/routing/lower.hpp"

namespace lockstep::test {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

class Bed {
 public:
  explicit Bed(std::map<std::string, std::string> algorithms = {}, std::optional<int> ranks = 16,
               const std::string& cluster = "dgx-h100",
               const std::string& device = "h100-sxm5-80gb")
      : cluster_{load_cluster(kConfigs + "/clusters/" + cluster + ".json",
                              ClusterSize{std::nullopt, ranks, 0})
                     .cluster},
        device_{load_device(kConfigs + "/devices/" + device + ".json")},
        network_{lower(cluster_, device_.endpoint(), RoutePolicy::automatic)},
        choice_{cluster_,
                network_,
                switches_,
                device_,
                load_nccl_tuning(LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json"),
                std::move(algorithms)} {}

  const ChosenCollective& choose(Collective collective, const std::string& group,
                                 std::vector<EndpointId> members, Bytes message,
                                 bool host = false) {
    return choice_.choose(collective, group, members,
                          host ? static_cast<int>(members.size()) - 1 : 0, host, message);
  }
  [[nodiscard]] const std::vector<ReportedChoice>& report() const { return choice_.report(); }

 private:
  Cluster cluster_;
  Device device_;
  ReducingSwitches switches_;
  Network network_;
  CollectiveChoice choice_;
};

const std::vector<EndpointId> kNode{0, 1, 2, 3, 4, 5, 6, 7};

}  // namespace

TEST_CASE("a group gets the algorithm that the scenario names for it, others do not") {
  Bed bed{{{"dp", "recursive_doubling"}}};
  CHECK(bed.choose(Collective::all_reduce, "dp", kNode, 1_MiB).text == "recursive_doubling");
  CHECK(bed.choose(Collective::all_reduce, "tp", kNode, 1_MiB).text != "recursive_doubling");
}

TEST_CASE("where the named algorithm does not know the collective or the ranks another is taken") {
  Bed bed{{{"dp", "recursive_doubling"}}};
  // There is no broadcast of that name.
  const std::string chosen = bed.choose(Collective::broadcast, "dp", kNode, 1_MiB).text;
  CHECK(chosen != "recursive_doubling");
  // The switches of this cluster do not reduce.
  Bed switches{{{"dp", "sharp"}}};
  (void)switches.choose(Collective::all_reduce, "dp", kNode, 1_MiB);
  const ReportedChoice& reported = switches.report().back();
  CHECK(reported.members == 8);
  CHECK(reported.message == 1_MiB);
  CHECK(reported.algorithm != "sharp");
  CHECK(reported.refused == "sharp");
}

TEST_CASE("without a name NCCL's tuning decides, and says what a launch costs") {
  Bed bed;
  const ChosenCollective& small = bed.choose(Collective::all_reduce, "tp", kNode, 1_KiB);
  CHECK(small.launch > Duration{});
  CHECK(small.schedule->ranks() == 8);
}

TEST_CASE("a torus of devices without NCCL has collectives along its dimensions") {
  std::vector<EndpointId> all(256);
  std::iota(all.begin(), all.end(), EndpointId{0});
  Bed pod{{}, std::nullopt, "tpu-v6e-pod", "tpu-v6e"};
  CHECK(pod.choose(Collective::all_reduce, "dp", all, 64_MiB).text == "torus");
  CHECK(pod.choose(Collective::all_gather, "dp", all, 64_MiB).text == "ring:channels=4");
  CHECK(pod.choose(Collective::all_reduce, "tp", kNode, 64_MiB).text == "ring:channels=1");
  CHECK_FALSE(pod.report().front().cost);
  Bed asked{{{"dp", "auto:by=nccl"}}, std::nullopt, "tpu-v6e-pod", "tpu-v6e"};
  CHECK(asked.choose(Collective::all_reduce, "dp", all, 64_MiB).text != "torus");
}

TEST_CASE("the GPUs of a CPU with coherent links share its memory, those of others their node's") {
  // A rack has 36 CPUs, two GPUs at each; a DGX H100 two CPUs for eight.
  const Rate memory = Rate::bytes_per_second(512e9);
  const auto share = [&](const std::string& name, int ranks) {
    const Cluster cluster = load_cluster(kConfigs + "/clusters/" + name + ".json").cluster;
    return KernelTimes::host_of(cluster, ranks, memory, {}).share->bytes_per_second();
  };
  CHECK(share("nvl72", 72) == 256e9);
  CHECK(share("nvl72", 1) == 512e9);
  CHECK(share("dgx-h100", 64) == 64e9);
  CHECK(share("summit", 6) < 512e9 / 5);  // NVLink to its CPUs, which are one host here
}

TEST_CASE("a host at the root is served all at once") {
  Bed bed;
  std::vector<EndpointId> members = kNode;
  members.push_back(16);
  const ChosenCollective& chosen = bed.choose(Collective::reduce, "dp", members, 1_MiB, true);
  CHECK(chosen.text == "flat");
  CHECK(chosen.launch == Duration{});
}

TEST_CASE("a message is covered by its blocks, and what is chosen is reported once") {
  Bed bed;
  for (const std::int64_t bytes : {1, 1000, 1'000'003}) {
    const ChosenCollective& chosen = bed.choose(Collective::all_gather, "dp", kNode, Bytes{bytes});
    CHECK(chosen.block.count() * chosen.schedule->blocks() >= bytes);
  }
  (void)bed.choose(Collective::all_gather, "dp", {8, 9, 10, 11, 12, 13, 14, 15}, Bytes{1000});
  CHECK(bed.report().size() == 3);  // another node is the same again
}

TEST_CASE("SHARP: ranks below one leaf and ranks below two have trees of their own") {
  // Leaves of eight ranks; one below the root more for two that no leaf has in common. Ranks that
  // follow one another sit alike but for that.
  const Cluster cluster =
      load_cluster(LOCKSTEP_SOURCE_DIR "/configs/clusters/fat-tree.json", {}).cluster;
  const Device device = load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/h100-sxm5-80gb.json");
  const std::map<std::string, std::string> algorithms{{"dp", "sharp"}};
  const ReducingSwitches switches =
      ReducingSwitches::of_step(cluster, device, uses_fabric_switches(algorithms));
  const Network network = lower_with_switches(cluster, switches.forests(), device.endpoint());
  CollectiveChoice choice{cluster,
                          network,
                          switches,
                          device,
                          load_nccl_tuning(LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json"),
                          algorithms};
  const auto players = [&](const std::vector<EndpointId>& members) {
    const ChosenCollective& chosen =
        choice.choose(Collective::all_reduce, "dp", members, 0, false, 1_MiB);
    CHECK(chosen.text == "sharp");
    return choice.participants(chosen, members).size();
  };
  CHECK(players({7, 8}) == players({0, 1}) + 1);
  CHECK(players({1, 2}) == players({0, 1}));
}

}  // namespace lockstep::test
