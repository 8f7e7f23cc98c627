#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <numeric>
#include <string>

#include "sim/engine/replay.hpp"
#include "sim/symmetry/fold.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/sizing.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/routing/lower.hpp"

/// Times designs for one rank or link that differs on small all-reduces over a star, a row of a
/// table each: lockstep_design_bench CONFIGS. Replay of all ranks, classes that are static, and
/// ranks one by one (sim/symmetry/README.md), which must end at the same instants.
namespace lockstep {
namespace {

/// Time of one call, of many in a row: at least 0.2 s of them.
double microseconds(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  run();
  const Clock::time_point begin = Clock::now();
  int times = 0;
  double passed = 0;
  while (passed < 0.2) {
    run();
    ++times;
    passed = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return 1e6 * passed / times;
}

Workload all_reduce(const std::string& name, int n) {
  const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, name);
  AlgorithmInput input{.n = n};
  CollectiveCall call;
  call.schedule = make_schedule(*row, input);
  call.block =
      divide_message(Bytes{64 << 20}, *find_element_type("float"), call.schedule->blocks()).block;
  call.members.resize(static_cast<std::size_t>(n));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  Workload out;
  out.calls.push_back(std::move(call));
  return out;
}

void compare(const std::string& star, const std::string& algorithm, int n, bool late) {
  Network network = lower(load_cluster(star, {std::nullopt, n, 0}).cluster, Endpoint{});
  Workload workload = all_reduce(algorithm, n);
  if (late) {
    workload.calls[0].starts.resize(static_cast<std::size_t>(n));
    workload.calls[0].starts[3] = TimePoint{} + 10_us;
  } else {
    Link& port = network.links[7];
    port.bandwidth = Rate::from_steps(port.bandwidth.steps() / 2);
  }
  const auto folded = [&](bool by_rank) {
    FoldOptions options;
    options.by_rank = by_rank;
    options.by_rank_from = 0;
    return replay_folded(network, workload, NetworkModel::fluid, options);
  };
  const ReplayResult whole = replay(network, workload, NetworkModel::fluid);
  const FoldedReplay classes = folded(false);
  const FoldedReplay ranks = folded(true);
  const bool same = whole.call_ends == classes.result.call_ends &&
                    whole.call_ends == ranks.result.call_ends && ranks.report.by_rank;
  fmt::print("| {}, one {} | {} | {} | {:.0f} us | {:.0f} us | {:.0f} us | {} |\n", algorithm,
             late ? "late rank" : "slow link", n, classes.report.classes.size(),
             microseconds([&] { (void)replay(network, workload, NetworkModel::fluid); }),
             microseconds([&] { (void)folded(false); }), microseconds([&] { (void)folded(true); }),
             same ? "same" : "DIFFERENT");
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string star = std::string{argv[1]} + "/clusters/star.json";
  for (const char* algorithm : {"ring", "halving_doubling"})
    for (const bool late : {true, false})
      for (const int n : {8, 64, 1024}) lockstep::compare(star, algorithm, n, late);
  return 0;
}
