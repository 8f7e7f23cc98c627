#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>

#include "sim/symmetry/fold.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/lockstep/malloc_tuning.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/routing/lower.hpp"

/// Times one folded all-reduce on so many nodes of a cluster file, topology building included, and
/// the peak memory of the process: lockstep_fold_bench CLUSTER NODES ALGORITHM BYTES. Devices
/// reduce as an H100 does.
namespace lockstep {
namespace {

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void run(const std::string& file, int nodes, const std::string& algorithm, Bytes size) {
  const double begin = cpu_seconds();
  const Cluster cluster = load_cluster(file, {nodes, std::nullopt, 0}).cluster;
  const double built = cpu_seconds() - begin;
  const Endpoint endpoint{Duration{}, Rate::bytes_per_second(1'116'700'000'000), std::nullopt};
  const Network network = lower(cluster, endpoint);
  const double lowered = cpu_seconds() - begin;
  AlgorithmInput input{.n = cluster.ranks()};
  input.layout.per_node = cluster.gpus_per_node();
  input.size = size;
  const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, algorithm);
  if (row == nullptr) {
    fmt::print(stderr, "no all-reduce algorithm '{}'\n", algorithm);
    std::exit(2);
  }
  CollectiveCall call;
  call.schedule = make_schedule(*row, input);
  call.block = divide_message(size, *find_element_type("float"), call.schedule->blocks()).block;
  call.members.resize(static_cast<std::size_t>(cluster.ranks()));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  Workload workload;
  workload.calls.push_back(std::move(call));
  const FoldedReplay played = replay_folded(network, workload, NetworkModel::fluid);
  const double all = cpu_seconds() - begin;
  fmt::print(
      "| `{}` | {} | {} | {:.2f} s | {:.0f} MiB | {:.2f} + {:.2f} s | {} | {} of {} | {} of {} | "
      "{:.3f} ms |\n",
      algorithm, cluster.ranks(), to_string(size), all, peak_mib(), built, lowered - built,
      played.report.classes.size(), played.report.simulated_transfers, played.report.transfers,
      played.report.rounds_skipped, played.report.rounds,
      played.result.end.since_start().seconds() * 1e3);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  lockstep::cli::tune_malloc();
  lockstep::run(argv[1], std::atoi(argv[2]), argv[3], lockstep::Bytes{std::atoll(argv[4])});
  return 0;
}
