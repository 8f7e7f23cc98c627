#include "strategies/measure/machine/box_file.hpp"

#include <doctest/doctest.h>

#include "tests/topologies/files/schema_agreement.hpp"

/// Files of boxes: written, read, refused.
namespace lockstep {
namespace {

Box some_box() {
  Box box;
  box.name = "test";
  box.backend = "cuda";
  box.device = "A \"GPU\"";
  box.gpus = 2;
  box.date = "2026-11-22";
  box.facts = {{"driver", "580.1"}};
  BoxMeasurement kernel;
  kernel.what = "matmul";
  kernel.kernel.kind = OperationKind::matmul;
  kernel.kernel.of = OperationClass::matmul;
  kernel.kernel.flops = 2e9;
  kernel.kernel.moved_bytes = 6e6;
  kernel.kernel.m = kernel.kernel.n = kernel.kernel.k = 1000;
  kernel.seconds = 12.5e-6;
  kernel.shared = true;
  BoxMeasurement peer;
  peer.kind = BoxMeasurement::Kind::peer;
  peer.what = "copy";
  peer.bytes = 8;
  peer.to = 1;
  peer.seconds = 9e-6;
  box.measurements = {kernel, peer};
  DeviceModel& model = box.fit.model;
  model.multiprocessors = 132;
  model.memory_bandwidth = 4800_GBps;
  model.memory_efficiency.fill(1);
  model.kinds.fill({1, 1});
  model.kinds[static_cast<std::size_t>(OperationKind::add)] = {1, 1.25};
  model.launch = 1500_ns;
  ProductFigures figures;
  figures.launch = 2_us;
  figures.depth_grain = 64;
  figures.alignment = 8;
  figures.most_parts = 16;
  figures.shortest_part = 256;
  figures.part_traffic = 1;
  figures.half_loss = 1_ms;
  figures.tiles = {{128, 128, 0.75}};
  model.products[static_cast<std::size_t>(Dtype::bf16)] = figures;
  model.peaks[static_cast<std::size_t>(Dtype::bf16)] = FlopRate{800e12};
  model.attention.launch = 3_us;
  model.attention.block = 4;
  model.attention.head_grain = 1;
  model.attention.head_sizes = {{64, 0.125, 0.25}};
  box.fit.serial = false;
  box.fit.empty_copy = 1_us;
  box.fit.model.host_time = 2500_ns;
  box.fit.links.pairs = {{0, 1, 4_us, 300_GBps}, {1, 0, 5_us, 250_GBps}};
  box.fit.links.port = 310_GBps;
  box.fit.links.both_ways = 1.25;
  box.fit.copy.points = {{1024, 1e-6}, {4096, 2e-6}};
  box.fit.add[static_cast<std::size_t>(NumberType::bf16)].points = {{1024, 3e-6}};
  box.residuals = {{"matmul bf16", 1, 0.02, 0.02, -0.02}};
  return box;
}

Box read(std::string_view text) {
  return read_box(parse_json(text, "box.json"));
}

TEST_CASE("a box that is written and read is the same, and so is its text") {
  const Box box = some_box();
  const std::string text = to_json(box);
  const Box again = read(text);
  CHECK(again.device == box.device);
  CHECK(again.measurements[0].kernel.m == 1000);
  CHECK(again.measurements[0].seconds == doctest::Approx(12.5e-6));
  CHECK(again.measurements[1].kind == BoxMeasurement::Kind::peer);
  CHECK_FALSE(again.measurements[1].shared);
  CHECK(again.fit.model.kinds[static_cast<std::size_t>(OperationKind::add)].traffic == 1.25);
  CHECK(again.fit.copy.points == box.fit.copy.points);
  // What is not measured goes by what is.
  CHECK(again.fit.model.peaks[static_cast<std::size_t>(Dtype::fp32)]->per_second() == 800e12);
  CHECK(to_json(read(to_json(again))) == to_json(again));
}

TEST_CASE("schema and reader accept a box and refuse the same changes") {
  const SchemaAgreement both{LOCKSTEP_SOURCE_DIR "/configs/schema/box.schema.json",
                             [](std::string_view text) { (void)read(text); }};
  const std::string good = to_json(some_box());
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
    (void)read(mutated(to_json(some_box()), late));
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems()[0].message == "expected at most 1 s, got 1.5 s");
    CHECK(error.problems()[0].pointer == "/fit/links/pairs/0/latency");
  }
}

TEST_CASE("a box is told from other files") {
  CHECK(is_box(parse_json(to_json(some_box()), "box.json")));
  CHECK_FALSE(is_box(parse_json(R"({"name": "a"})", "other.json")));
}

}  // namespace
}  // namespace lockstep
