#include "strategies/calibration/machine_file.hpp"

#include <doctest/doctest.h>

#include "tests/topologies/files/schema_agreement.hpp"

/// Files of machines: written, read, refused.
namespace lockstep {
namespace {

MeasuredMachine some_machine() {
  MeasuredMachine machine;
  machine.name = "test";
  machine.backend = "cuda";
  machine.device = "A \"GPU\"";
  machine.gpus = 2;
  machine.date = "2026-11-22";
  machine.facts = {{"driver", "580.1"}};
  MachineMeasurement kernel;
  kernel.what = "matmul";
  kernel.kernel.kind = OperationKind::matmul;
  kernel.kernel.of = OperationClass::matmul;
  kernel.kernel.flops = 2e9;
  kernel.kernel.moved_bytes = 6e6;
  kernel.kernel.m = kernel.kernel.n = kernel.kernel.k = 1000;
  kernel.seconds = 12.5e-6;
  kernel.shared = true;
  MachineMeasurement peer;
  peer.kind = MachineMeasurement::Kind::peer;
  peer.what = "copy";
  peer.bytes = 8;
  peer.to = 1;
  peer.seconds = 9e-6;
  machine.measurements = {kernel, peer};
  DeviceModel& model = machine.fit.model;
  model.multiprocessors = 132;
  model.memory_bandwidth = 4800_GBps;
  model.memory_efficiency.fill(1);
  model.kinds.fill({1, 1});
  model.kinds[static_cast<std::size_t>(OperationKind::add)] = {1, 1.25};
  model.launch = 1500_ns;
  GemmParameters figures;
  figures.launch = 2_us;
  figures.k_granularity = 64;
  figures.alignment = 8;
  figures.max_split_k = 16;
  figures.min_k_per_split = 256;
  figures.split_k_traffic = 1;
  figures.throttling_half_time = 1_ms;
  figures.tiles = {{128, 128, 0.75}};
  model.gemms[static_cast<std::size_t>(Dtype::bf16)] = figures;
  model.peaks[static_cast<std::size_t>(Dtype::bf16)] = FlopRate{800e12};
  model.attention.launch = 3_us;
  model.attention.block = 4;
  model.attention.head_grain = 1;
  model.attention.head_sizes = {{64, 0.125, 0.25}};
  machine.fit.serial = false;
  machine.fit.empty_copy = 1_us;
  machine.fit.model.host_time = 2500_ns;
  machine.fit.links.pairs = {{0, 1, 4_us, 300_GBps}, {1, 0, 5_us, 250_GBps}};
  machine.fit.links.port = 310_GBps;
  machine.fit.links.both_ways = 1.25;
  machine.fit.copy.points = {{1024, 1e-6}, {4096, 2e-6}};
  machine.fit.add[static_cast<std::size_t>(NumberType::bf16)].points = {{1024, 3e-6}};
  machine.residuals = {{"matmul bf16", 1, 0.02, 0.02, -0.02}};
  return machine;
}

MeasuredMachine read(std::string_view text) {
  return read_machine(parse_json(text, "box.json"));
}

TEST_CASE("a box that is written and read is the same, and so is its text") {
  const MeasuredMachine machine = some_machine();
  const std::string text = to_json(machine);
  const MeasuredMachine again = read(text);
  CHECK(again.device == machine.device);
  CHECK(again.measurements[0].kernel.m == 1000);
  CHECK(again.measurements[0].seconds == doctest::Approx(12.5e-6));
  CHECK(again.measurements[1].kind == MachineMeasurement::Kind::peer);
  CHECK_FALSE(again.measurements[1].shared);
  CHECK(again.fit.model.kinds[static_cast<std::size_t>(OperationKind::add)].traffic == 1.25);
  CHECK(again.fit.copy.points == machine.fit.copy.points);
  // What is not measured goes by what is.
  CHECK(again.fit.model.peaks[static_cast<std::size_t>(Dtype::fp32)]->per_second() == 800e12);
  CHECK(to_json(read(to_json(again))) == to_json(again));
}

TEST_CASE("schema and reader accept a box and refuse the same changes") {
  const SchemaAgreement both{LOCKSTEP_SOURCE_DIR "/configs/schema/calibration.schema.json",
                             [](std::string_view text) { (void)read(text); }};
  const std::string good = to_json(some_machine());
  CHECK(both.verdict(good) == "both accept");
  const Mutation mutations[] = {{"no backend", "/backend", ""},
                                {"another backend", "/backend", "\"rocm\""},
                                {"a bare time", "/measurements/0/time", "12.5"},
                                {"an unknown key", "/fit/colour", "1"},
                                {"no launch", "/fit/launch", ""},
                                {"an unknown operation", "/fit/operations/ad", "{}"},
                                {"a share above one", "/fit/attention/head_sizes/0/forward", "1.5"},
                                {"no copies", "/fit/copy", "[]"},
                                {"half a GPU", "/gpus", "0.5"}};
  for (const Mutation& each : mutations) {
    CAPTURE(each.name);
    CHECK(both.verdict(mutated(good, each)) == "both refuse");
  }
}

TEST_CASE("a link later than a cluster may have is refused") {
  const Mutation late{"late", "/fit/links/pairs/0/latency", "\"1.5 s\""};
  try {
    (void)read(mutated(to_json(some_machine()), late));
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems()[0].message == "expected at most 1 s, got 1.5 s");
    CHECK(error.problems()[0].pointer == "/fit/links/pairs/0/latency");
  }
}

TEST_CASE("a file from before kernels were written as in configs/kernels is told apart at once") {
  const Mutation earlier{"earlier", "/fit/attention/forward_overhead",
                         R"({"full": 1, "causal": 1})"};
  try {
    (void)read(mutated(to_json(some_machine()), earlier));
    FAIL("accepted");
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 1);
    CHECK(error.problems()[0].pointer == "/fit/attention/forward_overhead");
    CHECK(error.problems()[0].message.find("configs/calibration/README.md") != std::string::npos);
  }
}

TEST_CASE("a machine calibration is distinguished from other files") {
  CHECK(is_machine(parse_json(to_json(some_machine()), "box.json")));
  CHECK_FALSE(is_machine(parse_json(R"({"name": "a"})", "other.json")));
}

}  // namespace
}  // namespace lockstep
