#include "tools/app/plan/store/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <type_traits>
#include <utility>

#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

constexpr int kWaitMilliseconds = 1000;  // for another process to let go

}  // namespace

struct Database::Handle {
  sqlite3* file = nullptr;
  std::map<std::string, std::unique_ptr<Statement>> statements;

  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();
};

/// A prepared statement.
class Database::Statement {
 public:
  Statement(const Database& database, const std::string& sql)
      : database_{database}, handle_{nullptr} {
    const int code = sqlite3_prepare_v2(database.handle_->file, sql.c_str(),
                                        static_cast<int>(sql.size()) + 1, &handle_, nullptr);
    if (code != SQLITE_OK) database.fail(code);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(handle_); }

  void bind(const DatabaseRow& values) {
    for (std::size_t i = 0; i < values.size(); ++i) bind(static_cast<int>(i) + 1, values[i]);
  }
  /// Whether there is another row.
  [[nodiscard]] bool step() {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) database_.fail(code);
    return false;
  }
  void reset() { sqlite3_reset(handle_); }

  [[nodiscard]] std::vector<std::string> columns() const {
    std::vector<std::string> out;
    for (int i = 0; i < sqlite3_column_count(handle_); ++i)
      out.emplace_back(sqlite3_column_name(handle_, i));
    return out;
  }
  [[nodiscard]] DatabaseRow row() const {
    DatabaseRow out;
    for (int i = 0; i < sqlite3_column_count(handle_); ++i) out.push_back(value(i));
    return out;
  }
  [[nodiscard]] DatabaseRows rows() {
    DatabaseRows out{columns(), {}};
    while (step()) out.rows.push_back(row());
    return out;
  }

 private:
  void bind(int at, const DatabaseValue& value) {
    std::visit(
        [&](const auto& each) {
          using Value = std::decay_t<decltype(each)>;
          if constexpr (std::is_same_v<Value, std::monostate>) {
            sqlite3_bind_null(handle_, at);
          } else if constexpr (std::is_same_v<Value, std::int64_t>) {
            sqlite3_bind_int64(handle_, at, each);
          } else if constexpr (std::is_same_v<Value, double>) {
            sqlite3_bind_double(handle_, at, each);
          } else {
            sqlite3_bind_text(handle_, at, each.c_str(), static_cast<int>(each.size()),
                              SQLITE_TRANSIENT);
          }
        },
        value);
  }

  [[nodiscard]] DatabaseValue value(int at) const {
    switch (sqlite3_column_type(handle_, at)) {
      case SQLITE_INTEGER:
        return std::int64_t{sqlite3_column_int64(handle_, at)};
      case SQLITE_FLOAT:
        return sqlite3_column_double(handle_, at);
      case SQLITE_NULL:
        return std::monostate{};
      default: {
        const auto* text = static_cast<const char*>(sqlite3_column_blob(handle_, at));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, at));
        return text == nullptr ? std::string{} : std::string{text, size};
      }
    }
  }

  const Database& database_;
  sqlite3_stmt* handle_;
};

Database::Handle::~Handle() {
  statements.clear();
  sqlite3_close(file);
}

Database::Database(std::string path, Mode mode, std::string place)
    : path_{std::move(path)}, place_{std::move(place)}, handle_{std::make_unique<Handle>()} {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (mode != Mode::create && !fs::is_regular_file(path_, ignored))
    throw RequestError(place_, fmt::format("{}: no such file", path_));
  const int flags = mode == Mode::read     ? SQLITE_OPEN_READONLY
                    : mode == Mode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                           : SQLITE_OPEN_READWRITE;
  // A path that begins with "file:" is no URI here.
  const int code = sqlite3_open_v2(path_.c_str(), &handle_->file, flags, nullptr);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_timeout(handle_->file, kWaitMilliseconds);
  // One writer, no shared memory: that works on network file systems, too.
  if (mode != Mode::read) run("PRAGMA locking_mode=EXCLUSIVE");
}

Database::~Database() = default;

void Database::fail(int code) const {
  const std::string said =
      handle_->file == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_->file);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      throw RequestError(place_, fmt::format("{} is locked by another process", path_));
    case SQLITE_NOTADB:
      throw RequestError(place_, fmt::format("{} is not a SQLite database", path_));
    case SQLITE_CORRUPT:
      throw RequestError(place_, fmt::format("{} is damaged or cut short ({})", path_, said));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      throw RequestError(place_, fmt::format("{} cannot be opened ({})", path_, said));
    case SQLITE_ERROR:
      throw RequestError(place_, fmt::format("{}: {}", path_, said));
    default:
      throw IoError(fmt::format("{}: {}", path_, said));
  }
}

void Database::run(const std::string& sql) {
  const int code = sqlite3_exec(handle_->file, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

DatabaseRows Database::query(const std::string& sql, const DatabaseRow& values) {
  Statement statement{*this, sql};
  statement.bind(values);
  return statement.rows();
}

void Database::insert(const std::string& sql, const DatabaseRow& values) {
  auto& statement = handle_->statements[sql];
  if (!statement) statement = std::make_unique<Statement>(*this, sql);
  statement->bind(values);
  (void)statement->step();
  statement->reset();
}

void Database::check() {
  const DatabaseRows rows = query("PRAGMA quick_check(1)");
  const auto* said = rows.rows.empty() ? nullptr : std::get_if<std::string>(&rows.rows[0][0]);
  if (said == nullptr || *said != "ok")
    throw RequestError(place_, fmt::format("{} is damaged or cut short ({})", path_,
                                           said == nullptr ? "unreadable" : *said));
}

DatabaseRows Database::read(const std::string& sql, const std::string& place) {
  sqlite3_stmt* probe = nullptr;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(handle_->file, sql.c_str(), static_cast<int>(sql.size()) + 1,
                                      &probe, &rest);
  const std::string said = sqlite3_errmsg(handle_->file);
  const bool reads =
      probe != nullptr && sqlite3_stmt_readonly(probe) != 0 && sqlite3_column_count(probe) > 0;
  const bool is_empty = probe == nullptr;
  sqlite3_finalize(probe);
  if ((code & 0xff) == SQLITE_ERROR) throw RequestError(place, said);
  if (code != SQLITE_OK) fail(code);
  if (is_empty) throw RequestError(place, "expected a SELECT, got nothing");
  if (!reads) throw RequestError(place, "expected a SELECT: stores are only read");
  if (std::string_view{rest}.find_first_not_of(" \t\r\n;") != std::string_view::npos)
    throw RequestError(place, fmt::format("expected one statement, got more: \"{}\"", rest));
  return query(sql);
}

std::string sql_name(std::string_view name) {
  std::string out = "\"";
  for (const char letter : name) {
    if (letter == '"') out += '"';
    out += letter;
  }
  return out + "\"";
}

}  // namespace lockstep::app
