#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/report/page_data.hpp"
#include "tools/lockstep/report/page_figures.hpp"

namespace lockstep::cli {

struct PageFigure {
  std::string kind;        // names it
  PageFigures::Draw draw;  // with `kind` as the prefix of its ids
};

/// Which rows of tables a page keeps that would be too large.
enum class KeptRows : std::uint8_t { first, evenly_spaced };

/// A report of any command as a page: its figures, then every column of its tables. Tables, then
/// figures are thinned to keep the page within `budget` bytes without its script, with notes.
[[nodiscard]] std::string report_page(const Report& report, const std::vector<PageFigure>& figures,
                                      KeptRows kept = KeptRows::evenly_spaced,
                                      std::size_t budget = kPageBudget);

}  // namespace lockstep::cli
