#include <doctest/doctest.h>

#include <algorithm>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "tests/topologies/import/import_helpers.hpp"
#include "topologies/analysis/analysis.hpp"

/// Machines as people have them, in texts as people paste them.
namespace lockstep {
namespace {

using Notes = std::vector<std::string>;

bool contains(const Notes& notes, const std::string& note) {
  return std::ranges::find(notes, note) != notes.end();
}

/// A matrix from its names and the cells above its diagonal; affinities stand behind the rows.
std::string matrix(const std::vector<std::string>& names, const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& name : names) text += "\t" + name;
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (std::size_t i = 0; i < names.size(); ++i) text += names[i] + "\t" + rows[i] + "\n";
  return text;
}

ImportedCluster read(const std::string& text, const ImportOptions& options = named("m")) {
  return import_topology(text, "t", options);
}

std::string rails(const ImportedCluster& machine) {
  const Cluster cluster = cluster_of(machine);
  std::string out;
  for (int gpu = 0; gpu < cluster.gpus_per_node(); ++gpu) {
    const std::string id =
        "{\"id\": \"gpu" + std::to_string(gpu) + "\", \"kind\": \"gpu\", \"rail\": ";
    const auto at = machine.json.find(id);
    REQUIRE(at != std::string::npos);
    out += (out.empty() ? "" : " ") +
           machine.json.substr(at + id.size(),
                               machine.json.find_first_of(",}", at + id.size()) - at - id.size());
  }
  return out;
}

int count(const ImportedCluster& machine, VertexKind kind) {
  return static_cast<int>(take_census(cluster_of(machine)).count(kind));
}

/// GPUs 0 to 3 behind one NVSwitch or not, and their links.
std::string four_gpus(const std::string& link) {
  return matrix({"GPU0", "GPU1", "GPU2", "GPU3"},
                {"X\t" + link + "\t" + link + "\t" + link + "\t0-7\t0",
                 link + "\tX\t" + link + "\t" + link + "\t0-7\t0",
                 link + "\t" + link + "\tX\t" + link + "\t8-15\t1",
                 link + "\t" + link + "\t" + link + "\tX\t8-15\t1"});
}

}  // namespace

TEST_CASE("DGX A100: a NIC for each GPU of a pair, and cards of two ports for storage") {
  const ImportedCluster dgx = imported("dgx-a100-smi.txt");
  CHECK(dgx.outline ==
        "8 GPUs on NVSwitches, 4 PCIe switches, 6 CPUs, 8 NICs; fabric rail_optimised of 200 Gb/s");
  CHECK(rails(dgx) == "0 1 2 3 4 5 6 7");
  CHECK(contains(dgx.notes, "NIC4 and NIC5 are assumed to be the ports of one card, one NIC"));
  CHECK(contains(dgx.notes,
                 "left out: NIC4, mlx5_4 and NIC5, mlx5_5, ports of one card; NIC10, mlx5_10 and "
                 "NIC11, mlx5_11, ports of one card (NICs that no GPU is nearest to)"));
}

TEST_CASE("what stands around a matrix is skipped, and reported") {
  const ImportedCluster pasted = imported("pasted-smi.txt");
  CHECK(pasted.notes[0] == "line 28: a table of `nvidia-smi topo -p2p` is skipped");
  // The prompt, the date and the six lines of nvidia-smi's own table.
  CHECK(pasted.notes[1] == "8 lines that are no part of the matrix are skipped, from line 1 on");
  // GPU 2 shares NIC 1 with GPU 1, by NODE; NIC 0 is SYS away.
  CHECK(rails(pasted) == "0 1 1");
  CHECK(pasted.outline.find("3 GPUs on NVSwitches") == 0);
}

