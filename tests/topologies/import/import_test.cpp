#include "topologies/import/import.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "tests/topologies/import/import_helpers.hpp"
#include "topologies/analysis/analysis.hpp"

namespace lockstep {
namespace {

using Notes = std::vector<std::string>;

const std::string kData = LOCKSTEP_SOURCE_DIR "/tests/data/topology_import";
const std::string kCorpus = LOCKSTEP_SOURCE_DIR "/../shared/corpus/nccl-topology";

/// The link between two vertices, by their names.
LinkFigures figures(const Cluster& cluster, const std::string& from, const std::string& to) {
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    if (cluster.link_name(id) == from + " -> " + to) return cluster.link(id).figures;
  }
  FAIL("no link from " << from << " to " << to);
  return {};
}

double carried(const Cluster& cluster, const std::string& from, const std::string& to) {
  return figures(cluster, "node0/" + from, "node0/" + to).carried().bytes_per_second() / 1e9;
}

std::string way(const Cluster& cluster, int from, int to) {
  return walk(cluster, route_of(*make_router(cluster), from, to));
}

// --- NCCL

TEST_CASE("an HGX board: NVSwitches as one, a NIC next to every GPU, NCCL's bandwidths") {
  const ImportedCluster hgx = imported("hgx-h100.xml");
  CHECK(hgx.outline ==
        "4 GPUs on NVSwitches, 4 PCIe switches, 2 CPUs, 4 NICs; fabric rail_optimised of 400 Gb/s");
  CHECK(hgx.notes == Notes{});
  const ClusterFile file = read_cluster(parse_json(hgx.json, "hgx.json"), nodes(4));
  CHECK(file.device == "h100-sxm5-80gb");  // PCI id 10de:2330
  const Cluster& cluster = file.cluster;
  CHECK(cluster.ranks() == 16);
  CHECK(carried(cluster, "gpu0", "nvswitch0") == doctest::Approx(18 * 20.6));
  CHECK(carried(cluster, "gpu0", "pcie_switch2") == doctest::Approx(16 * 240 / 80.0));
  CHECK(carried(cluster, "cpu0", "cpu1") == doctest::Approx(22));  // Sapphire Rapids
  CHECK(figures(cluster, "node0/gpu0", "node0/nvswitch0").latency == 300_ns);
  CHECK(figures(cluster, "node0/nic0", "rail0/leaf0").carried() == 50_GBps);
  // GPU 0 is dev 0, behind the second cpu of the file, which is NUMA node 0.
  CHECK(way(cluster, 0, 4 + 1) ==
        "node0/gpu0 node0/nvswitch0 node0/gpu1 node0/pcie_switch3 node0/nic1 rail1/leaf0 "
        "node1/nic1 node1/pcie_switch3 node1/gpu1");
  CHECK(route_of(*make_router(cluster), 0, 4).latency ==
        2'700_ns);  // as NCCL's hop over the network
}

TEST_CASE("a mesh of NVLinks: direct cables, hexadecimal, comments, links between bridges") {
  const ImportedCluster mesh = imported("v100-mesh.xml");
  CHECK(mesh.notes == Notes{"44:8: <gizmo> is unsupported and was ignored"});
  const Cluster cluster = cluster_of(mesh);
  CHECK(carried(cluster, "gpu0", "gpu1") == doctest::Approx(20));
  CHECK(carried(cluster, "gpu0", "gpu2") == doctest::Approx(40));
  CHECK(figures(cluster, "node0/gpu0", "node0/gpu1").latency == 600_ns);
  CHECK(carried(cluster, "pcie_switch0", "pcie_switch2") == doctest::Approx(5000));
  // The bridge above the disk is gone: two nested ones and the third are left.
  CHECK(take_census(cluster).count(VertexKind::pcie_switch) == 3);
  CHECK(way(cluster, 0, 3) == "node0/gpu0 node0/gpu3");
}

TEST_CASE("the PCI tree alone: what is assumed is reported, and can be overridden") {
  const ImportedCluster plain = imported("cloud-partial.xml");
  CHECK(plain.notes ==
        Notes{"assuming the GPUs are a100-sxm4-80gb (override with --device)",
              "no NVLink in file: GPUs are joined by PCIe alone; --nvswitch LINKS (A100: 12, "
              "H100: 18) gives them one",
              "NIC speed not in file; assuming 200 Gb/s, as fast as their slot can carry "
              "(override with --nic-speed)"});
  const Cluster cluster = cluster_of(plain, nodes(2));
  // In order of bus ids: GPU 0 and 2 are below the first CPU.
  CHECK(way(cluster, 0, 2) ==
        "node0/gpu0 node0/pcie_switch1 node0/cpu0 node0/pcie_switch0 node0/gpu2");
  CHECK(way(cluster, 1, 4) ==
        "node0/gpu1 node0/pcie_switch2 node0/nic1 rail1/leaf0 node1/nic1 node1/pcie_switch2 "
        "node1/gpu1");
  CHECK(carried(cluster, "cpu0", "cpu1") == doctest::Approx(16));  // AMD

  ImportOptions told = named("told");
  told.device = load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/h100-sxm5-80gb.json");
  told.nvswitch_links = 18;
  told.nic_speed = 100_Gbps;
  told.fabric = "fat_tree";
  const ImportedCluster full = imported("cloud-partial.xml", told);
  CHECK(full.notes == Notes{});
  CHECK(full.outline ==
        "3 GPUs on NVSwitches, 3 PCIe switches, 2 CPUs, 3 NICs; fabric fat_tree of 100 Gb/s");
  const ClusterFile file = read_cluster(parse_json(full.json, "full.json"), nodes(2));
  CHECK(file.name == "told");
  CHECK(file.device == "h100-sxm5-80gb");
  CHECK(carried(file.cluster, "gpu1", "nvswitch0") == doctest::Approx(18 * 20.6));
  CHECK(figures(file.cluster, "node1/nic2", "leaf0").carried() == 100_Gbps);
}

TEST_CASE("a virtual machine: hidden NVSwitches, links and NICs that tell no speed") {
  const ImportedCluster vm = imported("vm-hidden-switch.xml");
  CHECK(vm.notes == Notes{"2 PCIe links without a speed: assuming generation 3, as NCCL does",
                          "NIC speed not in file; assuming 10000 Mb/s, NCCL's default "
                          "(override with --nic-speed)"});
  const Cluster cluster = cluster_of(vm);
  CHECK(carried(cluster, "gpu0", "nvswitch0") == doctest::Approx(18 * 20.6));
  CHECK(carried(cluster, "gpu0", "cpu0") == doctest::Approx(12));
  CHECK(carried(cluster, "cpu0", "nic0") == doctest::Approx(5000));  // without a place on PCI
}

TEST_CASE("several hosts that NVLink joins are one node, reached over its GPUs") {
  const ImportedCluster rack = imported("rack-c2c.xml");
  const ClusterFile file = read_cluster(parse_json(rack.json, "rack.json"), nodes(2));
  const Cluster& cluster = file.cluster;
  CHECK(file.device == "gb200-nvl72");
  CHECK(cluster.gpus_per_node() == 2);
  CHECK(cluster.auxiliary_ranks() == 4);
  CHECK(carried(cluster, "gpu0", "cpu0") == doctest::Approx(225));  // 10 times 22500 MB/s
  CHECK(carried(cluster, "gpu1", "nvswitch0") == doctest::Approx(18 * 40.1));
  CHECK(way(cluster, 0, 3) ==
        "node0/gpu0 node0/nvswitch0 node0/gpu1 node0/cpu1 node0/nic1 rail1/leaf0 node1/nic1 "
        "node1/cpu1 node1/gpu1");
  CHECK(way(cluster, 0, 4 + 1) == "node0/gpu0 node0/nvswitch0 node0/gpu1 node0/cpu1");
}

TEST_CASE("RCCL's files: xGMI, and a card whose two ports are one NIC in one slot") {
  const ImportedCluster fixture = imported("mi300x.xml");
  CHECK(fixture.outline == "3 GPUs on xGMI, 1 CPU, 1 NIC; fabric fat_tree of 400 Gb/s");
  const ClusterFile file = read_cluster(parse_json(fixture.json, "mi300x.json"));
  CHECK(file.device == "mi300x-192gb");
  CHECK(carried(file.cluster, "gpu0", "gpu2") == doctest::Approx(48));
  CHECK(carried(file.cluster, "nic0", "cpu0") == doctest::Approx(48));  // 16 lanes of PCIe 5
  CHECK(take_census(file.cluster).count(VertexKind::nic) == 1);
}

TEST_CASE("several NICs for every GPU are one, slow ones next to them are left out") {
  const ImportedCluster fixture = imported("many-nics.xml");
  CHECK(fixture.notes ==
        Notes{"left out: 0000:c0:00.0, eth0 (a NIC slower than the others of 100 Gb/s)",
              "4 NICs side by side are taken as one"});
  const Cluster cluster = cluster_of(fixture, nodes(2));
  CHECK(take_census(cluster).count(VertexKind::nic) == 4);
  CHECK(figures(cluster, "node0/nic1", "rail1/leaf0").carried() == 400_Gbps);
  CHECK(carried(cluster, "pcie_switch0", "nic0") == doctest::Approx(4 * 24));
  CHECK(carried(cluster, "gpu0", "gpu1") == doctest::Approx(18 * 20.6));
}

TEST_CASE("machines that nothing joins are nodes, where they are alike") {
  const ImportedCluster two = imported("two-systems.xml");
  CHECK(two.notes == Notes{"the file holds 2 machines that nothing joins: written as 2 nodes like "
                           "the first"});
  const Cluster cluster = cluster_of(two);
  CHECK(cluster.nodes() == 2);
  CHECK(cluster.ranks() == 2);
  // NVLink straight to the CPU, three bricks of POWER9; its PCIe link is of no use beside that.
  CHECK(carried(cluster, "gpu0", "cpu0") == doctest::Approx(60));
  CHECK(way(cluster, 0, 1) ==
        "node0/gpu0 node0/cpu0 node0/nic0 leaf0 node1/nic0 node1/cpu0 node1/gpu0");
  const std::string other = fixture("two-systems.xml") + fixture("mi300x.xml");
  CHECK(
      refusal_of(other).find("t:1:1: error: the file holds 3 machines that nothing joins and that "
                             "differ: expected one, or several alike") == 0);
}

// --- nvidia-smi

TEST_CASE("nvidia-smi: NVSwitches where the links are more than a GPU has, NICs by their bridges") {
  const ImportedCluster hgx = imported("h100-smi.txt");
  CHECK(hgx.notes ==
        Notes{"assuming PCIe generation 5 with 16 lanes, as of h100-sxm5-80gb",
              "assuming AMD's links between CPUs, 16 GB/s",
              "assuming the GPUs are h100-sxm5-80gb (override with --device)",
              "NIC speed not in file; assuming 400 Gb/s, as fast as their slot can carry "
              "(override with --nic-speed)",
              "left out: NIC4, mlx5_4 (a NIC that no GPU is nearest to)"});
  const Cluster cluster = cluster_of(hgx, nodes(2));
  CHECK(carried(cluster, "gpu3", "nvswitch0") == doctest::Approx(18 * 20.6));
  CHECK(way(cluster, 2, 4 + 2) ==
        "node0/gpu2 node0/pcie_switch2 node0/nic2 rail2/leaf0 node1/nic2 node1/pcie_switch2 "
        "node1/gpu2");
  CHECK(hgx.json.find(R"("id": "nic2", "kind": "nic", "rail": 2, "source": "NIC2, mlx5_2")") !=
        std::string::npos);
}

TEST_CASE("nvidia-smi: direct NVLinks, CPUs by NUMA affinity, NICs as asked for") {
  const ImportedCluster alone = imported("a100-smi.txt");
  CHECK(alone.notes.back() ==
        "there is no NIC: the cluster is this one node; --nic-speed gives every GPU one");
  CHECK(cluster_of(alone).ranks() == 4);
  ImportOptions options = named("m");
  options.nic_speed = 200_Gbps;
  options.device = load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/a100-sxm4-40gb.json");
  const ImportedCluster joined = imported("a100-smi.txt", options);
  const Cluster cluster = cluster_of(joined, nodes(2));
  CHECK(carried(cluster, "gpu0", "gpu3") == doctest::Approx(4 * 20));
  CHECK(carried(cluster, "gpu0", "cpu0") == doctest::Approx(24));
  CHECK(way(cluster, 0, 4) ==
        "node0/gpu0 node0/cpu0 node0/nic0 rail0/leaf0 node1/nic0 node1/cpu0 node1/gpu0");
}

TEST_CASE("nvidia-smi: an old driver's words, copied from a screen") {
  const Cluster cluster = cluster_of(imported("v100-smi.txt"));
  // GPUs 0 and 1 share a bridge with the NIC; the third is below another CPU.
  CHECK(carried(cluster, "gpu0", "gpu1") == doctest::Approx(2 * 20));
  CHECK(way(cluster, 1, 2) == "node0/gpu1 node0/pcie_switch0 node0/cpu0 node0/cpu1 node0/gpu2");
  CHECK(carried(cluster, "gpu2", "cpu1") == doctest::Approx(12));
}

TEST_CASE("nvidia-smi: bridges within bridges") {
  const Cluster cluster = cluster_of(imported("pcie-smi.txt"));
  CHECK(way(cluster, 0, 1) == "node0/gpu0 node0/pcie_switch0 node0/gpu1");
  CHECK(way(cluster, 0, 2) == "node0/gpu0 node0/pcie_switch0 node0/pcie_switch1 node0/gpu2");
  CHECK(way(cluster, 2, 3) == "node0/gpu2 node0/pcie_switch1 node0/cpu0 node0/gpu3");
}

// --- all of them

void check_usable(const std::string& text, const std::string& name) {
  CAPTURE(name);
  ImportOptions options = named("m");
  options.nic_speed = 100_Gbps;
  const ImportedCluster machine = import_topology(text, name, options);
  const SchemaAgreement agreement{
      LOCKSTEP_SOURCE_DIR "/configs/schema/cluster.schema.json",
      [](std::string_view json) { (void)read_cluster(parse_json(json, "c.json")); }};
  CHECK(agreement.verdict(machine.json) == "both accept");
  const Cluster cluster = cluster_of(machine, nodes(3));
  const auto router = make_router(cluster);
  for (int from = 0; from < cluster.endpoints(); ++from) {
    for (int to = 0; to < cluster.endpoints(); ++to) {
      CHECK(route_of(*router, from, to).paths > 0);
    }
  }
  CHECK(import_topology(text, name, options).json == machine.json);
}

TEST_CASE("every fixture becomes nodes that a fabric joins, and the same file every time") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kData))
    files.push_back(entry.path());
  CHECK(files.size() == 15);
  for (const auto& file : files) check_usable(text_of_file(file), file.filename());
}

