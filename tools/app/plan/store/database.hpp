#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// SQLite files; the library itself is behind this header.
namespace lockstep::app {

using DatabaseValue = std::variant<std::monostate, std::int64_t, double, std::string>;
using DatabaseRow = std::vector<DatabaseValue>;

struct DatabaseRows {
  std::vector<std::string> columns;
  std::vector<DatabaseRow> rows;
};

/// One open file. Errors: RequestError with the place given for a file that another process has
/// locked, that is damaged, cut short or no SQLite file; IoError where writing fails.
class Database {
 public:
  enum class Mode : std::uint8_t {
    create,  // must not exist
    write,   // must exist; locked against all others until it is closed
    read,    // must exist
  };

  Database(std::string path, Mode mode, std::string place);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Statements without results.
  void run(const std::string& sql);
  /// One statement, `?` for values.
  DatabaseRows query(const std::string& sql, const DatabaseRow& values = {});
  /// The same statement for many rows of values; prepared once.
  void insert(const std::string& sql, const DatabaseRow& values);
  /// Reads all pages. Errors: as above.
  void check();
  /// What a user wrote: RequestError at `place` with SQLite's message; nothing but reading.
  DatabaseRows read(const std::string& sql, const std::string& place);

 private:
  struct Handle;
  class Statement;

  [[noreturn]] void fail(int code) const;

  std::string path_;
  std::string place_;
  std::unique_ptr<Handle> handle_;
};

/// A name as SQL takes it: `cluster.nodes` in double quotes.
[[nodiscard]] std::string sql_name(std::string_view name);

}  // namespace lockstep::app
