#include "topologies/import/smi_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "topologies/config/did_you_mean.hpp"
#include "topologies/import/text_places.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostDevices = 512;
constexpr std::string_view kAllowed = "X, NV#, PIX, PXB, PHB, NODE or SYS";

/// A column of a line and where it stands in the text.
struct Field {
  std::string text;
  std::size_t offset = 0;
};
using Line = std::vector<Field>;

/// Behind "[4m" or "[0m", which is left of nvidia-smi's underlining where text was copied from a
/// terminal; else there.
std::size_t behind_copied_escape(std::string_view text, std::size_t at) {
  for (const std::string_view left : {"[4m", "[0m"})
    if (text.substr(at, left.size()) == left) return at + left.size();
  return at;
}

/// Behind an escape sequence (ECMA-48: ESC [ up to a letter) that begins there; else there.
std::size_t behind_escape(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\x1b[") return behind_copied_escape(text, at);
  at += 2;
  while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
  return std::min(at + 1, text.size());
}

/// Splits at every `separator`, blanks and escape sequences at the edges taken off; of blanks a run
/// counts as one.
Line split(std::string_view text, std::size_t offset, bool tabs) {
  Line fields;
  Field field;
  const auto end_field = [&] {
    while (!field.text.empty() && field.text.back() == ' ') field.text.pop_back();
    if (tabs || !field.text.empty()) fields.push_back(std::move(field));
    field = {};
  };
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t behind = behind_escape(text, i); behind != i) {
      i = behind;
      continue;
    }
    const bool blank = text[i] == ' ';
    if (text[i] == '\t' || (!tabs && blank)) {
      end_field();
    } else if (!blank || !field.text.empty()) {
      if (field.text.empty()) field.offset = offset + i;
      field.text += text[i];
    }
    ++i;
  }
  end_field();
  return fields;
}

bool is_numbered(std::string_view text, std::string_view prefix) {
  return text.size() > prefix.size() && text.substr(0, prefix.size()) == prefix &&
         text.find_first_not_of("0123456789", prefix.size()) == text.npos;
}

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowedIn =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:";
  return text.find_first_not_of(kAllowedIn) == text.npos;
}

/// The devices that a heading names; empty where the line is none.
std::vector<std::string> heading(const Line& line) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string& text = line[i].text;
    if (text == "X") return {};
    if (i == 0 && text.empty()) continue;
    const std::string word = text.substr(0, text.find(' '));
    if (word == "CPU" || word == "NUMA" || word == "GPU") break;
    names.push_back(text);
  }
  const bool is_heading = !names.empty() && is_numbered(names.front(), "GPU");
  return is_heading ? names : std::vector<std::string>{};
}

/// "NV12".
std::optional<int> links_of(std::string_view text) {
  if (text.substr(0, 2) != "NV") return std::nullopt;
  int links = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), links);
  const bool good =
      error == std::errc{} && end == text.data() + text.size() && links >= 1 && links <= 1024;
  return good ? std::optional{links} : std::nullopt;
}