TEST_CASE("files that others wrote") {
  if (!std::filesystem::exists(kCorpus)) {
    MESSAGE("not here: " << kCorpus);
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    check_usable(text_of_file(entry.path()), entry.path().filename());
  }
  const auto read = [](const std::string& name) {
    return import_topology(text_of_file(kCorpus + "/" + name), name, named("m"));
  };
  const ImportedCluster perlmutter = read("perlmutter-4xA100-topo.xml");
  CHECK(perlmutter.notes.empty());
  CHECK(perlmutter.outline ==
        "4 GPUs on NVLink, 4 CPUs, 4 NICs; fabric rail_optimised of 200 Gb/s");
  const Cluster cluster = cluster_of(perlmutter, nodes(4));
  CHECK(carried(cluster, "gpu0", "gpu3") == doctest::Approx(80));
  // GPU 0 is on NUMA node 3, beside cxi3.
  CHECK(way(cluster, 0, 4) ==
        "node0/gpu0 node0/cpu3 node0/nic3 rail3/leaf0 node1/nic3 node1/cpu3 node1/gpu0");
  CHECK(read("ndv4-topo.xml").outline ==
        "8 GPUs, 4 PCIe switches, 4 CPUs, 8 NICs; fabric rail_optimised of 200 Gb/s");
  CHECK(read("ndv5-topo.xml").outline ==
        "8 GPUs, 8 PCIe switches, 2 CPUs, 8 NICs; fabric rail_optimised of 400 Gb/s");
  // The matrix of the same machine: its GPUs and NVLinks, no NICs.
  const Cluster matrix = cluster_of(read("perlmutter-4xA100-nvidia-smi-topo-m.txt"));
  CHECK(carried(matrix, "gpu0", "gpu3") == doctest::Approx(80));
}

