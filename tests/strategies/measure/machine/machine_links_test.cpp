#include "strategies/measure/machine/machine_links.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/engine/replay.hpp"
#include "strategies/measure/machine_fit/fit_machine.hpp"
#include "strategies/measure/machine_runs/measure_machine.hpp"
#include "tests/strategies/measure/machine/known_gpus.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/routing/lower.hpp"

/// Links of a machine in the place of a cluster's. The machine is the one of known_figures(): 200
/// GB/s between most GPUs, 3 us until a copy between two is there, of which 1 us is any copy's
/// start.
namespace lockstep {
namespace {

MeasuredMachine known_machine(const std::string& device = "NVIDIA H100 80GB HBM3") {
  MeasuredMachine machine;
  machine.backend = "cuda";
  machine.device = device;
  machine.gpus = 4;
  machine.fit = known_figures();
  machine.fit.model.multiprocessors = 132;
  return machine;
}

Device device(const std::string& id) {
  return load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/" + id + ".json");
}

Cluster cluster(const std::string& name, int nodes) {
  return load_cluster(LOCKSTEP_SOURCE_DIR "/configs/clusters/" + name + ".json", {nodes, {}, 0})
      .cluster;
}

Activity message(Activity::Kind kind, EndpointId peer, Bytes size) {
  Activity out;
  out.kind = kind;
  out.peer = peer;
  out.size = size;
  return out;
}

/// How long one message takes that has the cluster to itself.
double seconds(const Cluster& of, EndpointId from, EndpointId to, Bytes size) {
  Workload workload;
  workload.streams.push_back({from, "sender", {message(Activity::Kind::send, to, size)}});
  workload.streams.push_back({to, "receiver", {message(Activity::Kind::receive, from, size)}});
  return replay(lower(of), workload, NetworkModel::fluid).end.since_start().seconds();
}

/// 100 MB at 200 GB/s after 2 us.
constexpr double kAlone = 502e-6;
const Bytes kSize = Bytes{100'000'000};

TEST_CASE("what one GPU sends another alone takes what the box's links say, in every node") {
  const Cluster built = cluster("dgx-h100", 2);
  const ClusterOfMachine of = with_links_of(known_machine(), built, device("h100-sxm5-80gb"));
  CHECK(of.links.kind == MachineLinkUse::Kind::measured);
  CHECK(of.links.to == 1);
  CHECK(of.links.now.rate.bytes_per_second() == doctest::Approx(200e9));
  CHECK(of.links.now.latency.seconds() == doctest::Approx(2e-6));
  CHECK(of.links.before.rate.bytes_per_second() == doctest::Approx(370.8e9));  // as shipped
  CHECK(of.links.before.latency == 600_ns);
  CHECK(of.links.pairs == 12);
  CHECK(of.links.slowest == 100_GBps);
  CHECK(of.links.fastest == 200_GBps);
  // 1 ns: factors are rounded to a double, latencies to a picosecond.
  CHECK(std::abs(seconds(of.cluster, 1, 2, kSize) - kAlone) < 1e-9);
  CHECK(std::abs(seconds(of.cluster, 3, 0, Bytes{0}) - 2e-6) < 1e-9);
  CHECK(std::abs(seconds(of.cluster, 12, 15, kSize) - kAlone) < 1e-9);
  CHECK(seconds(built, 1, 2, kSize) < 300e-6);
}

TEST_CASE("between nodes on one rail nothing changes, over another rail's NIC the NVLinks do") {
  const Cluster built = cluster("dgx-h100", 2);
  const Cluster of = with_links_of(known_machine(), built, device("h100-sxm5-80gb")).cluster;
  CHECK(seconds(of, 0, 8, kSize) == seconds(built, 0, 8, kSize));
  CHECK(std::abs(seconds(of, 0, 9, Bytes{0}) - seconds(built, 0, 9, Bytes{0}) - 1.4e-6) < 1e-9);
}

TEST_CASE("links that were measured through copies are taken as they were fitted") {
  KnownGpus gpus{4, known_figures()};
  MeasureOptions options;
  options.quick = true;
  options.repeats = 1;
  MeasuredMachine machine = known_machine();
  machine.fit = fit_machine(measure_machine(gpus, false, options), false, 132);
  const Cluster of =
      with_links_of(machine, cluster("dgx-h100", 1), device("h100-sxm5-80gb")).cluster;
  CHECK(seconds(of, 1, 2, kSize) == doctest::Approx(kAlone).epsilon(0.01));
}

TEST_CASE("GPUs that are cabled to each other keep how their links differ") {
  MeasuredMachine machine = known_machine("Tesla V100-SXM2-32GB");
  machine.fit.model.multiprocessors = 80;
  // One NVLink from 0 to 1, two from 0 to 3 (DGX-1): measured, all carry half of what is shipped.
  const Cluster built = cluster("dgx1", 1);
  const double one = seconds(built, 0, 1, kSize) - seconds(built, 0, 1, Bytes{0});
  const double two = seconds(built, 0, 3, kSize) - seconds(built, 0, 3, Bytes{0});
  CHECK(one == doctest::Approx(2 * two));
  machine.fit.links.pairs = {{0, 1, 3_us, Rate::bytes_per_second(std::llround(0.5e8 / one))},
                             {0, 3, 3_us, Rate::bytes_per_second(std::llround(0.5e8 / two))}};
  const Cluster of = with_links_of(machine, built, device("v100-sxm2-32gb")).cluster;
  CHECK(seconds(of, 0, 1, kSize) == doctest::Approx(2 * one + 2e-6));
  CHECK(seconds(of, 0, 3, kSize) == doctest::Approx(2 * two + 2e-6));
}

TEST_CASE("copies between GPUs that start no later than within one leave latencies as they were") {
  MeasuredMachine machine = known_machine();
  for (MachineLink& pair : machine.fit.links.pairs) pair.latency = machine.fit.empty_copy;
  const Cluster built = cluster("dgx-h100", 1);
  const Cluster of = with_links_of(machine, built, device("h100-sxm5-80gb")).cluster;
  CHECK(seconds(of, 1, 2, Bytes{0}) == seconds(built, 1, 2, Bytes{0}));
}

TEST_CASE("links stay as they are, with the reason") {
  using Use = MachineLinkUse::Kind;
  const Cluster dgx = cluster("dgx-h100", 1);
  const Device h100 = device("h100-sxm5-80gb");
  const auto check = [](const MeasuredMachine& machine, const Cluster& built, const Device& of,
                        Use why) {
    const ClusterOfMachine out = with_links_of(machine, built, of);
    CHECK(out.links.kind == why);
    CHECK(out.cluster.overlay().all().empty());
    return out.links;
  };
  MeasuredMachine one = known_machine();
  one.gpus = 1;
  one.fit.links = {};
  check(one, dgx, h100, Use::one_gpu);
  one.backend = "host";
  check(one, dgx, h100, Use::host);
  const MachineLinkUse other =
      check(known_machine("NVIDIA A100-SXM4-80GB"), dgx, h100, Use::other_device);
  CHECK(other.measured_device == "NVIDIA A100-SXM4-80GB");
  CHECK(other.device == "h100-sxm5-80gb");
  MeasuredMachine pcie = known_machine("NVIDIA A100 80GB PCIe");
  pcie.fit.model.multiprocessors = 108;
  check(pcie, cluster("pcie-box", 1), device("a100-pcie-80gb"), Use::no_nvlink);
}

/// Names as CUDA has them (cudaDeviceProp::name).
TEST_CASE("a GPU's own name identifies its device") {
  const auto is = [](const std::string& name, std::int64_t multiprocessors, const std::string& id) {
    MeasuredMachine machine = known_machine(name);
    machine.fit.model.multiprocessors = multiprocessors;
    return is_of_kind(machine, device(id));
  };
  CHECK(is("NVIDIA H100 80GB HBM3", 132, "h100-sxm5-80gb"));
  CHECK(is("NVIDIA H200", 132, "h200-sxm5-141gb"));
  CHECK(is("NVIDIA H100 PCIe", 114, "h100-pcie-80gb"));
  CHECK(is("NVIDIA A100-SXM4-40GB", 108, "a100-sxm4-40gb"));
  CHECK(is("Tesla V100-SXM2-16GB", 80, "v100-sxm2-16gb"));
  CHECK(is("NVIDIA B200", 148, "b200-sxm-180gb"));
  CHECK_FALSE(is("NVIDIA H100 PCIe", 114, "h100-sxm5-80gb"));
  CHECK_FALSE(is("NVIDIA H100 NVL", 132, "h100-sxm5-80gb"));
  CHECK_FALSE(is("NVIDIA A100 80GB PCIe", 108, "a100-sxm4-80gb"));
  CHECK_FALSE(is("NVIDIA H200", 132, "h100-sxm5-80gb"));
  CHECK_FALSE(is("NVIDIA GB200", 152, "b200-sxm-180gb"));
}

}  // namespace
}  // namespace lockstep