std::optional<SmiCell> parse_cell(std::string_view text) {
  static const std::map<std::string_view, SmiPath> kPaths{
      {"X", SmiPath::self},    {"PIX", SmiPath::pix}, {"PXB", SmiPath::pxb}, {"PHB", SmiPath::phb},
      {"NODE", SmiPath::node}, {"SYS", SmiPath::sys}, {"SOC", SmiPath::sys}};
  if (const auto links = links_of(text)) return SmiCell{SmiPath::nvlink, *links};
  const auto found = kPaths.find(text);
  if (found == kPaths.end()) return std::nullopt;
  return SmiCell{found->second, 0};
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : text_{text}, places_{text}, problems_{file} {
    find_lines();
  }

  SmiMatrix read() {
    std::size_t line = 0;
    while (line < lines_.size() && !read_heading(lines_[line])) ++line;
    if (out_.devices.empty() && !problems_.any())
      problems_.note({1, 1}, "", "expected the heading of `nvidia-smi topo -m`: GPU0 and so on");
    problems_.throw_if_any();
    out_.cells.resize(out_.devices.size() * out_.devices.size());
    seen_.resize(out_.devices.size());
    for (++line; line < lines_.size(); ++line) read_line(lines_[line]);
    check_rows();
    problems_.throw_if_any();
    check_symmetry();
    problems_.throw_if_any();
    return std::move(out_);
  }

  static bool is_heading(std::string_view line) {
    return !heading(split(line, 0, line.find('\t') != line.npos)).empty();
  }

 private:
  struct RawLine {
    std::size_t offset;
    std::string_view text;
  };

  void find_lines() {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      std::string_view line = text_.substr(begin, end - begin);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      lines_.push_back({begin, line});
      begin = end + 1;
    }
  }

  static Line fields_of(const RawLine& line) {
    return split(line.text, line.offset, line.text.find('\t') != line.text.npos);
  }

  [[nodiscard]] Position at(std::size_t offset) const { return places_.at(offset); }

  bool read_heading(const RawLine& line) {
    const Line fields = fields_of(line);
    const auto names = heading(fields);
    if (names.empty()) return false;
    if (names.size() > kMostDevices) {
      problems_.note(at(line.offset), "",
                     fmt::format("at most {} devices, got {}", kMostDevices, names.size()));
      return true;
    }
    for (const std::string& name : names) {
      if (!is_name(name)) {
        problems_.note(at(line.offset), "",
                       "expected names such as GPU0, NIC0 or mlx5_0, got " + in_quotes(name));
        return true;
      }
      const bool is_new = index_.try_emplace(name, out_.devices.size()).second;
      if (!is_new) problems_.note(at(line.offset), "", in_quotes(name) + " stands there twice");
      if (is_new) out_.devices.push_back({name, is_numbered(name, "GPU"), "", ""});
    }
    find_numa(fields, names.size());
    return true;
  }

  /// Which of the fields behind the cells tells the NUMA node: as the heading says, where it has
  /// tabs; else the one behind the CPU affinity.
  void find_numa(const Line& fields, std::size_t devices) {
    const std::size_t first = fields.front().text.empty() ? 1 : 0;
    for (std::size_t i = first + devices; i < fields.size(); ++i) {
      if (fields[i].text.substr(0, 4) != "NUMA") continue;
      numa_ = fields[i].text == "NUMA" ? 1 : i - first - devices;
      return;
    }
  }

  void read_line(const RawLine& line) {
    const Line fields = fields_of(line);
    if (fields.empty()) return;
    const auto found = index_.find(fields.front().text);
    if (found != index_.end()) return read_row(found->second, fields, line);
    read_legend(fields);
  }

  void read_row(std::size_t row, const Line& fields, const RawLine& line) {
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
    const auto behind = [&](std::size_t i) {
      return count + 1 + i < fields.size() ? fields[count + 1 + i].text : "";
    };
    const std::string numa = numa_ ? behind(*numa_) : "";
    out_.devices[row].numa = numa.empty() || numa == "N/A" ? behind(0) : numa;
    if (out_.devices[row].numa == "N/A") out_.devices[row].numa.clear();
  }

  void read_cell(std::size_t row, std::size_t column, const Field& field) {
    const auto cell = parse_cell(field.text);
    const bool fits = cell && (cell->path == SmiPath::self) == (row == column);
    if (fits) {
      out_.cells[row * out_.devices.size() + column] = *cell;
      offsets_[{row, column}] = field.offset;
      return;
    }
    const auto meant = did_you_mean(field.text, {"PIX", "PXB", "PHB", "NODE", "SYS"});
    const std::string expected = row == column ? "X, a device itself"
                                 : cell        ? "X only where a device meets itself"
                                               : std::string{kAllowed};
    problems_.note(at(field.offset), "",
                   fmt::format("{} to {}: expected {}, got {}{}", out_.devices[row].name,
                               out_.devices[column].name, expected, in_quotes(field.text),
                               meant ? fmt::format("; did you mean {}?", *meant) : ""));
  }

  /// "NIC0: mlx5_0".
  void read_legend(const Line& fields) {
    std::string words;
    for (const Field& field : fields) words += (words.empty() ? "" : " ") + field.text;
    const auto colon = words.find(": ");
    if (colon == words.npos) return;
    const auto found = index_.find(words.substr(0, colon));
    if (found != index_.end()) out_.devices[found->second].legend = words.substr(colon + 2);
  }

  void check_rows() {
    if (problems_.any()) return;
    for (std::size_t row = 0; row < seen_.size(); ++row) {
      if (seen_[row]) continue;
      problems_.note(at(text_.size()), "",
                     "expected a row of " + in_quotes(out_.devices[row].name) + " before the end");
    }
  }

  void check_symmetry() {
    for (std::size_t row = 0; row < out_.devices.size(); ++row) {
      for (std::size_t column = 0; column < row; ++column) {
        const SmiCell& here = out_.cell(row, column);
        const SmiCell& there = out_.cell(column, row);
        if (here.path == there.path && here.links == there.links) continue;
        problems_.note(at(offsets_[{row, column}]), "",
                       fmt::format("{} to {}: expected the same as from {} to {}",
                                   out_.devices[row].name, out_.devices[column].name,
                                   out_.devices[column].name, out_.devices[row].name));
      }
    }
  }

  std::string_view text_;
  TextPlaces places_;
  Problems problems_;
  std::vector<RawLine> lines_;
  SmiMatrix out_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<bool> seen_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> offsets_;
  std::optional<std::size_t> numa_;
};

}  // namespace

bool looks_like_smi(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (Reader::is_heading(line)) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

SmiMatrix read_smi_matrix(std::string_view text, const std::string& file) {
  return Reader{text, file}.read();
}

}  // namespace lockstep
