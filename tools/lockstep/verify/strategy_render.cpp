#include "tools/lockstep/verify/strategy_render.hpp"
#include "tools/app/fingerprint.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/config/json/json_values.hpp"
#include "strategies/scenario/scenario_model.hpp"
#include "strategies/scenario/scenario_parallel.hpp"
#include "tools/app/json.hpp"

namespace lockstep::cli {

namespace {

/// Variants have a column of their own if there are any.
std::vector<Column> columns(bool variants) {
  return {{"variant", variants ? "variant" : "", "", true},
          {"step", "step", ""},
          {"reference_loss", "loss of reference", "", true},
          {"loss", "loss of ranks", "", true},
          {"loss_difference", "difference", ""},
          {"ranks", "ranks", ""},
          {"weight_difference", "weight", "(difference)"},
          {"weight_allowed", "allowed", "(difference)"},
          {"weight", "", "", true},
          {"weight_copy", "", "", true},
          {"weight_block", "", ""},
          {"weight_rank", "", ""},
          {"weight_holder", "", "", true},
          {"weight_element", "", ""},
          {"state_difference", "state", "(difference)"},
          {"from_one_device", "", ""},
          {"peak_bytes", "peak", "(B)"},
          {"tolerance", "", ""},
          {"ok", "ok", ""},
          {"problem", "", "", true}};
}

Cell number(double value) {
  return Cell{value, fmt::format("{:.3g}", value)};
}

Cell loss(double value) {
  return Cell{value, fmt::format("{:.15g}", value)};
}

/// What is known once the last step is done; nothing in the rows before.
void add_end(const VerifiedLayout& layout, std::vector<Cell>& row) {
  const VerificationReport& report = layout.report;
  row.push_back(number(report.weight.value));
  row.push_back(number(report.weight.allowed));
  row.emplace_back(report.weight.tensor);
  row.emplace_back(report.weight.copy);
  row.emplace_back(std::int64_t{report.weight.position});
  row.emplace_back(std::int64_t{report.weight.rank});
  row.emplace_back(report.weight.holder);
  row.emplace_back(report.weight.element);
  row.push_back(report.state ? number(report.state->value) : Cell{});
  row.push_back(report.from_one_device ? number(*report.from_one_device) : Cell{});
  row.push_back(report.order ? Cell{report.order->peak.count()} : Cell{});
  row.push_back(number(report.tolerance));
  row.push_back(Cell{report.passed(), report.passed() ? "yes" : "NO"});
  row.emplace_back(report.problem());
}

std::vector<std::vector<Cell>> rows_of(const VerifiedLayout& layout) {
  std::vector<std::vector<Cell>> out;
  const std::vector<VerifiedTrainingStep>& steps = layout.report.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<Cell> row{Cell{layout.name, layout.name.empty() ? "-" : ""},
                          Cell{static_cast<std::int64_t>(i) + 1},
                          loss(steps[i].reference),
                          loss(steps[i].loss),
                          number(std::abs(steps[i].loss - steps[i].reference)),
                          Cell{std::int64_t{layout.layout.parallel.ranks()}}};
    if (i + 1 == steps.size()) add_end(layout, row);
    row.resize(columns(false).size());
    out.push_back(std::move(row));
  }
  if (!steps.empty()) return out;
  std::vector<Cell> row(5);  // no step has ended
  row.front() = Cell{layout.name};
  row.emplace_back(std::int64_t{layout.layout.parallel.ranks()});
  add_end(layout, row);
  return {std::move(row)};
}

// In words.

std::string joined(const std::vector<std::string>& parts, const char* by) {
  return fmt::format("{}", fmt::join(parts, by));
}

/// "dp 4, tp 2".
std::string degrees(const ParallelConfig& layout) {
  std::vector<std::string> out;
  const auto add = [&out](const char* name, int size) {
    if (size > 1) out.push_back(fmt::format("{} {}", name, size));
  };
  add("dp", layout.dp);
  add("tp", layout.tp);
  add("pp", layout.pp);
  add("cp", layout.cp);
  add("ep", layout.ep);
  if (layout.etp > 0) out.push_back(fmt::format("etp {}", layout.etp));
  if (out.empty()) return "one rank";
  return fmt::format("{} ranks ({})", layout.ranks(), joined(out, ", "));
}

std::string changes(const ShrunkLayout& layout) {
  std::vector<std::string> out;
  for (const Change& change : layout.changes) {
    out.push_back(fmt::format("{} {} -> {}", change.key, change.from, change.to));
  }
  return out.empty() ? "nothing" : joined(out, ", ");
}

std::string_view name_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return "SGD";
    case Optimizer::momentum:
      return "momentum";
    case Optimizer::adam:
      return "Adam";
    case Optimizer::outer:
      return "an outer optimizer";
    case Optimizer::muon:
      return "Muon";
    case Optimizer::soap:
      return "SOAP";
  }
  return "";
}

std::vector<std::string> notes_of(const VerifyStrategyRequest& request,
                                  const VerifyStrategyResult& result,
                                  const VerifiedLayout& layout) {
  const ParallelConfig& parallel = layout.layout.parallel;
  const Optimizer optimizer = request.float32 ? Optimizer::sgd : parallel.state.optimizer;
  std::vector<std::string> out;
  const std::string name =
      layout.name.empty() ? layout.scenario.name
                          : fmt::format("{} ({})", layout.name, joined(layout.overrides, ", "));
  out.push_back(fmt::format("{}: {}, {} steps of {} samples in {} with {}, seed {}", name,
                            degrees(parallel), request.steps, parallel.global_batch,
                            request.float32 ? "float32" : "float64", name_of(optimizer),
                            result.seed));
  if (request.shrinks) out.push_back("shrunk: " + changes(layout.layout));
  for (const ScenarioNote& note : layout.scenario.notes) out.push_back(note.text());
  if (!layout.report.collectives.empty()) {
    out.push_back("collectives: " + joined(layout.report.collectives, "; "));
  }
  return out;
}

