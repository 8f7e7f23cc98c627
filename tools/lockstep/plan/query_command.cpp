#include "tools/app/plan/store/query.hpp"

#include <fmt/format.h>

#include <memory>
#include <variant>

#include "tools/app/json.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  std::string file;
  std::string sql;
  OutputStyle style;
};

Cell cell_of(const DatabaseValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return Cell{*whole};
  if (const auto* real = std::get_if<double>(&value))
    return Cell{*real, fmt::format("{:.6g}", *real)};
  if (const auto* text = std::get_if<std::string>(&value)) return Cell{*text};
  return {};
}

Report report_of(const Options& given, const DatabaseRows& found) {
  Report out;
  out.schema = "lockstep.query/1";
  Json config = Json::object();
  config["store"] = given.file;
  config["sql"] = given.sql;
  out.config = config.dump();
  out.sections.emplace_back();
  for (const std::string& name : found.columns) out.columns.push_back({name, name, "", false});
  for (const DatabaseRow& row : found.rows) {
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (std::holds_alternative<std::string>(row[i])) out.columns[i].left = true;
      cells.push_back(cell_of(row[i]));
    }
    out.sections.back().rows.push_back(std::move(cells));
  }
  return out;
}

void run_and_print(const Options& given) {
  try {
    const auto found = timed([&] { return query_store(given.file, given.sql); });
    print(render(report_of(given, found), given.style));
  } catch (const RequestError& error) {
    if (error.place() != "sql") throw;
    throw UsageError(fmt::format("SQL: {}", error.message()));
  }
}

}  // namespace

void add_query(const Command& app) {
  const Command command =
      app.add_subcommand("query", "Read a store of `lockstep plan` or `sweep` with SQL");
  const auto given = std::make_shared<Options>();
  command->add_option("store", given->file, "Store of `plan --store`, `sweep --store` or `merge`")
      ->type_name("FILE")
      ->required();
  command->add_option("sql", given->sql, "One SELECT of SQLite; the file is only read")
      ->type_name("SQL")
      ->required();
  add_format(*command, given->style);
  command->footer(
      "Tables: best_layouts (the result), simulated (every simulated layout: keys, bounds, times,\n"
      "metrics), dropped (layouts that need no simulation), rules (the certificate), axes (the\n"
      "space), meta (space, search, versions), shards, shard_rules, progress. A store of `sweep` "
      "has\n"
      "simulated (a row for each point) and meta. FILE:INDEX and FILE:rankN are scenarios of "
      "other\n"
      "commands: lockstep compare plan.db:rank1 plan.db:rank2.\n\n"
      "Examples:\n"
      "  lockstep query plan.db 'SELECT tp, pp, step_time_s FROM best_layouts'\n"
      "  lockstep query plan.db 'SELECT tp, min(step_time_s) FROM simulated WHERE fits GROUP BY "
      "tp' "
      "--format csv");
  command->resets(given);
  command->callback([given] { run_and_print(*given); });
}

}  // namespace lockstep::cli
