#include "tools/app/collective/against.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/interop/nccl_tests/nccl_tests.hpp"
#include "strategies/interop/nccl_tests/nccl_tests_fit.hpp"
#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/parallel.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::app {

namespace {

/// A run of the file, and which collective it measured on how many ranks.
struct Subject {
  const NcclRun* run = nullptr;
  NcclFit fit;
};

std::string names_of(const std::vector<NcclFit>& fits) {
  std::vector<std::string_view> names;
  for (const NcclFit& fit : fits) names.push_back(to_string(fit.collective));
  return fmt::format("{}", fmt::join(names, " or "));
}

/// What a run may have measured, in words.
std::string subject_of(const NcclRun& run) {
  if (!run.collective.empty()) return run.collective;
  const std::vector<NcclFit> fits = fit_collectives(run);
  return fits.empty() ? "what no collective's values fit" : names_of(fits);
}

/// The one run that measures what is asked for; every run, where nothing is.
Subject subject_of(const AgainstRequest& against, const std::vector<NcclRun>& runs) {
  const std::string& asked = against.names.collectives;
  std::vector<Subject> found;
  std::string others;
  for (const NcclRun& run : runs) {
    const std::vector<NcclFit> fits = fit_collectives(run);
    for (const NcclFit& fit : fits)
      if (asked.empty() || asked == to_string(fit.collective)) found.push_back({&run, fit});
    others += (others.empty() ? "" : ", ") + subject_of(run);
  }
  if (found.size() == 1) return found.front();
  const std::string file = "against " + against.file;
  if (runs.size() > 1)
    throw RequestError(file, fmt::format("{} runs in one file, of {}; expected one{}", runs.size(),
                                         others, asked.empty() ? "" : " of " + asked));
  if (found.empty())
    throw RequestError(
        file, fmt::format("it measures {}{}", others, asked.empty() ? "" : ", not " + asked));
  throw RequestError(file,
                     fmt::format("it does not say which collective it measures; its values are "
                                 "those of {}: name one",
                                 others));
}

/// A shipped cluster by what its GPUs call themselves.
struct KnownGpu {
  std::string_view part;  // of the device's name in nccl-tests' header
  std::string_view cluster;
};
constexpr std::array kKnownGpus{KnownGpu{"V100-SXM2", "dgx1"},
                                KnownGpu{"A100-SXM4", "dgx-a100"},
                                KnownGpu{"A100-PCIE", "pcie-box"},
                                KnownGpu{"A100 80GB PCIe", "pcie-box"},
                                KnownGpu{"H100 80GB HBM3", "dgx-h100"},
                                KnownGpu{"H200", "dgx-h200"},
                                KnownGpu{"GB200", "nvl72"}};

std::string cluster_of(const NcclRun& run, const std::string& file) {
  for (const KnownGpu& known : kKnownGpus)
    if (!run.devices.empty() && run.devices.front().name.find(known.part) != std::string::npos)
      return std::string{known.cluster};
  throw RequestError(
      "cluster",
      fmt::format("required: {} {}; say which cluster it was measured on, such as dgx-a100", file,
                  run.devices.empty() ? "names no devices"
                                      : "names no GPU of a shipped cluster, but " +
                                            in_quotes(run.devices.front().name)));
}

std::size_t hosts_of(const NcclRun& run) {
  std::set<std::string_view> hosts;
  for (const NcclDevice& device : run.devices) hosts.insert(device.host);
  return hosts.size();
}

class Against {
 public:
  Against(const AgainstRequest& against, CollectiveRequest request)
      : file_{against.file},
        request_{std::move(request)},
        runs_{read_nccl_tests(file_)},
        subject_{subject_of(against, runs_)} {
    ask(against);
    take_rows(*subject_.run);
  }