std::string place(const VerifiedDifference& of) {
  if (of.value == 0) return "bit-identical";
  const std::string copy = of.copy == of.tensor ? "" : fmt::format(" ({})", of.copy);
  return fmt::format("{}{} of block {} on {}, element {}", of.tensor, copy, of.position, of.holder,
                     of.element);
}

/// Where a weight may differ by more than others.
std::string rounding(const VerificationReport& report) {
  if (report.weight.value <= report.tolerance) return "";
  return fmt::format("; {:.2g} is allowed there: Adam amplifies the rounding of a small gradient",
                     report.weight.allowed);
}

std::string verdict(const VerifiedLayout& layout) {
  const VerificationReport& report = layout.report;
  const std::string reference = layout.layout.parallel.has_outer_loop() ? "DiLoCo in one process"
                                : report.from_one_device                ? "averaging in one process"
                                                                        : "one device";
  if (!report.passed()) return "FAILED, differs from " + reference + ": " + report.problem();
  if (layout.layout.parallel.ranks() == 1) {
    return "passed: one device, compared with one without gradient accumulation and in simulated "
           "order";
  }
  const bool rounds = report.weight.value > report.tolerance;
  return fmt::format("passed: trains as {} does, within {:.0e}{}", reference, report.tolerance,
                     rounds ? " except for rounding that Adam amplifies" : "");
}

std::vector<std::string> closing_of(const VerifiedLayout& layout) {
  const VerificationReport& report = layout.report;
  std::vector<std::string> out;
  if (report.error.empty()) {
    out.push_back(fmt::format("largest difference of weights: {:.3g}, {}{}", report.weight.value,
                              place(report.weight), rounding(report)));
    if (report.state) {
      out.push_back(fmt::format("largest difference of optimizer states: {:.3g}, {}",
                                report.state->value, place(*report.state)));
    }
  }
  if (report.from_one_device) {
    out.push_back(fmt::format(
        "the reference averages in one process; weights of one device differ by up to {:.3g}",
        *report.from_one_device));
  }
  if (report.order && report.order->problem.empty()) {
    out.push_back(fmt::format(
        "in simulated order: {} operations, all after their inputs; memory equals the memory "
        "account "
        "to the byte (peak {} on rank {})",
        report.order->operations, to_string(report.order->peak), report.order->fullest));
  }
  out.push_back(verdict(layout));
  return out;
}

Json notes_json(const std::vector<ScenarioNote>& notes) {
  Json out = Json::array();
  for (const ScenarioNote& note : notes)
    out.push_back({{"key", note.key}, {"reason", note.message}});
  return out;
}

std::string config_of(const VerifyStrategyRequest& request, const VerifyStrategyResult& result) {
  Json out;
  out["file"] = request.file;
  out["set"] = request.overrides;
  out["steps"] = request.steps;
  out["precision"] = request.float32 ? "float32" : "float64";
  out["ranks"] = request.ranks;
  out["shrink"] = request.shrinks;
  Json& layouts = out["plans"] = Json::array();
  for (const VerifiedLayout& layout : result.layouts) {
    layouts.push_back({{"variant", layout.name},
                       {"set", layout.overrides},
                       {"model", Json::parse(json_text(json_of(layout.layout.model)))},
                       {"parallel", Json::parse(json_text(json_of(layout.layout.parallel)))},
                       {"gpus_per_node", layout.layout.gpus_per_node},
                       {"without_effect", notes_json(layout.scenario.notes)},
                       {"collectives", layout.report.collectives}});
  }
  Json& impossible = out["impossible_variants"] = Json::array();
  for (const ImpossibleVariant& each : result.impossible)
    impossible.push_back({{"variant", each.name}, {"problem", each.problem}});
  return out.dump();
}

std::string fingerprint_of(const VerifyStrategyResult& result) {
  Fingerprint fingerprint;
  for (const VerifiedLayout& layout : result.layouts) {
    fingerprint.add(layout.report.passed() ? 1 : 0);
    fingerprint.add(layout.report.operations);
    for (const VerifiedTrainingStep& step : layout.report.steps) {
      fingerprint.add(std::llround(step.reference * 1e6));
    }
    if (layout.report.order) fingerprint.add(layout.report.order->peak.count());
  }
  return fingerprint.text();
}

}  // namespace

Report report_of(const VerifyStrategyRequest& request, const VerifyStrategyResult& result) {
  Report out;
  out.schema = "lockstep.verify.strategy/1";
  out.config = config_of(request, result);
  out.seed = result.seed;
  out.fingerprint = fingerprint_of(result);
  out.columns = columns(result.layouts.size() > 1);
  out.only_wide = {"ranks", "weight_difference", "weight_allowed", "state_difference",
                   "peak_bytes"};
  out.left_out_first = {"reference_loss", "loss_difference"};
  for (const VerifiedLayout& layout : result.layouts) {
    out.sections.push_back(
        {notes_of(request, result, layout), rows_of(layout), closing_of(layout)});
  }
  for (const ImpossibleVariant& each : result.impossible) {
    out.sections.front().notes.push_back(
        fmt::format("variant {} is not verified: {}", each.name, each.problem));
  }
  return out;
}

}  // namespace lockstep::cli
