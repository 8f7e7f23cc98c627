#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

struct PageFigure {
  std::string kind;  // names it
  std::string svg;   // with `kind` as the prefix of its ids
};

/// A report of any command as a page: its figures, then every column of its tables.
[[nodiscard]] std::string report_page(const Report& report, const std::vector<PageFigure>& figures);

}  // namespace lockstep::cli
