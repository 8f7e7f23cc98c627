#pragma once

#include <string>
#include <vector>

#include "tools/app/collective/against.hpp"
#include "tools/app/collective/crossover.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/figures/frame.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Names of the figures of collectives: time, busbw.
[[nodiscard]] const std::vector<std::string>& collective_figure_kinds();

/// Data of a figure. Optional: `exact`, the sizes at which the fastest algorithm changes (else
/// interpolated), and `against`, measured times.
struct CollectiveFigureData {
  const CollectiveReport* report = nullptr;
  const CrossoverReport* exact = nullptr;
  const AgainstReport* against = nullptr;
};

/// Curves over the message size, or bars for a single size. As SVG, or as text. Throws Refusal if
/// no size is above 0.
[[nodiscard]] std::string collective_figure(const std::string& kind,
                                            const CollectiveFigureData& data, bool as_text,
                                            const figures::FigureStyle& style = {});

}  // namespace lockstep::cli
