#include "tools/app/sweep/sweep_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <variant>

#include "tools/app/errors.hpp"
#include "tools/app/json.hpp"
#include "tools/app/plan/store/store.hpp"
#include "tools/app/plan/store/stored_json.hpp"
#include "tools/app/write_file.hpp"

namespace lockstep::app {

namespace {

constexpr std::array kColumns{"dp",
                              "step_time_s",
                              "step_time_ps",
                              "tokens_per_s",
                              "mfu_fraction",
                              "exposed_fraction",
                              "bubble_fraction",
                              "peak_memory_bytes",
                              "memory_margin_bytes",
                              "state",
                              "outcome",
                              "gpus",
                              "draw_seed",
                              "fidelity",
                              "drawn_speeds"};
constexpr std::array<std::string_view, 3> kOutcomes{"simulated", "does not fit", "impossible"};
constexpr const char* kPlace = "store";

template <class T>
[[nodiscard]] DatabaseValue value_of(const std::optional<T>& value) {
  return value ? DatabaseValue{*value} : DatabaseValue{};
}

/// None for NULL. Errors: RequestError for a value of another type.
template <class T>
[[nodiscard]] std::optional<T> read(const DatabaseValue& value, const std::string& file) {
  if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
  if (const T* out = std::get_if<T>(&value)) return *out;
  throw RequestError(kPlace, fmt::format("{} is damaged: a value has the wrong type", file));
}

/// Whole numbers are numbers.
[[nodiscard]] DatabaseValue axis_value(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return text;
}

constexpr const char* kAll = "all";
constexpr const char* kRepresentatives = "representatives";

/// Times in picoseconds; none of a window without an end.
[[nodiscard]] std::string text_of(const SweepDraws& draws) {
  Json out = Json::array();
  for (const int rank : draws.ranks) {
    const RankSpeed& speed = speed_of(draws.speeds, rank);
    Json windows = Json::array();
    for (const SlowWindow& each : speed.windows)
      windows.push_back(
          {{"from_ps", each.from.since_start().ps()},
           {"until_ps",
            each.until == SlowWindow::kNoEnd ? Json(nullptr) : Json(each.until.since_start().ps())},
           {"speed", each.speed}});
    out.push_back({{"rank", rank}, {"speed", speed.speed}, {"windows", std::move(windows)}});
  }
  return out.dump();
}

[[nodiscard]] SlowWindow window_from(const StoredJson& in, const JsonValue& window) {
  const auto at = [&in](const JsonValue& ps) {
    return TimePoint{Duration::picoseconds(in.whole(ps))};
  };
  SlowWindow out{at(in.member(window, "from_ps")), SlowWindow::kNoEnd};
  const JsonValue& until = in.member(window, "until_ps");
  if (until.get_if<std::nullptr_t>() == nullptr) out.until = at(until);
  out.speed = in.number(in.member(window, "speed")).value_or(1);
  return out;
}

/// Inverse of text_of().
void read_draws(const std::string& text, const std::string& file, SweepDraws& out) {
  const JsonDocument document = parse_json(text, file);
  const StoredJson in{document};
  for (const JsonValue& each : in.as<JsonArray>(document.root)) {
    const auto rank = static_cast<int>(in.whole(in.member(each, "rank")));
    RankSpeed& speed = out.speeds[rank];
    speed.speed = in.number(in.member(each, "speed")).value_or(1);
    for (const JsonValue& window : in.as<JsonArray>(in.member(each, "windows")))
      speed.windows.push_back(window_from(in, window));
    out.ranks.insert(rank);
  }
}

[[nodiscard]] DatabaseRow cells_of(const SweepRow& row) {
  const SweepDraws* draws = row.draws ? &*row.draws : nullptr;
  DatabaseRow out{value_of(row.dp),
                  value_of(row.step_s),
                  value_of(row.step_ps),
                  value_of(row.tokens_per_s),
                  value_of(row.mfu),
                  value_of(row.exposed),
                  value_of(row.bubble),
                  value_of(row.memory),
                  value_of(row.margin),
                  state_of(row),
                  std::string{kOutcomes[static_cast<std::size_t>(row.outcome)]}};
  if (draws == nullptr) {
    out.resize(kColumns.size());
    return out;
  }
  out.emplace_back(draws->of);
  out.emplace_back(static_cast<std::int64_t>(draws->seed));
  out.emplace_back(std::string{draws->fidelity == Fidelity::all_ranks ? kAll : kRepresentatives});
  out.emplace_back(text_of(*draws));
  return out;
}

/// Inverse of state_of().
void read_state(const std::string& text, SweepRow& row) {
  for (const MemoryFit fit : {MemoryFit::fits, MemoryFit::tight, MemoryFit::does_not_fit})
    if (text == to_string(fit)) row.fit = fit;
  constexpr std::string_view kImpossible = "impossible: ";
  if (!row.fit && text.starts_with(kImpossible)) row.problem = text.substr(kImpossible.size());
}

}  // namespace

SweepStore::SweepStore(const SweepStoreRequest& request, const SweepGrid& grid)
    : axes_{grid.keys()} {
  const bool exists = std::filesystem::exists(request.file);
  if (exists && !request.resume)
    throw RequestError(kPlace, fmt::format("{} exists; --resume continues it", request.file));
  if (!exists) check_writable(request.file);
  insert_ = fmt::format(
      "INSERT OR IGNORE INTO simulated VALUES ({})",
      fmt::join(std::vector<std::string>(1 + axes_.size() + kColumns.size(), "?"), ", "));
  database_ = std::make_unique<Database>(
      request.file, exists ? Database::Mode::write : Database::Mode::create, kPlace);
  const auto tables = database_->query("SELECT count(*) FROM sqlite_master");
  // A run that was ended before its first batch leaves a database without tables.
  if (exists && std::get<std::int64_t>(tables.rows[0][0]) > 0) {
    resume(request, grid);
  } else {
    create(request, grid);
  }
}

void SweepStore::create(const SweepStoreRequest& request, const SweepGrid& grid) {
  std::string columns;
  for (const std::string& key : axes_) columns += ", " + sql_name(key);
  database_->run(
      fmt::format("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE;"
                  "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
                  "CREATE TABLE simulated (\"index\" INTEGER PRIMARY KEY{}, {});",
                  columns, fmt::join(kColumns, ", ")));
  const auto meta = [&](const char* key, const std::string& value) {
    database_->insert("INSERT INTO meta VALUES (?, ?)", {std::string{key}, value});
  };
  meta("schema_version", std::to_string(kSweepStoreVersion));
  meta("kind", "sweep");
  meta("tool_version", request.tool_version);
  meta("scenario_hash", grid.hash());
  meta("sweep", request.asked);
  meta("points", std::to_string(grid.points()));
  meta("grid", grid.text());
  meta("run", request.run);
  database_->run("COMMIT");
}

void SweepStore::resume(const SweepStoreRequest& request, const SweepGrid& grid) {
  database_->check();
  check_store(*database_, kPlace, "sweep");
  check("tool_version", request.tool_version, "version");
  check("sweep", request.asked, "sweep");
  check("scenario_hash", grid.hash(), "scenario");
  database_->run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
  read_known();
}

void SweepStore::check(const std::string& key, const std::string& mine, const char* what) {
  const auto found = database_->query("SELECT value FROM meta WHERE key = ?", {key});
  const std::string other =
      found.rows.empty() ? "nothing"
                         : read<std::string>(found.rows[0][0], database_->path()).value_or("");
  if (other == mine) return;
  throw RequestError(kPlace, fmt::format("{} is a store of another {}: \"{}\" instead of \"{}\"",
                                         database_->path(), what, other, mine));
}

void SweepStore::read_known() {
  const std::string& file = database_->path();
  const auto rows = database_->query(
      fmt::format("SELECT \"index\", {} FROM simulated", fmt::join(kColumns, ", ")));
  for (const DatabaseRow& cells : rows.rows) {
    const auto whole = [&](std::size_t i) { return read<std::int64_t>(cells[i], file); };
    const auto real = [&](std::size_t i) { return read<double>(cells[i], file); };
    SweepRow row{whole(1), real(2), whole(3), real(4), real(5),
                 real(6),  real(7), whole(8), whole(9)};
    read_state(read<std::string>(cells[10], file).value_or(""), row);
    const std::string outcome = read<std::string>(cells[11], file).value_or("");
    for (std::size_t i = 0; i < kOutcomes.size(); ++i)
      if (outcome == kOutcomes[i]) row.outcome = static_cast<SweepOutcome>(i);
    if (const auto of = whole(12)) {
      SweepDraws& draws = row.draws.emplace();
      draws.of = *of;
      draws.seed = static_cast<std::uint64_t>(whole(13).value_or(0));
      if (read<std::string>(cells[14], file) == kRepresentatives)
        draws.fidelity = Fidelity::representatives;
      read_draws(read<std::string>(cells[15], file).value_or("[]"), file, draws);
    }
    known_.emplace(static_cast<std::uint64_t>(whole(0).value_or(0)), std::move(row));
  }
}

void SweepStore::add(const SweepPoint& point) {
  if (known_.contains(point.index)) return;
  if (!in_batch_) database_->run("BEGIN IMMEDIATE");
  in_batch_ = true;
  DatabaseRow row{static_cast<std::int64_t>(point.index)};
  for (const std::string& value : point.values) row.push_back(axis_value(value));
  for (DatabaseValue& value : cells_of(point.row)) row.push_back(std::move(value));
  database_->insert(insert_, row);
}

void SweepStore::end_batch() {
  if (!in_batch_) return;
  database_->run("COMMIT");
  in_batch_ = false;
}

void SweepStore::finish() {
  end_batch();
  database_->run("PRAGMA journal_mode=DELETE");  // one file, that is read from anywhere
}

}  // namespace lockstep::app
