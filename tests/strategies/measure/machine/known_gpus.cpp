#include "tests/strategies/measure/machine/known_gpus.hpp"

#include <algorithm>

#include "strategies/measure/machine_runs/simulate_machine.hpp"

namespace lockstep {

namespace {

class KnownCommandGraph final : public LoadedCommandGraph {
 public:
  explicit KnownCommandGraph(double seconds) : seconds_{seconds} {}
  void write(Region, std::span<const double>) override {}
  [[nodiscard]] std::vector<double> read(Region where) override {
    return std::vector<double>(static_cast<std::size_t>(where.count), 1.0);
  }
  void poison(BufferId) override {}
  void scatter_numbers(BufferId, const NumberRange&, std::uint64_t) override {}
  void run() override {}
  [[nodiscard]] std::vector<double> seconds(int, int repeats) override {
    return std::vector<double>(static_cast<std::size_t>(repeats), seconds_);
  }

 private:
  double seconds_;
};

}  // namespace

std::unique_ptr<LoadedCommandGraph> KnownGpus::load(const CommandGraph& graph,
                                                    const LoadOptions& options) {
  double seconds = 5e-6 * static_cast<double>(graph.launches.size());
  if (graph.launches.empty()) seconds = simulate_command_graph(graph, fit_).seconds();
  return std::make_unique<KnownCommandGraph>(options.nccl ? 2 * seconds : seconds);
}

MachineFit known_figures() {
  MachineFit out;
  out.serial = false;
  out.empty_copy = 1_us;
  out.model.memory_bandwidth = 3000_GBps;
  for (std::int64_t bytes = 4; bytes <= std::int64_t{1} << 30; bytes *= 8) {
    out.copy.points.emplace_back(bytes, 1e-6 + 2 * static_cast<double>(bytes) / 3e12);
    out.add[static_cast<std::size_t>(NumberType::fp32)].points.emplace_back(
        bytes, 1e-6 + 3 * static_cast<double>(bytes) / 3e12);
  }
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      out.links.pairs.push_back({from, to, 3_us, from == 0 && to == 1 ? 100_GBps : 200_GBps});
    }
  }
  out.links.port = 300_GBps;
  out.links.both_ways = 1.5;
  return out;
}

}  // namespace lockstep
