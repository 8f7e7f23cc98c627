#include "tools/lockstep/report/page_figures.hpp"

#include <fmt/format.h>

#include "tools/lockstep/report/html_page.hpp"

namespace lockstep::cli {

namespace {

/// Smaller figures are never left out.
constexpr std::size_t kSmallFigure = 16'000;

}  // namespace

std::string PageFigures::html(const std::string& name, std::string_view kind,
                              std::string_view description, const Draw& draw) {
  if (left_out_.contains(name))
    return fmt::format(
        "<p class=\"note\">The figure \"{}\" is left out to keep the page small; --plot "
        "{}=FILE.svg draws it.</p>\n",
        html_text(description), html_text(kind));
  const auto [found, is_new] = drawn_.try_emplace({name, compact_});
  if (is_new) found->second = html_figure(draw(compact_), description);
  return found->second;
}

bool PageFigures::thin() {
  if (!compact_) {
    compact_ = true;
    return !drawn_.empty();
  }
  const std::string* largest = nullptr;
  std::size_t size = kSmallFigure;
  for (const auto& [key, html] : drawn_) {
    if (!key.second || left_out_.contains(key.first) || html.size() <= size) continue;
    largest = &key.first;
    size = html.size();
  }
  if (largest == nullptr) return false;
  left_out_.insert(*largest);
  return true;
}

}  // namespace lockstep::cli