TEST_CASE("tables of topo -p2p before the matrix, the matrix twice, two machines") {
  const std::string p2p = "\tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n";
  const std::string two = matrix({"GPU0", "GPU1"}, {"X\tNV4\t0-7\t0", "NV4\tX\t0-7\t0"});
  CHECK(read(p2p + two).notes[0] == "line 1: a table of `nvidia-smi topo -p2p` is skipped");
  CHECK(read(two + "\n" + two).notes[0] == "line 5: the same matrix once more is skipped");
  std::string other = two;
  for (std::size_t at = other.find("NV4"); at != std::string::npos; at = other.find("NV4"))
    other.replace(at, 3, "NV2");
  CHECK(refusal_of(two + other)
            .find("t:4:1: error: a second matrix, which differs from the first: "
                  "expected that of one machine") == 0);
  CHECK(refusal_of(p2p).find("t:1:1: error: expected the heading of `nvidia-smi topo -m`: GPU0 and "
                             "so on, got only what `nvidia-smi topo -p2p` prints") == 0);
}

TEST_CASE("tables of AMD's tools are refused with what to give instead") {
  const std::string rocm =
      "======================= Link Type between two GPUs =======================\n"
      "       GPU0         GPU1\nGPU0   0            XGMI\nGPU1   XGMI         0\n";
  const std::string refused = refusal_of(rocm);
  CHECK(refused.find("t:3:21: error: these are tables of rocm-smi or amd-smi: expected an NCCL "
                     "topology; RCCL writes that") == 0);
  CHECK(refused.find('\n') + std::string("1 error; nothing was run").size() + 1 >= refused.size());
}

TEST_CASE("the nearest NIC of a matrix is that of the best path, not of the fewest switches") {
  // The GPU and its PXB NIC hang on two bridges below a third; the PHB NIC hangs on the CPU.
  const ImportedCluster pxb = read(matrix(
      {"GPU0", "GPU1", "NIC0", "NIC1", "NIC2"},
      {"X\tPIX\tPHB\tPXB\tPXB\t0-7\t0", "PIX\tX\tPHB\tPXB\tPXB\t0-7\t0",
       "PHB\tPHB\tX\tPHB\tPHB\t\t", "PXB\tPXB\tPHB\tX\tPIX\t\t", "PXB\tPXB\tPHB\tPIX\tX\t\t"}));
  CHECK(pxb.notes.back() == "left out: NIC0 (a NIC that no GPU is nearest to)");
  CHECK(rails(pxb) == "0 1");
  // NIC 0 is on the host bridge of GPU 0 (PHB), NIC 1 on another of the NUMA node (NODE).
  const ImportedCluster phb = read(matrix(
      {"GPU0", "GPU1", "NIC0", "NIC1"}, {"X\tNODE\tNODE\tPHB\t0-7\t0", "NODE\tX\tPHB\tNODE\t0-7\t0",
                                         "NODE\tPHB\tX\tNODE\t\t", "PHB\tNODE\tNODE\tX\t\t"}));
  CHECK(rails(phb) == "1 0");
}

TEST_CASE("a NIC with two ports is no extra hop and no extra device") {
  // NIC 0 and 1 are functions of one card on the GPU's host bridge, NIC 2 is on another (NODE).
  const ImportedCluster card = read(matrix({"GPU0", "NIC0", "NIC1", "NIC2"},
                                           {"X\tPHB\tPHB\tNODE\t0-7\t0", "PHB\tX\tPIX\tNODE\t\t",
                                            "PHB\tPIX\tX\tNODE\t\t", "NODE\tNODE\tNODE\tX\t\t"}));
  CHECK(count(card, VertexKind::pcie_switch) == 0);
  CHECK(count(card, VertexKind::nic) == 1);
  CHECK(card.json.find("\"source\": \"NIC0 and NIC1, ports of one card\"") != std::string::npos);
}

