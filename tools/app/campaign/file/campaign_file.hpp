#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json/json.hpp"
#include "tools/app/campaign/file/long_time.hpp"

/// A campaign file (configs/campaigns, schema configs/schema/campaign.schema.json): what interrupts
/// and slows the training of a scenario, and what it costs.
namespace lockstep::app {

/// What one failure takes down. `software`: the job as a whole, without hardware.
enum class FaultDomain : std::uint8_t { gpu, node, network_switch, pod, software };
inline constexpr std::array<std::string_view, 5> kFaultDomainNames = {"gpu", "node", "switch",
                                                                      "pod", "software"};

/// What follows a failure that takes hardware away.
enum class FailurePolicy : std::uint8_t {
  rollback,         // waits for the repair, restarts from the last checkpoint
  hot_spare,        // spare nodes replace the failed ones; restarts from the last checkpoint
  ragged_continue,  // the replicas hit leave, the others go on; they return after the repair
};
inline constexpr std::array<std::string_view, 3> kFailurePolicyNames = {"rollback", "hot_spare",
                                                                        "ragged_continue"};

struct FailureCause {
  std::string name{};
  FaultDomain domain = FaultDomain::gpu;
  LongTime mtbf{};  // of one unit of the domain
  LongTime detection{};
  LongTime restart{};
  std::optional<LongTime> repair{};       // none: the hardware restarts as it is
  std::optional<FailurePolicy> policy{};  // none: the campaign's
};

/// How the checkpoint interval is chosen.
enum class IntervalRule : std::uint8_t { given, young, daly, exponential, availability, simulated };
inline constexpr std::array<std::string_view, 6> kIntervalRuleNames = {
    "given", "young", "daly", "exponential", "availability", "simulated"};

struct CheckpointPlan {
  IntervalRule rule = IntervalRule::exponential;
  std::optional<LongTime> interval{};  // with IntervalRule::given
  bool asynchronous = false;
  bool sharded = true;              // every rank writes its part; else one replica writes all
  std::optional<Bytes> size{};      // instead of that of the simulated step
  std::optional<Rate> write{};      // of the storage as a whole
  std::optional<Rate> read{};       // none: as write
  std::int64_t storage_nodes = 0;   // of the fabric; 0: not given
  std::optional<LongTime> save{};   // measured time of a save, instead of bytes over bandwidth
  std::optional<LongTime> load{};   // the same of a restore
  std::optional<LongTime> stall{};  // for which an asynchronous save stops training
};

struct StartupTimes {
  LongTime accelerator_initialization{};
  LongTime training_preparation{};
  LongTime program_startup{};
  LongTime data_loading{};

  [[nodiscard]] LongTime total() const {
    return accelerator_initialization + training_preparation + program_startup + data_loading;
  }
};

/// This fraction of the GPUs computes slower by this factor, for the whole campaign.
struct SlowGpus {
  double fraction = 0;
  double slowdown = 1;
};

/// Each GPU is slower by a factor for a time, at random instants.
struct TransientSlowdown {
  std::string name{};
  LongTime every{};  // mean time between them, of one GPU
  LongTime duration{};
  double slowdown = 1;
};

struct PlannedMaintenance {
  std::string name{};
  LongTime every{};
  LongTime duration{};
};

/// Costs; none where the file does not say.
struct CampaignCosts {
  std::optional<double> usd_per_gpu_hour{};
  std::optional<double> usd_per_kwh{};
  std::optional<double> static_watts{};  // of a GPU and its part of the node, whatever it does
  std::optional<double> joules_per_flop{};
  std::optional<double> joules_per_byte{};  // on each link that a byte crosses
  std::optional<double> pue{};
};

struct CampaignPlan {
  std::string name{};
  std::string summary{};
  /// At most one; none: the tokens or samples of the scenario.
  std::optional<std::int64_t> steps{};
  std::optional<double> tokens{};
  std::optional<LongTime> duration{};   // of wall time
  std::optional<LongTime> step_time{};  // measured, instead of the simulated one
  std::vector<FailureCause> causes{};
  FailurePolicy policy = FailurePolicy::rollback;
  std::int64_t nodes_per_switch = 0;  // 0: not given
  std::int64_t nodes_per_pod = 0;
  std::int64_t spare_nodes = 0;
  LongTime spare_swap{};
  CheckpointPlan checkpoint{};
  StartupTimes startup{};
  double data_stall = 0;  // of the step, for which data loading stalls it
  std::vector<SlowGpus> slow_gpus{};
  std::vector<TransientSlowdown> transients{};
  std::vector<PlannedMaintenance> maintenance{};
  CampaignCosts costs{};
};

/// Throws ConfigError with every problem.
[[nodiscard]] CampaignPlan read_campaign(const JsonDocument& document);

/// configs/schema/campaign.schema.json.
[[nodiscard]] JsonValue campaign_schema();

}  // namespace lockstep::app
