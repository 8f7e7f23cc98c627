#include "tools/lockstep/output/cells.hpp"

#include <fmt/format.h>

#include <utility>

namespace lockstep::cli {

Cell in_microseconds(Duration time) {
  return Cell{time.seconds(), fmt::format("{:.2f}", time.seconds() * 1e6)};
}

Cell no_value(std::string shown) {
  Cell out;
  out.text = std::move(shown);
  return out;
}

}  // namespace lockstep::cli
