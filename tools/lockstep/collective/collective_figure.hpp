#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/collective/against.hpp"
#include "tools/app/collective/crossover.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/figures/frame.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/output/output.hpp"

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

/// The report as an HTML page with all its figures. Without `data`: without.
[[nodiscard]] std::string collective_page(const Report& report, const CollectiveFigureData* data);

/// Data of figures that are drawn later, if at all.
struct SharedCollectiveData {
  std::function<std::shared_ptr<const CollectiveReport>()> points;
  std::shared_ptr<const CrossoverReport> exact;
  std::shared_ptr<const AgainstReport> against;
};

/// Simulates when a figure is first asked for.
[[nodiscard]] std::function<std::shared_ptr<const CollectiveReport>()> points_of(
    CollectiveRequest request);

/// What a host may ask for after the command: the page of `report` and, if `drawn`, its figures.
[[nodiscard]] Findings collective_findings(std::function<Report()> report, bool drawn,
                                           const SharedCollectiveData& of);

}  // namespace lockstep::cli
