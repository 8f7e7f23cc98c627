#pragma once

#include <optional>

#include "tools/app/campaign/campaign.hpp"

/// Money and energy of a replicate; none where an input is unknown. Spare nodes are paid for and
/// draw their static power.
namespace lockstep::app {

/// Static power over the wall time, energy of the FLOPs executed, and of the bytes on each link.
[[nodiscard]] std::optional<double> machine_kwh(const CampaignOutcome& of,
                                                const Replicate& replicate);
/// The same times PUE.
[[nodiscard]] std::optional<double> facility_kwh(const CampaignOutcome& of,
                                                 const Replicate& replicate);
/// GPU-hours times their price, and if a price of energy is given that of the facility's.
[[nodiscard]] std::optional<double> campaign_usd(const CampaignOutcome& of,
                                                 const Replicate& replicate);

/// Of several jobs in a replicate, with the spare nodes until the last ends.
[[nodiscard]] LongTime last_wall(const CampaignResult& of, std::size_t replicate);
/// Productive over all GPU-hours of the jobs, each until its end.
[[nodiscard]] double joint_goodput(const CampaignResult& of, std::size_t replicate);
[[nodiscard]] double joint_gpu_hours(const CampaignResult& of, std::size_t replicate);
[[nodiscard]] std::optional<double> joint_facility_kwh(const CampaignResult& of,
                                                       std::size_t replicate);
[[nodiscard]] std::optional<double> joint_usd(const CampaignResult& of, std::size_t replicate);

/// Fraction of GPU time in which pipeline stages wait for slower ones: they could run slower at
/// the same step time (Perseus, arXiv 2312.06902), which is an opportunity to save energy.
[[nodiscard]] double slack_fraction(const TrainingStepResult& step);

}  // namespace lockstep::app
