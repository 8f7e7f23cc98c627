#include "tools/lockstep/collective/against.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/formats/nccl_tests.hpp"
#include "strategies/formats/nccl_tests_fit.hpp"
#include "tools/lockstep/collective/collective_run.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/parallel.hpp"
#include "tools/lockstep/progress.hpp"
#include "tools/lockstep/root_option.hpp"
#include "topologies/nodes.hpp"

namespace lockstep::cli {

namespace {

/// A measured row: out of place where that was measured, else in place.
struct Measured {
  Bytes size;
  Duration time;
  bool in_place = false;
};

struct Errors {
  double sum = 0;  // of absolute relative errors
  double worst = 0;
  Bytes worst_size;
  std::size_t rows = 0;

  void add(double error, Bytes size) {
    sum += std::abs(error);
    ++rows;
    if (std::abs(error) <= std::abs(worst)) return;
    worst = error;
    worst_size = size;
  }
};

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
  return fits.empty() ? "what no collective's figures fit" : names_of(fits);
}

/// The one run that measures what is asked for; every run, where nothing is.
Subject subject_of(const AgainstQuestion& against, const std::vector<NcclRun>& runs) {
  const std::string& asked = against.contestants.collectives;
  std::vector<Subject> found;
  std::string others;
  for (const NcclRun& run : runs) {
    const std::vector<NcclFit> fits = fit_collectives(run);
    for (const NcclFit& fit : fits)
      if (asked.empty() || asked == to_string(fit.collective)) found.push_back({&run, fit});
    others += (others.empty() ? "" : ", ") + subject_of(run);
  }
  if (found.size() == 1) return found.front();
  const std::string file = "--against " + against.file + ": ";
  if (runs.size() > 1)
    throw UsageError(fmt::format("{}{} runs in one file, of {}; expected one{}", file, runs.size(),
                                 others, asked.empty() ? "" : " of " + asked));
  if (found.empty())
    throw UsageError(
        fmt::format("{}it measures {}{}", file, others, asked.empty() ? "" : ", not " + asked));
  throw UsageError(
      fmt::format("{}it does not say which collective it measures; its figures are "
                  "those of {}: name one",
                  file, others));
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
  throw UsageError(fmt::format(
      "--cluster is required: {} {}; say which cluster it was measured on, such as "
      "--cluster dgx-a100",
      file,
      run.devices.empty()
          ? "names no devices"
          : "names no GPU of a shipped cluster, but " + in_quotes(run.devices.front().name)));
}

std::size_t hosts_of(const NcclRun& run) {
  std::set<std::string_view> hosts;
  for (const NcclDevice& device : run.devices) hosts.insert(device.host);
  return hosts.size();
}

class Against {
 public:
  Against(const AgainstQuestion& against, CollectiveQuestion question)
      : file_{against.file},
        question_{std::move(question)},
        runs_{read_nccl_tests(file_)},
        subject_{subject_of(against, runs_)} {
    ask(against);
    take_rows(*subject_.run);
  }

  Report run() {
    const Arena arena = arena_for(question_);
    check_ranks(arena);
    const Player player(arena, question_.play());
    std::vector<std::string> left_out;
    const std::vector<Contestant> contestants = allowed(question_, player, left_out);
    std::vector<Duration> times(contestants.size() * rows_.size());
    Progress progress("against", times.size());
    in_parallel(times.size(), [&](std::size_t i) {
      const Contestant& one = contestants[i / rows_.size()];
      const Played played = player.play(one, player.prepare(one, rows_[i % rows_.size()].size));
      if (!played.unfinished.empty()) throw Refusal(played.unfinished);
      times[i] = played.time;
      progress.step();
    });
    return report(arena, contestants, times, left_out);
  }

 private:
  /// What the question leaves open is as the file says.
  void ask(const AgainstQuestion& against) {
    ClusterOptions& cluster = question_.cluster;
    if (!against.cluster_is_given) cluster.cluster = cluster_of(*subject_.run, file_);
    if (!cluster.nodes && !cluster.ranks) cluster.ranks = subject_.fit.ranks;
    ContestantOptions contestants = against.contestants;
    question_.root = root_of(against.root, subject_.fit.collective);
    contestants.collectives = to_string(subject_.fit.collective);
    if (contestants.algorithms.empty() && contestants.schedules.empty())
      contestants.algorithms = "auto:by=nccl";
    contestants.ask(question_);
  }

  void check_ranks(const Arena& arena) const {
    const std::optional<int> ranks = subject_.fit.ranks;
    if (ranks && *ranks != arena.ranks())
      throw UsageError(fmt::format("--against {}: it has {} ranks{}, the cluster {}", file_, *ranks,
                                   by_factor() ? ", as busbw over algbw tells" : "",
                                   arena.ranks()));
    const NcclRun& run = *subject_.run;
    const bool all_named =
        run.names_all_ranks() && (!ranks || run.devices.size() == static_cast<std::size_t>(*ranks));
    const auto hosts = all_named ? static_cast<int>(hosts_of(run)) : 0;
    const bool has_nodes = largest_node(arena.cluster()) > 1;
    if (hosts == 0 || !has_nodes || hosts == arena.cluster().nodes()) return;
    throw UsageError(
        fmt::format("--against {}: it was measured on {} host{}, the cluster has {} "
                    "node{} of {} GPUs",
                    file_, hosts, hosts == 1 ? "" : "s", arena.cluster().nodes(),
                    arena.cluster().nodes() == 1 ? "" : "s", node_sizes_text(arena.cluster())));
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
      if (const ElementType* type = find_element_type(row.type)) question_.type = type;
    }
    if (rows_.empty())
      throw UsageError(fmt::format(
          "--against {}: no row of more than 0 bytes that nccl-tests found right", file_));
    for (const Measured& row : rows_) question_.sizes.push_back(row.size);
  }

