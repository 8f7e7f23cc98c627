#include <doctest/doctest.h>

#include "sim/config/json/config_error.hpp"
#include "strategies/calibration/calibration.hpp"
#include "strategies/measure/confidence/validated_runs.hpp"
#include "strategies/measure/fit/split.hpp"
#include "strategies/measure/validation/measured_file.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

namespace lockstep {

namespace {

const std::string kRoot = LOCKSTEP_SOURCE_DIR;
const std::filesystem::path kKernels = kRoot + "/configs/kernels";

const std::string kSmall = R"({"name": "a test", "summary": "by hand",
  "collectives": [{"nccl": "2.30", "architecture": "hopper", "collective": "all_reduce",
    "algorithm": "ring", "protocol": "ll", "nodes": "one", "launch": "5 us", "hop": "0.8 us",
    "wire": "200 GB/s", "hop_hidden_by": "16 MiB", "loop": "9 us", "source": "by hand"}],
  "kernels": {"h100-sxm5-80gb": {"extends": "hopper", "name": "of this box",
    "convolution_efficiency": {"value": 0.5, "source": "by hand"}}},
  "stacks": {"eager": {"host_time": "7 us", "slowdown_while_communicating": 1.2,
    "source": "by hand"}}})";

Calibration read(std::string_view text) {
  return read_calibration(parse_json(text, "c.json"), kKernels);
}

std::string error_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a calibration says what it says") {
  const Calibration of = read(kSmall);
  REQUIRE(of.collectives.size() == 1);
  CHECK(of.collectives[0].launch == 5_us);
  CHECK(of.collectives[0].network_hop == Duration{});
  CHECK(of.collectives[0].wire == 200_GBps);
  CHECK(of.collectives[0].hop_hidden_by == 16_MiB);
  CHECK(of.collectives[0].loop == 9_us);
  CHECK_FALSE(of.collectives[0].own);
  CHECK(of.kernels.at("h100-sxm5-80gb").convolution_efficiency == 0.5);
  CHECK(of.stacks.at("eager").host_time == 7_us);
  CHECK(of.stacks.at("eager").slowdown_while_communicating == 1.2);
}

TEST_CASE("errors name the place and what is allowed") {
  const auto changed = [](const char* pointer, const char* value) {
    return error_of(mutated(kSmall, {"", pointer, value}));
  };
  CHECK(changed("/collectives/0/protocol", "\"ll256\"").find("/collectives/0/protocol") !=
        std::string::npos);
  CHECK(changed("/collectives/0/launch", "5").find("duration") != std::string::npos);
  CHECK(changed("/stacks/eager/host_tim", "\"2 us\"").find("did you mean \"host_time\"?") !=
        std::string::npos);
  CHECK(changed("/kernels/h100-sxm5-80gb/extends", "\"hoper\"").find("hoper") != std::string::npos);
  std::string twice = kSmall;
  const auto from = twice.find("{\"nccl\"");
  const auto to = twice.find("}]", from);
  twice.insert(to + 1, "," + twice.substr(from, to + 1 - from));
  CHECK(error_of(twice).find("there already") != std::string::npos);
}

TEST_CASE("a file may have a measured machine and fitted parameters") {
  const std::string machine = text_of_file(kRoot + "/configs/calibration/h100-sxm5-80gb.json");
  CHECK(read(machine).machine.value().device == "NVIDIA H100 80GB HBM3");
  CHECK(read(machine).collectives.empty());
  const std::string both = mutated(
      machine, {"a stack", "/stacks", R"({"eager": {"host_time": "3 us", "source": "a test"}})"});
  const Calibration out = read(both);
  CHECK(out.machine.has_value());
  CHECK(out.name == "h100-sxm5-80gb");
  CHECK(out.stacks.at("eager").host_time == 3_us);
  CHECK_FALSE(read(kSmall).machine.has_value());
}

TEST_CASE("schema and reader of calibrations agree") {
  const SchemaAgreement both{kRoot + "/configs/schema/calibration.schema.json",
                             [](std::string_view text) { (void)read(text); }};
  CHECK(both.verdict(kSmall) == "both accept");
  for (const char* shipped : {"collectives", "h100-sxm5-80gb", "h200-sxm5-141gb"})
    CHECK(both.verdict(text_of_file(kRoot + "/configs/calibration/" + shipped + ".json")) ==
          "both accept");
  for (const Mutation& m : std::vector<Mutation>{
           {"no name", "/name", ""},
           {"unknown key", "/colour", "1"},
           {"no source", "/collectives/0/source", ""},
           {"another collective", "/collectives/0/collective", "\"sum\""},
           {"nodes in numbers", "/collectives/0/nodes", "2"},
           {"a rate of nothing", "/collectives/0/wire", "\"0 GB/s\""},
           {"hidden by nothing", "/collectives/0/hop_hidden_by", "\"0 B\""},
           {"kernels as a text", "/kernels/h100-sxm5-80gb", "\"hopper\""},
           {"faster beside communication", "/stacks/eager/slowdown_while_communicating", "0.9"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(kSmall, m)) == "both refuse");
  }
}

TEST_CASE("schema and reader of residuals agree") {
  const SchemaAgreement both{
      kRoot + "/configs/schema/residuals.schema.json",
      [](std::string_view text) { (void)read_validated_runs(parse_json(text, "r.json")); }};
  const std::string shipped = text_of_file(kRoot + "/configs/validation/residuals.json");
  CHECK(both.verdict(shipped) == "both accept");
  for (const Mutation& m : std::vector<Mutation>{{"no runs", "/runs", "[]"},
                                                 {"no group", "/runs/0/group", ""},
                                                 {"a rate of -1", "/runs/0/error", "-1"},
                                                 {"no GPUs", "/runs/0/kind/gpus", "0"},
                                                 {"a fourth ZeRO", "/runs/0/kind/zero", "4"},
                                                 {"half a width", "/interval_width/inside", ""},
                                                 {"no width", "/interval_width/inside", "-1"},
                                                 {"unknown key", "/runs/0/kind/colour", "1"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(shipped, m)) == "both refuse");
  }
}

TEST_CASE("shipped costs come with every tuning, behind those that are given") {
  const std::filesystem::path tuning = kRoot + "/configs/nccl/2.30.json";
  const std::size_t shipped =
      load_calibration(kRoot + "/configs/calibration/collectives.json", kRoot + "/configs/kernels")
          .collectives.size();
  CHECK(shipped > 0);
  CHECK(load_nccl_tuning(tuning).costs.size() == shipped);
  const NcclTuning with = load_nccl_tuning(tuning, read(kSmall).collectives);
  CHECK(with.costs.size() == shipped + 1);
  CHECK(with.costs.front().launch == 5_us);
}

TEST_CASE("a split is the same every time, without a row in both halves") {
  const std::vector<std::filesystem::path> files{kRoot + "/tests/data/validation/runs.json",
                                                 kRoot + "/tests/data/validation/tables.json"};
  const std::vector<Measured> all = load_measured(files);
  const MeasuredSplit once = split_measured(all);
  const MeasuredSplit again = split_measured(all);
  CHECK(once.fit.size() + once.check.size() == all.size());
  CHECK(once.fit.size() >= once.check.size());
  std::vector<std::string> ids;
  for (const Measured& each : once.fit) ids.push_back(origin_of(each).id);
  for (const Measured& each : once.check) ids.push_back(origin_of(each).id);
  for (std::size_t i = 0; i < once.fit.size(); ++i) CHECK(origin_of(again.fit[i]).id == ids[i]);
  std::sort(ids.begin(), ids.end());
  CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
}

}  // namespace lockstep
