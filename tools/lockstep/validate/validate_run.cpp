#include <algorithm>
#include <iterator>

#include "strategies/validation/measured_file.hpp"
#include "tools/lockstep/calibrate/calibration_of.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/parallel.hpp"
#include "tools/lockstep/progress.hpp"
#include "tools/lockstep/validate/compare.hpp"
#include "topologies/config/did_you_mean.hpp"

namespace lockstep::cli {

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
  throw UsageError("--group: no group or table named \"" + group + "\"" +
                   (meant ? "; did you mean \"" + std::string{*meant} + "\"?" : ""));
}

std::vector<Measured> asked_for(const ValidateQuestion& question) {
  std::vector<Measured> all = load_measured(question.files);
  const auto in_group = [&question](const Measured& each) {
    return question.group.empty() || group_of(each) == question.group;
  };
  if (std::none_of(all.begin(), all.end(), in_group)) {
    if (!question.group.empty()) refuse_group(question.group, all);
    throw UsageError("the files hold no measured results");
  }
  std::erase_if(all, [&](const Measured& each) {
    return !in_group(each) || (question.core && !is_core(each)) ||
           (question.quantity && !may_have(each, *question.quantity));
  });
  if (all.empty()) throw UsageError("no run or table is left by --core and --quantity");
  if (question.limit && *question.limit < all.size())
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(*question.limit), all.end());
  return all;
}

struct Comparing {
  const ValidateQuestion& question;

  ValidateAnswer operator()(const MeasuredRun& run) const { return compare_run(run, question); }
  ValidateAnswer operator()(const CollectiveTable& table) const {
    return compare_collective(table, question);
  }
  ValidateAnswer operator()(const DeviceTable& table) const {
    return compare_device(table, question);
  }
};

template <class T>
void append(std::vector<T>&& from, std::vector<T>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

Calibration calibration_of(const ValidateQuestion& question) {
  return question.figures != nullptr ? *question.figures : calibration_of(question.calibration);
}

ValidateAnswer validate(const ValidateQuestion& question) {
  return validate(question, asked_for(question));
}

ValidateAnswer validate(const ValidateQuestion& question, const std::vector<Measured>& asked) {
  std::vector<ValidateAnswer> answers(asked.size());
  Progress progress("validate", asked.size());
  in_parallel(asked.size(), [&](std::size_t i) {
    answers[i] = std::visit(Comparing{question}, asked[i]);
    progress.step();
  });
  ValidateAnswer out;
  for (ValidateAnswer& each : answers) {
    append(std::move(each.rows), out.rows);
    append(std::move(each.left_out), out.left_out);
  }
  std::erase_if(out.rows, [&question](const Comparison& row) {
    return question.quantity && row.quantity != *question.quantity;
  });
  return out;
}

}  // namespace lockstep::cli
