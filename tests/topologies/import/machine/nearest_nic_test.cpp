#include "topologies/import/machine/nearest_nic.hpp"

#include <doctest/doctest.h>

#include "tests/topologies/import/import_helpers.hpp"
#include "topologies/import/machine/link_constants.hpp"
#include "topologies/import/machine/machine_rules.hpp"

/// Which NIC serves which GPU.
namespace lockstep {
namespace {

using Notes = std::vector<std::string>;

NicSpeed gigabits(std::uint64_t count) {
  return {Rate::bytes_per_second(count * 125'000'000), "told", false};
}

/// A machine by hand: a tree of PCIe, written from its roots.
struct MachineFixture {
  Machine machine;

  std::size_t cpu() {
    const std::size_t own = machine.add({VertexKind::cpu, "cpu"});
    for (const std::size_t other : cpus) join(own, other, LinkKind::cpu);
    cpus.push_back(own);
    return own;
  }
  std::size_t bridge(std::size_t above) {
    return below(above, {VertexKind::pcie_switch, "bridge"});
  }
  std::size_t gpu(std::size_t above) { return below(above, {VertexKind::gpu, "gpu"}); }
  std::size_t nic(std::size_t above, std::uint64_t speed = 400) {
    MachineVertex vertex{VertexKind::nic, "nic" + std::to_string(nics++)};
    vertex.speed = gigabits(speed);
    return below(above, std::move(vertex));
  }

  [[nodiscard]] std::string served() const {
    std::string out;
    for (const NearestNic& each : nearest_nics(machine))
      out += (out.empty() ? "" : " ") + machine.vertices[each.nic].source;
    return out;
  }

 private:
  std::size_t below(std::size_t above, MachineVertex vertex) {
    const std::size_t own = machine.add(std::move(vertex));
    join(own, above, LinkKind::pcie);
    return own;
  }
  void join(std::size_t from, std::size_t to, LinkKind kind) {
    machine.join(from, to, kind, pcie_of(5, 16));
  }

