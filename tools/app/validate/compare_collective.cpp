#include <fmt/format.h>

#include "sim/config/json/config_error.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/validate/compare.hpp"
#include "tools/app/validate/table_points.hpp"

namespace lockstep::app {

namespace {

Comparison row_of(const CollectiveTable& table, const TablePoint& point) {
  Comparison row;
  row.group = table.origin.id;
  row.assumed = !table.origin.assumed.empty();
  const double bytes = static_cast<double>(point.size.count());
  if (point.measured.time) {
    row.id = fmt::format("{}/{}", table.origin.id, point.size.count());
    row.quantity = ComparedQuantity::collective_time;
    row.measured = point.measured.time->seconds();
    row.simulated = point.time.seconds();
  } else {
    row.id = table.origin.id;
    row.quantity = ComparedQuantity::bus_bandwidth;
    row.measured = point.measured.bus_bandwidth.value().bytes_per_second();
    row.simulated = bytes / point.time.seconds() * bus_factor(table);
  }
  return row;
}

ValidateResult compared(const CollectiveTable& table, const ValidateRequest& request) {
  ValidateResult out;
  for (const TablePoint& point : table_points(table, calibration_of(request).collectives))
    out.rows.push_back(row_of(table, point));
  return out;
}

}  // namespace

ValidateResult compare_collective(const CollectiveTable& table, const ValidateRequest& request) {
  const auto left_out = [&table](const std::exception& error) {
    return ValidateResult{{}, {unmodeled(table.origin.id, table.origin.id, error)}};
  };
  try {
    return compared(table, request);
  } catch (const ConfigError& error) {
    return left_out(error);
  } catch (const RequestError& error) {
    return left_out(error);
  } catch (const Refusal& error) {
    return left_out(error);
  }
}

}  // namespace lockstep::app
