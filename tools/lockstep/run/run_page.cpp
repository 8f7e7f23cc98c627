#include "tools/lockstep/run/run_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/config/json/json_values.hpp"
#include "tools/lockstep/output/set_options.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/report/html_page.hpp"
#include "tools/lockstep/report/page_data.hpp"
#include "tools/lockstep/report/page_figures.hpp"
#include "tools/lockstep/report/page_script.hpp"
#include "tools/lockstep/run/headline.hpp"
#include "tools/lockstep/run/run_figures.hpp"
#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/run_tables.hpp"
#include "tools/lockstep/run/text/step_words.hpp"
#include "tools/lockstep/step_data/step_data.hpp"

namespace lockstep::cli {

namespace {

/// Of the timeline, however much the rest of the page takes.
constexpr std::size_t kLeastData = 100'000;

class RunReport {
 public:
  RunReport(const RunOptions& options, const TrainingStepResult& result,
            const std::vector<VariantResult>& variants, std::size_t budget)
      : budget_{budget},
        options_{options},
        result_{result},
        headline_{headline_of(options, result)},
        tables_{tables_of_run(options, result, variants)} {}

  /// Figures are thinned where they would leave no room for the timeline.
  [[nodiscard]] std::string html() {
    HtmlPage page = without_data();
    while (budget_ < size_of(page) + kLeastData && figures_.thin()) page = without_data();
    const std::size_t used = size_of(page);
    const std::size_t left = budget_ > used + kLeastData ? budget_ - used : kLeastData;
    page.data = packed(step_data(result_, left));
    return html_of(page);
  }

 private:
  [[nodiscard]] HtmlPage without_data() {
    HtmlPage page;
    const Scenario& scenario = result_.scenario;
    page.title = fmt::format("{} on {} x {}", scenario.model.name, scenario.parallel.ranks(),
                             scenario.cluster.device.id);
    page.lead = fmt::format("A training step of {}.", fmt::join(lines_of("model"), "; "));
    page.first = cards() + figure("path") + suggestions();
    add(page, "timeline", "Timeline", figure("timeline") + table("path"));
    add(page, "breakdown", "Where the time goes", table("breakdown") + figure("breakdown"));
    add(page, "pipeline", "Stages and microbatches", figure("pipeline") + table("stages"));
    add(page, "memory", "Memory", figure("memory") + table("memory"));
    if (!result_.links.empty())
      add(page, "links", "Topology and links",
          figure("topology") + figure("traffic") + figure("links") + table("links"));
    add(page, "collectives", "Collectives", collectives());
    add(page, "variants", "Variants of the scenario", table("variants"));
    add(page, "classes", "Equivalence classes of ranks", table("classes"));
    add(page, "step", "How it was simulated", table("step") + configuration());
    page.closing = {
        "Reproduce: " + command({}),
        fmt::format("lockstep {}, fingerprint {}", kVersion, fingerprint_of_run(result_))};
    return page;
  }

  static void add(HtmlPage& page, std::string id, std::string heading, std::string html) {
    if (!html.empty())
      page.sections.push_back({std::move(id), std::move(heading), std::move(html)});
  }

  [[nodiscard]] std::vector<std::string> lines_of(std::string_view name) const {
    const auto found = std::ranges::find(headline_, name, &HeadlineEntry::name);
    return found == headline_.end() ? std::vector<std::string>{} : found->lines;
  }

  /// Step, memory and limit; the suggestions have a list of their own.
  [[nodiscard]] std::string cards() const {
    std::string out = "<dl class=\"cards\">\n";
    for (const HeadlineEntry& entry : headline_) {
      if (entry.name == "model") continue;
      out += fmt::format("<div class=\"card\"><dt>{}</dt>", html_text(entry.name));
      for (const std::string& line : entry.lines)
        if (!line.starts_with("try ")) out += values_of(line);
      out += "</div>\n";
    }
    return out + "</dl>\n";
  }

