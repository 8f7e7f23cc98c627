#include "tools/app/plan/store/store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <map>

#include "tools/app/errors.hpp"
#include "tools/app/write_file.hpp"

namespace lockstep::app {

namespace {

/// Columns of `simulated` behind those of the axes.
constexpr std::array kFixed{"bound_s", "bound_memory_bytes", "step_time_s", "step_time_ps",
                            "memory_bytes", "fits", "holds",
                            // Metrics that are not the same as these.
                            "tokens_per_s_per_gpu", "mfu_fraction", "days", "gpu_hours", "usd",
                            "energy_kwh", "gpus", "memory_margin_bytes"};
constexpr std::array kMetrics{PlanMetric::tokens_per_s_per_gpu,
                              PlanMetric::mfu,
                              PlanMetric::days,
                              PlanMetric::gpu_hours,
                              PlanMetric::usd,
                              PlanMetric::energy,
                              PlanMetric::gpus,
                              PlanMetric::memory_margin};
constexpr std::string_view kMemoryRule = "memory";
constexpr std::string_view kLimitsRule = "limits";

/// Values of a row as this program wrote them; anything else is damage.
class Field {
 public:
  Field(const std::string& file, const std::string& place) : file_{file}, place_{place} {}

  [[nodiscard]] std::int64_t whole(const DatabaseValue& value) const {
    return get<std::int64_t>(value);
  }
  [[nodiscard]] std::uint64_t count(const DatabaseValue& value) const {
    return static_cast<std::uint64_t>(get<std::int64_t>(value));
  }
  [[nodiscard]] double real(const DatabaseValue& value) const { return get<double>(value); }
  [[nodiscard]] std::string text(const DatabaseValue& value) const {
    return get<std::string>(value);
  }
  [[nodiscard]] Bytes bytes(const DatabaseValue& value) const {
    const std::int64_t count = whole(value);
    if (count < 0) fail();
    return Bytes{count};
  }

 private:
  template <class T>
  [[nodiscard]] const T& get(const DatabaseValue& value) const {
    const T* out = std::get_if<T>(&value);
    if (out == nullptr) fail();
    return *out;
  }
  [[noreturn]] void fail() const {
    throw RequestError(place_, fmt::format("{} is damaged: a value has the wrong type", file_));
  }

