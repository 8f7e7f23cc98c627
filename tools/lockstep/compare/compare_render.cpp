#include "tools/lockstep/compare/compare_render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/config/json/json_values.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/drawn_ranks.hpp"
#include "tools/lockstep/run/class_table.hpp"
#include "tools/lockstep/run/headline.hpp"
#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/text/part_changes.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kFirstRows = 5;
constexpr std::size_t kLongestValue = 40;

std::string regime_words(const std::string& regime) {
  if (regime == "compute") return "computation";
  if (regime == "memory") return "memory-bound kernels";
  if (regime == "pipeline") return "the pipeline bubble";
  if (regime == "launch") return "kernel launches";
  return "exposed " + regime + " communication";
}

std::string signed_time(double seconds) {
  const Duration time = Duration::picoseconds(std::llround(std::abs(seconds) * 1e12));
  if (time == Duration{}) return to_string(time);
  return (seconds < 0 ? "-" : "+") + to_string(time);
}

std::string value_text(const std::optional<JsonValue>& value) {
  if (!value) return "(none)";
  if (const auto* text = value->get_if<std::string>()) return *text;
  std::string out = json_text(*value);
  if (out.size() > kLongestValue) out = out.substr(0, kLongestValue) + "...";
  return out;
}

/// "parallel.tp 4 -> 8, parallel.dp 16 -> 8".
std::string change_text(const ScenarioChange& change, const CompareReportOptions& options) {
  if (change.keys.empty()) {
    if (options.parts_a.empty() && !options.parts_b.empty()) return options.parts_b;
    return "options of the runs";
  }
  std::vector<std::string> out;
  for (const DifferentKey& each : change.keys)
    out.push_back(fmt::format("{} {} -> {}", each.key, value_text(each.a), value_text(each.b)));
  return fmt::format("{}", fmt::join(out, ", "));
}

class CompareReport {
 public:
  CompareReport(const CompareResult& result, CompareReportOptions options)
      : result_{result}, options_{std::move(options)}, details_{options_.details} {}

  Report make() {
    out_.schema = "lockstep.compare/1";
    out_.config = Json{{"a", result_.a.scenario.name}, {"b", result_.b.scenario.name}}.dump();
    out_.seed = result_.b.scenario.seed;
    out_.fingerprint = fingerprint_of_run(result_.a) + "-" + fingerprint_of_run(result_.b);
    out_.columns = {{"part", "", {}, true},
                    {"name", "time on the critical path", {}, true, 60},
                    {"a_s", "A", {}, false},
                    {"b_s", "B", {}, false},
                    {"difference_s", "B - A", {}, false},
                    {"difference_fraction", "of A", "%", false}};
    add_uses();
    add_effects();
    if (details_) add_places();
    add_json();
    return std::move(out_);
  }

 private:
  [[nodiscard]] double step_a() const { return result_.step_a().seconds(); }
  [[nodiscard]] double step_b() const { return result_.step_b().seconds(); }

  [[nodiscard]] Cell share(double seconds) const {
    const double fraction = step_a() > 0 ? seconds / step_a() : 0;
    const bool none = std::abs(fraction) < 0.0005;
    return Cell{fraction, none ? "0.0" : fmt::format("{:+.1f}", 100 * fraction)};
  }

  void add_row(const char* part, const std::string& name, Duration a, Duration b) {
    const double difference = (b - a).seconds();
    out_.sections.back().rows.push_back(
        {Cell{std::string{part}}, Cell{name}, Cell{a.seconds(), to_string(a)},
         Cell{b.seconds(), to_string(b)}, Cell{difference, signed_time(difference)},
         share(difference)});
  }

