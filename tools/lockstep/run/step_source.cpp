#include "tools/lockstep/run/step_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/config/json/json.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/point/stored_point.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/run/run_json.hpp"

namespace lockstep::cli {

namespace {

constexpr std::string_view kResult = "lockstep.run/";

/// Reads the options that `run` and `sweep` have written; what is missing was not written by them.
class OptionsReader {
 public:
  explicit OptionsReader(const JsonDocument& document) : document_{document} {}

  /// Of a result.
  [[nodiscard]] StepSource source() const {
    const JsonValue& config = member(document_.root, "config");
    StepSource out;
    out.options = options(member(config, "run"));
    out.options.step.document = without_run(config);
    out.fingerprint = text(document_.root, "fingerprint");
    return out;
  }

  [[nodiscard]] RunOptions options(const JsonValue& run) const {
    RunOptions out;
    out.step.file = text(run, "file");
    out.step.overrides = texts(run, "set");
    out.step.ignore_memory = value<bool>(run, "ignore_memory");
    out.fidelity = text(run, "fidelity");
    out.fold = text(run, "fold");
    out.network = text(run, "network");
    out.gpu_speeds = texts(run, "gpu_speed");
    out.rank_settings = pairs(run, "set_rank");
    out.step.links.set_links = pairs(run, "set_link");
    out.step.links.failed = texts(run, "fail");
    const auto* calibration = member(run, "calibration").get_if<std::string>();
    if (calibration != nullptr) out.step.calibration = *calibration;
    return out;
  }

  /// A result's scenario has its NICs; that of a sweep's points does not.
  [[nodiscard]] std::string nic(const JsonValue& run) const {
    const JsonValue& rate = member(run, "nic_bytes_per_s");
    if (rate.get_if<std::nullptr_t>() != nullptr) return {};
    constexpr double kGigabit = 125e6;  // bytes per second
    const auto* whole = rate.get_if<std::int64_t>();
    const double bytes = whole != nullptr ? static_cast<double>(*whole)
                                          : value<JsonNumber>(run, "nic_bytes_per_s").value;
    const double gigabits = std::round(bytes / kGigabit);
    return gigabits * kGigabit == bytes ? fmt::format("{:.0f}G", gigabits)
                                        : fmt::format("{:.0f} B/s", bytes);
  }

 private:
  [[noreturn]] void refuse(std::string_view key) const {
    throw UsageError(
        fmt::format("{}: \"{}\" is not as `lockstep run --format json` writes it; expected its "
                    "whole result",
                    document_.file, key));
  }
  [[nodiscard]] const JsonValue& member(const JsonValue& of, std::string_view key) const {
    const auto* object = of.get_if<JsonObject>();
    const JsonValue* found = object == nullptr ? nullptr : find_member(*object, key);
    if (found == nullptr) refuse(key);
    return *found;
  }
  template <class T>
  [[nodiscard]] T value(const JsonValue& of, std::string_view key) const {
    const auto* found = member(of, key).get_if<T>();
    if (found == nullptr) refuse(key);
    return *found;
  }
  [[nodiscard]] std::string text(const JsonValue& of, std::string_view key) const {
    return value<std::string>(of, key);
  }
  [[nodiscard]] std::vector<std::string> texts_of(const JsonValue& list,
                                                  std::string_view key) const {
    const auto* values = list.get_if<JsonArray>();
    if (values == nullptr) refuse(key);
    std::vector<std::string> out;
    for (const JsonValue& each : *values) {
      const auto* one = each.get_if<std::string>();
      if (one == nullptr) refuse(key);
      out.push_back(*one);
    }
    return out;
  }
  [[nodiscard]] std::vector<std::string> texts(const JsonValue& of, std::string_view key) const {
    return texts_of(member(of, key), key);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs(const JsonValue& of,
                                                                       std::string_view key) const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const JsonValue& each : value<JsonArray>(of, key)) {
      const std::vector<std::string> both = texts_of(each, key);
      if (both.size() != 2) refuse(key);
      out.emplace_back(both[0], both[1]);
    }
    return out;
  }
  /// The scenario with every default.
  [[nodiscard]] JsonDocument without_run(const JsonValue& config) const {
    JsonDocument out{document_.file, config};
    auto& members = std::get<JsonObject>(out.root.data);
    std::erase_if(members, [](const JsonMember& each) { return each.key == "run"; });
    return out;
  }

  const JsonDocument& document_;
};

std::string schema_of(const JsonDocument& document) {
  const auto* root = document.root.get_if<JsonObject>();
  const JsonValue* schema = root == nullptr ? nullptr : find_member(*root, "schema");
  const auto* text = schema == nullptr ? nullptr : schema->get_if<std::string>();
  return text == nullptr ? std::string{} : *text;
}

/// A point of a store, as it was simulated.
StepSource point_source(const std::string& text, const app::PointName& name) {
  app::StoredPoint point = stored_point(name);
  StepSource out;
  if (!point.run.empty()) {
    const JsonDocument run = parse_json(point.run, name.store);
    const OptionsReader reader{run};
    out.options = reader.options(run.root);
    out.options.nic = reader.nic(run.root);
    out.options.step.overrides.clear();  // the scenario has them
  }
  if (!point.calibration.empty()) out.options.step.calibration = point.calibration;
  out.options.step.file = text;
  out.options.step.document = std::move(point.scenario);
  out.step = point.step;
  return out;
}

}  // namespace