// --- options and files that cannot be

TEST_CASE("what does not go with the file is refused") {
  ImportOptions options = named("m");
  options.nvswitch_links = 18;
  CHECK(refusal_of(fixture("hgx-h100.xml"), options) ==
        "--nvswitch: the file specifies the NVLinks itself");
  options = named("m");
  options.fabric = "fat-tree";
  CHECK(refusal_of(fixture("hgx-h100.xml"), options) ==
        "--fabric: expected one of rail_optimised, fat_tree, star, got \"fat-tree\"; did you mean "
        "\"fat_tree\"?");
  options = named("m");
  options.nic_speed = Rate::bytes_per_second(1);
  CHECK(refusal_of(fixture("hgx-h100.xml"), options).find("expected at least 1 Mb/s") !=
        std::string::npos);
  CHECK(refusal_of("").find("t:1:1: error: expected an NCCL topology (XML, <system>) or what "
                            "`nvidia-smi topo -m` prints, got nothing") == 0);
  CHECK(refusal_of("{\"name\": 1}\n").find("got \"{\\\"") == std::string::npos);
  CHECK(refusal_of("GPU0\n").find("t:2:1: error: expected a row of \"GPU0\" before the end") == 0);
}

TEST_CASE("one GPU is a machine as well") {
  const std::string one =
      "<system version=\"1\"><cpu><pci class=\"0x0302\" busid=\"1\"/></cpu></system>";
  const ImportedCluster machine = import_topology(one, "one.xml", named("m"));
  CHECK(machine.outline == "1 GPU, 1 CPU");
  CHECK(cluster_of(machine).ranks() == 1);
  CHECK(cluster_of(import_topology("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n", "one.txt", named("m")))
            .ranks() == 1);
}

}  // namespace
}  // namespace lockstep
