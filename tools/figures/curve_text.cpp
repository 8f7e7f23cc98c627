#include "tools/figures/curve_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::figures {

namespace {

char letter_of(std::size_t curve) {
  return curve < 26   ? static_cast<char>('a' + curve)
         : curve < 52 ? static_cast<char>('A' + curve - 26)
                      : '+';
}

/// Characters of UTF-8 text.
std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

class TextDrawing {
 public:
  TextDrawing(const CurveFigure& figure, int columns, int rows)
      : figure_{figure}, columns_{columns}, rows_{rows} {
    constexpr double kFar = std::numeric_limits<double>::infinity();
    Range x{kFar, -kFar};
    Range y{kFar, -kFar};
    for (const Curve& curve : figure.curves)
      for (const Point& point : curve.points) {
        if (!is_drawable(point, figure)) continue;
        x = {std::min(x.from, point.x), std::max(x.to, point.x)};
        y = {std::min(y.from, point.y), std::max(y.to, point.y)};
      }
    if (x.from > x.to) x = y = {1, 10};
    x_ = figure.x.logarithmic ? axis_range(x, figure.x) : x;
    y_ = axis_range(y, figure.y);
    grid_.assign(static_cast<std::size_t>(rows),
                 std::string(static_cast<std::size_t>(columns), ' '));
  }

  std::string run() {
    for (std::size_t i = 0; i < figure_.curves.size(); ++i) draw_between(figure_.curves[i]);
    for (std::size_t i = 0; i < figure_.curves.size(); ++i)
      for (const Point& point : figure_.curves[i].points)
        if (is_drawable(point, figure_)) put(place(point), letter_of(i));
    return figure_.heading.title + "\n" + figure_.y.label + "\n" + body() + legend();
  }

 private:
  struct Cell {
    int column = 0;
    int row = 0;
  };

  [[nodiscard]] Cell place(const Point& point) const {
    const double x = position(point.x, x_, figure_.x.logarithmic);
    const double y = position(point.y, y_, figure_.y.logarithmic);
    return {std::clamp(static_cast<int>(std::lround(x * (columns_ - 1))), 0, columns_ - 1),
            std::clamp(static_cast<int>(std::lround((1 - y) * (rows_ - 1))), 0, rows_ - 1)};
  }

  void put(Cell at, char c) {
    char& there = grid_[static_cast<std::size_t>(at.row)][static_cast<std::size_t>(at.column)];
    const bool taken = there != ' ' && there != '.' && there != c;
    there = taken && c != '.' ? '*' : taken ? there : c;
  }

  void draw_between(const Curve& curve) {
    const Point* last = nullptr;
    for (const Point& point : curve.points) {
      if (!is_drawable(point, figure_)) continue;
      if (last != nullptr && curve.kind != Curve::Kind::measured) {
        const Cell a = place(*last);
        const Cell b = place(point);
        const int steps = std::max(std::abs(b.column - a.column), std::abs(b.row - a.row));
        for (int i = 1; i < steps; ++i)
          put({a.column + (b.column - a.column) * i / steps, a.row + (b.row - a.row) * i / steps},
              '.');
      }
      last = &point;
    }
  }

  [[nodiscard]] std::string body() const {
    std::vector<std::string> labels(static_cast<std::size_t>(rows_));
    std::size_t widest = 0;
    for (const Mark& mark : axis_marks(y_, figure_.y, 8)) {
      labels[static_cast<std::size_t>(place({x_.from, mark.at}).row)] = mark.text;
      widest = std::max(widest, length_of(mark.text));
    }
    std::string out;
    for (std::size_t row = 0; row < labels.size(); ++row) {
      std::string line = std::string(widest - length_of(labels[row]), ' ') + labels[row] +
                         (labels[row].empty() ? " |" : " +") + grid_[row];
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    std::string ticks(widest + 2 + static_cast<std::size_t>(columns_) + 12, ' ');
    std::size_t free = 0;
    for (const Mark& mark : axis_marks(x_, figure_.x, 8)) {
      const auto column = static_cast<std::size_t>(place({mark.at, y_.to}).column) + widest + 2;
      const std::size_t from = column - std::min(column, mark.text.size() / 2);
      if (from < free || from + mark.text.size() > ticks.size()) continue;
      ticks.replace(from, mark.text.size(), mark.text);
      free = from + mark.text.size() + 1;
    }
    ticks.erase(ticks.find_last_not_of(' ') + 1);
    return out + std::string(widest + 1, ' ') + "+" +
           std::string(static_cast<std::size_t>(columns_), '-') + "\n" + ticks + "\n" +
           std::string(widest + 2, ' ') + figure_.x.label + "\n";
  }

  [[nodiscard]] std::string legend() const {
    std::string out = "\n";
    for (std::size_t i = 0; i < figure_.curves.size(); ++i)
      out += fmt::format("{}  {}\n", letter_of(i), figure_.curves[i].name);
    return out;
  }

  const CurveFigure& figure_;
  int columns_;
  int rows_;
  Range x_;
  Range y_;
  std::vector<std::string> grid_{};
};

}  // namespace

std::string draw_text(const CurveFigure& figure, int columns, int rows) {
  return TextDrawing(figure, columns, rows).run();
}

}  // namespace lockstep::figures
