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
  CHECK(run_command("lockstep calibrate --backend host --quick --output " + file.path()).status ==
        0);
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

/// The figures of this machine as those of eight GPUs: 100 GB/s and 3 us more than any copy's start
/// from each to each.
std::string eight_gpus(Json box) {
  box["backend"] = "cuda";
  box["device"] = "NVIDIA A100-SXM4-80GB";
  box["gpus"] = 8;
  box["fit"]["multiprocessors"] = 108;
  box["fit"]["empty_copy"] = "1 us";
  Json pairs = Json::array();
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from == to) continue;
      pairs.push_back({{"from", from}, {"to", to}, {"latency", "4 us"}, {"bandwidth", "100 GB/s"}});
    }
  }
  box["fit"]["links"] = {{"both_ways", 1}, {"pairs", std::move(pairs)}};
  return box.dump();
}

TEST_CASE("a calibration of several GPUs is simulated with by its links, which is said") {
  const NewFile host;
  CHECK(run_command("lockstep calibrate --backend host --quick --output " + host.path()).status ==
        0);
  const TemporaryFile box{eight_gpus(Json::parse(text_of(host.path())))};
  const std::string run = "lockstep run attention-two-gpus --calibration ";
  const Json own = json_of(run + host.path());
  CHECK(own["machine_links"] == "as the cluster has them: the calibration is of a host");
  const Json of = json_of(run + box.path());
  CHECK(of["machine_links"] ==
        "NVLinks as measured, 100 GB/s after 3 us from GPU 0 to GPU 1 (else 240 GB/s after 600 "
        "ns): the median of 2 pairs");
  for (const Json& link : of["links"]) {
    CHECK(link["bandwidth_Bps"].get<double>() == doctest::Approx(100e9));
  }
  CHECK(contains(run_command(run + box.path()).out, "# links between GPUs: NVLinks as measured"));
  CHECK(json_of("lockstep run attention-two-gpus")["machine_links"].is_null());
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
        "lockstep: error: --transport nccl requires --backend cuda\n");
  CHECK(run_command("lockstep verify collective all_reduce --devices 2").err ==
        "lockstep: error: --devices requires --backend\n");
  CHECK(run_command("lockstep run mlp-two-gpus --calibration configs/devices/host.json").status ==
        2);
  // Options of the other way to calibrate, and files that cannot be, before anything is measured.
  CHECK(run_command("lockstep calibrate --from x.json --quick").err ==
        "lockstep: error: --quick is for a measured device; it cannot be combined with --from\n");
  CHECK(run_command("lockstep calibrate --backend host --runs 3").err ==
        "lockstep: error: --runs requires --from FILE\n");
  CHECK(run_command("lockstep calibrate --backend cuda --compare --calibration no.json").err ==
        "no.json: error: no such file\n1 error; nothing was run\n");
  const CommandResult folder = run_command("lockstep calibrate --backend cuda --output tests");
  CHECK(folder.status == 4);
  CHECK(folder.err == "lockstep: error: cannot write tests: Is a directory\n");
  CHECK(run_command("lockstep validate tests/data/validation/tables.json --calibration no.json")
            .status == 2);
  const CommandResult cuda = run_command("lockstep calibrate --backend cuda --quick");
  // Where there are no GPUs: exit code 1 and one clear word.
  if (cuda.status != 0) CHECK(cuda.err.rfind("lockstep: error: skipped: no ", 0) == 0);
}

}  // namespace lockstep
