#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/engine/replay_reusing.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "tests/tools/run_command.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/in_network/lower_with_switches.hpp"

/// A collective inside a training step costs what `lockstep collective --algorithm auto` prints for
/// the same ranks.
namespace lockstep {

namespace {

class TrainingStepFixture {
 public:
  explicit TrainingStepFixture(const std::string& cluster, int nodes,
                               std::map<std::string, std::string> algorithms = {})
      : cluster_{load_cluster(LOCKSTEP_SOURCE_DIR "/configs/clusters/" + cluster + ".json",
                              ClusterSize{nodes, std::nullopt, 0})},
        device_{load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/" + cluster_.device + ".json")},
        switches_{
            ReducingSwitches::of_step(cluster_.cluster, device_, uses_fabric_switches(algorithms))},
        network_{lower_with_switches(cluster_.cluster, switches_.forests(), endpoint())},
        choice_{cluster_.cluster,
                network_,
                switches_,
                device_,
                load_nccl_tuning(LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json"),
                std::move(algorithms)} {}

  /// Seconds until all members are done with one collective that they call together, and by what.
  std::pair<double, std::string> time(Collective collective, const std::vector<EndpointId>& members,
                                      Bytes message) {
    const ChosenCollective& chosen = choice_.choose(collective, "dp", members, 0, false, message);
    Workload workload;
    workload.calls.push_back(
        {"lone", chosen.schedule, choice_.participants(chosen, members), chosen.block, {}});
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      Activity launch;
      launch.duration = chosen.launch;
      Activity call;
      call.kind = Activity::Kind::collective;
      call.member = i;
      workload.streams.push_back({members[i], "communication", {launch, call}});
    }
    const ReplayResult played = replay(network_, workload, NetworkModel::fluid);
    const ReplayResult reused = replay_reusing(network_, workload, NetworkModel::fluid);
    CHECK(played.unfinished.empty());
    CHECK(played.stream_ends == reused.stream_ends);
    TimePoint end;
    for (const auto& ends : played.stream_ends) end = std::max(end, ends.back());
    return {end.since_start().seconds(), chosen.text};
  }

  /// Of the same, after the launch.
  double time_after_launch(Collective collective, const std::vector<EndpointId>& members,
                           Bytes message) {
    const Duration launch = choice_.choose(collective, "dp", members, 0, false, message).launch;
    return time(collective, members, message).first - launch.seconds();
  }

 private:
  [[nodiscard]] Endpoint endpoint() const {
    Endpoint out = device_.endpoint();
    out.reduce_rate.reset();  // added up while it comes in
    return out;
  }

  ClusterFile cluster_;
  Device device_;
  ReducingSwitches switches_;
  Network network_;
  CollectiveChoice choice_;
};

std::vector<EndpointId> ranks(EndpointId first, std::size_t count) {
  std::vector<EndpointId> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

TEST_CASE("a lone collective of a step takes what `collective --algorithm auto` prints") {
  struct Case {
    std::string cluster;
    int nodes;  // of the step's cluster
    EndpointId first;
    std::size_t count;
    std::string alone;  // the same ranks as a cluster of their own
  };
  const std::vector<Case> cases{
      {"dgx-h100", 4, 16, 8, "--nodes 1"}, {"dgx-h100", 4, 0, 8, "--nodes 1"},
      {"dgx-h100", 2, 8, 4, "--ranks 4"},  {"dgx-h100", 4, 0, 32, "--nodes 4"},
      {"dgx-h100", 4, 8, 16, "--nodes 2"}, {"dgx-a100", 2, 8, 8, "--nodes 1"},
      {"dgx1", 2, 8, 8, "--nodes 1"}};
  for (const Case& one : cases) {
    TrainingStepFixture step{one.cluster, one.nodes};
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      for (const std::int64_t size :
           {std::int64_t{4096}, std::int64_t{1} << 20U, std::int64_t{1} << 26U}) {
        const std::vector<EndpointId> members = ranks(one.first, one.count);
        const auto [time, by] = step.time(collective, members, Bytes{size});
        const auto row =
            rows_of(fmt::format(
                        "lockstep collective {} --algorithm auto:by=nccl --cluster {} {} --size {}",
                        to_string(collective), one.cluster, one.alone, size))
                .at(0);
        INFO(one.cluster, " ", one.alone, " ", to_string(collective), " ", size, " by ", by,
             " and ", row.at("chosen").get<std::string>());
        CHECK(row.at("chosen").get<std::string>().starts_with(by));
        CHECK(time == doctest::Approx(row.at("time_s").get<double>()).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("a step takes NVLS where NCCL's tuning does") {
  // 64 MiB among the eight GPUs of a DGX H100: nccl-tests there reaches what NVLS alone can.
  TrainingStepFixture step{"dgx-h100", 2};
  CHECK(step.time(Collective::all_reduce, ranks(8, 8), 64_MiB).second == "nvls");
  // A damaged or other machine has none to take: A100's NVSwitches do not reduce.
  TrainingStepFixture other{"dgx-a100", 2};
  CHECK(other.time(Collective::all_reduce, ranks(8, 8), 64_MiB).second != "nvls");
}

TEST_CASE("a group takes the algorithm that it names as `collective` does: NVLS of parts, SHARP") {
  struct Case {
    std::string algorithm;
    Collective collective;
    int nodes;  // all of the step's cluster
  };
  for (const Case& one :
       {Case{"nvls", Collective::all_gather, 1}, Case{"nvls", Collective::reduce_scatter, 1},
        Case{"nvls", Collective::all_reduce, 4}, Case{"sharp", Collective::all_reduce, 4},
        Case{"sharp:chunks=8", Collective::all_reduce, 2}}) {
    TrainingStepFixture step{"dgx-h100", one.nodes, {{"dp", one.algorithm}}};
    const std::vector<EndpointId> members = ranks(0, static_cast<std::size_t>(8 * one.nodes));
    // In a step GPUs add up what they receive while it comes in; at this rate it takes 0.2 %.
    std::string no_time_to_add;
    for (const EndpointId rank : members)
      no_time_to_add += fmt::format(" --set-rank {} reduce_rate=100TB/s", rank);
    for (const std::int64_t size : {std::int64_t{1} << 20U, std::int64_t{1} << 26U}) {
      INFO(one.algorithm, " ", to_string(one.collective), " ", size);
      CHECK(step.time(one.collective, members, Bytes{size}).second == one.algorithm);
      const auto row = rows_of(fmt::format("lockstep collective {} --algorithm {} --cluster "
                                           "dgx-h100 --nodes {} --size {}{}",
                                           to_string(one.collective), one.algorithm, one.nodes,
                                           size, no_time_to_add))
                           .at(0);
      CHECK(step.time_after_launch(one.collective, members, Bytes{size}) ==
            doctest::Approx(row.at("time_s").get<double>()).epsilon(3e-3));
    }
  }
}

TEST_CASE("registered buffers: a step takes the kernels, copy engines and times of `collective`") {
  struct Case {
    std::string choice;
    Collective collective;
    int nodes;
    std::string by;  // at 64 MiB
  };
  const std::string windows = "auto:by=nccl,windows=symmetric";
  const std::string copies = windows + ",cta_policy=zero";
  for (const Case& one : {Case{windows, Collective::all_reduce, 1, "AllReduce_RSxLDMC_AGxSTMC"},
                          Case{windows, Collective::all_gather, 1, "AllGather_STMC"},
                          Case{windows, Collective::reduce_scatter, 1, "ReduceScatter_LDMC"},
                          Case{copies, Collective::all_reduce, 1, "AllReduce_RSxLDMC_AGxSTMC"},
                          Case{copies, Collective::all_gather, 1, "copy_engine, 0 CTAs"},
                          Case{copies, Collective::all_to_all, 1, "copy_engine, 0 CTAs"},
                          // Not in one NVLink domain: as without.
                          Case{copies, Collective::all_gather, 2, "ring"}}) {
    TrainingStepFixture step{"dgx-h100", one.nodes, {{"dp", one.choice}}};
    const std::vector<EndpointId> members = ranks(0, static_cast<std::size_t>(8 * one.nodes));
    for (const std::int64_t size : {std::int64_t{1} << 16U, std::int64_t{1} << 26U}) {
      const auto [time, by] = step.time(one.collective, members, Bytes{size});
      const auto row = rows_of(fmt::format("lockstep collective {} --algorithm {} --cluster "
                                           "dgx-h100 --nodes {} --size {}",
                                           to_string(one.collective), one.choice, one.nodes, size))
                           .at(0);
      INFO(one.choice, " ", to_string(one.collective), " ", one.nodes, " ", size, " by ", by);
      CHECK(row.at("algorithm").get<std::string>() == one.choice);
      CHECK(row.at("chosen").get<std::string>().starts_with(by));
      CHECK(time == doctest::Approx(row.at("time_s").get<double>()).epsilon(1e-12));
      if (size == std::int64_t{1} << 26U) CHECK(contains(by, one.by));
    }
  }
}

TEST_CASE("CollNet: a step reduces, scatters and gathers in the network as `collective` does") {
  const std::string choice = "auto:by=nccl,collnet=enable";
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    TrainingStepFixture step{"dgx-h100", 4, {{"dp", choice}}};
    for (const std::int64_t size : {std::int64_t{1} << 20U, std::int64_t{1} << 26U}) {
      const auto [time, by] = step.time(collective, ranks(0, 32), Bytes{size});
      const auto row = rows_of(fmt::format("lockstep collective {} --algorithm {} --cluster "
                                           "dgx-h100 --nodes 4 --size {}",
                                           to_string(collective), choice, size))
                           .at(0);
      INFO(to_string(collective), " ", size, " by ", by);
      CHECK(row.at("algorithm").get<std::string>() == choice);
      CHECK(row.at("chosen").get<std::string>().starts_with(by));
      CHECK(time == doctest::Approx(row.at("time_s").get<double>()).epsilon(1e-12));
      if (size == 1 << 20U) CHECK(by.starts_with("sharp"));
    }
    // One node has none.
    CHECK(step.time(collective, ranks(0, 8), 64_MiB).second != "sharp");
  }
  TrainingStepFixture without{"dgx-h100", 4, {}};
  CHECK(without.time(Collective::all_gather, ranks(0, 32), 1_MiB).second != "sharp");
}

TEST_CASE("copy engines of a group take their launch and direct copies' time") {
  TrainingStepFixture step{"dgx-h100", 2, {{"dp", "copy_engine"}}};
  const auto [time, by] = step.time(Collective::all_gather, ranks(8, 8), 64_MiB);
  CHECK(by == "copy_engine");
  // 7/8 of 64 MiB at 450 GB/s * 0.824, two links of 300 ns, and 7.5 us (configs/nccl/2.30.json).
  CHECK(time == doctest::Approx(67108864 * 0.875 / 370.8e9 + 0.6e-6 + 7.5e-6).epsilon(1e-4));
  // Where not all are in one NVLink domain, another algorithm does it.
  CHECK(step.time(Collective::all_gather, ranks(0, 16), 64_MiB).second != "copy_engine");
}

TEST_CASE("auto:by=replay takes for a group what it takes for `collective`") {
  for (const int nodes : {1, 2}) {
    TrainingStepFixture step{"dgx-h100", nodes, {{"dp", "auto:by=replay"}}};
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather}) {
      for (const std::int64_t size : {std::int64_t{4096}, std::int64_t{1} << 26U}) {
        const auto row =
            rows_of(fmt::format("lockstep collective {} --algorithm auto:by=replay --cluster "
                                "dgx-h100 --nodes {} --size {}",
                                to_string(collective), nodes, size))
                .at(0);
        INFO(nodes, " ", to_string(collective), " ", size);
        CHECK(step.time(collective, ranks(0, static_cast<std::size_t>(8 * nodes)), Bytes{size})
                  .second == row.at("chosen").get<std::string>());
      }
    }
  }
}

TEST_CASE("`run` reports SHARP, and refuses what is no choice of a group") {
  const std::string step = "lockstep run zero-7b5-0 --suggest 0 --set parallel.algorithms.dp=";
  std::size_t found = 0;
  const auto result = json_of(step + "sharp");
  for (const auto& each : result.at("algorithms")) {
    const std::string text = each.get<std::string>();
    if (!text.starts_with("dp: all_reduce")) continue;
    ++found;
    CHECK(text.ends_with("by sharp"));
  }
  CHECK(found > 0);
  const CommandResult refused = run_command(step + "auto");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "auto:by=nccl or auto:by=replay"));
  CHECK(contains(run_command(step + "auto:by=nccl,windows=all").err, "windows=symmetric"));
}

}  // namespace lockstep