TEST_CASE("more NVLinks than a GPU has are those of one NVSwitch") {
  // NV18 to each of three: 54 where an H100 has 18. NV4 to each: 12, all that an A100 has.
  const ImportedCluster hgx = read(four_gpus("NV18"));
  CHECK(hgx.outline.find("4 GPUs on NVSwitches") == 0);
  CHECK(count(hgx, VertexKind::nvswitch) == 1);
  CHECK(hgx.json.find("bandwidth: 18 x 25 GB/s in one direction") != std::string::npos);
  CHECK(count(read(four_gpus("NV4")), VertexKind::nvswitch) == 0);
  // One GPU off the NVLink leaves the others behind their NVSwitch.
  std::string off = four_gpus("NV18");
  off.replace(off.rfind("GPU3"), std::string::npos, "GPU3\tSYS\tSYS\tSYS\tX\t8-15\t1\n");
  for (const std::string row :
       {"GPU0\tX\tNV18\tNV18\t", "GPU1\tNV18\tX\tNV18\t", "GPU2\tNV18\tNV18\tX\t"})
    off.replace(off.find(row) + row.size(), 4, "SYS");
  const ImportedCluster three = read(off);
  CHECK(count(three, VertexKind::nvswitch) == 1);
  CHECK(three.json.find("{\"between\": [\"gpu2\", \"nvswitch0\"]") != std::string::npos);
  CHECK(three.json.find("{\"between\": [\"gpu3\", \"nvswitch0\"]") == std::string::npos);
  // NV24 of a GPU that has 18.
  ImportOptions h100 = named("m");
  h100.device = load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/h100-sxm5-80gb.json");
  const ImportedCluster many = read(four_gpus("NV24"), h100);
  CHECK(many.notes[1] == "assuming AMD's links between CPUs, 16 GB/s");
  CHECK(contains(many.notes, "NV24 is more than the 18 NVLinks of h100-sxm5-80gb: assuming 18"));
  CHECK(many.json.find("bandwidth: 18 x 25 GB/s in one direction") != std::string::npos);
}

TEST_CASE("GPUs that are all SYS to each other sit on the CPUs of their affinity") {
  const ImportedCluster vm = read(four_gpus("SYS"));
  CHECK(count(vm, VertexKind::cpu) == 2);
  const Cluster cluster = cluster_of(vm);
  CHECK(walk(cluster, route_of(*make_router(cluster), 0, 1)) == "node0/gpu0 node0/cpu0 node0/gpu1");
  CHECK(walk(cluster, route_of(*make_router(cluster), 0, 2)) ==
        "node0/gpu0 node0/cpu0 node0/cpu1 node0/gpu2");
}

TEST_CASE("an NVLink of a GPU to itself is ignored, one to a NIC refused") {
  const ImportedCluster self =
      read(matrix({"GPU0", "GPU1"}, {"NV4\tNV4\t0-7\t0", "NV4\tX\t0-7\t0"}));
  CHECK(self.notes[0] == "NV4 of GPU0 to itself is ignored");
  CHECK(self.outline == "2 GPUs on NVLink, 1 CPU");
  CHECK(refusal_of(matrix({"GPU0", "NIC0"}, {"X\tNV4\t0-7\t0", "NV4\tX\t\t"}))
            .find("t:2:8: error: GPU0 to NIC0: expected NVLinks between GPUs alone, got \"NV4\"") ==
        0);
}

// --- NCCL's files

TEST_CASE("functions and ports of one device are one NIC, other names of it and bonds none") {
  const ImportedCluster fixture = imported("two-ports.xml");
  // 18:00.0 and .1 are two ports of 100 Gb/s in one slot, 98:00.0 has two ports of its own; b8:00.0
  // has the guid of 18:00. What hangs on the CPU without a place on PCI is no NIC beside these,
  // whatever it says of its speed.
  CHECK(fixture.outline == "2 GPUs, 2 CPUs, 2 NICs; fabric rail_optimised of 200 Gb/s");
  CHECK(
      fixture.notes ==
      Notes{"left out: 0000:b8:00.0, mlx5_3 (the same device as 0000:18:00.0, mlx5_0, mlx5_1, "
            "ens2f1np1: guid 0xa1)",
            "left out: eth0; veth5f3a; docker0; bond0 (network interfaces without a place on PCI)",
            "2 ports of one device are one NIC: 0000:18:00.0, mlx5_0, mlx5_1",
            "left out: 1 of the network devices of 0000:18:00.0, mlx5_0, mlx5_1 (other names of "
            "its ports)",
            "2 ports of one device are one NIC: 0000:98:00.0, mlx5_2, mlx5_2",
            "no NVLink in file: GPUs are joined by PCIe alone; --nvswitch LINKS (A100: 12, "
            "H100: 18) gives them one"});
  const Cluster cluster = cluster_of(fixture, nodes(2));
  CHECK(walk(cluster, route_of(*make_router(cluster), 0, 2)) ==
        "node0/gpu0 node0/cpu0 node0/nic0 rail0/leaf0 node1/nic0 node1/cpu0 node1/gpu0");
}

