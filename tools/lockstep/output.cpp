#include "tools/lockstep/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tools/app/json.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/version.hpp"

namespace lockstep::cli {

namespace {

Json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell.value);
}

std::string plain(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<T, bool>) {
          return value ? "true" : "false";
        } else {
          return fmt::format("{}", value);
        }
      },
      cell.value);
}

std::string shown(const Cell& cell) {
  return cell.text.empty() ? plain(cell) : cell.text;
}

std::string render_json(const Report& report) {
  Json out;
  out["schema"] = report.schema;
  out["tool"] = {{"name", "lockstep"}, {"version", kVersion}};
  out["config"] = Json::parse(report.config);
  out["seed"] = report.seed;
  out["fingerprint"] = report.fingerprint;
  Json rows = Json::array();
  for (const Section& section : report.sections)
    for (const auto& row : section.rows) {
      Json object = Json::object();
      for (std::size_t i = 0; i < row.size(); ++i) object[report.columns[i].key] = json_of(row[i]);
      rows.push_back(std::move(object));
    }
  out["rows"] = std::move(rows);
  for (const auto& [name, text] : report.more) out[name] = Json::parse(text);
  return out.dump(2) + "\n";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string render_csv(const Report& report) {
  std::string out;
  for (std::size_t i = 0; i < report.columns.size(); ++i)
    out += (i > 0 ? "," : "") + report.columns[i].key;
  out += "\n";
  for (const Section& section : report.sections)
    for (const auto& row : section.rows) {
      for (std::size_t i = 0; i < row.size(); ++i)
        out += (i > 0 ? "," : "") + csv_field(plain(row[i]));
      out += "\n";
    }
  return out;
}

std::vector<std::size_t> visible(const Report& report) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < report.columns.size(); ++i)
    if (!report.columns[i].heading.empty()) out.push_back(i);
  return out;
}

std::string markdown_field(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string render_markdown(const Report& report) {
  const auto columns = visible(report);
  std::string out = "|";
  for (const std::size_t i : columns) {
    const Column& column = report.columns[i];
    out += " " + column.heading + (column.unit.empty() ? "" : " " + column.unit) + " |";
  }
  out += "\n|";
  for (const std::size_t i : columns) out += report.columns[i].left ? "---|" : "---:|";
  out += "\n";
  for (const Section& section : report.sections)
    for (const auto& row : section.rows) {
      out += "|";
      for (const std::size_t i : columns) out += " " + markdown_field(shown(row[i])) + " |";
      out += "\n";
    }
  return out;
}

/// Width in code points, so that "µs" lines up.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::size_t own = width_of(text);
  const std::string space(width > own ? width - own : 0, ' ');
  return left ? text + space : space + text;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// Cut at spaces into lines of at most `most`, where words are no longer; 0: one line.
std::vector<std::string> lines_of(const std::string& text, std::size_t most) {
  if (most == 0 || width_of(text) <= most) return {text};
  std::vector<std::string> out{""};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    std::string& line = out.back();
    if (!line.empty() && width_of(line) + 1 + width_of(word) > most) {
      out.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
    at = end + 1;
  }
  return out;
}

std::vector<std::size_t> column_widths(const Report& report) {
  std::vector<std::size_t> out;
  for (const Column& column : report.columns)
    out.push_back(std::max(width_of(column.heading), width_of(column.unit)));
  for (const Section& section : report.sections)
    for (const auto& row : section.rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        for (const std::string& line : lines_of(shown(row[i]), report.columns[i].most_width))
          out[i] = std::max(out[i], width_of(line));
  return out;
}

/// One line per column: what it is, then the value with its unit.
std::string render_upright(const Report& report) {
  std::size_t width = 0;
  for (const Column& column : report.columns) width = std::max(width, width_of(column.heading));
  std::string out;
  for (const Section& section : report.sections) {
    if (&section != &report.sections.front()) out += "#\n";
    for (const std::string& note : section.notes) out += "# " + note + "\n";
    for (const auto& row : section.rows)
      for (const std::size_t i : visible(report)) {
        std::string heading = report.columns[i].heading;
        for (const std::string& line : lines_of(shown(row[i]), report.columns[i].most_width))
          out += "  " + padded(std::exchange(heading, ""), width, true) + "  " + line + "\n";
      }
  }
  for (const std::string& note : report.footer) out += "# " + note + "\n";
  return out;
}

/// A row of a table: as many lines as its longest cell has.
std::string render_row(const Report& report, const std::vector<std::size_t>& widths,
                       const std::vector<Cell>& row) {
  const auto columns = visible(report);
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const std::size_t i : columns) {
    cells.push_back(lines_of(shown(row[i]), report.columns[i].most_width));
    height = std::max(height, cells.back().size());
  }
  std::string out;
  for (std::size_t at = 0; at < height; ++at) {
    std::string line = " ";
    for (std::size_t c = 0; c < columns.size(); ++c)
      line += (c == 0 ? " " : "  ") + padded(at < cells[c].size() ? cells[c][at] : "",
                                             widths[columns[c]], report.columns[columns[c]].left);
    out += trimmed(line);
  }
  return out;
}

std::string render_table(const Report& report) {
  if (report.upright) return render_upright(report);
  const auto columns = visible(report);
  const auto widths = column_widths(report);
  const auto line = [&](const std::string& lead, const auto& text_of) {
    std::string out = lead;
    for (const std::size_t i : columns)
      out += (i == columns.front() ? "" : "  ") +
             padded(text_of(i), widths[i], report.columns[i].left);
    return trimmed(out);
  };
  const bool units = std::any_of(report.columns.begin(), report.columns.end(),
                                 [](const Column& column) { return !column.unit.empty(); });
  std::string out;
  for (const Section& section : report.sections) {
    for (const std::string& note : section.notes) out += "# " + note + "\n";
    if (&section == &report.sections.front()) {
      out += line("# ", [&](std::size_t i) { return report.columns[i].heading; });
      if (units) out += line("# ", [&](std::size_t i) { return report.columns[i].unit; });
    } else {
      out += "#\n";
    }
    for (const auto& row : section.rows) out += render_row(report, widths, row);
    for (const std::string& note : section.closing) out += "# " + note + "\n";
  }
  for (const std::string& note : report.footer) out += "# " + note + "\n";
  return out;
}

}  // namespace

std::string render(const Report& report, Format format) {
  switch (format) {
    case Format::json:
      return render_json(report);
    case Format::csv:
      return render_csv(report);
    case Format::md:
      return render_markdown(report);
    case Format::table:
      return render_table(report);
  }
  return {};
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw IoError("cannot write to standard output");
}

}  // namespace lockstep::cli
