#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep::cli {

/// The figures of a page that is kept small: drawn without tooltips, then left out one by one, the
/// largest first, each with a note.
class PageFigures {
 public:
  /// Draws an SVG, with or without tooltips.
  using Draw = std::function<std::string(bool compact)>;

  /// The figure as HTML, or the note instead. `kind`: of `--plot`; `name`: of one figure among all
  /// of the page.
  [[nodiscard]] std::string html(const std::string& name, std::string_view kind,
                                 std::string_view description, const Draw& draw);

  /// Makes the page smaller the next time it is put together; false: nothing is left that would.
  [[nodiscard]] bool thin();

 private:
  bool compact_ = false;
  std::set<std::string> left_out_{};
  std::map<std::pair<std::string, bool>, std::string> drawn_{};  // by name and whether compact
};

}  // namespace lockstep::cli
