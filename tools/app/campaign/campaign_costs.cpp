#include "tools/app/campaign/campaign_costs.hpp"

namespace lockstep::app {

namespace {

constexpr double kJoulesPerKwh = 3.6e6;

[[nodiscard]] double bytes_per_step(const TrainingStepResult& step) {
  double out = 0;
  for (const Bytes each : step.step.timeline.link_bytes) out += static_cast<double>(each.count());
  return out;
}

}  // namespace

std::optional<double> machine_kwh(const CampaignOutcome& of, const Replicate& replicate) {
  const CampaignCosts& costs = of.costs;
  if (!costs.static_watts) return std::nullopt;
  const double steps = replicate.executed.seconds() / of.step_s;
  double joules =
      *costs.static_watts * static_cast<double>(of.paid_gpus()) * replicate.wall().seconds();
  joules += costs.joules_per_flop.value_or(0) * of.step.throughput.hardware_flops * steps;
  if (costs.joules_per_byte) joules += *costs.joules_per_byte * bytes_per_step(of.step) * steps;
  return joules / kJoulesPerKwh;
}

std::optional<double> facility_kwh(const CampaignOutcome& of, const Replicate& replicate) {
  const auto machines = machine_kwh(of, replicate);
  if (!machines || !of.costs.pue) return std::nullopt;
  return *machines * *of.costs.pue;
}

std::optional<double> campaign_usd(const CampaignOutcome& of, const Replicate& replicate) {
  const CampaignCosts& costs = of.costs;
  if (!costs.usd_per_gpu_hour) return std::nullopt;
  const double usd =
      *costs.usd_per_gpu_hour * static_cast<double>(of.paid_gpus()) * replicate.wall().hours();
  if (!costs.usd_per_kwh) return usd;
  const auto energy = facility_kwh(of, replicate);
  if (!energy) return std::nullopt;
  return usd + *costs.usd_per_kwh * *energy;
}

double slack_fraction(const TrainingStepResult& step) {
  double slack = 0;
  for (const StageUse& stage : step.summary.stages)
    slack += (stage.rank.bubble - stage.rank.fill_drain).seconds();
  const double all = step.summary.step.seconds() * static_cast<double>(step.summary.stages.size());
  return all > 0 ? slack / all : 0;
}

}  // namespace lockstep::app
