#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/figures/parsed_figure.hpp"
#include "tools/figures/bar_figure.hpp"
#include "tools/figures/curve_figure.hpp"
#include "tools/figures/curve_text.hpp"
#include "tools/figures/heat_figure.hpp"
#include "tools/figures/memory_figure.hpp"
#include "tools/figures/pipeline_figure.hpp"
#include "tools/figures/scatter_figure.hpp"
#include "tools/figures/text_width.hpp"
#include "tools/figures/tornado_figure.hpp"

namespace lockstep::figures {

namespace {

std::vector<Point> points_of(const pugi::xml_node& curve) {
  std::istringstream text(curve.child("polyline").attribute("points").value());
  std::vector<Point> out;
  Point point;
  char comma = 0;
  while (text >> point.x >> comma >> point.y) out.push_back(point);
  return out;
}

CurveFigure curves(std::size_t count) {
  CurveFigure figure;
  figure.heading = {"Title", {"detail"}};
  figure.x = {"Message size", Unit::bytes, true};
  figure.y = {"Time", Unit::seconds, true};
  for (std::size_t i = 0; i < count; ++i) {
    const double first = 1e-6 * static_cast<double>(i + 1);
    figure.curves.push_back(
        {"curve " + std::to_string(i), {{1024, first}, {2048, 10 * first}, {4096, 100 * first}}});
  }
  return figure;
}

PipelineFigure two_stages(double recompute) {
  using Kind = PipelineSlice::Kind;
  return {{"Two stages", {}},
          {{"stage 0", {{Kind::forward, 0, 0, 0, 1}, {Kind::backward, 0, 0, 3, 4, recompute}}},
           {"stage 1", {{Kind::forward, 0, 0, 1, 2}, {Kind::backward, 0, 0, 2, 3, recompute}}}},
          4};
}

}  // namespace

TEST_CASE("markup, control characters and broken UTF-8 in names leave the XML well formed") {
  CurveFigure figure = curves(1);
  figure.curves[0].name = "</script>\"><img onerror='x'>\x01\xff&amp;";
  figure.heading.title = figure.curves[0].name;
  const Parsed parsed(draw(figure));
  CHECK(parsed.all("img").empty());
  CHECK(parsed.has_text("</script>\"><img onerror='x'> \xef\xbf\xbd&amp;"));
}

TEST_CASE("on logarithmic axes equal ratios are equal distances") {
  const Parsed parsed(draw(curves(1)));
  REQUIRE(parsed.all("curve").size() == 1);
  const std::vector<Point> points = points_of(parsed.all("curve")[0]);
  REQUIRE(points.size() == 3);
  // 1024, 2048, 4096 and 1, 10, 100 us; coordinates have two decimals.
  CHECK(points[1].x - points[0].x == doctest::Approx(points[2].x - points[1].x).epsilon(1e-3));
  CHECK(points[0].y - points[1].y == doctest::Approx(points[1].y - points[2].y).epsilon(1e-3));
  CHECK(points[0].y > points[2].y);
  CHECK(parsed.has_text("Message size"));
  CHECK(parsed.has_text("100 µs"));
}

TEST_CASE("a curve of many points has markers that stand clear of each other, as its label shows") {
  CurveFigure figure = curves(1);
  figure.curves[0].points.clear();
  for (int i = 0; i < 100; ++i)
    figure.curves[0].points.push_back({1024.0 * (i + 1), 1e-6 * (i + 1)});
  const Parsed parsed(draw(figure));
  const pugi::xml_node curve = parsed.all("curve").at(0);
  const auto children = std::distance(curve.begin(), curve.end());
  CHECK(children >= 2 + 2);   // title, line and markers
  CHECK(children <= 2 + 11);  // a tenth of the plot apart
}

TEST_CASE("six curves are labeled, further ones are gray and named below") {
  const Parsed parsed(draw(curves(9)));
  CHECK(parsed.all("curve").size() == kLabeledCurves);
  CHECK(parsed.all("curve other").size() == 3);
  CHECK(parsed.all("label").size() == kLabeledCurves);
  CHECK(parsed.has_text("Gray: curve 6, curve 7, curve 8"));
}

TEST_CASE("labels at the ends of curves do not overlap") {
  CurveFigure figure = curves(6);
  for (Curve& curve : figure.curves) curve.points = figure.curves[0].points;
  std::vector<double> heights;
  for (const pugi::xml_node& label : Parsed(draw(figure)).all("label"))
    heights.push_back(label.child("text").attribute("y").as_double());
  std::sort(heights.begin(), heights.end());
  REQUIRE(heights.size() == 6);
  // Of 13 pixels each.
  for (std::size_t i = 1; i < heights.size(); ++i) CHECK(heights[i] - heights[i - 1] >= 13);
}

TEST_CASE("bounds, measured points and crossings are marked as such") {
  CurveFigure figure = curves(2);
  figure.curves[0].kind = Curve::Kind::bound;
  figure.curves[1].kind = Curve::Kind::measured;
  figure.crossings = {{2048, "2 KiB"}, {1e9, "outside"}};
  const Parsed parsed(draw(figure));
  CHECK(parsed.all("curve bound").size() == 1);
  REQUIRE(parsed.all("curve measured").size() == 1);
  CHECK_FALSE(parsed.all("curve measured")[0].child("polyline"));
  CHECK(parsed.all("crossing").size() == 1);
}

TEST_CASE("points that a logarithmic axis does not have are left out") {
  CurveFigure figure = curves(1);
  figure.curves[0].points.insert(figure.curves[0].points.begin(), {{0, 1e-6}, {512, 0}});
  CHECK(points_of(Parsed(draw(figure)).all("curve")[0]).size() == 3);
  figure.curves[0].points = {{0, 0}};
  CHECK_FALSE(has_points(figure));
  (void)Parsed(draw(figure));
}

TEST_CASE("a pass stands where its times are") {
  const Parsed parsed(draw(two_stages(0)));
  const pugi::xml_node panel = parsed.all("panel").at(0);
  const double left = panel.child("rect").attribute("x").as_double();
  const double width = panel.child("rect").attribute("width").as_double();
  const std::vector<pugi::xml_node> slices = parsed.all("slice");
  REQUIRE(slices.size() == 4);
  // Of four seconds: 0-1, 3-4, 1-2, 2-3.
  const std::vector<double> starts = {0, 3, 1, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    const pugi::xml_node box = slices[i].child("rect");
    CHECK(box.attribute("x").as_double() ==
          doctest::Approx(left + width * starts[i] / 4).epsilon(1e-3));
    CHECK(box.attribute("width").as_double() == doctest::Approx(width / 4).epsilon(1e-3));
    CHECK(std::string{slices[i].child("text").text().get()} == "0");
  }
  CHECK(std::string{slices[0].child("rect").attribute("fill").value()} !=
        slices[1].child("rect").attribute("fill").value());
}

TEST_CASE("recomputation is a strip of its share of the backward pass") {
  const Parsed parsed(draw(two_stages(0.25)));
  const pugi::xml_node slice = parsed.all("slice").at(1);
  const pugi::xml_node box = slice.child("rect");
  const pugi::xml_node strip = box.next_sibling("rect");
  CHECK(strip.attribute("width").as_double() ==
        doctest::Approx(box.attribute("width").as_double() / 4).epsilon(1e-3));
  CHECK(parsed.has_text("of which recomputation"));
}

TEST_CASE("passes too narrow for numbers are drawn again, enlarged") {
  PipelineFigure figure{{"Long", {}}, {{"stage 0", {}}}, 2000};
  for (int i = 0; i < 1000; ++i) {
    const double start = 2.0 * i;
    figure.rows[0].slices.push_back({PipelineSlice::Kind::forward, i, 0, start, start + 1});
    figure.rows[0].slices.push_back({PipelineSlice::Kind::backward, i, 0, start + 1, start + 2});
  }
  const Parsed parsed(draw(figure));
  CHECK(parsed.all("panel").size() == 3);
  CHECK(parsed.has_text("Start of the step, enlarged"));
  CHECK(parsed.has_text("999"));
  CHECK_FALSE(parsed.has_text("500"));
}

TEST_CASE("a step that is too wide for its numbers continues on a second line") {
  PipelineFigure figure{{"Wide", {}}, {{"stage 0", {}}}, 120};
  for (int i = 0; i < 120; ++i)
    figure.rows[0].slices.push_back({PipelineSlice::Kind::forward, i, 0, 1.0 * i, i + 1.0});
  // 120 passes with numbers of three digits of 8.5 px need over 18 px each, 960 px have no 55.
  const Parsed parsed(draw(figure));
  REQUIRE(parsed.all("panel").size() == 3);
  CHECK(parsed.has_text("continued"));
  CHECK_FALSE(parsed.has_text("Start of the step, enlarged"));
  for (const int microbatch : {0, 50, 119}) CHECK(parsed.has_text(std::to_string(microbatch)));
  const std::string first = parsed.all("panel")[0].attribute("data-time").value();
  const std::string second = parsed.all("panel")[1].attribute("data-time").value();
  CHECK(first.starts_with("0 40 "));
  CHECK(second.starts_with("40 80 "));
}

TEST_CASE("areas of memory are stacked below the capacity") {
  const double gib = 1024.0 * 1024 * 1024;
  const MemoryFigure figure{
      {"Memory", {}},
      {"weights", "activations", "unused"},
      {{0, {2 * gib, 0, 0}}, {1, {2 * gib, 4 * gib, 0}}, {2, {2 * gib, 1 * gib, 0}}},
      3,
      8 * gib};
  const Parsed parsed(draw(figure));
  CHECK(parsed.all("category").size() == 2);
  CHECK(parsed.all("legend").size() == 2);
  CHECK(parsed.has_text("peak 6 GiB at 1 s"));
  CHECK(parsed.has_text("capacity 8 GiB"));
}

TEST_CASE("a capacity far above the memory does not flatten it") {
  const double gib = 1024.0 * 1024 * 1024;
  const MemoryFigure figure{{"Memory", {}}, {"weights"}, {{0, {gib}}, {1, {gib}}}, 2, 80 * gib};
  const Parsed parsed(draw(figure));
  CHECK(parsed.all("capacity").empty());
  CHECK(parsed.has_text("The capacity 80 GiB is above the axis."));
  // 1 GiB takes most of the height of the plot: the marks at 0 and 1 GiB are far apart.
  double zero = 0;
  double one = 0;
  for (const pugi::xml_node& text : parsed.all("axes").at(0).children("text")) {
    if (std::string{text.text().get()} == "0 B") zero = text.attribute("y").as_double();
    if (std::string{text.text().get()} == "1 GiB" || std::string{text.text().get()} == "1024 MiB")
      one = text.attribute("y").as_double();
  }
  CHECK(zero - one > 300);
}

TEST_CASE("a title ends within the figure") {
  const std::string title = "Memory over a training step: GPT-3 175B on 1 x a100-sxm4-80gb (a100)";
  const Parsed parsed(draw(MemoryFigure{{title + " and more of it", {}}, {}, {}, 1, {}}));
  for (const auto& found : parsed.root().children("text"))
    if (std::string{found.attribute("font-weight").value()} == "bold")
      CHECK(16 + text_width(found.text().get(), 17, true) <=
            parsed.root().attribute("width").as_double());
}

TEST_CASE("bold text is as wide as in DejaVu Sans Bold 2.37") {
  // Advances of its table hmtx, of 2048: M 2038, W 2259, i 702, l 702.
  CHECK(text_width("MWil", 10, true) ==
        doctest::Approx(10 * (2038 + 2259 + 702 + 702) / 2048.0).epsilon(1e-3));
  CHECK(text_width("MWil", 10) < text_width("MWil", 10, true));
}

// Widths are proportional to differences: 2 to the left, 4 and 1 to the right of the middle.
TEST_CASE("bars of a tornado chart go from the middle, in proportion") {
  const TornadoFigure figure{
      {"Tornado", {}}, {"Time", Unit::seconds, false}, 10, "step 10 s", "better",
      "worse",         {{"a", 8, 14}, {"b", 10, 11}}};
  const Parsed parsed(draw(figure));
  CHECK(parsed.has_text("-20.00 %"));
  CHECK(parsed.has_text("+40.00 %"));
  std::vector<pugi::xml_node> sides;
  for (const pugi::xml_node& bar : parsed.all("bar"))
    for (const pugi::xml_node& rect : bar.children("rect"))
      if (std::string{rect.attribute("fill").value()} != "#ffffff") sides.push_back(rect);
  REQUIRE(sides.size() == 3);
  const auto wide = [&](std::size_t i) { return sides[i].attribute("width").as_double(); };
  const auto left = [&](std::size_t i) { return sides[i].attribute("x").as_double(); };
  CHECK(wide(1) == doctest::Approx(2 * wide(0)).epsilon(0.001));
  CHECK(wide(1) == doctest::Approx(4 * wide(2)).epsilon(0.001));
  CHECK(left(0) + wide(0) == doctest::Approx(left(1)).epsilon(0.001));
  CHECK(left(2) == doctest::Approx(left(1)).epsilon(0.001));
}

TEST_CASE("the values of bars stand on white") {
  const BarFigure figure{{"Bars", {}},
                         {"Time", Unit::seconds, false},
                         {{"a", "#1f5fa8"}},
                         {{"one", {4}}, {"two", {1}}}};
  for (const pugi::xml_node& bar : Parsed(draw(figure)).all("bar")) {
    const pugi::xml_node value = bar.last_child();
    const pugi::xml_node ground = value.previous_sibling("rect");
    CHECK(std::string{ground.attribute("fill").value()} == "#ffffff");
    CHECK(ground.attribute("x").as_double() < value.attribute("x").as_double());
  }
}

TEST_CASE("the line of a bar figure is interrupted where a value stands") {
  // The value of the first bar, 47 of 50, is right of it, where the line at 50 would cross it.
  BarFigure figure{{"Bars", {}},
                   {"Bandwidth", Unit::bytes_per_second, false},
                   {{"a", "#1f5fa8"}},
                   {{"one", {47e9}}, {"two", {10e9}}}};
  figure.line = 50e9;
  figure.line_label = "upper bound";
  const Parsed parsed(draw(figure));
  const pugi::xml_node value = parsed.all("bar").at(0).last_child();
  const double middle = value.attribute("y").as_double() - 4;
  std::size_t lines = 0;
  for (const pugi::xml_node& line : parsed.all("line").at(0).children("line")) {
    ++lines;
    const bool above = line.attribute("y2").as_double() < middle;
    CHECK((above || line.attribute("y1").as_double() > middle));
  }
  CHECK(lines == 2);
}

TEST_CASE("the parts of a bar are as long as their values") {
  const BarFigure figure{{"Bars", {}},
                         {"Time", Unit::seconds, false},
                         {{"a", "#1f5fa8"}, {"b", "#d1602a", Pattern::stripes}},
                         {{"one", {3, 1}}, {"two", {1, 0}}}};
  const std::vector<pugi::xml_node> bars = Parsed(draw(figure)).all("bar");
  REQUIRE(bars.size() == 2);
  const Parsed parsed(draw(figure));
  const auto width = [&](std::size_t bar, std::size_t part) {
    pugi::xml_node value = parsed.all("bar").at(bar).child("g");
    for (std::size_t i = 0; i < part; ++i) value = value.next_sibling("g");
    return value.child("rect").attribute("width").as_double();
  };
  // Each part says what it is worth, for readers that point at it.
  CHECK(std::string{parsed.all("value").at(1).child("title").text().get()} == "one, b: 1 s");
  CHECK(width(0, 0) == doctest::Approx(3 * width(0, 1)).epsilon(1e-3));
  CHECK(width(0, 1) == doctest::Approx(width(1, 0)).epsilon(1e-3));
  CHECK(parsed.has_text("4 s"));
}

TEST_CASE("a line of many points is drawn by columns of pixels, with its extremes") {
  CurveFigure figure;
  figure.heading = {"Many", {}};
  Curve curve{"saw", {}};
  for (int i = 0; i < 100'000; ++i)
    curve.points.push_back(
        {static_cast<double>(i), i == 50'001 ? 9.0 : static_cast<double>(i % 2)});
  figure.curves = {curve};
  const std::string svg = draw(figure);
  // Four points for each of less than 800 columns, at most 16 bytes each.
  CHECK(svg.size() < 80'000);
  const Parsed parsed(svg);
  const auto highest = [](const Parsed& of) {
    const std::vector<Point> points = points_of(of.all("curve").at(0));
    return std::ranges::min(points, {}, &Point::y).y;
  };
  figure.curves[0].points = {{0, 0}, {50'001, 9}, {99'999, 1}};
  CHECK(highest(parsed) == doctest::Approx(highest(Parsed(draw(figure)))));
}

TEST_CASE("of many gray points of a scatter those behind others are left out, with a note") {
  ScatterFigure figure;
  figure.heading = {"Layouts", {}};
  figure.points.push_back({{0, 0}, "best", true});
  figure.points.push_back({{1, 1}, "worst"});
  for (int i = 0; i < 600; ++i) figure.points.push_back({{0.5, 0.5}, "same"});
  const Parsed parsed(draw(figure));
  CHECK(parsed.all("front").size() == 1);
  CHECK(parsed.all("point").size() == 2);
  // 599 of the 600 at one place, and all gray points are 601.
  CHECK(parsed.has_text("599 of 601 gray points are left out: they would be behind others"));
}

TEST_CASE("values have the unit and prefix that fits") {
  CHECK(value_text(2e-5, Unit::seconds) == "20 µs");
  CHECK(value_text(1.5, Unit::seconds) == "1.5 s");
  CHECK(value_text(65536, Unit::bytes) == "64 KiB");
  CHECK(value_text(3.12e11, Unit::bytes_per_second) == "312 GB/s");
  CHECK(value_text(0.4567, Unit::share) == "45.7 %");
  CHECK(value_text(0, Unit::seconds) == "0 s");
}

TEST_CASE("marks of bytes below one unit are powers of two of the next smaller one") {
  const double gib = 1024.0 * 1024 * 1024;
  std::string texts;
  for (const Mark& mark : axis_marks({0, 1.26 * gib}, {"Memory", Unit::bytes, false}, 8))
    texts += mark.text + ", ";
  CHECK(texts == "0 B, 256 MiB, 512 MiB, 768 MiB, 1 GiB, 1.25 GiB, ");
}

TEST_CASE("marks lie within the axis and are not too many") {
  for (const Axis& axis : {Axis{"", Unit::bytes, true}, Axis{"", Unit::seconds, true},
                           Axis{"", Unit::bytes, false}, Axis{"", Unit::count, true}})
    for (const double most : {2e-6, 1.0, 77.0, 3e4, 8e9, 1e13}) {
      const Range range = axis_range({most / 1000, most}, axis);
      const std::vector<Mark> marks = axis_marks(range, axis, 8);
      CAPTURE(most);
      CHECK(marks.size() <= 9);
      CHECK(marks.size() >= 2);
      for (const Mark& mark : marks) {
        CHECK(mark.at >= range.from * (1 - 1e-6));
        CHECK(mark.at <= range.to * (1 + 1e-6));
      }
    }
}

TEST_CASE("text is wrapped and shortened to its width") {
  const std::vector<std::string> lines = wrapped("one two three four", 10, 50);
  REQUIRE(lines.size() > 1);
  for (const std::string& line : lines) CHECK(text_width(line, 10) <= 50);
  CHECK(shortened("short", 10, 100) == "short");
  CHECK(text_width(shortened("much too long for this", 10, 60), 10) <= 62);
}

TEST_CASE("a figure as text has a letter at every point") {
  const std::string text = draw_text(curves(2), 60, 15);
  CHECK(std::count(text.begin(), text.end(), '*') == 0);
  CHECK(text.find("a  curve 0\n") != std::string::npos);
  CHECK(text.find("Message size") != std::string::npos);
}

// Three of the front far apart: all are numbered by x; two almost at one place share a number's
// room.
TEST_CASE("a scatter draws every point, the front on top with numbers and a staircase") {
  ScatterFigure figure;
  figure.heading = {"Layouts", {}};
  figure.x = {"memory", Unit::bytes, false};
  figure.y = {"step time", Unit::seconds, false};
  figure.points = {{{8e9, 1}, "c", true},
                   {{1e9, 3}, "a", true},
                   {{4e9, 2}, "b", true},
                   {{1.001e9, 2.999}, "d", true},
                   {{9e9, 3}, "gray", false}};
  const Parsed parsed{draw(figure)};
  CHECK(parsed.all("front").size() == 4);
  CHECK(parsed.all("point").size() == 1);
  for (const char* text : {"1: a", "2: b", "3: c", "1 more of the front have no number"})
    CHECK_MESSAGE(parsed.has_text(text), text);
  // A step between each two of four points.
  const pugi::xml_node line = parsed.root().child("polyline");
  std::istringstream points(line.attribute("points").value());
  std::size_t count = 0;
  for (std::string each; points >> each;) ++count;
  CHECK(count == 4 + 3);
}

TEST_CASE("a scatter without points has axes only") {
  const Parsed parsed{draw(ScatterFigure{})};
  CHECK(parsed.all("axes").size() == 1);
  CHECK(parsed.all("front").empty());
}

TEST_CASE("a heat map tells found, bounded and refused cells apart without color") {
  HeatFigure figure;
  figure.heading = {"Best step", {}};
  figure.row_label = "tp";
  figure.column_label = "pp";
  figure.rows = {"1", "2"};
  figure.columns = {"1", "2"};
  using Kind = HeatCell::Kind;
  figure.cells = {{Kind::found, 0, "3 s", "best", "tp 1, pp 1", true},
                  {Kind::bounded, 0, "\u2265 4 s", "", "", false},
                  {Kind::refused, 0, "memory", "", "", false},
                  {Kind::found, 1, "5 s", "+66.7 %", "", false}};
  const Parsed parsed{draw(figure)};
  REQUIRE(parsed.all("cell").size() == 4);
  for (const char* text : {"3 s", "best", "\u2265 4 s", "memory", "+66.7 %", "tp", "pp"})
    CHECK_MESSAGE(parsed.has_text(text), text);
  const auto fill = [&](std::size_t i) {
    return std::string{parsed.all("cell")[i].child("rect").attribute("fill").value()};
  };
  CHECK(fill(0).starts_with("#"));
  CHECK(fill(1).starts_with("url("));  // a pattern
  CHECK(fill(2).starts_with("url("));
  CHECK(fill(1) != fill(2));
  CHECK(fill(0) != fill(3));
  CHECK(parsed.all("legend").size() == 3);
}

}  // namespace lockstep::figures
