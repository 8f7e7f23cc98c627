#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "tests/bench/memory.hpp"
#include "tests/bench/networks.hpp"
#include "tests/bench/simgrid_run.hpp"
#include "tests/bench/traffic.hpp"

/// The engine on large collectives, and SimGrid on the same ones where it gets done in seconds.
namespace lockstep {
namespace {

struct Fabric {
  std::string name;
  std::function<Network(std::uint32_t)> network;
  std::function<Network(std::uint32_t)> unsplit;  // the same shares over single paths, for SimGrid
};

struct Subject {
  std::string name;
  std::function<CollectiveCall(int)> traffic;
  std::vector<int> ranks;
  int largest_in_simgrid = 0;
};

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// A run is tried with few iterations first; SimGrid's is done once for all of them.
using OnceInSimgrid = std::shared_ptr<std::optional<SimgridRun>>;

/// SimGrid's run of the same traffic: its time, how many times longer it took, and how far its end
/// lies from ours.
void report(benchmark::State& state, const SimgridRun& theirs, const ReplayResult& ours,
            double cpu_s) {
  const double end_s = ours.end.since_start().seconds();
  state.counters["simgrid_s"] = theirs.cpu_s;
  state.counters["times_simgrid"] = theirs.cpu_s / cpu_s;
  state.counters["simgrid_differs"] = std::abs(theirs.end_s - end_s) / end_s;
}

void run(benchmark::State& state, const Fabric& fabric, const Subject& subject, int n,
         const OnceInSimgrid& theirs) {
  const Network network = fabric.network(static_cast<std::uint32_t>(n));
  Workload workload;
  workload.calls.push_back(subject.traffic(n));
  ReplayResult result;
  const PeakMemory memory;
  const double begin = cpu_seconds();
  for ([[maybe_unused]] auto iteration : state) {
    result = replay(network, workload, NetworkModel::fluid);
  }
  const double cpu_s = (cpu_seconds() - begin) / static_cast<double>(state.iterations());
  if (!result.unfinished.empty()) state.SkipWithError("not all ranks finished");
  state.counters["transfers_per_s"] = static_cast<double>(result.transfers) / cpu_s;
  state.counters["simulated_ms"] = result.end.since_start().seconds() * 1e3;
  if (const auto grown = memory.grown()) {
    state.counters["bytes_per_rank"] = static_cast<double>(grown->count()) / n;
  }
  if (n <= subject.largest_in_simgrid) {
    if (!*theirs) {
      *theirs =
          run_in_simgrid(fabric.unsplit(static_cast<std::uint32_t>(n)), workload.calls.front());
    }
    report(state, **theirs, result, cpu_s);
  }
}

void enter(const Fabric& fabric, const Subject& subject) {
  for (const int n : subject.ranks) {
    const std::string name = subject.name + "/" + fabric.name + "/" + std::to_string(n);
    const auto theirs = std::make_shared<std::optional<SimgridRun>>();
    const auto body = [=](benchmark::State& state) { run(state, fabric, subject, n, theirs); };
    benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond);
  }
}

void enter_all() {
  constexpr std::uint32_t kSpines = 16;
  const Fabric one_switch{"star", star, star};
  const Fabric tree{"tree", [](std::uint32_t n) { return fat_tree(n, kSpines); },
                    [](std::uint32_t n) { return fat_tree(n, 1); }};
  const auto ring = [](int n) { return all_reduce(make_ring(n, 1, {})); };
  const auto ring_apart = [](int n) { return all_reduce_apart(make_ring(n, 1, {})); };
  const auto direct = [](int n) { return all_reduce(make_direct(n)); };
  for (const Fabric& fabric : {one_switch, tree}) {
    const bool is_star = fabric.name == "star";
    enter(fabric, {"ring", ring, {64, 256, 1024, 4096}, 1024});
    enter(fabric, {"ring_apart", ring_apart, {64, 256, 1024, 4096}, 1024});
    enter(fabric,
          {"direct", direct, is_star ? std::vector{64, 256, 1024} : std::vector{64, 256}, 256});
    enter(fabric, {"all_to_all", all_to_all, {64, 128, 256}, 64});
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  lockstep::enter_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