RunOptions read_run_options(const std::string& json, const std::string& file) {
  const JsonDocument run = parse_json(json, file);
  return OptionsReader{run}.options(run.root);
}

StepSource step_source(const std::string& text, const std::vector<std::string>& overrides) {
  StepSource out;
  if (const auto point = app::point_name(text)) {
    out = point_source(text, *point);
  } else {
    const std::string file = app::scenario_file(text);
    const JsonDocument document = read_json(file);
    const std::string schema = schema_of(document);
    if (schema.empty()) {
      out.options.step.file = file;
    } else if (schema.starts_with(kResult)) {
      out = OptionsReader{document}.source();
    } else {
      throw UsageError(fmt::format(
          "{}: expected a scenario, a result of `lockstep run --format json` or a point of a store "
          "(plan.db:rank1), got \"{}\"; collective, complexity and plan write their pages with "
          "--report FILE.html",
          text, schema));
    }
  }
  std::vector<std::string>& all = out.options.step.overrides;
  all.insert(all.end(), overrides.begin(), overrides.end());
  if (!overrides.empty()) out.is_as_written = false;
  out.options.step = step_request_of(out.options);
  return out;
}

void note_other_result(const StepSource& source, const TrainingStepResult& result) {
  if (!source.is_as_written || (source.fingerprint.empty() && !source.step)) return;
  const std::string now = fingerprint_of_run(result);
  constexpr const char* kWhy = "another version or other files; what follows is of the new one";
  if (!source.fingerprint.empty() && source.fingerprint != now)
    print_note(fmt::format(
        "lockstep: note: {}: the result has fingerprint {}, simulated again it is {}: {}",
        source.options.step.file, source.fingerprint, now, kWhy));
  if (source.step && *source.step != result.throughput.step)
    print_note(
        fmt::format("lockstep: note: {}: the store has a step of {}, simulated again it is {}: {}",
                    source.options.step.file, to_string(*source.step),
                    to_string(result.throughput.step), kWhy));
}

namespace {

/// How a step is simulated, as far as it was given. Returns whether anything was.
bool set_simulation(const RunOptions& given, RunOptions& to) {
  bool out = given.step.ignore_memory;
  const auto set = [&out](const std::string& from, std::string& into) {
    if (from.empty()) return;
    into = from;
    out = true;
  };
  set(given.fidelity, to.fidelity);
  set(given.fold, to.fold);
  set(given.network, to.network);
  set(given.step.calibration, to.step.calibration);
  to.step.ignore_memory = to.step.ignore_memory || given.step.ignore_memory;
  return out;
}

}  // namespace

StepSource step_source(const std::string& text, std::vector<std::string> overrides,
                       const RunOptions& given) {
  StepSource out = step_source(text, with_seed(std::move(overrides), given));
  add_part_changes_of(given, out.options);
  const bool simulated_otherwise = set_simulation(given, out.options);
  out.options.classes = given.classes;
  out.options.step = step_request_of(out.options);
  if (changes_parts(given) || simulated_otherwise) out.is_as_written = false;
  return out;
}

StepSource TwoStepsOptions::first_step() const {
  if (!second_alone_has_parts()) return step_source(scenario, overrides, given);
  RunOptions plain = none_given();
  (void)set_simulation(given, plain);
  plain.classes = given.classes;
  return step_source(scenario, overrides, plain);
}

void note_idle_seed(const RunOptions& given, const TrainingStepResult& result) {
  if (given.seed && result.drawn_ranks.empty())
    print_note(
        "lockstep: note: --seed: nothing is drawn; --set-rank draws ranks (random:1%) and speeds "
        "(0.9..0.99)");
}

void note_idle_seed(const RunOptions& given, const TrainingStepResult& a,
                    const TrainingStepResult& b) {
  note_idle_seed(given, a.drawn_ranks.empty() ? b : a);
}

StepSource TwoStepsOptions::second_step() const {
  std::vector<std::string> all = overrides;
  all.insert(all.end(), changes.begin(), changes.end());
  return step_source(second.empty() ? scenario : second, all, given);
}

ConfigError TwoStepsOptions::as_written(const ConfigError& error) const {
  const std::string set = "--set ";
  const std::string change = "--change ";
  std::vector<Problem> problems = error.problems();
  for (Problem& each : problems) {
    const bool changed =
        each.file.starts_with(set) && std::ranges::count(changes, each.file.substr(set.size())) > 0;
    if (!changed) continue;
    each.file.replace(0, set.size(), change);
    if (const std::size_t use = each.message.find("use " + set); use != std::string::npos)
      each.message.replace(use + 4, set.size(), change);
  }
  return {std::move(problems), error.total()};
}

void add_step_source(const Command& command, std::string& scenario_or_result) {
  command
      .add_option(
          "scenario", scenario_or_result,
          "Scenario file, name of a shipped one, result of `run --format json`, or point of a "
          "store: plan.db:rank1 or plan.db:17")
      ->required()
      ->type_name("SCENARIO|RESULT|POINT");
}

void add_two_steps(const Command& command, TwoStepsOptions& given, const std::string& of_second) {
  add_step_source(command, given.scenario);
  command.add_option("second", given.second, of_second)->type_name("SCENARIO|RESULT|POINT");
  command
      .add_option("--set", given.overrides,
                  "Override a scenario value, e.g. parallel.tp=4, of both steps; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--change", given.changes,
                  "Override a value of the second step only, which is the first one with these "
                  "changes if no second scenario is given; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace lockstep::cli
