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

/// Fraction of GPU time in which pipeline stages wait for slower ones: they could run slower at
/// the same step time (Perseus, arXiv 2312.06902), which is an opportunity to save energy.
[[nodiscard]] double slack_fraction(const TrainingStepResult& step);

}  // namespace lockstep::app
