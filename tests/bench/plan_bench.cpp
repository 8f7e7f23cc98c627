#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/plan/search.hpp"
#include "tools/lockstep/malloc_tuning.hpp"

/// How fast a search decides spaces of layouts: lockstep_plan_bench [CASE...] [threads=N] prints a
/// row for each case. Peak memory is that of the process so far: give one case for its own.
namespace lockstep::app {
namespace {

struct Case {
  std::string name;
  SpaceRequest space;
};

SpaceRequest space_of(const std::string& model, const std::string& cluster, std::int64_t nodes,
                      std::int64_t batch, std::int64_t sequence,
                      std::vector<std::string> vary = {}) {
  SpaceRequest out;
  out.model = model;
  out.cluster = cluster;
  out.nodes = nodes;
  out.global_batch = batch;
  if (sequence > 0) out.sequence = sequence;
  out.vary = std::move(vary);
  return out;
}

/// The second is the size of calculon's study (13.2 million points of GPT-3 175B). The series
/// after it widens one space by one axis at a time.
std::vector<Case> cases() {
  std::vector<Case> out{
      {"llama3-70b, 512 H100", space_of("llama3-70b", "dgx-h100", 64, 1024, 8192)},
      {"gpt3-175b, 512 A100",
       space_of("gpt3-175b", "dgx-a100", 64, 1536, 0, {"micro_batch=1,2,3,4,6,8"})},
  };
  std::vector<std::string> axes{"overlap=none",      "offload=false",  "order=tp-cp-dp-pp",
                                "short_edges=false", "recompute=none", "shard_ranks=0"};
  for (int i = 0; i <= 6; ++i) {
    out.push_back(
        {fmt::format("growth {}", i), space_of("llama3-8b", "dgx-h100", 8, 256, 8192, axes)});
    if (!axes.empty()) axes.pop_back();
  }
  return out;
}

/// Of an even number, the mean of the two in the middle.
double median(std::vector<double> of) {
  if (of.empty()) return 0;
  std::sort(of.begin(), of.end());
  return (of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2;
}

void run(const Case& of, std::size_t threads) {
  const std::clock_t cpu = std::clock();
  const auto begin = std::chrono::steady_clock::now();
  const PlanSpace space = make_space(of.space);
  std::vector<std::unique_ptr<PlanSetting>> settings;
  settings.push_back(std::make_unique<PlanSetting>(space, 0, Calibration{}));
  SearchOptions options;
  options.top = 1;
  options.threads = threads;
  const SearchResult found = search_space(space, settings, options);
  const SearchCertificate& proof = found.certificate;
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "| {} | {} | {} | {:.0f} | {:.0f} | {} | {:.0f} ms | {:.1f} s | {:.1f} s | {} MiB | {:.4f} s "
      "|\n",
      of.name, proof.points, proof.bounds, static_cast<double>(proof.bounds) / proof.bounding_s,
      static_cast<double>(proof.points) / cpu_s, found.simulation_cpu_s.size(),
      1000 * median(found.simulation_cpu_s), cpu_s, wall, usage.ru_maxrss / 1024,
      found.best.empty() ? 0 : found.best.front().step_s);
  std::fflush(stdout);
}

}  // namespace
}  // namespace lockstep::app

int main(int argc, char** argv) {
  lockstep::cli::tune_malloc();
  std::vector<std::string> asked;
  std::size_t threads = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string each = argv[i];
    if (each.rfind("threads=", 0) == 0)
      threads = std::stoul(each.substr(8));
    else
      asked.push_back(each);
  }
  fmt::print(
      "| space | points | bounded | bounded/s/core | points/s of CPU | simulated | median "
      "simulation | CPU | wall | peak memory | best step |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const lockstep::app::Case& each : lockstep::app::cases()) {
    const auto named = [&](const std::string& text) { return each.name.rfind(text, 0) == 0; };
    if (asked.empty() || std::any_of(asked.begin(), asked.end(), named))
      lockstep::app::run(each, threads);
  }
  return 0;
}