  /// Three spaces separate the values of a line: step time, throughput, MFU.
  static std::string values_of(std::string_view line) {
    constexpr std::string_view kBetween = "   ";
    std::string out;
    while (!line.empty()) {
      const std::size_t end = line.find(kBetween);
      out += fmt::format("<dd>{}</dd>", html_text(line.substr(0, end)));
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + kBetween.size());
    }
    return out;
  }

  [[nodiscard]] std::string suggestions() const {
    const std::vector<Suggestion>& best = result_.suggestions.best;
    if (best.empty()) return {};
    std::string out = "<h2>Changes that help most</h2>\n<ol>\n";
    const double step = result_.step.timeline.end.since_start().seconds();
    for (const Suggestion& each : best)
      out += fmt::format("<li>{} (-{:.1f} %){}<br><code>{}</code></li>\n", to_string(each.step),
                         100 * (1 - each.step.seconds() / step),
                         each.fit == MemoryFit::tight ? ", memory tight" : "",
                         html_text(command(set_options(each.change))));
    return out + "</ol>\n";
  }

  /// Of this run, with further options.
  [[nodiscard]] std::string command(const std::string& more) const {
    return command_of(options_) + (more.empty() ? "" : " " + more);
  }

  [[nodiscard]] std::string table(std::string_view id) const {
    const auto found = std::ranges::find(tables_, id, &RunTable::id);
    return found == tables_.end() ? std::string{} : html_of(html_table_of(*found));
  }

  [[nodiscard]] std::string figure(const std::string& kind) {
    return figures_.html(kind, kind, kind + " of the step", [&](bool compact) {
      return run_figure(kind, result_, {.prefix = kind, .compact = compact});
    });
  }

  [[nodiscard]] std::string configuration() const {
    return fmt::format(
        "<details><summary>Resolved scenario</summary>\n<pre><code>{}</code></pre></details>\n",
        html_text(json_text(result_.scenario.resolved)));
  }

  /// Of a step with collectives or messages: its groups, then how each collective is done.
  [[nodiscard]] std::string collectives() const {
    const std::vector<GroupTraffic>& groups = result_.summary.groups;
    if (groups.empty()) return {};
    HtmlTable table{"communication of the rank that determines the step, by group",
                    {"In transfer: from the arrival of the last participant. Exposed: computation "
                     "waits for it."},
                    {"group", "operations", "bytes", "in transfer", "waiting", "exposed"},
                    {},
                    {},
                    {}};
    for (const GroupTraffic& each : groups)
      table.rows.push_back({each.group, fmt::format("{:.6g}", each.operations),
                            to_string(each.bytes), to_string(each.transfer),
                            to_string(each.waiting), to_string(each.exposed)});
    HtmlTable algorithms{"algorithms of collectives", {}, {"collective", ""}, {true, true}, {}, {}};
    for (const ReportedChoice& each : result_.step.algorithms)
      algorithms.rows.push_back({call_words(each), algorithm_words(each)});
    return html_of(table) + (algorithms.rows.empty() ? "" : html_of(algorithms));
  }

  std::size_t budget_;
  PageFigures figures_{};
  const RunOptions& options_;
  const TrainingStepResult& result_;
  std::vector<HeadlineEntry> headline_;
  std::vector<RunTable> tables_;
};

}  // namespace

HtmlTable html_table_of(const RunTable& table) {
  HtmlTable out{{}, table.notes, table.headings, {}, table.rows, {table.footer}};
  if (table.headings.size() == 2) out.words = {true, true};
  // Of the step, all notes tell how it was simulated.
  if (table.id == "step" || out.notes.empty()) {
    out.caption = "the step";
  } else {
    out.caption = out.notes.front();
    out.notes.erase(out.notes.begin());
  }
  return out;
}

std::string run_page(const RunOptions& options, const TrainingStepResult& result,
                     const std::vector<VariantResult>& variants, std::size_t budget) {
  return RunReport{options, result, variants, budget}.html();
}

}  // namespace lockstep::cli
