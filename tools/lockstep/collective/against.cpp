#include "tools/lockstep/collective/against.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "strategies/formats/nccl_tests.hpp"
#include "tools/lockstep/collective/collective_run.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/parallel.hpp"
#include "tools/lockstep/progress.hpp"

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

const NcclRun& only_run(const std::vector<NcclRun>& runs, const std::string& file) {
  if (runs.size() == 1) return runs.front();
  throw UsageError(
      fmt::format("--against {}: {} runs in one file; expected one", file, runs.size()));
}

class Against {
 public:
  Against(const std::string& file, CollectiveQuestion question)
      : file_{file}, question_{std::move(question)}, runs_{read_nccl_tests(file)} {
    const NcclRun& run = only_run(runs_, file_);
    check_collective(run);
    if (!run.devices.empty() && !question_.cluster.nodes && !question_.cluster.ranks)
      question_.cluster.ranks = static_cast<int>(run.devices.size());
    take_rows(run);
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
  void check_collective(const NcclRun& run) const {
    for (const Contestant& each : question_.contestants)
      if (!run.collective.empty() && run.collective != to_string(each.collective))
        throw UsageError(fmt::format("--against {}: it measures {}, not {}", file_, run.collective,
                                     to_string(each.collective)));
  }

  void check_ranks(const Arena& arena) const {
    const auto measured = static_cast<int>(runs_.front().devices.size());
    if (measured == 0 || measured == arena.ranks()) return;
    throw UsageError(fmt::format("--against {}: it has {} ranks, the cluster {}", file_, measured,
                                 arena.ranks()));
  }

  void take_rows(const NcclRun& run) {
    for (const NcclRow& row : run.rows) {
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
      throw UsageError(fmt::format("--against {}: no row that nccl-tests found right", file_));
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
    for (const std::string& text : left_out) out.footer.push_back("left out: " + text);
    out.fingerprint = fingerprint.text();
    return out;
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
  std::vector<Measured> rows_;
  std::size_t invalid_ = 0;
};

}  // namespace

Report run_against(const std::string& file, CollectiveQuestion question) {
  question.sizes.clear();
  return Against(file, std::move(question)).run();
}

}  // namespace lockstep::cli
