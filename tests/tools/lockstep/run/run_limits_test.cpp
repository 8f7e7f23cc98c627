#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

/// Plans whose numbers are beyond what a step can have: one error, exit code 2.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

void refuses(const std::string& command, std::initializer_list<const char*> parts) {
  CAPTURE(command);
  const CommandResult result = run_command(command);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CAPTURE(result.err);
  for (const char* part : parts) CHECK(contains(result.err, part));
}

}  // namespace

TEST_CASE("products of degrees are not wrapped") {
  // 2^16 * 2^16 = 2^32, which is 0 in 32 bits; times 8.
  const std::string square =
      "llama7b-256 --set parallel.dp=8 --set parallel.tp=65536 --set parallel.pp=65536 --set "
      "parallel.cp=1";
  refuses("lockstep run " + square, {"= 34359738368, but the cluster has 256 GPUs"});
  refuses("lockstep verify strategy " + square, {"= 34359738368, but the cluster has 256 GPUs"});
  // 3033169 * 24 * 59 = 2^32 + 8.
  refuses(
      "lockstep run llama7b-256 --set cluster.nodes=1 --set parallel.dp=3033169 "
      "--set parallel.tp=24 --set parallel.pp=59",
      {"= 4294967304, but the cluster has 8 GPUs"});
  // dp left out: what the others leave.
  refuses(
      "lockstep run mlp-two-gpus --set parallel.tp=16777216 --set parallel.pp=16777216 "
      "--set parallel.cp=16777216",
      {"16777216 * 16777216 * 16777216 = 4722366482869645213696", "2 ranks"});
  // pp * vpp beyond 32 bits.
  refuses("lockstep run pipeline-interleaved --set parallel.vpp=100000", {"vpp = 4 * 100000"});
}

TEST_CASE("more layers and microbatches than a step can be written out with are refused at once") {
  refuses("lockstep run llama7b-256 --set model.layers=100000",
          {"/model/layers: layers = 100000; a step of at most 10000 layers"});
  refuses("lockstep verify strategy llama7b-256 --set model.layers=100000", {"/model/layers"});
  refuses("lockstep run llama7b-256 --set parallel.global_batch=1000000000", {"/parallel/"});
  // 5000 * 64 = 320000 times a layer and a microbatch.
  refuses("lockstep run llama7b-256 --set model.layers=5000",
          {"/parallel/global_batch: 5000 layers for 64 microbatches", "300000"});
}

TEST_CASE("tensors beyond what can be counted are refused by the key that makes them so") {
  refuses(
      "lockstep run llama7b-256 --set parallel.micro_batch=1000000000 "
      "--set parallel.global_batch=8000000000",
      {"/parallel/global_batch"});
  refuses(
      "lockstep run attention-two-gpus --set parallel.micro_batch=1000000000 "
      "--set parallel.global_batch=1000000000 --set model.seq=4194304",
      {"/parallel/micro_batch"});
}

TEST_CASE("--set is not held against variants that nobody runs") {
  // The variant "averaged through the host" is for data parallelism alone.
  const std::string options = "data-parallel-from-scratch --set parallel.tp=2 --set parallel.dp=4";
  CHECK(run_command("lockstep run " + options).status == 0);
  // verify strategy runs those that it can, and names the others as `run` does.
  const CommandResult verified = run_command("lockstep verify strategy " + options);
  CHECK(verified.status == 0);
  CHECK(contains(verified.out,
                 "variant averaged through the host is not verified: host_average is for "
                 "data parallelism alone"));
  CHECK(contains(verified.out, "passed: trains as one device does"));
  const Json config = json_of("lockstep verify strategy " + options)["config"];
  CHECK(config["plans"].size() == 2);  // neither averages parameters with tp above 1
  CHECK(config["impossible_variants"].size() == 3);
  CHECK(config["impossible_variants"][0]["variant"] == "averaged through the host");
  // Variants that are themselves changed are read, and so are those of a file as it stands.
  refuses(R"(lockstep run data-parallel-from-scratch --set variants.0.set.0=parallel.tq=4)",
          {"tq"});
}

TEST_CASE("a value out of range is refused alone, not what stands in for it") {
  const CommandResult result =
      run_command("lockstep run llama7b-256 --set model.hidden=9223372036854775807");
  CHECK(result.status == 2);
  CHECK(contains(result.err, "/model/hidden: expected an integer"));
  CHECK(contains(result.err, "1 error;"));
}

TEST_CASE("units of sustained rates are those of the schema") {
  const auto six_n_d = [](const std::string& rate) {
    return json_of("lockstep run gpt3-v100 --set sustained='" + rate + "'")["six_n_d_s"]
        .get<double>();
  };
  const double seconds = six_n_d("28 TFLOP/s");
  CHECK(six_n_d("28000000000 kFLOP/s") == seconds);
  CHECK(six_n_d("0.000028 EFLOP/s") == seconds);
  CHECK(six_n_d("28000000 MFLOP/s") == seconds);
}

}  // namespace lockstep
