#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tools/lockstep/app.hpp"

/// The one printer behind every command: aligned tables, JSON, CSV, Markdown.
namespace lockstep::cli {

enum class Format : std::uint8_t { table, json, csv, md };

/// A value as programs read it, and as people do.
struct Cell {
  std::variant<std::monostate, bool, std::int64_t, double, std::string> value;
  std::string text;  // for tables; empty: the value's plain form

  Cell() = default;
  template <typename T>
  explicit Cell(T v, std::string shown = {}) : value{std::move(v)}, text{std::move(shown)} {}
};

struct Column {
  std::string key;      // name in JSON and CSV, with the unit in it
  std::string heading;  // in tables; empty: the column is for programs only
  std::string unit;     // second line of the heading
  bool left = false;    // text is aligned left, numbers right
  /// In tables a longer text goes on in the next line, from a space on; 0: however long it is.
  std::size_t most_width = 0;
};

/// Rows with a title, as one section of a table.
struct Section {
  std::vector<std::string> notes;  // printed before it, in tables as comments
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> closing{};  // printed after it, likewise
};

struct Report {
  std::string schema;  // such as "lockstep.collective/1"
  std::string config;  // JSON text: everything that led here, fully resolved
  std::uint64_t seed = 0;
  std::string fingerprint;  // of the physics of the result
  std::vector<Column> columns;
  std::vector<Section> sections;
  std::vector<std::string> footer;
  /// Further members of the JSON object, behind the rows: name and JSON text.
  std::vector<std::pair<std::string, std::string>> more{};
  bool upright = false;  // tables show one row as a list of headings and values
};

/// Data for stdout. JSON is one object: schema, tool, config, seed, fingerprint, rows.
[[nodiscard]] std::string render(const Report& report, Format format);

/// Writes to stdout; throws IoError where that fails.
void print(const std::string& text);

}  // namespace lockstep::cli
