#include "topologies/import/smi/smi_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/config/did_you_mean.hpp"
#include "topologies/import/machine/text_places.hpp"
#include "topologies/import/smi/smi_text.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostDevices = 512;
constexpr std::string_view kAllowed = "X, NV#, PIX, PXB, PHB, NODE or SYS";

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowedIn =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:";
  return text.find_first_not_of(kAllowedIn) == text.npos;
}

/// A heading and the lines up to the next.
struct Table {
  std::vector<std::string> names;
  std::size_t first = 0;  // line
  std::size_t end = 0;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : text_{text}, places_{text}, problems_{file}, lines_{smi_lines(text)} {}

  SmiMatrix read() {
    const std::vector<Table> tables = find_tables();
    const auto matrix =
        std::ranges::find_if_not(tables, [this](const Table& table) { return is_p2p(table); });
    if (matrix == tables.end()) refuse_text(tables);
    skip(0, tables.front().first);
    for (const Table& table : tables) {
      if (&table == &*matrix) {
        read_matrix(table);
      } else if (is_p2p(table)) {
        note_table(table, "a table of `nvidia-smi topo -p2p` is skipped");
      } else {
        skip_again(*matrix, table);
      }
    }
    problems_.throw_if_any();
    note_skipped();
    return std::move(out_);
  }

 private:
  [[nodiscard]] Position at(std::size_t offset) const { return places_.at(offset); }