  [[nodiscard]] Report report(const Arena& arena, const std::vector<Contestant>& contestants,
                              const std::vector<Duration>& times,
                              const std::vector<std::string>& left_out) const {
    Report out;
    out.schema = "lockstep.against/1";
    out.config = config_of(question_, arena, contestants);
    out.seed = question_.cluster.seed;
    out.columns = {{"algorithm", "algorithm", "", true},
                   {"collective", "", "", true},
                   {"ranks", "", ""},
                   {"size_bytes", "size", "(B)"},
                   {"in_place", "", ""},
                   {"measured_s", "measured", "(us)"},
                   {"simulated_s", "simulated", "(us)"},
                   {"ratio", "ratio", "(sim/meas)"},
                   {"error", "error", "(%)"}};
    Fingerprint fingerprint;
    for (std::size_t c = 0; c < contestants.size(); ++c) {
      Section section;
      if (c == 0)
        section.notes.push_back(fmt::format(
            "{} against {}: {}", to_string(contestants[c].collective), file_, arena.text()));
      if (c == 0) add_link_changes(arena, section);
      Errors errors;
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        const Duration simulated = times[c * rows_.size() + r];
        const double ratio = simulated.seconds() / rows_[r].time.seconds();
        errors.add(ratio - 1, rows_[r].size);
        fingerprint.add(simulated.ps());
        section.rows.push_back(row(arena, contestants[c], rows_[r], simulated));
      }
      out.footer.push_back(
          fmt::format("{}: mean |error| {:.1f}%, worst {:+.1f}% at {} ({} rows)",
                      contestants[c].text(), 100 * errors.sum / static_cast<double>(errors.rows),
                      100 * errors.worst, to_string(errors.worst_size), errors.rows));
      out.sections.push_back(std::move(section));
    }
    if (invalid_ > 0)
      out.footer.push_back(
          fmt::format("left out: {} rows that nccl-tests itself found wrong", invalid_));
    if (empty_ > 0)
      out.footer.push_back(
          fmt::format("left out: {} row{} of 0 bytes", empty_, empty_ == 1 ? "" : "s"));
    add_skipped(out);
    for (const std::string& text : left_out) out.footer.push_back("left out: " + text);
    out.fingerprint = fingerprint.text();
    return out;
  }

  /// Lines of the file that were not understood.
  void add_skipped(Report& out) const {
    std::size_t lines = 0;
    bool cut = false;
    for (const NcclRun& run : runs_) {
      lines += run.skipped_lines;
      cut = cut || run.cut_row;
    }
    out.more.emplace_back(
        "left_out",
        fmt::format(R"({{"rows_found_wrong": {}, "rows_of_0_bytes": {}, "cut_row": {}, )"
                    R"("skipped_lines": {}}})",
                    invalid_, empty_, cut, lines));
    if (lines > 0) {
      out.footer.push_back(
          fmt::format("skipped: {} line{} of {} that {} neither of nccl-tests nor of NCCL", lines,
                      lines == 1 ? "" : "s", file_, lines == 1 ? "is" : "are"));
    }
    if (cut) out.footer.push_back("left out: the last row, within which " + file_ + " ends");
  }

  [[nodiscard]] static std::vector<Cell> row(const Arena& arena, const Contestant& contestant,
                                             const Measured& measured, Duration simulated) {
    const auto time = [](Duration d) {
      return Cell{d.seconds(), fmt::format("{:.2f}", d.seconds() * 1e6)};
    };
    const double ratio = simulated.seconds() / measured.time.seconds();
    return {Cell{contestant.text()},
            Cell{std::string{to_string(contestant.collective)}},
            Cell{std::int64_t{arena.ranks()}},
            Cell{measured.size.count()},
            Cell{measured.in_place},
            time(measured.time),
            time(simulated),
            Cell{ratio, fmt::format("{:.3f}", ratio)},
            Cell{ratio - 1, fmt::format("{:+.1f}", 100 * (ratio - 1))}};
  }

  const std::string& file_;
  CollectiveQuestion question_;
  std::vector<NcclRun> runs_;
  Subject subject_;
  std::vector<Measured> rows_;
  std::size_t invalid_ = 0;
  std::size_t empty_ = 0;  // rows of 0 bytes
};

}  // namespace

Report run_against(const AgainstQuestion& against, CollectiveQuestion question) {
  question.sizes.clear();
  return Against(against, std::move(question)).run();
}

}  // namespace lockstep::cli
