#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

/// `lockstep validate` as a user meets it.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kRuns = "tests/data/validation/runs.json";
const std::string kTables = "tests/data/validation/tables.json";

Json row_of(const Json& result, const std::string& id, const std::string& quantity) {
  for (const Json& row : result["rows"])
    if (row["id"] == id && row["quantity"] == quantity) return row;
  return nullptr;
}

/// The scenario that a row says, written by hand from its fields.
std::string scenario_of(const std::string& id, const std::string& stack) {
  const Json rows = Json::parse(text_of(std::string{LOCKSTEP_SOURCE_DIR} + "/" + kRuns));
  for (const Json& row : rows) {
    if (row["id"] != id) continue;
    Json out{{"cluster", row["cluster"]}, {"model", row["model"]}, {"parallel", row["parallel"]}};
    out["stack"] = stack;
    if (stack.starts_with("unfused")) out["model"]["dropout"] = 0.1;  // Megatron-LM's default
    // Qi et al. print no vocabulary (strategies/measure/validation/scenario_of_run.cpp).
    if (row["group"] == "zb") out["model"]["vocab"] = 32000;
    return out.dump();
  }
  return {};
}

}  // namespace

TEST_CASE("a row's step time and memory are those of lockstep run on the same scenario") {
  const Json result = json_of("lockstep validate " + kRuns);
  const struct {
    const char* id;
    const char* stack;
  } cases[] = {{"vtrain-s-0672", "unfused"},
               {"llmf-a100-125m-s1024-g8-mb64", "fused-2022"},
               {"zb-1.5B-1F1B-m24", "unfused-2022"}};
  for (const auto& each : cases) {
    CAPTURE(each.id);
    const TemporaryFile file(scenario_of(each.id, each.stack));
    const Json run = json_of("lockstep run --ignore-memory " + file.path());
    const Json step = row_of(result, each.id, "step_time");
    CHECK(step["simulated"] == run["rows"][0]["step_time_s"]);
    CHECK(step["stack"] == each.stack);
    const double error = step["simulated"].get<double>() / step["measured"].get<double>() - 1;
    CHECK(step["error_fraction"].get<double>() == doctest::Approx(error));
    const Json memory = row_of(result, each.id, "peak_memory");
    if (!memory.is_null()) CHECK(memory["simulated"] == run["memory"]["peak_bytes"]);
  }
}

TEST_CASE("a point of a collective table is what lockstep collective says") {
  const TemporaryFile file(R"([{"id": "c", "source": "a test", "collective": "all_reduce",
    "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 8}, "ranks": 8,
    "rows": [{"size_bytes": 1048576, "time_s": 1e-4}]}])");
  const Json row = json_of("lockstep validate " + file.path())["rows"][0];
  const Json direct = rows_of(
      "lockstep collective all_reduce --cluster dgx-h100 --nodes 1 --algorithm auto:by=nccl -b 1M "
      "-e 1M")[0];
  CHECK(row["id"] == "c/1048576");
  CHECK(row["simulated"].get<double>() == doctest::Approx(direct["time_s"].get<double>()));
}

TEST_CASE("a memory-bound kernel takes the launches and the bytes of its stack") {
  const std::string table = R"([{"id": "k", "source": "a test", "kind": "memory-bound",
    "gpu": "h100-sxm5-80gb", "stack": "STACK", "operation": "activation",
    "rows": [{"moved_bytes": 100000000, "time_s": 1e-4}]}])";
  const auto with = [&table](const std::string& stack) {
    std::string text = table;
    text.replace(text.find("STACK"), 5, stack);
    return json_of("lockstep validate " + TemporaryFile{text}.path());
  };
  // eager.json: SwiGLU is 2 kernels and 1.67 times the bytes; hopper.json: 2.85 us, 0.875 of
  // 3.35 TB/s.
  const Json row = with("eager")["rows"][0];
  CHECK(row["quantity"] == "kernel_time");
  CHECK(row["id"] == "k/100000000-bytes");
  CHECK(row["simulated"].get<double>() ==
        doctest::Approx(2 * 2.85e-6 + 1.67 * 1e8 / (0.875 * 3.35e12)).epsilon(1e-6));
  CHECK(contains(with("fsdp3")["not_modeled"][0]["reason"].get<std::string>(),
                 "no software stack named \"fsdp3\""));
}

TEST_CASE("JSON has rows, groups, overall figures and what was left out") {
  const Json result = json_of("lockstep validate " + kRuns + " " + kTables);
  CHECK(result["schema"] == "lockstep.validate/3");
  CHECK(result["config"]["files"] == Json{kRuns, kTables});
  CHECK_FALSE(result["rows"].empty());
  CHECK(result["overall"][0]["quantity"] == "step_time");
  CHECK(result["not_modeled"].size() == 5);
  for (const Json& left : result["not_modeled"])
    CHECK_FALSE(left["reason"].get<std::string>().empty());
  std::size_t rows = 0;
  for (const Json& group : result["groups"]) rows += group["all"]["count"].get<std::size_t>();
  CHECK(rows == result["rows"].size());
}

TEST_CASE("the same bytes come out again") {
  const std::string command = "lockstep validate " + kRuns + " " + kTables + " --format json";
  CHECK(output_of(command) == output_of(command));
}

TEST_CASE("groups, quantities and limits leave rows out") {
  const Json zb = rows_of("lockstep validate " + kRuns + " --group zb --quantity peak_memory");
  REQUIRE(zb.size() == 1);
  CHECK(zb[0]["id"] == "zb-1.5B-1F1B-m24");
  CHECK(rows_of("lockstep validate " + kTables + " --limit 1").size() <= 5);
  for (const Json& row : rows_of("lockstep validate " + kRuns + " --core")) CHECK(row["core"]);
}

TEST_CASE("rows that cannot be modelled are listed, not dropped") {
  const TemporaryFile file(R"([{"id": "odd", "source": "a test", "group": "own",
    "cluster": {"gpu": "h100-sxm5-80gb", "gpus": 8},
    "model": {"layers": 2, "hidden": 64, "heads": 4, "seq": 128},
    "parallel": {"tp": 3, "micro_batch": 1, "global_batch": 4},
    "measured": {"step_time_s": 0.5}}])");
  const Json result = json_of("lockstep validate " + file.path());
  CHECK(result["rows"].empty());
  REQUIRE(result["not_modeled"].size() == 1);
  CHECK(result["not_modeled"][0]["id"] == "odd");
  CHECK(contains(result["not_modeled"][0]["reason"].get<std::string>(), "tp"));
}

TEST_CASE("bad files and bad options are exit 2 with what is allowed") {
  const struct {
    std::string command;
    std::string said;
  } cases[] = {
      {"lockstep validate", "expected files: "},
      {"lockstep validate /none.json", "/none.json"},
      {"lockstep validate tests", "tests"},
      {"lockstep validate configs/devices/h100-sxm5-80gb.json", "expected an array"},
      {"lockstep validate " + kRuns + " --group zbb", "did you mean \"zb\"?"},
      {"lockstep validate " + kRuns + " --quantity time", "expected one of step_time"},
      {"lockstep validate " + kRuns + " --stack fusd", "did you mean \"fused\"?"},
      {"lockstep validate " + kRuns + " --quantity gemm_time", "no run or table is left"},
      {"lockstep validate " + kRuns + " --limit 0", "--limit"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.command);
    const CommandResult result = run_command(each.command);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(contains(result.err, each.said));
  }
}

}  // namespace lockstep
