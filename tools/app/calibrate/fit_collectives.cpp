#include <fmt/format.h>

#include <iterator>

#include "sim/config/json/config_error.hpp"
#include "strategies/measure/fit/fit_costs.hpp"
#include "tools/app/calibrate/fits.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/validate/compare.hpp"
#include "tools/app/validate/table_points.hpp"

namespace lockstep::app {

namespace {

struct Points {
  std::vector<CostPoint> points{};
  std::vector<UnmodeledRow> left_out{};
};

/// What a table's measured points take on the links alone; stated limits are not measured.
Points points_of(const CollectiveTable& table) {
  Points out;
  const auto leave_out = [&](const std::exception& error) {
    out.left_out.push_back(unmodeled(table.origin.id, table.origin.id, error));
  };
  try {
    for (const TablePoint& point : table_points(table, {})) {
      if (!point.cost || !point.measured.time) continue;
      out.points.push_back({table.origin.id, point.cost->first, point.cost->second,
                            (point.time - point.beside).seconds(), measured_seconds(table, point)});
    }
    if (out.points.empty())
      out.left_out.push_back(
          {table.origin.id, table.origin.id, UnmodeledReason::no_chosen_algorithm});
  } catch (const ConfigError& error) {
    leave_out(error);
  } catch (const RequestError& error) {
    leave_out(error);
  } catch (const Refusal& error) {
    leave_out(error);
  }
  return out;
}

ProtocolPriors priors() {
  ProtocolPriors out;
  for (const NcclProtocol protocol : nccl_values<NcclProtocol>()) {
    const Protocol of = load_named_protocol(std::string{nccl_name(protocol)});
    out[protocol] = {of.added(LinkKind::nvlink).seconds(), of.added(LinkKind::network).seconds()};
  }
  return out;
}

}  // namespace

void fit_collectives(const std::vector<Measured>& rows, CalibrateResult& result) {
  std::vector<const CollectiveTable*> tables;
  for (const Measured& row : rows)
    if (const auto* table = std::get_if<CollectiveTable>(&row)) tables.push_back(table);
  std::vector<Points> found(tables.size());
  in_parallel(tables.size(), [&](std::size_t i) { found[i] = points_of(*tables[i]); });
  std::vector<CostPoint> points;
  for (Points& each : found) {
    std::move(each.points.begin(), each.points.end(), std::back_inserter(points));
    std::move(each.left_out.begin(), each.left_out.end(), std::back_inserter(result.left_out));
  }
  for (const FittedCost& fitted : fit_costs(points, priors())) {
    NcclCost cost = fitted.cost;
    cost.source = fmt::format("lockstep calibrate over {} points: mean error {:.1f} %",
                              fitted.errors.count, 100 * fitted.errors.mean);
    result.fitted.push_back({cost, {}, fitted.errors});
    result.calibration.collectives.push_back(std::move(cost));
  }
}

}  // namespace lockstep::app
