#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/terminal/terminal.hpp"

/// The one printer behind every command: aligned tables, JSON, CSV, Markdown.
namespace lockstep::cli {

enum class Format : std::uint8_t { table, json, csv, md };

/// How a report is written. `width`, `wide` and `color` apply to tables; data formats have every
/// column.
struct OutputStyle {
  Format format = Format::table;
  std::size_t width = 0;  // maximum line length of tables; 0: unlimited
  bool wide = false;      // every column, however wide
  bool color = false;
  bool wraps_notes = false;  // to the width; else a note is one line

  OutputStyle() = default;
  OutputStyle(Format only) : format{only} {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool is_table() const { return format == Format::table; }
};

/// A value, for data formats and for tables.
struct Cell {
  std::variant<std::monostate, bool, std::int64_t, double, std::string> value;
  std::string text;                    // for tables; empty: the value's plain form
  Emphasis emphasis = Emphasis::none;  // its color in tables

  Cell() = default;
  template <typename T>
  explicit Cell(T v, std::string shown = {}) : value{std::move(v)}, text{std::move(shown)} {}
};

struct Column {
  std::string key;      // name in JSON and CSV, with the unit in it
  std::string heading;  // in tables; empty: data formats only
  std::string unit;     // second line of the heading
  bool left = false;    // text is aligned left, numbers right
  /// Maximum width in tables; longer text wraps at spaces. 0: unlimited.
  std::size_t most_width = 0;
};

/// Rows with a title, as one section of a table.
struct Section {
  std::vector<std::string> notes;  // printed before it, in tables as comments
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> closing{};  // printed after it
};

struct Report {
  std::string schema;  // such as "lockstep.collective/3"
  std::string config;  // resolved configuration as JSON
  std::uint64_t seed = 0;
  std::string fingerprint;  // of the physics of the result
  std::vector<Column> columns;
  std::vector<Section> sections;
  std::vector<std::string> footer;
  /// Additional members of the JSON object after the rows: name and JSON text.
  std::vector<std::pair<std::string, std::string>> more{};
  bool upright = false;  // tables show one row as a list of headings and values
  /// In tables, cut texts that are too long for their column with an ellipsis instead of wrapping
  /// (not with --wide), and print `whole_entry`, the command that shows all of it.
  bool one_line = false;
  std::string whole_entry{};
  /// Keys of the first columns in tables, in this order.
  std::vector<std::string> first_in_tables{};
  std::vector<std::string> only_wide{};  // keys of columns of tables with --wide only
  /// Keys of the columns that narrow tables omit, in order of omission.
  std::vector<std::string> left_out_first{};
};

/// Text for stdout. JSON is one object: schema, tool, config, seed, fingerprint, rows. A table that
/// omits columns names them.
[[nodiscard]] std::string render(const Report& report, const OutputStyle& style);

/// Writes to stdout. Throws IoError.
void print(const std::string& text);

/// Writes what `make` returns, which a host may leave to later where it is JSON: `make` keeps what
/// it needs, and reads no files.
void print_later(const OutputStyle& style, std::function<std::string()> make);

}  // namespace lockstep::cli