  std::vector<Table> find_tables() const {
    std::vector<Table> tables;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      auto names = smi_heading(lines_[i].fields());
      if (names.empty()) continue;
      if (!tables.empty()) tables.back().end = i;
      tables.push_back({std::move(names), i, lines_.size()});
    }
    return tables;
  }

  /// Recognized by its cells.
  [[nodiscard]] bool is_p2p(const Table& table) const {
    for (std::size_t i = table.first + 1; i < table.end; ++i) {
      const SmiFields fields = lines_[i].fields();
      if (!is_row(table, fields)) continue;
      return std::ranges::any_of(fields,
                                 [](const SmiField& field) { return is_p2p_cell(field.text); });
    }
    return false;
  }

  static bool is_row(const Table& table, const SmiFields& fields) {
    if (fields.size() < 2) return false;
    const std::string& cell = fields[1].text;
    return (parse_smi_cell(cell) || is_p2p_cell(cell)) &&
           std::ranges::find(table.names, fields.front().text) != table.names.end();
  }

  [[noreturn]] void refuse_text(const std::vector<Table>& tables) {
    const std::string got = tables.empty() ? "" : ", got only what `nvidia-smi topo -p2p` prints";
    throw ConfigError{
        Problem{problems_.file(),
                {1, 1},
                "",
                "expected the heading of `nvidia-smi topo -m`: GPU0 and so on" + got}};
  }

  // --- the matrix

  void read_matrix(const Table& table) {
    read_heading(table);
    problems_.throw_if_any();
    out_.cells.resize(out_.devices.size() * out_.devices.size());
    seen_.resize(out_.devices.size());
    for (std::size_t i = table.first + 1; i < table.end; ++i) read_line(i);
    check_rows();
    problems_.throw_if_any();
    check_symmetry();
  }

  void read_heading(const Table& table) {
    const SmiLine& line = lines_[table.first];
    if (table.names.size() > kMostDevices) {
      problems_.note(at(line.offset), "",
                     fmt::format("at most {} devices, got {}", kMostDevices, table.names.size()));
      return;
    }
    for (const std::string& name : table.names) {
      if (!is_name(name)) {
        problems_.note(at(line.offset), "",
                       "expected names such as GPU0, NIC0 or mlx5_0, got " + in_quotes(name));
        return;
      }
      const bool is_new = index_.try_emplace(name, out_.devices.size()).second;
      if (!is_new) problems_.note(at(line.offset), "", in_quotes(name) + " stands there twice");
      if (is_new) out_.devices.push_back({name, is_numbered(name, "GPU"), "", ""});
    }
    find_numa(line.fields(), table.names.size());
  }

  /// Which of the fields behind the cells holds the NUMA node: as the heading says, where it has
  /// tabs; else the one behind the CPU affinity.
  void find_numa(const SmiFields& fields, std::size_t devices) {
    const std::size_t first = fields.front().text.empty() ? 1 : 0;
    for (std::size_t i = first + devices; i < fields.size(); ++i) {
      if (fields[i].text.substr(0, 4) != "NUMA") continue;
      numa_ = fields[i].text == "NUMA" ? 1 : i - first - devices;
      return;
    }
  }

  void read_line(std::size_t number) {
    const SmiLine& line = lines_[number];
    const SmiFields fields = line.fields();
    if (fields.empty()) return;
    const auto found = index_.find(fields.front().text);
    if (found != index_.end()) return read_row(found->second, fields, line);
    if (!read_legend(fields)) skip(number, number + 1);
  }

  void read_row(std::size_t row, const SmiFields& fields, const SmiLine& line) {
    const std::size_t count = out_.devices.size();
    if (seen_[row]) {
      problems_.note(at(fields.front().offset), "",
                     "there is a row of " + in_quotes(fields.front().text) + " already");
      return;
    }
    seen_[row] = true;
    if (fields.size() < count + 1) {
      problems_.note(
          at(line.offset), "",
          fmt::format("row of {}: expected {} cells, one per device of the heading, got {}",
                      fields.front().text, count, fields.size() - 1));
      return;
    }
    for (std::size_t column = 0; column < count; ++column)
      read_cell(row, column, fields[column + 1]);
    read_affinity(out_.devices[row], fields, count + 1);
  }

  void read_affinity(SmiDevice& device, const SmiFields& fields, std::size_t first) const {
    const auto behind = [&](std::size_t i) {
      return first + i < fields.size() && fields[first + i].text != "N/A" ? fields[first + i].text
                                                                          : "";
    };
    if (numa_) device.numa = behind(*numa_);
    if (device.numa.empty()) device.numa = behind(0);
  }

  void read_cell(std::size_t row, std::size_t column, const SmiField& field) {
    auto cell = parse_smi_cell(field.text);
    if (cell && row == column && cell->path == SmiPath::nvlink) {
      out_.notes.push_back(fmt::format("{} of {} to itself is ignored", field.text, name(row)));
      cell = SmiCell{};
    }
    const bool joins = cell && cell->path == SmiPath::nvlink;
    const bool gpus = out_.devices[row].is_gpu && out_.devices[column].is_gpu;
    if (cell && (cell->path == SmiPath::self) == (row == column) && (!joins || gpus)) {
      out_.cells[row * out_.devices.size() + column] = *cell;
      offsets_[{row, column}] = field.offset;
      return;
    }
    const auto meant = did_you_mean(field.text, {"PIX", "PXB", "PHB", "NODE", "SYS"});
    const std::string expected = row == column ? "X, a device itself"
                                 : joins       ? "NVLinks between GPUs alone"
                                 : cell        ? "X only where a device meets itself"
                                               : std::string{kAllowed};
    problems_.note(
        at(field.offset), "",
        fmt::format("{} to {}: expected {}, got {}{}", name(row), name(column), expected,
                    in_quotes(field.text), meant ? fmt::format("; did you mean {}?", *meant) : ""));
  }

  [[nodiscard]] const std::string& name(std::size_t device) const {
    return out_.devices[device].name;
  }

  /// "NIC0: mlx5_0", or a line without information on the machine; false where it is something
  /// else.
  bool read_legend(const SmiFields& fields) {
    std::string words;
    for (const SmiField& field : fields) words += (words.empty() ? "" : " ") + field.text;
    const auto colon = words.find(": ");
    const auto found = colon == words.npos ? index_.end() : index_.find(words.substr(0, colon));
    if (found == index_.end()) return is_smi_legend(fields);
    out_.devices[found->second].legend = words.substr(colon + 2);
    return true;
  }

  void check_rows() {
    if (problems_.any()) return;
    for (std::size_t row = 0; row < seen_.size(); ++row) {
      if (seen_[row]) continue;
      problems_.note(at(text_.size()), "",
                     "expected a row of " + in_quotes(name(row)) + " before the end");
    }
  }

  void check_symmetry() {
    for (std::size_t row = 0; row < out_.devices.size(); ++row) {
      for (std::size_t column = 0; column < row; ++column) {
        if (out_.cell(row, column) == out_.cell(column, row)) continue;
        problems_.note(at(offsets_[{row, column}]), "",
                       fmt::format("{} to {}: expected the same as from {} to {}", name(row),
                                   name(column), name(column), name(row)));
      }
    }
  }

  // --- what follows it

  /// The rows of a table, field by field.
  [[nodiscard]] std::vector<std::vector<std::string>> rows_of(const Table& table) const {
    std::vector<std::vector<std::string>> rows{table.names};
    for (std::size_t i = table.first + 1; i < table.end; ++i) {
      const SmiFields fields = lines_[i].fields();
      if (!is_row(table, fields)) continue;
      rows.emplace_back();
      for (const SmiField& field : fields) rows.back().push_back(field.text);
    }
    return rows;
  }

  void skip_again(const Table& matrix, const Table& table) {
    if (rows_.empty()) rows_ = rows_of(matrix);
    if (table.names == matrix.names && rows_ == rows_of(table))
      return note_table(table, "the same matrix once more is skipped");
    problems_.note(at(lines_[table.first].offset), "",
                   "a second matrix, which differs from the first: expected that of one machine");
  }

  void note_table(const Table& table, std::string_view what) {
    out_.notes.push_back(fmt::format("line {}: {}", table.first + 1, what));
  }

  void skip(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      if (!is_smi_legend(lines_[i].fields())) skipped_.push_back(i + 1);
    }
  }

  void note_skipped() {
    if (skipped_.empty()) return;
    out_.notes.push_back(
        fmt::format("{} that {} no part of the matrix {} skipped, from line {} on",
                    skipped_.size() == 1 ? "1 line" : fmt::format("{} lines", skipped_.size()),
                    skipped_.size() == 1 ? "is" : "are", skipped_.size() == 1 ? "is" : "are",
                    skipped_.front()));
  }

  std::string_view text_;
  TextPlaces places_;
  Problems problems_;
  std::vector<SmiLine> lines_;
  SmiMatrix out_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<bool> seen_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> offsets_;
  std::optional<std::size_t> numa_;
  std::vector<std::size_t> skipped_;            // numbers of lines
  std::vector<std::vector<std::string>> rows_;  // of the matrix, where there is another
};

}  // namespace

bool looks_like_smi(std::string_view text) {
  return std::ranges::any_of(
      smi_lines(text), [](const SmiLine& line) { return !smi_heading(line.fields()).empty(); });
}

SmiMatrix read_smi_matrix(std::string_view text, const std::string& file) {
  return Reader{text, file}.read();
}

}  // namespace lockstep