  AgainstReport run() {
    AgainstReport out;
    out.setup = setup_for(request_);
    check_ranks(*out.setup);
    const CollectiveRunner runner(*out.setup, request_.runner_options());
    out.candidates = allowed(request_, runner, out.left_out);
    out.simulated.resize(out.candidates.size() * rows_.size());
    ProgressCounter progress(request_.on_progress, out.simulated.size());
    in_parallel(out.simulated.size(), [&](std::size_t i) {
      const Candidate& one = out.candidates[i / rows_.size()];
      const CollectiveResult replayed =
          runner.replay(one, runner.prepare(one, rows_[i % rows_.size()].size));
      if (!replayed.unfinished.empty()) throw Refusal(replayed.unfinished);
      out.simulated[i] = replayed.time;
      progress.step();
    });
    Fingerprint fingerprint;
    for (const Duration time : out.simulated) fingerprint.add(time.ps());
    out.fingerprint = fingerprint.text();
    out.measured = std::move(rows_);
    out.rows_found_wrong = invalid_;
    out.rows_of_0_bytes = empty_;
    for (const NcclRun& run : runs_) {
      out.skipped_lines += run.skipped_lines;
      out.cut_row = out.cut_row || run.cut_row;
    }
    out.request = std::move(request_);
    return out;
  }

 private:
  /// What the request leaves open is taken from the file.
  void ask(const AgainstRequest& against) {
    ClusterRequest& cluster = request_.cluster;
    if (!against.cluster_is_given) cluster.cluster = cluster_of(*subject_.run, file_);
    if (!cluster.nodes && !cluster.ranks) cluster.ranks = subject_.fit.ranks;
    CandidateNames names = against.names;
    request_.root = root_of(against.root, subject_.fit.collective);
    names.collectives = to_string(subject_.fit.collective);
    if (names.algorithms.empty() && names.schedules.empty()) names.algorithms = "auto:by=nccl";
    add_candidates(names, request_);
  }

  void check_ranks(const CollectiveSetup& setup) const {
    const std::optional<int> ranks = subject_.fit.ranks;
    if (ranks && *ranks != setup.ranks())
      throw RequestError(
          "against " + file_,
          fmt::format("it has {} ranks{}, the cluster {}", *ranks,
                      by_factor() ? ", inferred from busbw over algbw" : "", setup.ranks()));
    const NcclRun& run = *subject_.run;
    const bool all_named =
        run.names_all_ranks() && (!ranks || run.devices.size() == static_cast<std::size_t>(*ranks));
    const auto hosts = all_named ? static_cast<int>(hosts_of(run)) : 0;
    const bool has_nodes = largest_node(setup.cluster()) > 1;
    if (hosts == 0 || !has_nodes || hosts == setup.cluster().nodes()) return;
    throw RequestError(
        "against " + file_,
        fmt::format("it was measured on {} host{}, the cluster has {} node{} of {} GPUs", hosts,
                    hosts == 1 ? "" : "s", setup.cluster().nodes(),
                    setup.cluster().nodes() == 1 ? "" : "s", node_sizes_text(setup.cluster())));
  }

  /// Whether neither the heading nor NCCL's log names the number of ranks.
  [[nodiscard]] bool by_factor() const {
    const NcclRun& run = *subject_.run;
    if (run.communicator_ranks) return false;
    return !subject_.fit.ranks ||
           run.devices.size() != static_cast<std::size_t>(*subject_.fit.ranks);
  }

  void take_rows(const NcclRun& run) {
    for (const NcclRow& row : run.rows) {
      if (row.size == Bytes{}) {
        ++empty_;
        continue;
      }
      const bool outside = row.out_of_place.has_value() && row.is_valid(row.out_of_place);
      const bool inside = row.in_place.has_value() && row.is_valid(row.in_place);
      if (!outside && !inside) {
        ++invalid_;
      } else {
        const NcclMeasurement& half = outside ? *row.out_of_place : *row.in_place;
        if (half.time > Duration{}) rows_.push_back({row.size, half.time, !outside});
      }
      if (const ElementType* type = find_element_type(row.type)) request_.type = type;
    }
    if (rows_.empty())
      throw RequestError("against " + file_,
                         "no row of more than 0 bytes that nccl-tests found right");
    for (const MeasuredRow& row : rows_) request_.sizes.push_back(row.size);
  }

  const std::string& file_;
  CollectiveRequest request_;
  std::vector<NcclRun> runs_;
  Subject subject_;
  std::vector<MeasuredRow> rows_;
  std::size_t invalid_ = 0;
  std::size_t empty_ = 0;  // rows of 0 bytes
};

}  // namespace

AgainstReport run_against(const AgainstRequest& against, CollectiveRequest request) {
  request.sizes.clear();
  return Against(against, std::move(request)).run();
}

}  // namespace lockstep::app
