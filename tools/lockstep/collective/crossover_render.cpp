#include <fmt/format.h>

#include <utility>

#include "tools/lockstep/collective/collective_render.hpp"
#include "tools/lockstep/collective/other_renders.hpp"
#include "tools/lockstep/collective/rank_setting_output.hpp"
#include "tools/lockstep/collective/setup_text.hpp"
#include "tools/lockstep/output/cells.hpp"

namespace lockstep::cli {

namespace {

std::vector<Cell> row(const CrossoverReport& done, const Crossover& change) {
  return {Cell{std::string{to_string(done.candidates[change.to].collective)}},
          Cell{std::int64_t{done.setup->ranks()}},
          Cell{change.size.count()},
          Cell{change.count},
          Cell{done.candidates[change.from].text()},
          Cell{done.candidates[change.to].text()},
          in_microseconds(change.from_time),
          in_microseconds(change.to_time)};
}

Section section_of(const CollectiveRequest& request, const CrossoverReport& done,
                   const CollectiveCrossovers& one) {
  Section out;
  out.notes.push_back(
      fmt::format("{}: {}", to_string(one.collective), setup_text_with_ranks(done.setup->names())));
  add_link_changes(*done.setup, out);
  add_drawn_ranks(request, *done.setup, out);
  out.notes.push_back(
      fmt::format("at {}: {}", to_string(one.least), done.candidates[one.fastest].text()));
  for (const Crossover& change : one.changes) out.rows.push_back(row(done, change));
  if (out.rows.empty())
    out.notes.emplace_back("the fastest does not change up to the largest size");
  return out;
}

}  // namespace

Report report_of(const CollectiveRequest& request, const CrossoverReport& done) {
  Report out;
  out.schema = "lockstep.crossover/1";
  out.config = collective_config(request, *done.setup, done.candidates);
  out.seed = request.cluster.seed;
  out.fingerprint = done.fingerprint;
  out.columns = {{"collective", "collective", "", true}, {"ranks", "", ""},
                 {"size_bytes", "size", "(B)"},          {"count", "count", "(elements)"},
                 {"from", "fastest below", "", true},    {"to", "fastest above", "", true},
                 {"from_s", "time below", "(us)"},       {"to_s", "time above", "(us)"}};
  out.left_out_first = {"count", "from_s", "to_s", "collective"};
  for (const CollectiveCrossovers& one : done.collectives)
    out.sections.push_back(section_of(request, done, one));
  for (const RequestProblem& each : done.left_out)
    out.footer.push_back("not applicable: " + text_of_left_out(each));
  return out;
}

}  // namespace lockstep::cli