TEST_CASE("where PCI has no NIC the system's interfaces are it, but for virtual ones") {
  const auto with = [](const std::string& nets) {
    return read(
        "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"A\" class=\"0x030200\"/><nic>" +
        nets + "</nic></cpu></system>");
  };
  const std::string docker = "<net name=\"docker0\" dev=\"1\" speed=\"10000\"/>";
  CHECK(with("<net name=\"eth0\" dev=\"0\" speed=\"25000\"/>" + docker).outline ==
        "1 GPU, 1 CPU, 1 NIC; fabric fat_tree of 25 Gb/s");
  CHECK(with(docker).outline == "1 GPU, 1 CPU");
}

TEST_CASE("a speed that cannot be is overridden by --nic-speed, else refused with that hint") {
  const auto with = [](const std::string& speed) {
    return "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"A\" class=\"0x030200\"/>\n<pci "
           "busid=\"B\" class=\"0x0207\"><nic><net name=\"mlx5_0\" dev=\"0\" speed=\"" +
           speed + "\"/></nic></pci></cpu></system>";
  };
  ImportOptions options = named("m");
  options.nic_speed = 400_Gbps;
  for (const std::string speed : {"4294967295", "100000001", "fast", "400000.5"}) {
    CAPTURE(speed);
    CHECK(
        refusal_of(with(speed))
            .find(
                "t:2:63: error: speed: expected an integer number of Mb/s up to 100000000, got \"" +
                speed + "\"; --nic-speed specifies that of every NIC") == 0);
    const ImportedCluster told = read(with(speed), options);
    CHECK(told.notes[0] == "the speed of a NIC that cannot be is ignored");
    CHECK(told.outline == "1 GPU, 1 CPU, 1 NIC; fabric fat_tree of 400 Gb/s");
  }
}

TEST_CASE("NVLinks of a file: to itself, more than a GPU has, to several NVSwitches") {
  const auto gpu = [](int id, const std::string& links) {
    return "<pci busid=\"0000:0" + std::to_string(id) +
           ":00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\"><gpu dev=\"" +
           std::to_string(id) + "\" sm=\"90\">" + links + "</gpu></pci>\n";
  };
  const auto to = [](int id, int count) {
    return "<nvlink target=\"0000:0" + std::to_string(id) + ":00.0\" count=\"" +
           std::to_string(count) + "\" tclass=\"0x030200\"/>";
  };
  const auto fixture = [](const std::string& gpus) {
    return read("<system version=\"1\"><cpu numaid=\"0\">\n" + gpus + "</cpu></system>");
  };
  const ImportedCluster itself = fixture(gpu(0, to(0, 4) + to(1, 6)) + gpu(1, to(0, 6)));
  CHECK(itself.notes == Notes{"a link of a GPU to itself is ignored",
                              "2 PCIe links without a speed: assuming generation 3, as NCCL does",
                              "there is no NIC: the cluster is this one node; --nic-speed gives "
                              "every GPU one"});
  CHECK(itself.outline == "2 GPUs on NVLink, 1 CPU");
  // All 18 links of an H100 to each of two others: 36 of 18.
  const ImportedCluster mesh =
      fixture(gpu(0, to(1, 18) + to(2, 18)) + gpu(1, to(0, 18) + to(2, 18)) +
              gpu(2, to(0, 18) + to(1, 18)));
  CHECK(mesh.outline == "3 GPUs on NVSwitches, 1 CPU");
  CHECK(mesh.json.find("bandwidth: 18 x 25 GB/s in one direction") != std::string::npos);
  // 18 to each of four NVSwitches: 72 of 18.
  std::string links;
  for (const char* target : {"4", "5", "6", "7"})
    links += std::string{"<nvlink target=\"0000:0"} + target +
             ":00.0\" count=\"18\" tclass=\"0x068000\"/>";
  const ImportedCluster switched = fixture(gpu(0, links) + gpu(1, links));
  CHECK(switched.notes[0] ==
        "0000:00:00.0: 72 NVLinks to NVSwitches are more than a GPU has: assuming 18");
  CHECK(switched.json.find("bandwidth: 18 x 25 GB/s in one direction") != std::string::npos);
}

}  // namespace lockstep
