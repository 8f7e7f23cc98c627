#include <algorithm>
#include <iterator>

#include "sim/config/did_you_mean.hpp"
#include "strategies/measure/validation/measured_file.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/calibration_of.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/validate/compare.hpp"

namespace lockstep::app {

namespace {

/// A table is a group of its own.
const std::string& group_of(const Measured& measured) {
  const auto* run = std::get_if<MeasuredRun>(&measured);
  return run != nullptr ? run->group : origin_of(measured).id;
}

bool is_core(const Measured& measured) {
  const auto* run = std::get_if<MeasuredRun>(&measured);
  return run != nullptr && run->core;
}

/// Whether it may hold rows of the quantity.
bool may_have(const Measured& measured, ComparedQuantity quantity) {
  const bool of_run = quantity <= ComparedQuantity::peak_memory;
  const bool of_collective =
      quantity == ComparedQuantity::collective_time || quantity == ComparedQuantity::bus_bandwidth;
  if (std::holds_alternative<MeasuredRun>(measured)) return of_run;
  if (std::holds_alternative<CollectiveTable>(measured)) return of_collective;
  return !of_run && !of_collective;
}

[[noreturn]] void refuse_group(const std::string& group, const std::vector<Measured>& all) {
  std::vector<std::string_view> names;
  for (const Measured& each : all) names.emplace_back(group_of(each));
  const auto meant = did_you_mean(group, names);
  throw RequestError("group", "no group or table named \"" + group + "\"" +
                                  (meant ? "; did you mean \"" + std::string{*meant} + "\"?" : ""));
}

std::vector<Measured> asked_for(const ValidateRequest& request) {
  std::vector<Measured> all = load_measured(request.files);
  const auto in_group = [&request](const Measured& each) {
    return request.group.empty() || group_of(each) == request.group;
  };
  if (std::none_of(all.begin(), all.end(), in_group)) {
    if (!request.group.empty()) refuse_group(request.group, all);
    throw RequestError("the files hold no measured results");
  }
  std::erase_if(all, [&](const Measured& each) {
    return !in_group(each) || (request.core && !is_core(each)) ||
           (request.quantity && !may_have(each, *request.quantity));
  });
  if (all.empty()) throw RequestError("no run or table is left by core and quantity");
  if (request.limit && *request.limit < all.size())
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(*request.limit), all.end());
  return all;
}

struct Comparing {
  const ValidateRequest& request;

  ValidateResult operator()(const MeasuredRun& run) const { return compare_run(run, request); }
  ValidateResult operator()(const CollectiveTable& table) const {
    return compare_collective(table, request);
  }
  ValidateResult operator()(const DeviceTable& table) const {
    return compare_device(table, request);
  }
};

template <class T>
void append(std::vector<T>&& from, std::vector<T>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

Calibration calibration_of(const ValidateRequest& request) {
  return request.figures != nullptr ? *request.figures : fitted_calibration_of(request.calibration);
}

ValidateResult validate(const ValidateRequest& request) {
  return validate(request, asked_for(request));
}

ValidateResult validate(const ValidateRequest& request, const std::vector<Measured>& asked) {
  std::vector<ValidateResult> answers(asked.size());
  const std::vector<std::size_t> order = spread_order(asked.size());
  std::vector<WorkPart> parts;
  for (const std::size_t i : order) parts.push_back({asked[i].index()});
  ProgressCounter progress(request.on_progress, std::move(parts));
  in_parallel(order.size(), [&](std::size_t part) {
    const std::size_t i = order[part];
    progress.run(part, [&] { answers[i] = std::visit(Comparing{request}, asked[i]); });
  });
  ValidateResult out;
  for (ValidateResult& each : answers) {
    append(std::move(each.rows), out.rows);
    append(std::move(each.left_out), out.left_out);
  }
  std::erase_if(out.rows, [&request](const Comparison& row) {
    return request.quantity && row.quantity != *request.quantity;
  });
  return out;
}

}  // namespace lockstep::app
