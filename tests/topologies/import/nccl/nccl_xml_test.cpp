#include "topologies/import/nccl/nccl_xml.hpp"

#include <doctest/doctest.h>

#include "tests/topologies/import/import_helpers.hpp"

namespace lockstep {
namespace {

std::string system_of(const std::string& inside) {
  return "<system version=\"1\">\n<cpu numaid=\"0\">\n" + inside + "\n</cpu>\n</system>\n";
}

/// One GPU with what is inside its <gpu>.
std::string gpu_with(const std::string& inside) {
  return system_of(
      "<pci busid=\"A\" class=\"0x030200\"><gpu dev=\"0\" sm=\"80\">\n" + inside +
      "\n</gpu></pci>\n<pci busid=\"B\" class=\"0x030200\"><gpu dev=\"1\" sm=\"80\"/></pci>");
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string refused(const std::string& text) {
  return first_line(refusal_of(text));
}

TEST_CASE("malformed XML: where, what was found and what is expected") {
  CHECK(refused("<system version=\"1\">\n <cpu>\n") ==
        "t:3:1: error: the file ends before its elements do");
  CHECK(refused("<system>\n<cpu numaid=0>\n</cpu></system>") ==
        "t:2:13: error: malformed attribute: expected NAME=\"VALUE\", got \"0>\"");
  CHECK(refused("<system>\n<cpu></pci></system>") ==
        "t:2:8: error: this end belongs to no open element, got \"pci></system>\"");
  CHECK(refused("<system><!-- never closed") ==
        "t:1:26: error: a comment has no end, \"-->\", got the end of the file");
  CHECK(refused("<system>< cpu/></system>").find("t:1:10: error: not an element: expected <NAME") ==
        0);
}

TEST_CASE("another root is refused, with what it is where that is known") {
  CHECK(refused("<graphs version=\"1\"/>") ==
        "t:1:2: error: expected <system>, the root of an NCCL topology, got <graphs>: this is a "
        "file of NCCL_GRAPH_DUMP_FILE");
  CHECK(refused("<system version=\"1\"/>") ==
        "t:1:1: error: there is no <cpu> and no <pci> in a <system>");
  CHECK(refused("<system version=\"3\"><cpu/></system>") ==
        "t:1:9: error: version: expected an integer from 1 to 2, got \"3\"");
  CHECK(refused(system_of("<pci busid=\"A\" class=\"0x0207\"/>")) ==
        "t:1:1: error: there is no GPU: expected <pci class=\"0x030200\"> or <gpu>");
}

TEST_CASE("every fault of a file at its place") {
  CHECK(refusal_of(system_of("<pci busid=\"A\" class=\"0x030200\" link_width=\"x16\"/>\n"
                             "<pci busid=\"B\"/>\n<pci busid=\"C\" class=\"gpu\"/>")) ==
        "t:3:33: error: link_width: expected an integer from 0 to 1024, got \"x16\"\n"
        "t:4:2: error: class: expected a PCI class such as 0x030200 (GPU), 0x020700 (NIC) or "
        "0x060400 (bridge), got none\n"
        "t:5:16: error: class: expected a PCI class such as 0x030200 (GPU), 0x020700 (NIC) or "
        "0x060400 (bridge), got \"gpu\"\n"
        "3 errors; nothing was run");
  CHECK(refused(system_of(
            "<pci busid=\"A\" class=\"0x0302\"/>\n<pci busid=\"a\" class=\"0x0302\"/>")) ==
        "t:4:2: error: busid: there is a GPU at \"a\" already");
}

TEST_CASE("NVLinks that cannot be") {
  CHECK(refused(gpu_with("<nvlink target=\"B\"/>")) ==
        "t:4:2: error: <nvlink> without count: expected an integer from 1 to 1024");
  CHECK(refused(gpu_with("<nvlink count=\"1\"/>")) ==
        "t:4:2: error: <nvlink> without a target: expected the bus id of what it leads to");
  CHECK(refused(gpu_with("<nvlink target=\"B\" count=\"0\"/>")) ==
        "t:4:20: error: count: expected an integer from 1 to 1024, got \"0\"");
  CHECK(refused(gpu_with("<c2c count=\"1\"/>")) ==
        "t:4:2: error: <c2c> without bw: expected an integer from 1 to 100000000");
  const std::string two = system_of(
      "<pci busid=\"A\" class=\"0x0302\"><gpu dev=\"0\"><nvlink target=\"B\" "
      "count=\"2\"/></gpu></pci>\n"
      "<pci busid=\"B\" class=\"0x0302\"><gpu dev=\"1\"><nvlink target=\"A\" "
      "count=\"3\"/></gpu></pci>");
  CHECK(refused(two) == "t:4:45: error: count: expected 2 as the other end says, got 3");
}

TEST_CASE("a GPU without a bus id can still tell its links") {
  const std::string text = system_of(
      "<pci class=\"0x0302\"><gpu dev=\"0\"><nvlink target=\"B\" count=\"2\"/></gpu></pci>\n"
      "<pci busid=\"B\" class=\"0x0302\"><gpu dev=\"1\"/></pci>");
  CHECK(import_topology(text, "t", named("m")).outline == "2 GPUs on NVLink, 1 CPU");
}

TEST_CASE("links to what is not there are left out, and reported") {
  const auto notes = [](const std::string& text) {
    return import_topology(text, "t", named("m")).notes;
  };
  CHECK(notes(gpu_with("<nvlink target=\"C\" count=\"4\" tclass=\"0x030200\"/>")).front() ==
        "4:2: a link to \"c\", which is not in the file, was left out");
  CHECK(notes(gpu_with("<nvlik target=\"C\"/>")).front() ==
        "4:2: <nvlik> is unsupported and was ignored; did you mean <nvlink>?");
  const auto many = notes(gpu_with("<a/><a/><a/><a/><a/><a/><a/>"));
  CHECK(many[5] == "2 more elements were ignored");
  CHECK(refused(system_of("<pci busid=\"A\" class=\"0x0604\"><pcilink target=\"Z\"/><pci "
                          "class=\"0x0302\"/></pci>")) ==
        "t:3:2: error: pcilink: expected the bus id of another bridge, got \"z\"");
}

TEST_CASE("what is nested too deep or too large is refused") {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<pci class=\"0x0604\">";
  for (int i = 0; i < 100; ++i) deep += "</pci>";
  CHECK(refused(system_of(deep)).find("more than 64 <pci> in one another") != std::string::npos);
  std::string many;
  for (int i = 0; i < 600; ++i) many += "<pci class=\"0x0302\"/>";
  CHECK(refused(system_of(many)) ==
        "t:1:1: error: a node holds at most 512 GPUs and CPUs together, got 601");
  CHECK(refused(std::string(9'000'000, ' ')).find("larger than 8 MiB") != std::string::npos);
}

TEST_CASE("PCIe speeds as NCCL reads them") {
  CHECK(pcie_generation("2.5 GT/s") == 1);
  CHECK(pcie_generation("5 GT/s") == 2);
  CHECK(pcie_generation("8.0 GT/s PCIe") == 3);
  CHECK(pcie_generation("16 GT/s") == 4);
  CHECK(pcie_generation("32.0 GT/s PCIe") == 5);
  CHECK(pcie_generation("64.0 GT/s PCIe") == 6);
  CHECK_FALSE(pcie_generation(""));
  CHECK_FALSE(pcie_generation("Unknown"));
  CHECK_FALSE(pcie_generation("7 GT/s"));
  // width * speed / 80, with 15 to 480 for the generations (kvDictPciGen)
  const std::vector<double> sixteen{3, 6, 12, 24, 48, 96};
  for (int generation = 1; generation <= 6; ++generation) {
    const double carried = pcie_of(generation, 16).figures.carried().bytes_per_second() / 1e9;
    CHECK(carried == doctest::Approx(sixteen[static_cast<std::size_t>(generation) - 1]));
  }
}

TEST_CASE("NVLinks and CPUs by NCCL's constants") {
  const auto nvlink = [](int capability) {
    return nvlink_of(capability, 1, NvlinkEnd::device).figures.carried().bytes_per_second() / 1e9;
  };
  CHECK(nvlink(60) == doctest::Approx(18));
  CHECK(nvlink(70) == doctest::Approx(20));
  CHECK(nvlink(80) == doctest::Approx(20));
  CHECK(nvlink(86) == doctest::Approx(12).epsilon(1e-4));
  CHECK(nvlink(89) == doctest::Approx(20));
  CHECK(nvlink(90) == doctest::Approx(20.6));
  CHECK(nvlink(100) == doctest::Approx(40.1));
  CHECK(nvlink(0) == doctest::Approx(20));  // not told: as 8.0
  const auto cpu = [](const CpuModel& model) {
    return link_between(model).figures.carried().bytes_per_second() / 1e9;
  };
  CHECK(cpu({"x86_64", "GenuineIntel", 6, 0x4F}) == doctest::Approx(6));
  CHECK(cpu({"x86_64", "GenuineIntel", 6, 0x55}) == doctest::Approx(10));
  CHECK(cpu({"x86_64", "GenuineIntel", 6, 0x8F}) == doctest::Approx(22));
  CHECK(cpu({"x86_64", "GenuineIntel", 6, 0xCF}) == doctest::Approx(40));
  CHECK(cpu({"x86_64", "AuthenticAMD", 25, 1}) == doctest::Approx(16));
  CHECK(cpu({"x86_64", "CentaurHauls", 7, 0x5B}) == doctest::Approx(9));
  CHECK(cpu({"ppc64", "", 0, 0}) == doctest::Approx(32));
  CHECK(cpu({"arm64", "", 0, 0}) == doctest::Approx(6));
}

}  // namespace
}  // namespace lockstep
