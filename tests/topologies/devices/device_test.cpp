#include "topologies/devices/device.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/json.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

using namespace lockstep;

namespace {

const std::filesystem::path kDevices = LOCKSTEP_SOURCE_DIR "/configs/devices";
const std::filesystem::path kSchema = LOCKSTEP_SOURCE_DIR "/configs/schema/device.schema.json";

Device shipped(const std::string& id) {
  return load_device(kDevices / (id + ".json"));
}

Device device_from(std::string_view text) {
  return read_device(parse_json(text, "d.json"), "d");
}

SchemaAgreement agreement() {
  return {kSchema, [](std::string_view text) { (void)device_from(text); }};
}

std::string good_gpu() {
  return text_of_file(kDevices / "h100-sxm5-80gb.json");
}

std::string error_of(std::string_view text) {
  try {
    (void)device_from(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the shipped devices are those that configs, measurements and the catalogue name") {
  const std::vector<std::string> expected = {"a100-pcie-80gb",
                                             "a100-sxm4-40gb",
                                             "a100-sxm4-80gb",
                                             "b200-sxm-180gb",
                                             "b300-sxm-270gb",
                                             "epyc-7742-2s",
                                             "gb200-nvl72",
                                             "gb300-nvl72",
                                             "gh200-144gb",
                                             "gh200-96gb",
                                             "grace-480gb",
                                             "h100-nvl-94gb",
                                             "h100-pcie-80gb",
                                             "h100-sxm5-80gb",
                                             "h100-sxm5-96gb-500w",
                                             "h20-sxm5-96gb",
                                             "h200-sxm5-141gb",
                                             "h800-sxm5-80gb",
                                             "host",
                                             "l40s-48gb",
                                             "mi300x-192gb",
                                             "mi325x-256gb",
                                             "mi355x-288gb",
                                             "rtx-4090-24gb",
                                             "rtx-6000-ada-48gb",
                                             "rubin-nvl72",
                                             "tpu-v5p",
                                             "tpu-v6e",
                                             "tpu-v7",
                                             "trainium2",
                                             "trainium3",
                                             "v100-sxm2-16gb",
                                             "v100-sxm2-32gb",
                                             "v100-sxm3-32gb"};
  CHECK(device_ids(kDevices) == expected);
}

TEST_CASE("an announced device rests on what its maker announced and on assumptions") {
  const std::array<std::int64_t, 6> known = count_provenance(shipped("rubin-nvl72").sources);
  for (const Provenance surer :
       {Provenance::source_code, Provenance::measured, Provenance::fitted, Provenance::datasheet})
    CHECK(known[static_cast<std::size_t>(surer)] == 0);
  CHECK(known[static_cast<std::size_t>(Provenance::announced)] >= 11);
}

TEST_CASE("an H100 reads as its datasheet has it") {
  const Device h100 = shipped("h100-sxm5-80gb");
  CHECK(h100.id == "h100-sxm5-80gb");
  CHECK(h100.kind == DeviceKind::kGpu);
  CHECK(h100.memory->size == 80_GiB);
  CHECK(h100.memory->bandwidth == 3350_GBps);
  CHECK(h100.peak(Precision::kBf16)->per_second() == 989.4e12);  // dense; 1979 is with sparsity
  CHECK(h100.multiprocessors == 132);
  CHECK(h100.peer_links->kind == "nvlink");
  // 18 links of 25 GB/s a direction are the datasheet's 900 GB/s of both directions.
  CHECK(h100.peer_links->bandwidth.scaled(2.0 * 18) == 900_GBps);
  CHECK(h100.pcie_generation == 5);
  CHECK(h100.max_power == Watts{700});
}

TEST_CASE("a device becomes an end point of the network") {
  const Endpoint h100 = shipped("h100-sxm5-80gb").endpoint();
  CHECK(h100.message_overhead == Duration{});  // contained in the links' latencies
  CHECK(h100.reduce_rate == Rate::bytes_per_second(1'116'700'000'000));  // 3.35 TB/s / 3
  const Endpoint host = shipped("host").endpoint();
  CHECK(host.message_overhead == Duration{});
  CHECK_FALSE(host.reduce_rate.has_value());
}

TEST_CASE("reductions run at a third of the memory's bandwidth on every GPU") {
  // Two reads and one write per byte; written with one decimal in GB/s, so within 0.05 GB/s.
  for (const std::string& id : device_ids(kDevices)) {
    CAPTURE(id);
    const Device device = shipped(id);
    if (device.kind == DeviceKind::kHost) continue;
    const double third = device.memory->bandwidth.bytes_per_second() / 3;
    CHECK(std::abs(device.reduce_rate->bytes_per_second() - third) <= 0.0501e9);
  }
}

TEST_CASE("peaks are dense: halving the width of a number at most doubles the rate") {
  // Holds on every tensor core from fp16 down; a sparse figure slipped in would break it.
  // Datasheets round. Gaming cards have half of the rate where the sums are fp32, not where they
  // are int32; Rubin is announced with 4.4 times as many in 8 bits as in 16.
  for (const std::string& id : device_ids(kDevices)) {
    CAPTURE(id);
    const Device device = shipped(id);
    const auto fp16 = device.peak(Precision::kFp16);
    if (!fp16) continue;
    const bool gaming = id == "rtx-4090-24gb";
    const bool is_chip = id.rfind("trainium", 0) == 0;  // other arrays for narrow numbers
    for (const Precision eight_bits : {Precision::kFp8, Precision::kInt8}) {
      const auto peak = device.peak(eight_bits);
      const double most = id == "rubin-nvl72"                        ? 4.375
                          : gaming && eight_bits == Precision::kInt8 ? 4
                                                                     : 2;
      if (peak && !is_chip) CHECK(peak->per_second() <= 1.015 * most * fp16->per_second());
    }
    const auto tf32 = device.peak(Precision::kTf32);
    if (tf32 && !is_chip) CHECK(std::abs(fp16->per_second() / tf32->per_second() - 2) < 0.03);
  }
}

TEST_CASE("every figure of a device names its source") {
  for (const std::string& id : device_ids(kDevices)) {
    CAPTURE(id);
    const Device device = shipped(id);
    CHECK(device.sources.size() >= (device.kind == DeviceKind::kGpu ? 8 : 1));
    for (const FigureSource& figure : device.sources) {
      CHECK(figure.source.size() > 10);
      CHECK(figure.provenance.has_value());
    }
  }
}

TEST_CASE("a parameter without provenance counts as assumed, others as they say") {
  const Device device = device_from(R"({"name": "x", "kind": "host",
    "memory": {"size": {"value": "1 GiB", "source": "a datasheet", "provenance": "datasheet"},
               "bandwidth": {"value": "1 GB/s", "source": "a guess"}}})");
  CHECK(find_source(device.sources, "/memory/size")->provenance == Provenance::datasheet);
  CHECK(find_source(device.sources, "/memory/bandwidth")->provenance == std::nullopt);
  CHECK(find_source(device.sources, "/reduce_rate") == nullptr);
  // By Provenance: the datasheet is the fourth, assumed the last.
  CHECK(count_provenance(device.sources) == std::array<std::int64_t, 6>{0, 0, 0, 1, 0, 1});
  CHECK(error_of(R"({"name": "x", "kind": "host", "reduce_rate":
    {"value": "1 GB/s", "source": "a guess", "provenance": "guessed"}})")
            .find("/reduce_rate/provenance: no provenance named \"guessed\"") != std::string::npos);
}

TEST_CASE("device files are refused with their place") {
  // Columns counted by hand in the texts below.
  CHECK(error_of(R"({"name": "x", "kind": "host", "reduce_rate": {"value": "1 GB/s"}})") ==
        "d.json:1:46: error: /reduce_rate: the key \"source\" is missing\n"
        "1 error; nothing was run");
  CHECK(error_of("{\"name\": \"x\",\n \"kind\": \"hsot\"}") ==
        "d.json:2:10: error: /kind: no kind of device named \"hsot\"; did you mean \"host\"?\n"
        "1 error; nothing was run");
  CHECK(error_of(mutated(good_gpu(), {"", "/max_power/value", "\"700\""}))
            .find("/max_power/value: expected whole watts such as \"700 W\", got \"700\"") !=
        std::string::npos);
  CHECK(error_of(mutated(good_gpu(), {"", "/peak", "{}"}))
            .find("/peak: expected the peak of one precision at least") != std::string::npos);
}

TEST_CASE("a folder of devices that is not there is an error") {
  CHECK_THROWS_WITH_AS((void)device_ids("/nowhere/at/all"),
                       "/nowhere/at/all: error: cannot be read: No such file or directory\n"
                       "1 error; nothing was run",
                       ConfigError);
}

TEST_CASE("schema and reader both accept every shipped device") {
  const SchemaAgreement both = agreement();
  for (const std::string& id : device_ids(kDevices)) {
    CAPTURE(id);
    CHECK(both.verdict(text_of_file(kDevices / (id + ".json"))) == "both accept");
  }
}

TEST_CASE("schema and reader agree on changed device files") {
  const SchemaAgreement both = agreement();
  const std::string good = good_gpu();
  for (const Mutation& m :
       std::vector<Mutation>{{"without links", "/peer_links", ""},
                             {"without PCIe", "/pcie_generation", ""},
                             {"without $schema", "/$schema", ""},
                             {"another unit", "/memory/bandwidth/value", "\"26.8Tb/s\""},
                             {"one precision less", "/peak/fp8", ""},
                             {"no overhead", "/message_overhead/value", "\"0 ns\""}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(good, m)) == "both accept");
  }
  for (const Mutation& m : std::vector<Mutation>{
           {"unknown key", "/bandwith", "1"},
           {"unknown precision", "/peak/fp17", R"({"value": "1 TFLOP/s", "source": "x"})"},
           {"unknown key in a figure", "/max_power/unit", "\"W\""},
           {"missing name", "/name", ""},
           {"empty name", "/name", "\"\""},
           {"missing memory", "/memory", ""},
           {"missing overhead", "/message_overhead", ""},
           {"missing reduce rate", "/reduce_rate", ""},
           {"missing source", "/memory/size/source", ""},
           {"empty source", "/memory/size/source", "\"\""},
           {"missing value", "/memory/size/value", ""},
           {"figure without source", "/memory/bandwidth", "\"3 TB/s\""},
           {"bandwidth without unit", "/memory/bandwidth/value", "\"3350\""},
           {"bandwidth as number", "/memory/bandwidth/value", "3350"},
           {"zero bandwidth", "/memory/bandwidth/value", "\"0 GB/s\""},
           {"zero bandwidth, long", "/memory/bandwidth/value", "\"0.00 GB/s\""},
           {"negative bandwidth", "/memory/bandwidth/value", "\"-1 GB/s\""},
           {"unknown unit", "/memory/bandwidth/value", "\"1 GBs\""},
           {"two spaces", "/memory/bandwidth/value", "\"1  GB/s\""},
           {"zero memory", "/memory/size/value", "\"0 B\""},
           {"rate for a size", "/memory/size/value", "\"80 GB/s\""},
           {"negative overhead", "/message_overhead/value", "\"-1 us\""},
           {"3.7 multiprocessors", "/multiprocessors/value", "3.7"},
           {"3.0 multiprocessors", "/multiprocessors/value", "3.0"},
           {"no multiprocessors", "/multiprocessors/value", "0"},
           {"negative multiprocessors", "/multiprocessors/value", "-1"},
           {"multiprocessors as text", "/multiprocessors/value", "\"132\""},
           {"multiprocessors null", "/multiprocessors/value", "null"},
           {"PCIe of the far future", "/pcie_generation/value", "9"},
           {"unknown link", "/peer_links/kind", "\"nvlnk\""},
           {"no peaks", "/peak", "{}"},
           {"peaks in an array", "/peak", "[]"},
           {"peak in plain FLOP", "/peak/fp16/value", "\"1 TFLOP\""},
           {"power without unit", "/max_power/value", "\"700\""},
           {"no power", "/max_power/value", "\"0 W\""},
           {"fractional power", "/max_power/value", "\"0.5 W\""},
           {"unknown kind", "/kind", "\"tpu\""},
           {"a GPU's figures on a host", "/kind", "\"host\""},
           {"kind as a number", "/kind", "1"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(good, m)) == "both refuse");
  }
}