  template <class Rows, class Name>
  void add_rows(const char* part, const Rows& rows, std::size_t most, Name name) {
    Duration rest_a;
    Duration rest_b;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i + 1 < most || rows.size() <= most) {
        add_row(part, name(rows[i]), rows[i].a, rows[i].b);
      } else {
        rest_a += rows[i].a;
        rest_b += rows[i].b;
      }
    }
    if (rows.size() > most)
      add_row(part, fmt::format("{} other uses (--details)", rows.size() - most + 1), rest_a,
              rest_b);
  }

  [[nodiscard]] std::string headline() const {
    const double change = step_b() - step_a();
    if (change == 0) return fmt::format("B takes as long as A: {}", to_string(result_.step_a()));
    return fmt::format("B takes {} instead of {}: {} ({:+.1f} %)", to_string(result_.step_b()),
                       to_string(result_.step_a()), signed_time(change), 100 * change / step_a());
  }

  void add_uses() {
    out_.sections.emplace_back();
    std::vector<std::string>& notes = out_.sections.back().notes;
    notes = {"A: " + layout(result_.a), "B: " + layout(result_.b)};
    add_part_changes(notes);
    notes.push_back(headline());
    notes.push_back(result_.regime_a == result_.regime_b
                        ? fmt::format("both are limited by {}", regime_words(result_.regime_a))
                        : fmt::format("limited by {} in A, by {} in B",
                                      regime_words(result_.regime_a),
                                      regime_words(result_.regime_b)));
    const std::string a = provenance_text(result_.a.provenance);
    const std::string b = provenance_text(result_.b.provenance);
    notes.push_back(a == b ? "both rest on " + a : fmt::format("A rests on {}; B on {}", a, b));
    add_rows("use", result_.uses, details_ ? result_.uses.size() : kFirstRows,
             [](const UseDifference& each) { return to_string(each.use); });
    add_row("step", "step", result_.step_a(), result_.step_b());
  }

  /// Lines that A and B have in common once.
  void add_part_changes(std::vector<std::string>& notes) const {
    if (options_.parts_a.empty() && options_.parts_b.empty()) return;
    const auto lines = [](const std::string& parts, const TrainingStepResult& of) {
      std::vector<std::string> out;
      if (!parts.empty()) out.push_back("with " + parts);
      for (std::string& line : part_change_lines(of)) out.push_back(std::move(line));
      return out;
    };
    const std::vector<std::string> a = lines(options_.parts_a, result_.a);
    const std::vector<std::string> b = lines(options_.parts_b, result_.b);
    const auto has = [](const std::vector<std::string>& list, const std::string& line) {
      return std::ranges::find(list, line) != list.end();
    };
    for (const std::string& line : a) notes.push_back((has(b, line) ? "both: " : "A: ") + line);
    for (const std::string& line : b)
      if (!has(a, line)) notes.push_back("B: " + line);
  }

  static std::string layout(const TrainingStepResult& of) {
    const ParallelConfig& parallel = of.scenario.parallel;
    return fmt::format("{}: {} on {} x {}, dp {}, tp {}, pp {}, cp {}, ZeRO-{}", of.scenario.name,
                       of.scenario.model.name, parallel.ranks(), of.scenario.cluster.device.id,
                       parallel.dp, parallel.tp, parallel.pp, parallel.cp, parallel.zero);
  }

  void add_effects() {
    Section section;
    section.notes = {attribution_words()};
    for (const ChangeEffect& each : result_.effects)
      section.rows.push_back({Cell{std::string{"change"}}, Cell{change_text(each.change, options_)},
                              Cell{}, Cell{}, Cell{each.seconds, signed_time(each.seconds)},
                              share(each.seconds)});
    out_.sections.push_back(std::move(section));
  }

  [[nodiscard]] std::string attribution_words() const {
    if (result_.effects.size() == 1 && result_.attribution != Attribution::joint)
      return "by change of the scenario: one alone";
    switch (result_.attribution) {
      case Attribution::none:
        return result_.uses.empty() || step_a() == step_b() ? "no key of the scenarios differs"
                                                            : "changes are not attributed";
      case Attribution::shapley:
        return fmt::format(
            "by change of the scenario: mean over all orders of the changes (Shapley values, {} "
            "simulations)",
            result_.simulations);
      case Attribution::sequence:
        return fmt::format(
            "by change of the scenario, made one after the other in this order ({} "
            "simulations)",
            result_.simulations);
      case Attribution::joint:
        return "the changes together: no order of them was found whose scenarios are all possible";
    }
    return "";
  }

  void add_places() {
    Section section;
    section.notes = {result_.places.empty() ? "by stage and block: not with parameter averaging"
                                            : "by stage, block and class of work"};
    out_.sections.push_back(std::move(section));
    add_rows("place", result_.places, result_.places.size(), [](const PlaceDifference& each) {
      return fmt::format("{}{}{}: {}", each.role, each.block.empty() ? "" : ", ", each.block,
                         to_string(each.use));
    });
  }

  void add_json() {
    out_.more.emplace_back("regime_a", Json(result_.regime_a).dump());
    out_.more.emplace_back("regime_b", Json(result_.regime_b).dump());
    constexpr std::array kNames{"none", "shapley", "sequence", "joint"};
    out_.more.emplace_back(
        "attribution",
        Json(std::string{kNames[static_cast<std::size_t>(result_.attribution)]}).dump());
    out_.more.emplace_back("simulations", std::to_string(result_.simulations));
    add_json("a", options_.parts_a, result_.a);
    add_json("b", options_.parts_b, result_.b);
  }

  void add_json(const std::string& side, const std::string& parts, const TrainingStepResult& of) {
    out_.more.emplace_back("changes_" + side, Json(parts).dump());
    out_.more.emplace_back(
        "fidelity_" + side,
        Json(of.step.fidelity == Fidelity::all_ranks ? "all" : "representatives").dump());
    out_.more.emplace_back(
        "baseline_step_time_" + side + "_s",
        (of.baseline ? Json(of.baseline->step.seconds()) : Json(nullptr)).dump());
    out_.more.emplace_back("drawn_speeds_" + side, drawn_json(drawn_ranks_of(of)).dump());
    if (!options_.classes) return;
    RunOptions options;
    options.classes = true;
    out_.more.emplace_back("fold_" + side, fold_json(options, of).dump());
  }

  const CompareResult& result_;
  CompareReportOptions options_;
  bool details_;
  Report out_;
};

}  // namespace

Report compare_report(const CompareResult& result, const CompareReportOptions& options) {
  return CompareReport{result, options}.make();
}

std::string render_compare(const CompareResult& result, const CompareReportOptions& options,
                           const OutputStyle& style) {
  std::string out = render(compare_report(result, options), style);
  if (!options.classes) return out;
  const std::vector<RunTable> classes = class_tables(result.a, result.b);
  if (style.format == Format::md) out += "\n" + markdown_of(classes);
  if (style.is_table()) out += "#\n" + text_of(classes, style);
  return out;
}

}  // namespace lockstep::cli
