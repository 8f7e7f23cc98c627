#include "tools/figures/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "sim/base/utf8.hpp"

namespace lockstep::figures {

namespace {

/// Common sans-serif faces; text_width() is an upper bound for all of them.
constexpr std::string_view kFonts =
    "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

/// Bytes of the character that `text` begins with; 0 if XML 1.0 has no such character (section 2.2
/// excludes U+FFFE and U+FFFF).
std::size_t xml_character_length(std::string_view text) {
  const std::size_t length = utf8_length(text);
  const std::string_view character = text.substr(0, length);
  return character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf" ? 0 : length;
}

std::string_view escaped(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

std::string_view name_of(Anchor anchor) {
  constexpr std::array<std::string_view, 3> kNames = {"start", "middle", "end"};
  return kNames.at(static_cast<std::size_t>(anchor));
}

std::string stroke_attributes(const Stroke& stroke) {
  std::string out =
      fmt::format(R"(stroke="{}" stroke-width="{}")", stroke.color, coordinate(stroke.width));
  if (!stroke.dashes.empty()) out += fmt::format(R"( stroke-dasharray="{}")", stroke.dashes);
  return out;
}

std::string points_text(std::span<const Point> points) {
  std::string out;
  for (const Point& point : points)
    out += fmt::format("{}{},{}", out.empty() ? "" : " ", coordinate(point.x), coordinate(point.y));
  return out;
}

/// What a pattern draws on its tile of 6 by 6 pixels.
std::string ink_of(Pattern pattern, std::string_view ink) {
  switch (pattern) {
    case Pattern::stripes:
      return fmt::format(
          R"(<path d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2" stroke="{}" stroke-width="1"/>)", ink);
    case Pattern::dots:
      return fmt::format(
          R"(<circle cx="1.5" cy="1.5" r="0.9" fill="{0}"/><circle cx="4.5" cy="4.5" r="0.9" fill="{0}"/>)",
          ink);
    case Pattern::grid:
      return fmt::format(R"(<path d="M0,3 h6 M3,0 v6" stroke="{}" stroke-width="0.8"/>)", ink);
    case Pattern::bars:
      return fmt::format(R"(<path d="M3,0 v6" stroke="{}" stroke-width="1"/>)", ink);
    case Pattern::plain:
      break;
  }
  return {};
}

/// As written: hundredths of a pixel.
bool same(double a, double b) {
  return std::llround(a * 100) == std::llround(b * 100);
}

/// Without points between two others of one horizontal or vertical line.
std::vector<Point> corners(std::span<const Point> points) {
  std::vector<Point> out;
  for (const Point& point : points) {
    const std::size_t count = out.size();
    const auto straight = [&](double Point::*along) {
      return count > 1 && same(out[count - 2].*along, out[count - 1].*along) &&
             same(out[count - 1].*along, point.*along);
    };
    if (straight(&Point::x) || straight(&Point::y)) out.pop_back();
    out.push_back(point);
  }
  return out;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = xml_character_length(text);
    const char first = text.front();
    if (length == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD
    } else if (length == 1 && (static_cast<unsigned char>(first) < 0x20 || first == 0x7f)) {
      out += ' ';
    } else if (const std::string_view escape = escaped(first); !escape.empty()) {
      out += escape;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

void BoxRow::add(double from, double to) {
  const auto tenths = [](double value) {
    return static_cast<std::int64_t>(std::lround(value * 10));
  };
  const std::int64_t begin = tenths(from);
  const std::int64_t width = std::max<std::int64_t>(1, tenths(to) - begin);
  const auto number = [](std::int64_t value) {
    return coordinate(static_cast<double>(value) / 10);
  };
  if (data_.empty())
    data_ = fmt::format("M{},{}", number(begin), coordinate(middle_));
  else if (begin != at_)
    data_ += fmt::format("m{} 0", number(begin - at_));
  data_ += "h" + number(width);
  at_ = begin + width;
}

std::string coordinate(double value) {
  std::string out = fmt::format("{:.2f}", value);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

void Svg::rect(Point corner, Point size, std::string_view fill, std::string_view more) {
  body_ +=
      fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}"{}{}/>)",
                  coordinate(corner.x), coordinate(corner.y), coordinate(std::max(0.0, size.x)),
                  coordinate(std::max(0.0, size.y)), fill, more.empty() ? "" : " ", more) +
      "\n";
}

void Svg::line(Point from, Point to, const Stroke& stroke) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" {}/>)", coordinate(from.x),
                       coordinate(from.y), coordinate(to.x), coordinate(to.y),
                       stroke_attributes(stroke)) +
           "\n";
}

void Svg::polyline(std::span<const Point> points, const Stroke& stroke) {
  body_ += fmt::format(R"(<polyline points="{}" fill="none" stroke-linejoin="round" {}/>)",
                       points_text(points), stroke_attributes(stroke)) +
           "\n";
}

void Svg::area(std::span<const Point> points, std::string_view fill) {
  body_ +=
      fmt::format(R"(<polygon points="{}" fill="{}"/>)", points_text(corners(points)), fill) + "\n";
}

void Svg::path(std::string_view data, std::string_view fill, const Stroke& stroke) {
  body_ +=
      fmt::format(R"(<path d="{}" fill="{}" {}/>)", data, fill, stroke_attributes(stroke)) + "\n";
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
  body_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}")", coordinate(at.x), coordinate(at.y),
                       coordinate(style.size));
  if (style.anchor != Anchor::start)
    body_ += fmt::format(R"( text-anchor="{}")", name_of(style.anchor));
  if (style.bold) body_ += R"( font-weight="bold")";
  if (style.turn != 0)
    body_ += fmt::format(R"x( transform="rotate({} {} {})")x", coordinate(style.turn),
                         coordinate(at.x), coordinate(at.y));
  body_ += fmt::format(R"( fill="{}">{}</text>)", style.color, xml_text(text)) + "\n";
}

void Svg::boxes(const BoxRow& row, std::string_view fill, double height) {
  if (row.data().empty()) return;
  body_ += fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="{}"/>)", row.data(),
                       fill, coordinate(height)) +
           "\n";
}

void Svg::begin(std::string_view kind, std::string_view title, std::string_view more) {
  body_ += fmt::format(R"(<g class="{}"{}{}>)", kind, more.empty() ? "" : " ", more);
  if (!title.empty()) body_ += fmt::format("<title>{}</title>", xml_text(title));
  body_ += "\n";
}

std::string Svg::fill(std::string_view color, Pattern pattern, std::string_view ink) {
  if (pattern == Pattern::plain) return std::string{color};
  std::string id = fmt::format("{}-{}-{}-{}", prefix_, static_cast<int>(pattern), color, ink);
  std::erase(id, '#');
  patterns_[id] = fmt::format(
      R"(<pattern id="{}" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="{}"/>{}</pattern>)",
      id, color, ink_of(pattern, ink));
  return fmt::format("url(#{})", id);
}

std::string Svg::finish(Point size) const {
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" font-family="{2}">)",
      coordinate(std::ceil(size.x)), coordinate(std::ceil(size.y)), kFonts);
  out += fmt::format("\n<title>{}</title>\n", xml_text(title_));
  if (!patterns_.empty()) {
    out += "<defs>\n";
    for (const auto& [id, definition] : patterns_) out += definition + "\n";
    out += "</defs>\n";
  }
  return out + R"(<rect width="100%" height="100%" fill="#ffffff"/>)" + "\n" + body_ + "</svg>\n";
}

}  // namespace lockstep::figures
