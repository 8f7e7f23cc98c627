#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// RAII access to SQLite files; hides the SQLite headers.
namespace lockstep::app {

using DatabaseValue = std::variant<std::monostate, std::int64_t, double, std::string>;
using DatabaseRow = std::vector<DatabaseValue>;

struct DatabaseRows {
  std::vector<std::string> columns;
  std::vector<DatabaseRow> rows;
};

/// One open database. Errors: RequestError at the given place for a file that is locked, damaged,
/// truncated or not SQLite; IoError if writing fails.
class Database {
 public:
  enum class Mode : std::uint8_t {
    create,  // must not exist
    write,   // must exist; exclusively locked until closed
    read,    // must exist
  };

  Database(std::string path, Mode mode, std::string place);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Executes statements without results.
  void run(const std::string& sql);
  /// Executes one statement; `?` are bound to values.
  DatabaseRows query(const std::string& sql, const DatabaseRow& values = {});
  /// Inserts one row through a cached prepared statement.
  void insert(const std::string& sql, const DatabaseRow& values);
  /// Reads every page. Errors: as above.
  void check();
  /// Executes a user's statement, read-only. Errors: RequestError at `place` with SQLite's message.
  DatabaseRows read(const std::string& sql, const std::string& place);

 private:
  struct Handle;
  class Statement;

  [[noreturn]] void fail(int code) const;

  std::string path_;
  std::string place_;
  std::unique_ptr<Handle> handle_;
};

/// Quotes an SQL identifier: "cluster.nodes".
[[nodiscard]] std::string sql_name(std::string_view name);

}  // namespace lockstep::app
