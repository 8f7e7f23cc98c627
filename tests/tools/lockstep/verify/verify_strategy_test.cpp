#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/tools/run_command.hpp"

/// `lockstep verify strategy`: what it prints, what it refuses, how it ends.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

/// The row of the last step of a variant; empty: the scenario itself.
Json last_step(const Json& rows, const std::string& variant) {
  Json out;
  for (const Json& row : rows) {
    if (row["variant"] == variant) out = row;
  }
  REQUIRE_FALSE(out.is_null());
  return out;
}

std::string usage_error(const std::string& options) {
  const CommandResult result = run_command("lockstep verify strategy " + options);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  return result.err;
}

}  // namespace

// Means over the same samples: whoever adds up gradients in whatever order has the same losses;
// a replica that steps by its own gradients has others.
TEST_CASE("data parallelism from scratch: what is exact, and what averaging parameters is not") {
  const Json rows = rows_of("lockstep verify strategy data-parallel-from-scratch --steps 4");
  REQUIRE(rows.size() == 5 * 4);
  const Json ring = last_step(rows, "");
  for (const char* variant : {"averaged through the host", "gradients accumulated"}) {
    CAPTURE(variant);
    const Json row = last_step(rows, variant);
    CHECK(row["ok"] == true);
    CHECK(row["weight_difference"].get<double>() < 1e-10);
    CHECK(row["from_one_device"].is_null());
  }
  CHECK(std::abs(ring["loss"].get<double>() -
                 last_step(rows, "averaged through the host")["loss"].get<double>()) < 1e-10);
  for (const char* variant :
       {"parameters averaged each step", "parameters averaged every second step"}) {
    CAPTURE(variant);
    const Json row = last_step(rows, variant);
    CHECK(row["ok"] == true);                            // as averaging in one process
    CHECK(row["from_one_device"].get<double>() > 1e-6);  // and not as one device
  }
}

TEST_CASE("the largest difference is reported with its tensor, block, rank and element") {
  const Json rows = rows_of("lockstep verify strategy zero-7b5-2 --steps 2");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["weight_difference"].is_null());  // known in the end
  const Json& end = rows[1];
  CHECK(end["ranks"].get<int>() > 1);
  CHECK(end["weight"].get<std::string>().size() > 3);
  CHECK(end["weight_rank"].get<int>() < end["ranks"].get<int>());
  CHECK(end["weight_element"].get<int>() >= 0);
  CHECK(end["state_difference"].get<double>() <= 1e-10);
  CHECK(end["peak_bytes"].get<int>() > 0);
  const std::string text = output_of("lockstep verify strategy zero-7b5-2 --steps 2");
  CHECK(contains(text, "shrunk: model.layers 36 -> "));
  CHECK(contains(text, "# collectives: "));
  CHECK(contains(text, "in simulated order: "));
  CHECK(contains(text, "# passed: trains as one device does, within 1e-10\n"));
}

TEST_CASE("the same seed gives the same bytes, another one other losses") {
  const std::string command = "lockstep verify strategy pipeline-1f1b --steps 1 --format json";
  const std::string once = output_of(command);
  CHECK(output_of(command) == once);
  CHECK(output_of(command + " --seed 2") != once);
}

TEST_CASE("variants with an optimizer that is not executed are named, and others verified") {
  const std::string text = output_of("lockstep verify strategy muon --steps 1");
  CHECK(contains(text, "variant SOAP, new bases in every step is not verified: "));
  CHECK(contains(text, "preconditioners are not executed"));
  CHECK(contains(text, "symmetric products by half"));
  CHECK(contains(text, "# passed: trains as one device does"));
}

TEST_CASE("what is set is not shrunk") {
  const Json of = json_of(
      "lockstep verify strategy pipeline-1f1b --steps 1 --set model.layers=8 --set model.seq=48");
  const Json& plan = of["config"]["plans"][0];
  CHECK(plan["model"]["layers"] == 8);
  CHECK(plan["model"]["seq"] == 48);
  CHECK(plan["model"]["hidden"].get<int>() < 64);
}

TEST_CASE("partial sums of gradients go round a ring and are added up") {
  // Of one key-value head: each rank of an all-to-all has a part of its gradient.
  const Json rows = rows_of(
      "lockstep verify strategy sequence-2d --steps 1 --set model.kv_heads=1 --set cluster.nodes=2 "
      "--set parallel.cp=16");
  CHECK(rows.back()["ok"] == true);
}

TEST_CASE("torchtitan's stacks train with tensor parallelism, whose parts they put in order") {
  for (const std::string overlap : {"", " --set 'parallel.overlap=[\"tp\"]'"}) {
    const Json rows = rows_of(
        "lockstep verify strategy llama3-70b-dgx-h100 --steps 1 --set stack=torchtitan" + overlap);
    CHECK(rows.back()["ok"] == true);
  }
}

TEST_CASE("groups of experts stay groups in a small model, as many as were asked for") {
  const Json of = json_of(
      "lockstep verify strategy expert-dispatch --steps 1 --set model.experts.groups=4 --set "
      "model.experts.group_top_k=2");
  const Json& experts = of["config"]["plans"][0]["model"]["experts"];
  CHECK(experts["groups"] == 4);
  CHECK(experts["group_top_k"] == 2);
  CHECK(experts["count"].get<int>() % 4 == 0);
  CHECK(of["rows"].back()["ok"] == true);
  CHECK(contains(output_of("lockstep verify strategy deepseek-v3-2048-h800 --steps 1"),
                 "model.experts.groups 8 -> 2, model.experts.group_top_k 4 -> 1"));
}

TEST_CASE("float32 is compared within its own bound, trained with SGD") {
  const Json rows = rows_of("lockstep verify strategy sequence-ring --steps 2 --precision float32");
  CHECK(rows.back()["tolerance"] == 1e-5);
  CHECK(rows.back()["ok"] == true);
  CHECK(rows.back()["state_difference"].is_null());  // SGD has no moments
}

TEST_CASE("what cannot be verified so is refused, with what would do") {
  CHECK(contains(usage_error("zero-7b5-9"), "did you mean \"zero-7b5-0\"?"));
  CHECK(contains(usage_error("zero-7b5-3 --precision fp16"), "expected float64 or float32"));
  CHECK(contains(usage_error("llama3-405b-16k-h100 --no-shrink"), "at most 5e+08 are executed"));
  CHECK(contains(usage_error("llama3-405b-16k-h100 --ranks 4"),
                 "dp * pp * cp * tp is 2 * 2 * 1 * 2 = 8 at least"));
  CHECK(contains(usage_error("zero-7b5-3 --set parallel.tq=2"), "did you mean \"tp\"?"));
  CHECK(contains(usage_error("zero-7b5-3 --stesp 2"), "did you mean \"--steps\"?"));
  CHECK(contains(usage_error("muon --set parallel.state.optimizer=soap"),
                 "its preconditioners are not executed"));
  CHECK(contains(usage_error("no/such/file.json"), "no such file"));
}

}  // namespace lockstep
