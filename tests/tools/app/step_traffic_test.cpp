#include "tools/app/step/step_traffic.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strategies/sharding/experts/unequal_experts.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/step/run_step.hpp"

/// Links and bytes of what a step communicates.
namespace lockstep::app {
namespace {

constexpr int kRanks = 8;

/// gpt-moe on one node of 8 GPUs, all of whose experts are among them.
TrainingStepRequest experts(const std::vector<std::string>& more) {
  TrainingStepRequest out;
  out.file = scenario_file("gpt-moe");
  out.overrides = {"cluster.nodes=1",
                   "parallel.dp=8",
                   "parallel.ep=8",
                   "parallel.global_batch=32",
                   "parallel.capacity_factor=0",
                   "ignore_memory=true"};
  out.overrides.insert(out.overrides.end(), more.begin(), more.end());
  out.step_only = true;
  return out;
}

/// Of each GPU's ports.
struct Ports {
  std::vector<double> out = std::vector<double>(kRanks);
  std::vector<double> in = std::vector<double>(kRanks);
};

Ports ports_of(const Cluster& cluster, const CommunicationTraffic& traffic) {
  Ports found;
  const std::string gpu = "node0/gpu";
  for (const auto& [link, bytes] : traffic.bytes) {
    const ClusterLink of = cluster.link(link);
    const std::string from = cluster.vertex_name(of.from);
    const std::string to = cluster.vertex_name(of.to);
    if (from.starts_with(gpu)) found.out.at(std::stoul(from.substr(gpu.size()))) += bytes;
    if (to.starts_with(gpu)) found.in.at(std::stoul(to.substr(gpu.size()))) += bytes;
  }
  return found;
}

}  // namespace

// Per pair b bytes with the first rank at the unequal end, o with others: of n ranks the first
// takes in (n - 1) b and each other (n - 1) o; the first sends (n - 1) o and each other
// b + (n - 2) o. Results go the other way.
TEST_CASE("unequal all-to-alls load each port by its rank's experts, as much in as out") {
  for (const double skew : {1.5, 4.0}) {
    const TrainingStepResult result =
        run_step(experts({"parallel.expert_skew=" + std::to_string(skew)}));
    const Program& program = *result.step.timeline.program;
    const RoleProgram& role = result.step.timeline.roles[0];
    StepTraffic traffic{result};
    int seen = 0;
    for (const RoleOperation& operation : role.operations) {
      const auto of = token_skew(program, *operation.operation);
      if (!of || seen == 8) continue;
      ++seen;
      const CommunicationTraffic* found = traffic.of(0, role, operation);
      REQUIRE(found != nullptr);
      Ports ports = ports_of(result.scenario.cluster.cluster, *found);
      if (of->returns) std::swap(ports.in, ports.out);
      const double b = ports.in[0] / (kRanks - 1);
      const double o = ports.in[1] / (kRanks - 1);
      CHECK(o / b == doctest::Approx(of->others).epsilon(1e-4));
      double in = 0;
      double out = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        CHECK(ports.in[at] == (kRanks - 1) * (rank == 0 ? b : o));
        CHECK(ports.out[at] == (rank == 0 ? (kRanks - 1) * o : b + (kRanks - 2) * o));
        in += ports.in[at];
        out += ports.out[at];
      }
      CHECK(in == out);
      // 128 experts, 16 on each rank: the first has (s + 15 (128 - s) / 127) / 16 of the mean.
      const double first = (skew + 15 * (128 - skew) / 127) / 16;
      const double rest = (128 - skew) / 127;
      CHECK(of->others == doctest::Approx(rest / first));
    }
    CHECK(seen == 8);
  }
}

TEST_CASE("the links of deepep's messages are those of its own schedule") {
  const TrainingStepResult result = run_step(experts({"parallel.dispatcher=deepep"}));
  const RoleProgram& role = result.step.timeline.roles[0];
  StepTraffic traffic{result};
  int seen = 0;
  for (const RoleOperation& operation : role.operations) {
    const auto& how = operation.operation->communication;
    if (!how || !how->copies) continue;
    ++seen;
    const CommunicationTraffic* found = traffic.of(0, role, operation);
    REQUIRE(found != nullptr);
    CHECK(found->algorithm == "deepep:nodes=1");
  }
  CHECK(seen > 0);
}

}  // namespace lockstep::app
