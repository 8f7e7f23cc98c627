#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

/// A writer of SVG 1.1: elements in pixels, text escaped, patterns defined where they are used.
namespace lockstep::figures {

struct Point {
  double x = 0;
  double y = 0;
};

/// A second code next to color, so that fills differ in gray print and for color-blind readers.
enum class Pattern : std::uint8_t { plain, stripes, dots, grid, bars };

enum class Anchor : std::uint8_t { start, middle, end };

struct TextStyle {
  double size = 13;
  Anchor anchor = Anchor::start;
  std::string_view color = "#222222";
  bool bold = false;
  double turn = 0;  // degrees, clockwise
};

struct Stroke {
  std::string_view color = "#222222";
  double width = 1;
  std::string_view dashes{};  // such as "6 4"; empty: solid
};

/// Text as content or as an attribute of XML: markup escaped, control characters and bytes that are
/// not UTF-8 replaced.
[[nodiscard]] std::string xml_text(std::string_view text);

/// A coordinate with at most two decimals.
[[nodiscard]] std::string coordinate(double value);

/// Rectangles side by side, from left to right, as a thick line: a third of the bytes of elements
/// of their own. Places are rounded to a tenth of a pixel.
class BoxRow {
 public:
  explicit BoxRow(double middle) : middle_{middle} {}
  void add(double from, double to);
  [[nodiscard]] const std::string& data() const { return data_; }

 private:
  double middle_;  // of the height
  std::int64_t at_ = 0;
  std::string data_{};
};

class Svg {
 public:
  /// `prefix`: of ids, so that several figures can stand in one page.
  Svg(std::string title, std::string prefix)
      : title_{std::move(title)}, prefix_{std::move(prefix)} {}

  void rect(Point corner, Point size, std::string_view fill, std::string_view more = {});
  void line(Point from, Point to, const Stroke& stroke = {});
  void polyline(std::span<const Point> points, const Stroke& stroke);
  /// Closed, without a border.
  void area(std::span<const Point> points, std::string_view fill);
  /// `data`: the commands of a path.
  void path(std::string_view data, std::string_view fill, const Stroke& stroke);
  /// Many rectangles of one height and fill, in a row, as one element.
  void boxes(const BoxRow& row, std::string_view fill, double height);
  void text(Point at, std::string_view text, const TextStyle& style = {});
  /// Elements until end() form a group; `title` is its tooltip (empty: none). `more`: attributes.
  void begin(std::string_view kind, std::string_view title = {}, std::string_view more = {});
  void end() { body_ += "</g>\n"; }

  /// A fill: the color, with a pattern of `ink` on top.
  [[nodiscard]] std::string fill(std::string_view color, Pattern pattern,
                                 std::string_view ink = "#222222");

  [[nodiscard]] std::string finish(Point size) const;

 private:
  std::string title_;
  std::string prefix_;
  std::string body_;
  std::map<std::string, std::string> patterns_{};  // id to definition
};

}  // namespace lockstep::figures
