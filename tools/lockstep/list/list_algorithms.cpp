#include "tools/lockstep/list/list_algorithms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "sim/config/did_you_mean.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

Cell text(std::string_view value) {
  return Cell{std::string{value}};
}

/// In the table only what holds for powers of two.
Cell first_part(std::string_view value) {
  const auto end = value.find(';');
  if (end == std::string_view::npos) return text(value);
  return Cell{std::string{value}, std::string{value.substr(0, end)} + " *"};
}

std::string parameters_of(const CollectiveAlgorithm& algorithm) {
  std::string out;
  for (const AlgorithmParameter& parameter : algorithm.parameters)
    out += fmt::format("{}{}={} ({})", out.empty() ? "" : ", ", parameter.name,
                       parameter.fallback ? to_string(*parameter.fallback) : "auto",
                       parameter.meaning);
  return out;
}

/// The example as it can be typed: with NVSwitches where it reduces in them or NVLink has to lead
/// everywhere, with as many ranks as its dimensions have.
std::string command_of(const CollectiveAlgorithm& row) {
  std::string out =
      fmt::format("lockstep collective {} --algorithm {}", to_string(row.collective), row.example);
  if (row.auxiliary_ranks == AuxiliaryRanks::node_switches || row.on_copy_engines)
    out += " --cluster dgx-h100";
  const ParsedSpecs parsed = parse_specs(row.example, row.collective);
  const auto dims = parsed.specs.at(0).arguments.find("dims");
  if (dims == parsed.specs.at(0).arguments.end()) return out;
  const auto& sizes = std::get<std::vector<int>>(dims->second);
  return fmt::format("{} --ranks {}", out,
                     std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>{}));
}

std::string no_such(std::string_view what, const std::string& name,
                    const std::vector<std::string_view>& all) {
  const std::string message = fmt::format("no {} \"{}\"", what, name);
  if (const auto meant = did_you_mean(name, all))
    return fmt::format("{}; did you mean \"{}\"?", message, *meant);
  return fmt::format("{}; choose from {}", message, fmt::join(all, ", "));
}

std::optional<Collective> collective_of(const std::string& name) {
  if (name.empty()) return std::nullopt;
  std::vector<std::string_view> all;
  for (const Collective each : collectives()) {
    all.push_back(to_string(each));
    if (all.back() == name) return each;
  }
  throw UsageError(no_such("collective", name, all));
}

std::vector<const CollectiveAlgorithm*> rows_asked(const ListAlgorithms& asked) {
  const auto collective = collective_of(asked.collective);
  std::vector<const CollectiveAlgorithm*> out;
  for (const CollectiveAlgorithm& row : collective_algorithms())
    if ((!collective || row.collective == *collective) &&
        (asked.algorithm.empty() || row.name == asked.algorithm))
      out.push_back(&row);
  if (out.empty())
    throw UsageError(no_such(fmt::format("{} algorithm", asked.collective), asked.algorithm,
                             algorithm_names(*collective)));
  return out;
}

/// No table is wider than this, in characters.
constexpr std::size_t kTerminal = 120;

std::vector<Column> table_columns(bool by_collective) {
  return {{"collective", by_collective ? "" : "collective", "", true},
          {"name", "algorithm", "", true},
          {"rounds", "rounds", "", true, 22},
          {"sent_per_rank", "sent per rank", "", true, 22},
          {"time", by_collective ? "" : "ideal time", "", true},
          {"summary", "summary", "", true, kTerminal - 2 - 21 - (2 + 22) - (2 + 22) - 2},
          {"parameters", "", "", true},
          {"limits", "", "", true},
          {"example", "", "", true},
          {"command", "", "", true},
          {"source", "", "", true}};
}

std::vector<Column> upright_columns() {
  constexpr std::size_t kWidth = kTerminal - 2 - 13 - 2;
  return {{"collective", "collective", "", true, kWidth},
          {"name", "algorithm", "", true, kWidth},
          {"rounds", "rounds", "", true, kWidth},
          {"sent_per_rank", "sent per rank", "", true, kWidth},
          {"time", "ideal time", "", true, kWidth},
          {"summary", "summary", "", true, kWidth},
          {"parameters", "parameters", "", true, kWidth},
          {"limits", "limits", "", true, kWidth},
          {"example", "", "", true},
          {"command", "example", "", true},
          {"source", "source", "", true, kWidth}};
}

std::vector<Cell> cells_of(const CollectiveAlgorithm& row, bool whole) {
  const auto formula = [&](std::string_view value) {
    return whole ? text(value) : first_part(value);
  };
  const std::string parameters = parameters_of(row);
  return {text(to_string(row.collective)),
          text(row.name),
          formula(row.rounds),
          formula(row.sent_per_rank),
          formula(row.time),
          text(row.summary),
          Cell{parameters, parameters.empty() ? "none" : parameters},
          text(row.limits),
          text(row.example),
          text(command_of(row)),
          text(row.source)};
}

}  // namespace

Report list_algorithms(const ListAlgorithms& asked) {
  const bool whole = asked.verbose || !asked.algorithm.empty();
  Report out;
  out.schema = "lockstep.list.algorithms/1";
  out.upright = whole;
  out.columns = whole ? upright_columns() : table_columns(asked.table);
  const CollectiveAlgorithm* before = nullptr;
  for (const CollectiveAlgorithm* row : rows_asked(asked)) {
    const bool is_new = before == nullptr || before->collective != row->collective;
    if (whole || is_new) out.sections.emplace_back();
    if (!whole && is_new) out.sections.back().notes = {std::string{to_string(row->collective)}};
    out.sections.back().rows.push_back(cells_of(*row, whole));
    before = row;
  }
  out.footer = {
      "n ranks, S bytes on each; alpha, beta, gamma: seconds per message, per byte sent, "
      "per byte reduced; lg: to base 2"};
  if (whole) {
    out.footer.emplace_back("N' = 2^floor(lg n)");
  } else {
    out.footer.emplace_back(
        "* in the simplest case, such as n a power of two; `lockstep list algorithms COLLECTIVE "
        "ALGORITHM`");
    out.footer.emplace_back(
        "or --verbose prints ideal time, parameters, limits, an example and the source");
  }
  return out;
}

}  // namespace lockstep::cli
