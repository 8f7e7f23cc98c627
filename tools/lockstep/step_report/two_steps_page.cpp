#include "tools/lockstep/step_report/two_steps_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "sim/config/json/json_values.hpp"
#include "tools/app/compare/scenario_changes.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/report/html_page.hpp"
#include "tools/lockstep/report/page_figures.hpp"
#include "tools/lockstep/run/class_table.hpp"
#include "tools/lockstep/run/headline.hpp"
#include "tools/lockstep/run/run_figures.hpp"
#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/run_page.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostOperations = 40;

/// Milliseconds of both and the difference, of one key.
struct BothTimes {
  Duration a;
  Duration b;
  std::size_t a_count = 0;
  std::size_t b_count = 0;
  [[nodiscard]] Duration difference() const { return b - a; }
};
/// In the order in which keys first come.
using TimesByName = std::vector<std::pair<std::string, BothTimes>>;

BothTimes& at(TimesByName& times, const std::string& name) {
  const auto found = std::ranges::find(times, name, &TimesByName::value_type::first);
  return found != times.end() ? found->second : times.emplace_back(name, BothTimes{}).second;
}

std::vector<std::pair<std::string, Duration>> parts_of(const Breakdown& of) {
  std::vector<std::pair<std::string, Duration>> out;
  for (std::size_t i = 0; i < kOperationClasses; ++i)
    out.emplace_back(to_string(static_cast<OperationClass>(i)), of.computation[i]);
  for (const auto& [group, time] : of.exposed)
    out.emplace_back("exposed " + group + " communication", time);
  out.emplace_back("pipeline fill and drain", of.fill_drain);
  out.emplace_back("waiting for slower stages", of.bubble - of.fill_drain);
  out.emplace_back("kernel launch overhead", of.issue);
  out.emplace_back("waiting", of.waiting);
  return out;
}

/// Of the rank that determines the step: operations of one name and purpose, layers and
/// microbatches together.
std::map<std::string, std::pair<Duration, std::size_t>> operations_of(
    const TrainingStepResult& result) {
  std::map<std::string, std::pair<Duration, std::size_t>> out;
  const TrainingStepTimeline& timeline = result.step.timeline;
  const RankTimeline& rank = timeline.ranks.at(result.summary.busiest.rank);
  const RoleProgram& role = timeline.roles.at(rank.role);
  for (std::size_t i = 0; i < rank.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    auto& [time, count] = out[fmt::format("{}, {}", operation.name, to_string(operation.purpose))];
    time = time + (rank.operations.end_of(i) - rank.operations.start_of(i));
    ++count;
  }
  return out;
}

std::string milliseconds(Duration time) {
  return fmt::format("{:.3f}", time.seconds() * 1e3);
}

std::string signed_milliseconds(Duration time) {
  return fmt::format("{:+.3f}", time.seconds() * 1e3);
}

std::string value_text(const std::optional<JsonValue>& value) {
  return value ? json_text(*value) : std::string{};
}

class TwoSteps {
 public:
  TwoSteps(const ReportedStep& a, const ReportedStep& b) : a_{a}, b_{b} {}

  [[nodiscard]] std::string html(std::size_t budget) {
    HtmlPage out = page();
    while (size_of(out) > budget && figures_.thin()) out = page();
    return html_of(out);
  }

 private:
  [[nodiscard]] HtmlPage page() {
    HtmlPage page;
    page.title = fmt::format("{} and {}", name_of(a_), name_of(b_));
    const double change = seconds(b_) / seconds(a_) - 1;
    page.lead =
        fmt::format("Two training steps. A: {}; B: {}. B takes {} instead of {} ({:+.1f} %).",
                    command_of(a_.options), command_of(b_.options), to_string(step_of(b_)),
                    to_string(step_of(a_)), 100 * change);
    page.first = headlines() + figure("path");
    page.sections = {{"keys", "What differs", keys()},
                     {"breakdown", "Where the time goes", breakdown() + figure("breakdown")},
                     {"operations", "Operations", operations()},
                     {"pipeline", "Stages and microbatches", figure("pipeline")},
                     {"memory", "Memory", figure("memory")}};
    if (a_.options.classes)
      page.sections.push_back({"classes", "Equivalence classes of ranks", classes()});
    page.closing = {"Reproduce A: " + command_of(a_.options),
                    "Reproduce B: " + command_of(b_.options),
                    fmt::format("lockstep {}, fingerprints {} and {}", kVersion,
                                fingerprint_of_run(a_.result), fingerprint_of_run(b_.result))};
    return page;
  }

  static Duration step_of(const ReportedStep& of) {
    return of.result.step.timeline.end.since_start();
  }
  static double seconds(const ReportedStep& of) { return step_of(of).seconds(); }
  static std::string name_of(const ReportedStep& of) {
    const Scenario& scenario = of.result.scenario;
    return fmt::format("{} on {} x {}", scenario.model.name, scenario.parallel.ranks(),
                       scenario.cluster.device.id);
  }