  const std::string& file_;
  const std::string& place_;
};

[[nodiscard]] DatabaseValue whole(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

[[nodiscard]] std::string_view word_of(DroppedLayout::Why why) {
  using Why = DroppedLayout::Why;
  return why == Why::memory ? kMemoryRule : why == Why::limits ? kLimitsRule : "not_simulated";
}

[[nodiscard]] DroppedLayout::Why why_of(const std::string& word) {
  using Why = DroppedLayout::Why;
  return word == kMemoryRule ? Why::memory : word == kLimitsRule ? Why::limits : Why::not_simulated;
}

[[nodiscard]] std::vector<SimulatedLayout> read_simulated(Database& database,
                                                          const std::string& place) {
  const Field in{database.path(), place};
  std::vector<SimulatedLayout> out;
  const auto rows = database.query(
      "SELECT \"index\", bound_s, bound_memory_bytes, step_time_s, step_time_ps, memory_bytes, "
      "fits, holds FROM simulated ORDER BY \"index\"");
  for (const DatabaseRow& row : rows.rows)
    out.push_back({in.count(row[0]), in.real(row[1]), in.real(row[3]),
                   Duration::picoseconds(in.whole(row[4])), in.bytes(row[5]), in.whole(row[6]) != 0,
                   in.whole(row[7]) != 0, in.bytes(row[2])});
  return out;
}

[[nodiscard]] std::vector<DroppedLayout> read_dropped(Database& database,
                                                      const std::string& place) {
  const Field in{database.path(), place};
  std::vector<DroppedLayout> out;
  const auto rows = database.query(
      "SELECT \"index\", bound_s, bound_memory_bytes, reason FROM dropped ORDER BY \"index\"");
  for (const DatabaseRow& row : rows.rows)
    out.push_back({in.count(row[0]), in.real(row[1]), in.bytes(row[2]), why_of(in.text(row[3]))});
  return out;
}

void add_rule(StoredRange& range, const std::string& rule, std::uint64_t count) {
  if (rule == kMemoryRule) range.memory = count;
  if (rule == kLimitsRule) range.limits = count;
  for (std::size_t i = 0; i < kPlanRules; ++i)
    if (rule == to_string(static_cast<PlanRule>(i))) range.rules[i] = count;
}

[[nodiscard]] std::vector<StoredRange> read_ranges(Database& database, const std::string& place) {
  const Field in{database.path(), place};
  std::map<std::uint64_t, StoredRange> out;
  for (const DatabaseRow& row : database.query("SELECT first, points, complete FROM shards").rows) {
    const std::uint64_t begin = in.count(row[0]);
    out[begin] = {begin, begin + in.count(row[1]), in.whole(row[2]) != 0, {}, 0, 0};
  }
  for (const DatabaseRow& row : database.query("SELECT first, rule, count FROM shard_rules").rows)
    if (const auto found = out.find(in.count(row[0])); found != out.end())
      add_rule(found->second, in.text(row[1]), in.count(row[2]));
  std::vector<StoredRange> ranges;
  for (const auto& [begin, range] : out) ranges.push_back(range);
  return ranges;
}

}  // namespace

std::string store_kind(Database& database, const std::string& place) {
  const auto tables = database.query(
      "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('meta', 'simulated')");
  const Field in{database.path(), place};
  if (in.whole(tables.rows[0][0]) != 2)
    throw RequestError(
        place, fmt::format("{} is a SQLite database, but no store of `lockstep plan` or `sweep`",
                           database.path()));
  const auto kinds = database.query("SELECT value FROM meta WHERE key = 'kind'");
  return kinds.rows.empty() ? "plan" : in.text(kinds.rows[0][0]);
}

void check_store(Database& database, const std::string& place, const std::string& kind) {
  const std::string& file = database.path();
  const std::string is = store_kind(database, place);
  if (!kind.empty() && is != kind)
    throw RequestError(
        place, fmt::format("{} is a store of `lockstep {}`; expected one of `{}`", file, is, kind));
  const auto version = database.query("SELECT value FROM meta WHERE key = 'schema_version'");
  const std::string found =
      version.rows.empty() ? "unknown" : Field{file, place}.text(version.rows[0][0]);
  const int expected = is == "sweep" ? kSweepStoreVersion : kPlanStoreVersion;
  if (found == std::to_string(expected)) return;
  throw RequestError(
      place, fmt::format("{} is a store of `lockstep {}` of version {}; this program reads version "
                         "{}: write it again, into another file",
                         file, is, found, expected));
}

StoreIdentity read_identity(Database& database, const std::string& place) {
  const Field in{database.path(), place};
  StoreIdentity out;
  const auto rows = database.query("SELECT key, value FROM meta ORDER BY rowid");
  for (const DatabaseRow& row : rows.rows) {
    const std::string key = in.text(row[0]);
    const std::string value = in.text(row[1]);
    if (key == "tool_version") out.tool_version = value;
    if (key == "space_hash") out.space_hash = value;
    if (key == "space") out.space = value;
    constexpr std::string_view kOption = "option.";
    if (key.rfind(kOption, 0) == 0) out.options.emplace_back(key.substr(kOption.size()), value);
  }
  return out;
}

StoreContents read_store(const std::string& file, const std::string& place) {
  Database database{file, Database::Mode::read, place};
  database.check();
  check_store(database, place);
  return {read_identity(database, place), read_ranges(database, place),
          read_simulated(database, place), read_dropped(database, place)};
}

void check_same_search(const StoreIdentity& mine, const StoreIdentity& of, const std::string& file,
                       const std::string& place) {
  if (mine.space_hash != of.space_hash)
    throw RequestError(place, fmt::format("{} is a store of another space (hash {} instead of {})",
                                          file, of.space_hash, mine.space_hash));
  if (mine.tool_version != of.tool_version)
    throw RequestError(place, fmt::format("{} was written by lockstep {}, not {}: its results may "
                                          "differ",
                                          file, of.tool_version, mine.tool_version));
  const std::map<std::string, std::string> theirs(of.options.begin(), of.options.end());
  for (const auto& [name, value] : mine.options) {
    const auto found = theirs.find(name);
    const bool older = name == "changes" && found == theirs.end();  // without such an option
    const std::string other = older ? "null" : (found == theirs.end() ? "nothing" : found->second);
    if (other == value) continue;
    if (name == "inputs")
      throw RequestError(place, fmt::format("{}: the model, cluster, device or calibration files "
                                            "have changed since it was written",
                                            file));
    throw RequestError(place, fmt::format("{} is a store of another search: its {} is {} instead "
                                          "of {}",
                                          file, name, other, value));
  }
}

std::string shard_text(const PlanRequest& request) {
  return fmt::format("{}/{}", request.shard + 1, request.shards);
}

PlanStore::PlanStore(const std::string& file, bool resume, const StoreIdentity& identity,
                     const std::string& shard, const PlanSpace& space,
                     const std::vector<std::unique_ptr<PlanSetting>>& settings,
                     const PlanPrices& prices)
    : space_{space}, settings_{settings}, prices_{prices}, file_{file} {
  const bool exists = std::filesystem::exists(file);
  if (exists && !resume)
    throw RequestError("store", fmt::format("{} exists; --resume continues it", file));
  if (!exists) check_writable(file);
  std::vector<std::string> columns{"\"index\""};
  for (const std::string& key : axis_keys()) columns.push_back(sql_name(key));
  for (const char* name : kFixed) columns.emplace_back(name);
  insert_ =
      fmt::format("INSERT OR IGNORE INTO simulated ({}) VALUES ({})", fmt::join(columns, ", "),
                  fmt::join(std::vector<std::string>(columns.size(), "?"), ", "));
  created_ = !exists;
  database_ = std::make_unique<Database>(
      file, exists ? Database::Mode::write : Database::Mode::create, "store");
  if (exists && !is_blank()) {
    this->resume(identity, shard);
  } else {
    create(identity, shard);
  }
}

PlanStore::~PlanStore() {
  database_.reset();
  if (!created_ || finished_ || rows_ > 0) return;
  std::error_code ignored;
  for (const char* end : {"", "-wal", "-shm", "-journal"})
    std::filesystem::remove(file_ + end, ignored);
}

/// A run that was ended before its first batch leaves a database without tables.
bool PlanStore::is_blank() {
  const auto count = database_->query("SELECT count(*) FROM sqlite_master");
  return std::get<std::int64_t>(count.rows[0][0]) == 0;
}

void PlanStore::create(const StoreIdentity& identity, const std::string& shard) {
  database_->run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE");
  add_tables();
  const auto meta = [&](const std::string& key, const std::string& value) {
    database_->insert("INSERT INTO meta VALUES (?, ?)", {key, value});
  };
  meta("schema_version", std::to_string(kPlanStoreVersion));
  meta("tool_version", identity.tool_version);
  meta("space_hash", identity.space_hash);
  meta("space", identity.space);
  meta("shard", shard);
  for (const auto& [name, value] : identity.options) meta("option." + name, value);
  add_axes();
  database_->run("COMMIT");
}

void PlanStore::resume(const StoreIdentity& identity, const std::string& shard) {
  database_->check();
  check_store(*database_, "store");
  check_same_search(identity, read_identity(*database_, "store"), file_, "store");
  const auto found = database_->query("SELECT value FROM meta WHERE key = 'shard'");
  const auto* text = found.rows.empty() ? nullptr : std::get_if<std::string>(&found.rows[0][0]);
  if (text == nullptr || *text != shard)
    throw RequestError("store", fmt::format("{} is a store of shard {}, not of {}", file_,
                                            text == nullptr ? "unknown" : *text, shard));
  // The journal is taken over before anything is written.
  database_->run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
  known_ = read_simulated(*database_, "store");
  rows_ = known_.size();
}

void PlanStore::add_tables() {
  std::string axes;
  for (const std::string& key : axis_keys()) axes += ", " + sql_name(key);
  database_->run(fmt::format(
      "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
      "CREATE TABLE axes (key TEXT NOT NULL, place INTEGER NOT NULL, value TEXT NOT NULL,"
      " PRIMARY KEY (key, place));"
      "CREATE TABLE simulated (\"index\" INTEGER PRIMARY KEY{}, {});"
      "CREATE TABLE dropped (\"index\" INTEGER PRIMARY KEY, bound_s REAL, bound_memory_bytes"
      " INTEGER, reason TEXT NOT NULL);"
      "CREATE TABLE best (rank INTEGER PRIMARY KEY, \"index\" INTEGER NOT NULL);"
      "CREATE TABLE rules (rule TEXT PRIMARY KEY, count INTEGER NOT NULL);"
      "CREATE TABLE shards (first INTEGER PRIMARY KEY, points INTEGER NOT NULL, complete INTEGER"
      " NOT NULL);"
      "CREATE TABLE shard_rules (first INTEGER NOT NULL, rule TEXT NOT NULL, count INTEGER NOT"
      " NULL, PRIMARY KEY (first, rule));"
      "CREATE TABLE progress (points INTEGER NOT NULL, simulated INTEGER NOT NULL, complete"
      " INTEGER NOT NULL);"
      "CREATE VIEW best_layouts AS SELECT best.rank, simulated.* FROM best JOIN simulated"
      " USING (\"index\") ORDER BY best.rank;",
      axes, fmt::join(kFixed, ", ")));
  database_->insert("INSERT INTO progress VALUES (?, 0, 0)", {whole(space_.size())});
}

void PlanStore::add_axes() {
  const auto add = [&](const std::string& key, std::size_t place, const std::string& value) {
    database_->insert("INSERT INTO axes VALUES (?, ?, ?)", {key, whole(place), value});
  };
  for (const SettingAxis& axis : space_.settings)
    for (std::size_t i = 0; i < axis.values.size(); ++i) add(axis.key, i, axis.values[i]);
  for (const LayoutAxis& axis : space_.layout)
    for (std::size_t i = 0; i < axis.values.size(); ++i)
      add(std::string{to_string(axis.key)}, i, axis.values[i].text);
}

std::vector<std::string> PlanStore::axis_keys() const {
  std::vector<std::string> out;
  for (const SettingAxis& axis : space_.settings) out.push_back(axis.key);
  for (const LayoutAxis& axis : space_.layout) out.emplace_back(to_string(axis.key));
  return out;
}

void PlanStore::begin_batch() {
  if (in_batch_) return;
  database_->run("BEGIN IMMEDIATE");
  in_batch_ = true;
}

void PlanStore::end_batch() {
  if (!in_batch_) return;
  database_->insert("UPDATE progress SET simulated = ?", {whole(rows_)});
  database_->run("COMMIT");
  in_batch_ = false;
}

void PlanStore::add(const SimulatedLayout& layout) {
  begin_batch();
  const std::uint64_t setting = layout.index / space_.layout_count();
  DatabaseRow row{whole(layout.index)};
  const std::vector<std::size_t> places = space_.setting_digits(setting);
  for (std::size_t i = 0; i < places.size(); ++i)
    row.emplace_back(space_.settings[i].values[places[i]]);
  std::uint64_t rest = layout.index % space_.layout_count();
  DatabaseRow digits(kLayoutKeys);
  for (std::size_t i = kLayoutKeys; i-- > 0;) {
    const auto& values = space_.layout[i].values;
    const LayoutValue& value = values[rest % values.size()];
    rest /= values.size();
    digits[i] = value.text == std::to_string(value.number) ? DatabaseValue{value.number}
                                                           : DatabaseValue{value.text};
  }
  row.insert(row.end(), digits.begin(), digits.end());
  const auto flag = [](bool is) { return DatabaseValue{std::int64_t{is ? 1 : 0}}; };
  row.insert(row.end(),
             {layout.bound_s, layout.bound_memory.count(), layout.step_s, layout.step.ps(),
              layout.memory.count(), flag(layout.fits), flag(layout.holds)});
  for (const PlanMetric metric : kMetrics) {
    const auto value =
        value_of(metric, {layout.step_s, layout.memory}, *settings_[setting], prices_);
    row.push_back(value ? DatabaseValue{*value} : DatabaseValue{});
  }
  database_->insert(insert_, row);
  ++rows_;
}

void PlanStore::finish(const SearchResult& result, const std::vector<StoredRange>& ranges) {
  begin_batch();
  // Rows that this search came across; a row of an earlier run stays.
  database_->run(
      "DELETE FROM dropped; DELETE FROM best; DELETE FROM rules; DELETE FROM shards;"
      "DELETE FROM shard_rules; DELETE FROM progress");
  for (const DroppedLayout& layout : result.dropped)
    database_->insert("INSERT INTO dropped VALUES (?, ?, ?, ?)",
                      {whole(layout.index), layout.bound_s, layout.bound_memory.count(),
                       std::string{word_of(layout.why)}});
  for (std::size_t i = 0; i < result.best.size(); ++i)
    database_->insert("INSERT INTO best VALUES (?, ?)",
                      {whole(i + 1), whole(result.best[i].index)});
  const auto shard_rule = [&](const StoredRange& range, std::string_view rule,
                              std::uint64_t count) {
    database_->insert("INSERT INTO shard_rules VALUES (?, ?, ?)",
                      {whole(range.begin), std::string{rule}, whole(count)});
  };
  for (const StoredRange& range : ranges) {
    database_->insert(
        "INSERT INTO shards VALUES (?, ?, ?)",
        {whole(range.begin), whole(range.end - range.begin), std::int64_t{range.complete ? 1 : 0}});
    for (std::size_t i = 0; i < kPlanRules; ++i)
      shard_rule(range, to_string(static_cast<PlanRule>(i)), range.rules[i]);
    shard_rule(range, kMemoryRule, range.memory);
    shard_rule(range, kLimitsRule, range.limits);
  }
  add_certificate(result);
  database_->insert(
      "INSERT INTO progress VALUES (?, ?, ?)",
      {whole(result.certificate.points), whole(rows_), std::int64_t{result.complete ? 1 : 0}});
  database_->run("COMMIT");
  in_batch_ = false;
  finished_ = true;
  database_->run("PRAGMA journal_mode=DELETE");  // one file, that is read from anywhere
}

void PlanStore::add_certificate(const SearchResult& result) {
  const SearchCertificate& of = result.certificate;
  const auto add = [&](std::string_view rule, std::uint64_t count) {
    database_->insert("INSERT INTO rules VALUES (?, ?)", {std::string{rule}, whole(count)});
  };
  for (std::size_t i = 0; i < kPlanRules; ++i)
    add(to_string(static_cast<PlanRule>(i)), of.rules[i]);
  add(kMemoryRule, of.memory);
  add(kLimitsRule, of.limits);
  add("bounded_away", of.bounded);
  add("not_simulated", of.not_simulated);
  add("simulated", of.simulated);
  add("undecided", of.undecided);
}

}  // namespace lockstep::app
