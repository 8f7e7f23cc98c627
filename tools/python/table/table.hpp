#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Rows of a result as columns, in the layout of Apache Arrow: Python's views share these buffers.
namespace lockstep::python {

enum class ColumnType : std::uint8_t { boolean, integer, real, text };

struct Column {
  std::string name;
  ColumnType type = ColumnType::text;
  std::size_t nulls = 0;
  std::vector<std::uint8_t> valid{};     // a bit per row, lowest first; empty: no nulls
  std::vector<std::int64_t> integers{};  // 0 where null
  std::vector<double> reals{};           // NaN where null
  std::vector<std::uint8_t> bits{};      // of booleans, lowest first
  std::vector<std::int32_t> offsets{};   // of texts, one more than rows
  std::string texts{};

  [[nodiscard]] bool is_null(std::size_t row) const {
    return !valid.empty() && ((valid[row / 8] >> (row % 8)) & 1U) == 0;
  }
};

struct Table {
  std::size_t rows = 0;
  std::vector<Column> columns;

  /// Null: there is none.
  [[nodiscard]] const Column* find(const std::string& name) const;
};

/// The member `key` of a result, an array of objects. Columns are in order of appearance; lists and
/// objects within a row are JSON texts. Empty if there is no such member. Throws std::out_of_range
/// for a member that is no such array.
[[nodiscard]] Table table_of(const std::string& json, const std::string& key);

/// The members of a result that are tables: "rows" first, if it has it.
[[nodiscard]] std::vector<std::string> tables_of(const std::string& json);

}  // namespace lockstep::python