  std::vector<std::size_t> cpus;
  int nics = 0;
};

}  // namespace

TEST_CASE("the nearest NIC is that of the best path type, however many hops away") {
  // nic0 hangs on the CPU: three hops, over it (PHB). nic1 is four bridges down from the one that
  // the GPU hangs on: seven hops, over bridges alone (PXB).
  MachineFixture fixture;
  const std::size_t cpu = fixture.cpu();
  const std::size_t top = fixture.bridge(cpu);
  fixture.gpu(top);
  fixture.nic(cpu);
  fixture.nic(fixture.bridge(fixture.bridge(fixture.bridge(fixture.bridge(top)))));
  CHECK(fixture.served() == "nic1");
  // nic2 shares the GPU's own bridge (PIX).
  fixture.nic(top);
  CHECK(fixture.served() == "nic2");
}

TEST_CASE(
    "a NIC on the GPU's CPU comes before one behind the other CPU, told paths before cables") {
  // nic0 hangs on the other CPU itself (SYS, four hops), nic1 three bridges below the GPU's own
  // (PHB, six hops).
  MachineFixture fixture;
  const std::size_t own = fixture.cpu();
  const std::size_t other = fixture.cpu();
  const std::size_t gpu = fixture.gpu(fixture.bridge(own));
  const std::size_t far = fixture.nic(other);
  const std::size_t near = fixture.nic(fixture.bridge(fixture.bridge(fixture.bridge(own))));
  CHECK(fixture.served() == "nic1");
  fixture.machine.told_paths = {{gpu, far, PathType::node}, {gpu, near, PathType::sys}};
  CHECK(fixture.served() == "nic0");
  fixture.machine.told_paths.back().type = PathType::phb;
  CHECK(fixture.served() == "nic1");
}

TEST_CASE("of NICs as near the fastest serve, spread over the GPUs") {
  MachineFixture fixture;
  const std::size_t cpu = fixture.cpu();
  for (int i = 0; i < 4; ++i) fixture.gpu(cpu);
  fixture.nic(cpu, 25);
  fixture.nic(cpu);
  fixture.nic(cpu);
  CHECK(fixture.served() == "nic1 nic2 nic1 nic2");
}

TEST_CASE("a NIC that others need as well is left to them") {
  // GPU 0 is as near to nic0 as to nic1; GPU 1 has nic0 alone on its bridge.
  MachineFixture fixture;
  const std::size_t cpu = fixture.cpu();
  const std::size_t first = fixture.bridge(cpu);
  const std::size_t gpu0 = fixture.gpu(first);
  const std::size_t gpu1 = fixture.gpu(first);
  const std::size_t nic0 = fixture.nic(first);
  const std::size_t nic1 = fixture.nic(first);
  fixture.machine.told_paths = {{gpu0, nic0, PathType::pix},
                                {gpu0, nic1, PathType::pix},
                                {gpu1, nic0, PathType::pix},
                                {gpu1, nic1, PathType::pxb}};
  CHECK(fixture.served() == "nic1 nic0");
}

TEST_CASE("a GPU that reaches no NIC but over other GPUs is reported") {
  MachineFixture fixture;
  const std::size_t gpu = fixture.gpu(fixture.bridge(fixture.cpu()));
  fixture.nic(gpu);  // which only that GPU reaches
  MachineFixture alone = fixture;
  const std::size_t other = alone.machine.add({VertexKind::gpu, "far"});
  alone.machine.join(other, gpu, LinkKind::nvlink, nvlink_of(90, 18, NvlinkEnd::device));
  CHECK_THROWS_WITH(alone.served(), "the GPU far: it reaches no NIC through vertices that forward");
}

TEST_CASE("one far NIC that is faster does not put the near ones out") {
  // Eight GPUs with 200 Gb/s each carry 1,600 Gb/s together, the one on the CPU 400.
  MachineFixture fixture;
  const std::size_t cpu = fixture.cpu();
  for (int i = 0; i < 8; ++i) {
    const std::size_t bridge = fixture.bridge(cpu);
    fixture.gpu(bridge);
    fixture.nic(bridge, 200);
  }
  fixture.nic(cpu, 400);
  CHECK(settle_nics(fixture.machine, {}) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(fixture.machine.notes ==
        Notes{"left out: nic8 (a NIC faster than the others of 200 Gb/s, which serve more of the "
              "GPUs)"});
}

TEST_CASE("NICs are taken as one where they are as near, not where they hang on the same alone") {
  // Both hang on the CPU; the second is on another host bridge (NODE).
  MachineFixture fixture;
  const std::size_t cpu = fixture.cpu();
  const std::size_t gpu = fixture.gpu(cpu);
  const std::size_t first = fixture.nic(cpu);
  const std::size_t second = fixture.nic(cpu);
  MachineFixture apart = fixture;
  apart.machine.told_paths = {{gpu, first, PathType::phb}, {gpu, second, PathType::node}};
  CHECK(settle_nics(fixture.machine, {}) == std::vector<int>{0});
  CHECK(fixture.machine.notes == Notes{"2 NICs side by side are taken as one"});
  CHECK(settle_nics(apart.machine, {}) == std::vector<int>{0});
  CHECK(apart.machine.notes == Notes{"left out: nic1 (a NIC that no GPU is nearest to)"});
}

TEST_CASE("GPUs nearest to a slow NIC have the others' speed") {
  // CPU 1 has but a management NIC: both GPUs take the fast ones, which carry most.
  MachineFixture fixture;
  const std::size_t first = fixture.cpu();
  const std::size_t second = fixture.cpu();
  fixture.gpu(first);
  fixture.gpu(second);
  fixture.nic(first, 400);
  fixture.nic(second, 25);
  CHECK(settle_nics(fixture.machine, {}) == std::vector<int>{0, 0});
  CHECK(fixture.machine.notes ==
        Notes{"left out: nic1 (a NIC slower than the others of 400 Gb/s)"});
}

TEST_CASE("a speed that is asked for is that of every NIC, and near stays near") {
  MachineFixture fixture;
  const std::size_t first = fixture.cpu();
  const std::size_t second = fixture.cpu();
  fixture.gpu(first);
  fixture.gpu(second);
  fixture.nic(first, 400);
  fixture.nic(second, 25);
  CHECK(settle_nics(fixture.machine, gigabits(100)) == std::vector<int>{0, 1});
  CHECK(fixture.machine.notes.empty());
  for (const std::size_t nic : fixture.machine.of_kind(VertexKind::nic))
    CHECK(fixture.machine.vertices[nic].speed->rate == 100_Gbps);
}

}  // namespace lockstep
