#include "tools/lockstep/output/output.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "tools/app/errors.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/output/table.hpp"
#include "tools/lockstep/output/version.hpp"

namespace lockstep::cli {

namespace {

app::Json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> app::Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell.value);
}

}  // namespace

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

std::vector<std::size_t> visible(const Report& report) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < report.columns.size(); ++i)
    if (!report.columns[i].heading.empty()) out.push_back(i);
  return out;
}

namespace {

std::string render_json(const Report& report) {
  app::Json out;
  out["schema"] = report.schema;
  out["tool"] = {{"name", "lockstep"}, {"version", kVersion}};
  out["config"] = app::Json::parse(report.config);
  out["seed"] = report.seed;
  out["fingerprint"] = report.fingerprint;
  app::Json rows = app::Json::array();
  for (const Section& section : report.sections)
    for (const auto& row : section.rows) {
      app::Json object = app::Json::object();
      for (std::size_t i = 0; i < row.size(); ++i) object[report.columns[i].key] = json_of(row[i]);
      rows.push_back(std::move(object));
    }
  out["rows"] = std::move(rows);
  for (const auto& [name, text] : report.more) out[name] = app::Json::parse(text);
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

}  // namespace

std::string render(const Report& report, const OutputStyle& style) {
  switch (style.format) {
    case Format::json:
      return render_json(report);
    case Format::csv:
      return render_csv(report);
    case Format::md:
      return render_markdown(report);
    case Format::table:
      return render_table(report, style);
  }
  return {};
}

void print(const std::string& text) {
  if (Host* to = host()) return to->print(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw app::IoError("cannot write to standard output");
}

void print_later(const OutputStyle& style, std::function<std::string()> make) {
  Host* const to = host();
  if (to != nullptr && style.format == Format::json) return to->print_later(std::move(make));
  print(make());
}

}  // namespace lockstep::cli
