#include "tools/app/campaign/campaign_costs.hpp"

#include <algorithm>

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

LongTime last_wall(const CampaignResult& of, std::size_t replicate) {
  LongTime out;
  for (const CampaignOutcome& each : of.outcomes)
    out = std::max(out, each.replicates[replicate].wall());
  return out;
}

double joint_goodput(const CampaignResult& of, std::size_t replicate) {
  double productive = 0;
  double all = 0;
  for (const CampaignOutcome& each : of.outcomes) {
    const Replicate& run = each.replicates[replicate];
    const auto gpus = static_cast<double>(each.gpus());
    productive += gpus * run.times[TimeBucket::productive].seconds();
    all += gpus * run.wall().seconds();
  }
  return all > 0 ? productive / all : 1;
}

namespace {

[[nodiscard]] double spare_gpu_hours(const CampaignResult& of, std::size_t replicate) {
  const CampaignOutcome& first = of.outcomes.front();
  const auto gpus = static_cast<double>(first.job.spare_nodes * first.step.facts.gpus_per_node);
  return gpus * last_wall(of, replicate).hours();
}

}  // namespace

double joint_gpu_hours(const CampaignResult& of, std::size_t replicate) {
  double out = spare_gpu_hours(of, replicate);
  for (const CampaignOutcome& each : of.outcomes)
    out += static_cast<double>(each.gpus()) * each.replicates[replicate].wall().hours();
  return out;
}

std::optional<double> joint_facility_kwh(const CampaignResult& of, std::size_t replicate) {
  double out = 0;
  for (const CampaignOutcome& each : of.outcomes) {
    const auto own = facility_kwh(each, each.replicates[replicate]);
    if (!own) return std::nullopt;
    out += *own;
  }
  const CampaignCosts& costs = of.outcomes.front().costs;
  return out + *costs.static_watts / 1000 * spare_gpu_hours(of, replicate) * *costs.pue;
}

std::optional<double> joint_usd(const CampaignResult& of, std::size_t replicate) {
  double out = 0;
  for (const CampaignOutcome& each : of.outcomes) {
    const auto own = campaign_usd(each, each.replicates[replicate]);
    if (!own) return std::nullopt;
    out += *own;
  }
  const CampaignCosts& costs = of.outcomes.front().costs;
  const double spares = spare_gpu_hours(of, replicate);
  out += *costs.usd_per_gpu_hour * spares;
  if (costs.usd_per_kwh)
    out += *costs.usd_per_kwh * *costs.static_watts / 1000 * spares * *costs.pue;
  return out;
}

double slack_fraction(const TrainingStepResult& step) {
  double slack = 0;
  for (const StageUse& stage : step.summary.stages)
    slack += (stage.rank.bubble - stage.rank.fill_drain).seconds();
  const double all = step.summary.step.seconds() * static_cast<double>(step.summary.stages.size());
  return all > 0 ? slack / all : 0;
}

}  // namespace lockstep::app