  /// One row per line of the headlines; suggestions belong to reports of one step.
  [[nodiscard]] std::string headlines() const {
    const auto a = headline_of(a_.options, a_.result);
    const auto b = headline_of(b_.options, b_.result);
    HtmlTable table{"both steps", {}, {"", "A", "B"}, {true, true, true}, {}, {}};
    for (const HeadlineEntry& entry : a) {
      const auto other = std::ranges::find(b, entry.name, &HeadlineEntry::name);
      std::vector<std::string> lines = other == b.end() ? std::vector<std::string>{} : other->lines;
      const std::size_t count = std::max(entry.lines.size(), lines.size());
      for (std::size_t i = 0; i < count; ++i) {
        const std::string left = i < entry.lines.size() ? entry.lines[i] : "";
        const std::string right = i < lines.size() ? lines[i] : "";
        if (left.starts_with("try ") || right.starts_with("try ")) continue;
        table.rows.push_back({i == 0 ? entry.name : "", left, right});
      }
    }
    return html_of(table);
  }

  [[nodiscard]] std::string keys() const {
    HtmlTable table{
        "keys of the scenarios that differ", {}, {"key", "A", "B"}, {true, true, true}, {}, {}};
    for (const DifferentKey& each :
         different_keys(a_.result.scenario.resolved, b_.result.scenario.resolved))
      table.rows.push_back({each.key, value_text(each.a), value_text(each.b)});
    if (table.rows.empty()) table.closing = {"No key differs; see the commands for other changes."};
    return html_of(table);
  }

  [[nodiscard]] std::string breakdown() const {
    const Breakdown& a = a_.result.summary.busiest;
    const Breakdown& b = b_.result.summary.busiest;
    TimesByName times;
    for (const auto& [name, time] : parts_of(a)) at(times, name).a = time;
    for (const auto& [name, time] : parts_of(b)) at(times, name).b = time;
    HtmlTable table{"milliseconds of the rank that determines each step",
                    {},
                    {"time", "A", "B", "B - A"},
                    {},
                    {},
                    {"The rows of the last column add up to the difference of the steps."}};
    BothTimes sum;
    for (const auto& [name, time] : times) {
      if (time.a == Duration{} && time.b == Duration{}) continue;
      sum.a = sum.a + time.a;
      sum.b = sum.b + time.b;
      table.rows.push_back(row(name, time));
    }
    table.rows.push_back(row("step", sum));
    return html_of(table);
  }

  [[nodiscard]] static std::vector<std::string> row(const std::string& name,
                                                    const BothTimes& time) {
    return {name, milliseconds(time.a), milliseconds(time.b),
            signed_milliseconds(time.difference())};
  }

  [[nodiscard]] std::string operations() const {
    TimesByName times;
    for (const auto& [name, value] : operations_of(a_.result)) {
      at(times, name).a = value.first;
      at(times, name).a_count = value.second;
    }
    for (const auto& [name, value] : operations_of(b_.result)) {
      at(times, name).b = value.first;
      at(times, name).b_count = value.second;
    }
    const auto size = [](const auto& each) { return std::abs(each.second.difference().ps()); };
    std::ranges::stable_sort(times, std::ranges::greater{}, size);
    HtmlTable table{"milliseconds of the operations of one name, of the same ranks",
                    {"Communication counts from its start to its end, hidden or not."},
                    {"operation", "A", "B", "B - A", "times in A", "in B"},
                    {},
                    {},
                    {}};
    const std::size_t shown = std::min(kMostOperations, times.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& [name, time] = times[i];
      std::vector<std::string> cells = row(name, time);
      cells.push_back(std::to_string(time.a_count));
      cells.push_back(std::to_string(time.b_count));
      table.rows.push_back(std::move(cells));
    }
    if (shown < times.size())
      table.closing = {
          fmt::format("The {} with the largest differences of {}.", shown, times.size())};
    return html_of(table);
  }

  [[nodiscard]] std::string classes() const {
    std::string out;
    for (const RunTable& table : class_tables(a_.result, b_.result))
      out += html_of(html_table_of(table));
    return out;
  }

  [[nodiscard]] std::string figure(const std::string& kind) {
    std::string out = "<div class=\"pair\">\n";
    for (const auto& [name, step] : {std::pair{"A", &a_}, std::pair{"B", &b_}}) {
      const TrainingStepResult& result = step->result;
      out +=
          fmt::format("<div>\n<h3>{}</h3>\n", name) +
          figures_.html(kind + name, kind, fmt::format("{} of step {}", kind, name),
                        [&, prefix = kind + name](bool compact) {
                          return run_figure(kind, result, {.prefix = prefix, .compact = compact});
                        }) +
          "</div>\n";
    }
    return out + "</div>\n";
  }

  const ReportedStep& a_;
  const ReportedStep& b_;
  PageFigures figures_{};
};

}  // namespace

std::string two_steps_page(const ReportedStep& a, const ReportedStep& b, std::size_t budget) {
  return TwoSteps{a, b}.html(budget);
}

}  // namespace lockstep::cli
