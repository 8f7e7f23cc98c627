#include "tools/lockstep/run/class_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/step/lowering/class_partings.hpp"
#include "tools/app/step/metrics/rank_classes.hpp"
#include "tools/lockstep/run/text/step_words.hpp"

namespace lockstep::cli {

namespace {

/// "from 12.3 ms (grad.5) on; later by 2 us from 40 ms on"; `is_usual`: of the largest class of the
/// role, from whose times others part.
std::string parting_text(const RankEquivalenceClass& of, const TrainingStepTimeline& timeline,
                         bool is_usual) {
  if (!of.parting) return is_usual ? "" : "never";
  const ClassParting& parting = *of.parting;
  std::string out = fmt::format("from {} ({})", to_string(parting.at.since_start()),
                                timeline.roles[of.role].name(parting.operation));
  if (!parting.again) return out;
  const std::string again = to_string(parting.again->since_start());
  if (parting.later_ps == 0) return out + " until " + again;
  return fmt::format("{}; {} {} from {} on", out,
                     to_string(Duration::picoseconds(std::abs(parting.later_ps))),
                     parting.later_ps > 0 ? "later" : "earlier", again);
}

/// "0-7", of several classes the first rank.
std::string ranks_text(const app::ClassGroup& group) {
  return group.classes == 1 ? text_of(group.first.ranges)
                            : fmt::format("{}, ...", group.first.of.representative);
}

/// Classes after many others have no description of their own.
std::string difference_text(const RankEquivalenceClass& of, bool unchanged) {
  // From the step without changes nothing else is known to differ: the operation says why.
  if (unchanged) return app::has_own_speed(of) ? of.difference : "";
  if (of.difference.empty() && of.parting) return "different peers or links (direct or indirect)";
  return of.difference;
}

/// How many ranks have had other times by when, whatever the reason, and what became of them.
void add_spread(const std::vector<app::ShownClass>& classes, bool unchanged,
                std::vector<std::string>& out) {
  constexpr std::size_t kPoints = 5;
  std::vector<app::ClassReach> reach = app::reach_of(classes);
  if (reach.empty()) return;
  const std::string first = fmt::format("rank {}", reach.front().rank);
  std::vector<std::string> points;
  for (std::size_t i = 0; i < reach.size(); ++i) {
    if (i + 1 < reach.size() && i + 1 >= kPoints) continue;
    if (i + 1 == reach.size() && i >= kPoints) points.emplace_back("...");
    points.push_back(
        fmt::format("{} from {}", reach[i].ranks, to_string(reach[i].at.since_start())));
  }
  out.push_back(fmt::format(
      "ranks whose times have differed from {}, {} first: {}",
      unchanged ? "their own without the changes" : "those of the largest class of their role",
      first, fmt::join(points, ", ")));
  const app::ClassMerges merges = app::merges_of(classes);
  std::vector<std::string> ends;
  if (merges.same > 0)
    ends.push_back(
        fmt::format("{} {} the same times again", merges.same, merges.same == 1 ? "has" : "have"));
  if (merges.shifted > 0)
    ends.push_back(fmt::format("{} {} later or earlier by the same to the end", merges.shifted,
                               merges.shifted == 1 ? "is" : "are"));
  if (ends.empty()) return;
  std::string text = fmt::format("of these {}, all from {} on", fmt::join(ends, ", and "),
                                 to_string(merges.last.since_start()));
  if (const std::int64_t others = reach.back().ranks - merges.same - merges.shifted; others > 0)
    text += fmt::format("; {} {} otherwise, to the last operation", others,
                        others == 1 ? "differs" : "differ");
  out.push_back(std::move(text));
}

/// How many classes there are, and what their times are compared with.
void add_intro(const TrainingStepResult& result, std::size_t classes, bool unchanged,
               std::vector<std::string>& out) {
  if (result.step.classes.empty()) {
    out.push_back(fmt::format(
        "{} classes of ranks with the same times, which nothing was folded by", classes));
  } else {
    out.push_back(fmt::format("{} classes, {} of them with different times", classes,
                              distinct_histories(result.step.timeline)));
  }
  out.emplace_back(unchanged ? "times of ranks are compared with their own without the changes"
                             : "times of ranks are compared with those of the largest class of "
                               "their role, the first of several");
  out.emplace_back(
      "those that part first come first; of classes that part at the same operation the first is "
      "shown (--format json lists all)");
}

}  // namespace

RunTable class_table(const TrainingStepResult& result) {
  constexpr std::size_t kGroupsShown = 32;
  RunTable table{{how_simulated(result.step)},
                 {"ranks", "of them", "classes", "role", "differ", "times differ"},
                 {},
                 {}};
  const bool unchanged = result.baseline && result.baseline->classes;
  if (unchanged) table.headings[4] = "speed";
  if (unchanged) table.headings[5] = "times differ from those without the changes";
  const std::vector<app::ShownClass> of_step =
      app::shown_classes(result.step, result.options.speeds);
  if (of_step.empty()) {
    table.notes.emplace_back("ranks of one role are one class here; --fidelity all has others");
    return table;
  }
  const std::vector<app::ShownClass>& classes = unchanged ? *result.baseline->classes : of_step;
  add_intro(result, of_step.size(), unchanged, table.notes);
  add_spread(classes, unchanged, table.notes);
  const std::vector<app::ClassGroup> groups = app::class_groups(classes);
  std::int64_t more = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const app::ClassGroup& group = groups[i];
    if (i >= kGroupsShown) {
      more += group.ranks;
      continue;
    }
    const RankEquivalenceClass& of = group.first.of;
    const bool is_usual = !unchanged && of.difference.empty();
    table.rows.push_back({ranks_text(group), fmt::format("{}", group.ranks),
                          fmt::format("{}", group.classes), group.first.role,
                          difference_text(of, unchanged),
                          parting_text(of, result.step.timeline, is_usual)});
  }
  if (groups.size() > kGroupsShown)
    table.footer =
        fmt::format("and {} more, with {} ranks in all", groups.size() - kGroupsShown, more);
  return table;
}

std::vector<RunTable> class_tables(const TrainingStepResult& a, const TrainingStepResult& b) {
  std::vector<RunTable> out{class_table(a), class_table(b)};
  out[0].notes.front().insert(0, "classes of ranks of A: ");
  out[1].notes.front().insert(0, "classes of ranks of B: ");
  return out;
}

}  // namespace lockstep::cli
