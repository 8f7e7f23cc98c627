#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tools/lockstep/collective/collective_render.hpp"
#include "tools/lockstep/collective/other_renders.hpp"
#include "tools/lockstep/collective/rank_setting_output.hpp"
#include "tools/lockstep/collective/setup_text.hpp"
#include "tools/lockstep/output/cells.hpp"

namespace lockstep::cli {

namespace {

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

std::vector<Cell> row(const AgainstReport& done, const Candidate& candidate,
                      const MeasuredRow& measured, Duration simulated) {
  const double ratio = simulated.seconds() / measured.time.seconds();
  return {Cell{candidate.text()},
          Cell{std::string{to_string(candidate.collective)}},
          Cell{std::int64_t{done.setup->ranks()}},
          Cell{measured.size.count()},
          Cell{measured.in_place},
          in_microseconds(measured.time),
          in_microseconds(simulated),
          Cell{ratio, fmt::format("{:.3f}", ratio)},
          Cell{ratio - 1, fmt::format("{:+.1f}", 100 * (ratio - 1))}};
}

void add_candidate(const AgainstReport& done, std::size_t c, Report& out) {
  Section section;
  const Candidate& candidate = done.candidates[c];
  Errors errors;
  for (std::size_t r = 0; r < done.measured.size(); ++r) {
    const MeasuredRow& measured = done.measured[r];
    const Duration simulated = done.simulated[c * done.measured.size() + r];
    errors.add(simulated.seconds() / measured.time.seconds() - 1, measured.size);
    section.rows.push_back(row(done, candidate, measured, simulated));
  }
  out.footer.push_back(fmt::format("{}: mean |error| {:.1f}%, worst {:+.1f}% at {} ({} rows)",
                                   candidate.text(),
                                   100 * errors.sum / static_cast<double>(errors.rows),
                                   100 * errors.worst, to_string(errors.worst_size), errors.rows));
  out.sections.push_back(std::move(section));
}

/// Rows and lines of the file that were not used.
void add_left_out(const AgainstReport& done, const std::string& file, Report& out) {
  const std::size_t wrong = done.rows_found_wrong;
  const std::size_t empty = done.rows_of_0_bytes;
  const std::size_t lines = done.skipped_lines;
  if (wrong > 0)
    out.footer.push_back(
        fmt::format("left out: {} rows that nccl-tests itself found wrong", wrong));
  if (empty > 0)
    out.footer.push_back(
        fmt::format("left out: {} row{} of 0 bytes", empty, empty == 1 ? "" : "s"));
  out.more.emplace_back(
      "left_out", fmt::format(R"({{"rows_found_wrong": {}, "rows_of_0_bytes": {}, "cut_row": {}, )"
                              R"("skipped_lines": {}}})",
                              wrong, empty, done.cut_row, lines));
  if (lines > 0) {
    out.footer.push_back(
        fmt::format("skipped: {} line{} of {} that {} neither of nccl-tests nor of NCCL", lines,
                    lines == 1 ? "" : "s", file, lines == 1 ? "is" : "are"));
  }
  if (done.cut_row) out.footer.push_back("left out: the last row, which ends early");
  for (const RequestProblem& each : done.left_out)
    out.footer.push_back("left out: " + text_of_left_out(each));
}

}  // namespace

Report report_of(const AgainstReport& done, const std::string& file) {
  Report out;
  out.schema = "lockstep.against/2";
  out.config = collective_config(done.request, *done.setup, done.candidates);
  out.seed = done.request.cluster.seed;
  out.fingerprint = done.fingerprint;
  out.columns = {{"algorithm", "algorithm", "", true},
                 {"collective", "", "", true},
                 {"ranks", "", ""},
                 {"size_bytes", "size", "(B)"},
                 {"in_place", "", ""},
                 {"measured_s", "measured", "(us)"},
                 {"simulated_s", "simulated", "(us)"},
                 {"ratio", "ratio", "(sim/meas)"},
                 {"error_fraction", "error", "(%)"}};
  out.left_out_first = {"ratio"};
  for (std::size_t c = 0; c < done.candidates.size(); ++c) add_candidate(done, c, out);
  Section& first = out.sections.front();
  first.notes.push_back(fmt::format("{} against {}: {}",
                                    to_string(done.candidates.front().collective), file,
                                    setup_text_with_ranks(done.setup->names())));
  add_link_changes(*done.setup, first);
  add_drawn_ranks(done.request, *done.setup, first);
  add_left_out(done, file, out);
  return out;
}

}  // namespace lockstep::cli
