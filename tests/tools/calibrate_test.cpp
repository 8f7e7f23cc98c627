#include <doctest/doctest.h>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// `lockstep calibrate --backend`: from measuring to a simulation with what was measured.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

TEST_CASE("a calibration is written, compared with and simulated with") {
  const NewFile file;
  CHECK(run_command("lockstep calibrate --backend host --quick --out " + file.path()).status == 0);
  const Json box = Json::parse(text_of(file.path()));
  CHECK(box["backend"] == "host");
  CHECK(box["measurements"].size() > 50);
  CHECK(box["measurements"][0]["shared"] == true);

  const CommandResult compared = run_command(
      "lockstep calibrate --backend host --quick --compare --format json --calibration " +
      file.path());
  CHECK(compared.status == 0);
  const Json rows = Json::parse(compared.out)["rows"];
  CHECK(rows.size() >= 10);
  for (const Json& row : rows) {
    CAPTURE(row["case"]);
    CHECK(row["measured_s"].get<double>() > 0);
    CHECK(row["simulated_s"].get<double>() > 0);
  }

  // This processor is no H100: the step takes longer.
  const std::string run = "lockstep run attention-two-gpus";
  const double shipped = json_of(run)["step_time_s"].get<double>();
  const double measured =
      json_of(run + " --calibration " + file.path())["step_time_s"].get<double>();
  CHECK(measured > shipped);
}

TEST_CASE("what calibrate cannot do is said in one sentence") {
  CHECK(run_command("lockstep calibrate").err ==
        "lockstep: error: calibrate: expected --backend host or --backend cuda, or --from FILE... "
        "with measured results to fit to\n");
  CHECK(run_command("lockstep calibrate --backend tpu").err ==
        "lockstep: error: --backend: expected host or cuda, got \"tpu\"\n");
  CHECK(run_command("lockstep calibrate --backend host --transport rdma").err ==
        "lockstep: error: --transport: expected copies or nccl, got \"rdma\"\n");
  CHECK(run_command("lockstep calibrate --backend host --transport nccl").err ==
        "lockstep: error: --transport nccl is between GPUs: it goes with --backend cuda\n");
  CHECK(run_command("lockstep verify collective all_reduce --devices 2").err ==
        "lockstep: error: --devices goes with --backend\n");
  CHECK(run_command("lockstep run mlp-two-gpus --calibration configs/devices/host.json").status ==
        2);
  const CommandResult cuda = run_command("lockstep calibrate --backend cuda --quick");
  // Where there are no GPUs: exit code 1 and one clear word.
  if (cuda.status != 0) CHECK(cuda.err.rfind("lockstep: error: skipped: no ", 0) == 0);
}

}  // namespace lockstep
