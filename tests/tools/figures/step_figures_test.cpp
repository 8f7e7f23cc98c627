#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/figures/parsed_figure.hpp"
#include "tools/figures/step/cluster_figure.hpp"
#include "tools/figures/step/topology_figure.hpp"
#include "tools/figures/step/track_figure.hpp"

namespace lockstep::figures {

TEST_CASE("rectangles side by side are one line of a path, in tenths of a pixel") {
  BoxRow row(10);
  row.add(1, 3);
  row.add(3, 3.5);      // touches
  row.add(5.04, 5.05);  // less than a tenth: a tenth, at 5
  CHECK(row.data() == "M1,10h2h0.5m1.5 0h0.1");
}

TEST_CASE("tracks have a row each, with boxes as high as their part is in use") {
  const TrackFigure figure{{"Tracks", {}},
                           {{"a", "#1f5fa8"}, {"b", "#d1602a", Pattern::stripes}},
                           {{"one", "half", {{0, 5, 0, 1}, {5, 10, 1, 0.5}}}, {"two", "", {}}},
                           10,
                           2,
                           {}};
  const Parsed parsed(draw(figure));
  const std::vector<pugi::xml_node> rows = parsed.all("track");
  REQUIRE(rows.size() == 2);
  CHECK(std::string{rows[0].child("title").text().get()} == "one: half");
  const pugi::xml_node full = rows[0].child("path");
  const pugi::xml_node half = full.next_sibling("path");
  CHECK(half.attribute("stroke-width").as_double() ==
        doctest::Approx(full.attribute("stroke-width").as_double() / 2));
  CHECK_FALSE(rows[1].child("path"));
  // A script finds times by the attribute: 0 to 2 seconds.
  const std::string time = parsed.all("tracks").at(0).attribute("data-time").value();
  CHECK(time.starts_with("0 2 "));
}

TEST_CASE("links of a topology are wider the busier they are, and dashed without traffic") {
  const TopologyFigure figure{{"Topology", {}},
                              {{"gpu", 8, 0}, {"switch", 1, 1}, {"nic", 8, 2}},
                              {{0, 1, 8, 0.5, "up"}, {1, 0, 8, 0.1, "down"}, {1, 2, 0, 0, "idle"}},
                              {}};
  const Parsed parsed(draw(figure));
  CHECK(parsed.has_text("8 × gpu"));
  CHECK(parsed.has_text("↑ 50 %"));
  CHECK(parsed.has_text("↓ 10 %"));
  const std::vector<pugi::xml_node> links = parsed.all("link");
  REQUIRE(links.size() == 3);
  const auto line = [&](std::size_t i) { return links[i].child("line"); };
  CHECK(line(0).attribute("stroke-width").as_double() >
        line(1).attribute("stroke-width").as_double());
  CHECK(line(2).attribute("stroke-dasharray"));
  CHECK(std::string{links[0].attribute("data-link").value()} == "gpu -> switch");
}

TEST_CASE("slanted links of a topology end at the edges of their boxes") {
  const TopologyFigure figure{{"Topology", {}},
                              {{"gpu", 8, 0}, {"host", 8, 0}, {"switch", 1, 1}},
                              {{0, 2, 8, 0.5, "up"}, {2, 0, 8, 0.1, "down"}},
                              {}};
  const Parsed parsed(draw(figure));
  const auto box = [&](std::size_t i) { return parsed.all("element").at(i).child("rect"); };
  const auto touches = [](const pugi::xml_node& rect, double x, double y) {
    const double left = rect.attribute("x").as_double();
    const double top = rect.attribute("y").as_double();
    const double right = left + rect.attribute("width").as_double();
    const double bottom = top + rect.attribute("height").as_double();
    const bool within = x > left - 1 && x < right + 1 && y > top - 1 && y < bottom + 1;
    const bool inside = x > left + 1 && x < right - 1 && y > top + 1 && y < bottom - 1;
    return within && !inside;
  };
  for (const pugi::xml_node& link : parsed.all("link")) {
    const pugi::xml_node line = link.child("line");
    const bool up = std::string{link.attribute("data-link").value()} == "gpu -> switch";
    CHECK(touches(box(up ? 0 : 2), line.attribute("x1").as_double(),
                  line.attribute("y1").as_double()));
    CHECK(touches(box(up ? 2 : 0), line.attribute("x2").as_double(),
                  line.attribute("y2").as_double()));
  }
}

TEST_CASE("labels of a topology's links stand apart") {
  // Three links of one box whose middles are near to one another, in both directions.
  TopologyFigure figure{
      {"Topology", {}},
      {{"gpu", 8, 0}, {"nvswitch", 1, 1}, {"pcie switch", 8, 1}},
      {{0, 1, 8, 0.129, ""}, {1, 0, 8, 0.129, ""}, {0, 2, 8, 0.0251, ""}, {2, 0, 8, 0.0251, ""}},
      {}};
  const Parsed parsed(draw(figure, {.width = 420}));
  const std::vector<pugi::xml_node> labels = parsed.all("label");
  REQUIRE(labels.size() == 4);
  for (std::size_t a = 0; a < labels.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const pugi::xml_node one = labels[a].child("rect");
      const pugi::xml_node other = labels[b].child("rect");
      const auto apart = [&](const char* at, const char* size) {
        return one.attribute(at).as_double() >=
                   other.attribute(at).as_double() + other.attribute(size).as_double() ||
               other.attribute(at).as_double() >=
                   one.attribute(at).as_double() + one.attribute(size).as_double();
      };
      CHECK((apart("x", "width") || apart("y", "height")));
    }
}

TEST_CASE("every link of a cluster is drawn as busy as it is, in the colors of the legend") {
  // Two nodes of two GPUs below one leaf.
  ClusterFigure figure{{"Cluster", {}}, {"leaves", "GPUs"}, {}, {}, {}, false, {}};
  figure.elements = {{"leaf0", "leaf0", 0, -1},
                     {"node0/gpu0", "0", 1, 0},
                     {"node0/gpu1", "1", 1, 0},
                     {"node1/gpu0", "0", 1, 1},
                     {"node1/gpu1", "1", 1, 1}};
  figure.cables = {{1, 0, 0.8, true, 7, "node0/gpu0 -> leaf0: 80 %"},
                   {0, 1, 0.01, true, 8, "leaf0 -> node0/gpu0: 1 %"},
                   {2, 0, 0, false, 9, {}},
                   {0, 2, 0, false, 10, {}}};
  const Parsed parsed(draw(figure));
  CHECK(parsed.has_text("node 0"));
  CHECK(parsed.has_text("node 1"));
  CHECK(parsed.all("element").size() == 5);
  const std::vector<pugi::xml_node> looks = parsed.all("use");
  const std::vector<pugi::xml_node> cables = parsed.all("cable");
  REQUIRE(looks.size() == 5);
  REQUIRE(cables.size() == 2);  // those with traffic
  const auto look_is = [&](const pugi::xml_node& cable, const pugi::xml_node& look) {
    return std::string{cable.child("path").attribute("stroke").value()} ==
           look.child("line").attribute("stroke").value();
  };
  CHECK(looks[4].attribute("data-from").as_double() == 0.75);
  CHECK(look_is(cables[0], looks[4]));
  CHECK(look_is(cables[1], looks[0]));
  CHECK(std::string{cables[0].attribute("data-link").value()} == "#7");
  CHECK(std::string{cables[0].child("title").text().get()} == "node0/gpu0 -> leaf0: 80 %");
  CHECK(cables[0].child("path").attribute("stroke-width").as_double() >
        cables[1].child("path").attribute("stroke-width").as_double());
  // Compact: for pages that are kept small, whose script knows the names.
  const Parsed compact(draw(figure, {.compact = true}));
  CHECK_FALSE(compact.all("cable").at(0).child("title"));
}

TEST_CASE("a torus stands on a grid, other clusters without switches on a circle") {
  ClusterFigure figure{{"Hosts", {}}, {"hosts"}, {}, {}, {3, 2}, false, {}};
  for (int i = 0; i < 6; ++i)
    figure.elements.push_back({"host" + std::to_string(i), std::to_string(i), 0, i});
  const auto middles = [](const Parsed& parsed) {
    std::vector<std::pair<double, double>> out;
    for (const pugi::xml_node& each : parsed.all("element")) {
      const pugi::xml_node box = each.child("rect");
      out.emplace_back(box.attribute("x").as_double() + box.attribute("width").as_double() / 2,
                       box.attribute("y").as_double() + box.attribute("height").as_double() / 2);
    }
    return out;
  };
  const auto grid = middles(Parsed(draw(figure)));
  REQUIRE(grid.size() == 6);
  // Rank 3 starts the second line of three.
  CHECK(grid[3].first == doctest::Approx(grid[0].first));
  CHECK(grid[3].second > grid[0].second);
  CHECK(grid[2].second == doctest::Approx(grid[0].second));
  figure.grid = {};
  figure.circle = true;
  const auto circle = middles(Parsed(draw(figure)));
  const auto radius = [&](std::size_t i) {
    const double x = (circle[0].first + circle[3].first) / 2;
    const double y = (circle[0].second + circle[3].second) / 2;
    return std::hypot(circle[i].first - x, circle[i].second - y);
  };
  for (std::size_t i = 1; i < 6; ++i) CHECK(radius(i) == doctest::Approx(radius(0)).epsilon(1e-3));
}

}  // namespace lockstep::figures
