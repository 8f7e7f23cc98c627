#include "tools/app/campaign/file/campaign_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/config/reader.hpp"
#include "tools/app/campaign/file/quantities.hpp"

namespace lockstep::app {

namespace {

constexpr std::int64_t kMostFailures = 1'000'000'000;
constexpr std::int64_t kMostUnits = 1'000'000'000;
constexpr std::int64_t kMostNodes = 1'000'000;
constexpr double kLargestSlowdown = 1000;
constexpr std::size_t kMostCauses = 1000;
constexpr double kMostMoney = 1e6;
constexpr std::int64_t kMostStorageNodes = 4096;

template <class Enum, std::size_t n>
[[nodiscard]] Enum chosen(std::string_view name, const std::array<std::string_view, n>& names) {
  const auto* at = std::find(names.begin(), names.end(), name);
  return static_cast<Enum>(at == names.end() ? 0 : at - names.begin());
}

template <std::size_t n>
[[nodiscard]] std::vector<std::string_view> list(const std::array<std::string_view, n>& names) {
  return {names.begin(), names.end()};
}

[[nodiscard]] std::optional<FailurePolicy> read_policy(ObjectReader& in, std::string_view help) {
  const auto name = in.optional_one_of({"policy", help}, "policy", list(kFailurePolicyNames));
  if (!name) return std::nullopt;
  return chosen<FailurePolicy>(*name, kFailurePolicyNames);
}

/// {"failures": 148, "units": 16384, "time": "54 d"}: the mean time between failures of a unit.
[[nodiscard]] LongTime read_observed(ObjectReader& in) {
  const auto failures =
      static_cast<double>(in.integer({"failures", "Number of failures"}, 1, kMostFailures));
  const auto units =
      static_cast<double>(in.integer({"units", "Number of units observed"}, 1, kMostUnits));
  const LongTime time = read_positive_time(in.required({"time", "Time of observation"}));
  return LongTime::seconds(time.seconds() * units / failures);
}

[[nodiscard]] LongTime read_mtbf(ObjectReader& in) {
  const auto mtbf = in.optional(
      {"mtbf", "Mean time between failures of one unit of the domain, instead of observed"});
  const auto observed = in.optional(
      {"observed",
       "Failures counted: the mean time between failures of a unit is units * time / failures"});
  if (mtbf && observed) {
    observed->note("expected mtbf or observed, not both");
  } else if (!mtbf && !observed) {
    in.note(
        "expected a rate: \"mtbf\": \"50000 h\" of one unit of the domain, or \"observed\": "
        "{\"failures\": 148, \"units\": 16384, \"time\": \"54 d\"}");
  }
  in.refine("oneOf", R"([{"required": ["mtbf"]}, {"required": ["observed"]}])");
  if (mtbf && !in.describes()) return read_positive_time(*mtbf);
  if (mtbf) (void)read_positive_time(*mtbf);
  return observed ? observed->object(read_observed) : LongTime::never();
}

/// Reads the parts of a campaign.
class CampaignReader {
 public:
  [[nodiscard]] CampaignPlan read(ObjectReader& in) {
    out_.name = in.string("name", "");
    out_.summary = in.string("summary", "");
    (void)in.string("source", "");
    read_work(in);
    out_.policy =
        read_policy(in,
                    "After a failure with a repair: rollback waits for it; hot_spare takes spare "
                    "nodes; ragged_continue goes on without the replicas hit (default: rollback)")
            .value_or(FailurePolicy::rollback);
    read_domains(in);
    in.optional_array(
        {"causes", "Causes of failure"}, [&](const ValueReader& each) { read_cause(each); }, 0,
        kMostCauses);
    if (const auto spares =
            in.optional({"spares", "Nodes in reserve for hot_spare; they are paid for"}))
      spares->object([&](ObjectReader& of) { read_spares(of); });
    in.object({"checkpoint", "Saves and restores"}, [&](ObjectReader& of) { read_checkpoint(of); });
    if (const auto startup = in.optional({"startup", "Times of each start of the program"}))
      startup->object([&](ObjectReader& of) { read_startup(of); });
    out_.data_stall = in.number(
        {"data_stall", "Fraction of a step's time for which data loading stalls it (default: 0)"},
        0, 1, 0);
    if (const auto stragglers = in.optional(
            {"stragglers",
             "Slow GPUs: the slowest one sets the pace, by the computation on the critical path"}))
      stragglers->object([&](ObjectReader& of) { read_stragglers(of); });
    in.optional_array({"maintenance", "Planned maintenance: a save, the pause, a restart"},
                      [&](const ValueReader& each) { read_maintenance(each); });
    read_costs(in);
    return std::move(out_);
  }

 private:
  void read_work(ObjectReader& in) {
    const bool steps = in.optional({"steps",
                                    "Steps to train; at most one of steps, tokens and duration "
                                    "(default: the tokens of the scenario)"})
                           .has_value();
    const bool tokens = in.optional({"tokens", "Tokens to train on"}).has_value();
    const auto duration = in.optional(
        {"duration", "Wall time after which the campaign ends, whatever has been trained"});
    if (int{steps} + int{tokens} + int{duration.has_value()} > 1)
      in.note("expected at most one of steps, tokens and duration");
    out_.steps = in.optional_integer({"steps",
                                      "Steps to train; at most one of steps, tokens and duration "
                                      "(default: the tokens of the scenario)"},
                                     1, std::int64_t{1} << 40U);
    out_.tokens = in.optional_number({"tokens", "Tokens to train on"}, 1, 1e18);
    if (duration) out_.duration = read_positive_time(*duration);
    if (const auto step =
            in.optional({"step_time", "Measured time of a step, instead of the simulated one"}))
      out_.step_time = read_positive_time(*step);
  }

  void read_domains(ObjectReader& in) {
    const auto domains = in.optional({"domains", "Sizes of the domains switch and pod"});
    if (!domains) return;
    domains->object([&](ObjectReader& of) {
      const auto nodes = [&](const char* key, const char* help) -> std::int64_t {
        const auto domain = of.optional(key);
        if (!domain) return 0;
        return domain->object([help](ObjectReader& each) {
          return each.integer({"nodes", help}, 1, kMostNodes);
        });
      };
      out_.nodes_per_switch = nodes("switch", "Nodes below a switch");
      out_.nodes_per_pod = nodes("pod", "Nodes of a pod");
    });
  }

  void read_cause(const ValueReader& value) {
    value.object([&](ObjectReader& in) {
      FailureCause cause;
      cause.name =
          in.string({"name", "What fails; random draws go by it, so that scenarios share them"});
      if (!names_.insert(cause.name).second)
        in.note("name", fmt::format("a second cause named \"{}\"; names are different, since "
                                    "random draws go by them",
                                    cause.name));
      const std::string domain = in.one_of({"domain",
                                            "What one failure takes down: a GPU, a node, the nodes "
                                            "of a switch or pod, or the job (software)"},
                                           "domain", list(kFaultDomainNames));
      cause.domain = chosen<FaultDomain>(domain, kFaultDomainNames);
      cause.mtbf = read_mtbf(in);
      cause.detection = read_time_or_zero(
          in, {"detection", "From the failure to the decision to restart (default: 0)"});
      cause.restart = read_time_or_zero(in, {"restart",
                                             "From the decision to the start of the program: "
                                             "scheduling, health checks (default: 0)"});
      cause.repair = read_optional_time(
          in, {"repair", "Until the hardware is back; absent: it restarts as it is"});
      cause.policy = read_policy(in, "Policy of this cause, instead of the campaign's");
      (void)in.string("source", "");
      check_domain(in, cause);
      out_.causes.push_back(std::move(cause));
    });
  }

  void check_domain(ObjectReader& in, const FailureCause& cause) const {
    const auto missing = [&](FaultDomain domain, std::int64_t nodes) {
      if (cause.domain != domain || nodes > 0) return;
      const auto name = kFaultDomainNames[static_cast<std::size_t>(domain)];
      in.note("domain", fmt::format("expected the size of a {} as \"domains\": {{\"{}\": "
                                    "{{\"nodes\": 16}}}} of the campaign",
                                    name, name));
    };
    missing(FaultDomain::network_switch, out_.nodes_per_switch);
    missing(FaultDomain::pod, out_.nodes_per_pod);
    if (cause.domain != FaultDomain::software) return;
    if (cause.repair) in.note("repair", "software is restarted, not repaired; expected no repair");
    if (cause.policy == FailurePolicy::ragged_continue)
      in.note("policy", "software stops all replicas; expected rollback or no policy");
  }

  void read_spares(ObjectReader& in) {
    out_.spare_nodes = in.integer({"nodes", "Number of spare nodes"}, 0, kMostNodes);
    out_.spare_swap = read_time_or_zero(in, {"swap", "Time to take one in (default: 0)"});
  }

  void read_checkpoint(ObjectReader& in) {
    CheckpointPlan& plan = out_.checkpoint;
    if (const auto interval =
            in.optional({"interval",
                         "Training between two saves: a time, or a rule: young, daly, exponential, "
                         "availability, simulated (default: exponential)"}))
      read_interval(*interval);
    plan.asynchronous =
        in.one_of({"mode",
                   "Synchronous saves stop training until they are durable, asynchronous ones "
                   "while they are copied to the host (default: synchronous)"},
                  "mode of checkpoints", {"synchronous", "asynchronous"},
                  "synchronous") == "asynchronous";
    plan.sharded = in.boolean(
        {"sharded",
         "Every rank writes its part; false: the ranks of one replica write all (default: true)"},
        true);
    if (const auto size = in.optional({"size",
                                       "Bytes of a checkpoint, instead of weights and optimizer "
                                       "states of the simulated step"}))
      plan.size = size->positive_bytes();
    if (const auto storage = in.optional({"storage", "Bandwidth of the storage as a whole"})) {
      storage->object([&](ObjectReader& of) {
        plan.write = of.rate({"write", "Writing"});
        plan.read = of.optional_rate({"read", "Reading (default: as writing)"});
        plan.storage_nodes =
            of.optional_integer(
                  {"nodes",
                   "Number of storage nodes at the end of the cluster's fabric, like its other "
                   "nodes: every transfer of a save and restore is then simulated on the links "
                   "between them (default: bytes over the NICs of the training's nodes)"},
                  1, kMostStorageNodes)
                .value_or(0);
      });
    }
    plan.save = read_optional_time(
        in, {"save_time", "Measured time of a save, instead of bytes over bandwidth"});
    plan.load = read_optional_time(
        in, {"load_time", "Measured time of a restore, instead of bytes over bandwidth"});
    plan.stall = read_optional_time(
        in,
        {"stall_time",
         "For which an asynchronous save stops training, instead of bytes over PCIe bandwidth"});
    in.refine("anyOf", R"([{"required": ["storage"]}, {"required": ["save_time", "load_time"]}])");
    if (!plan.write && (!plan.save || !plan.load))
      in.note(
          "expected the storage, such as \"storage\": {\"write\": \"2 TB/s\", \"read\": \"2 "
          "TB/s\"}, or both save_time and load_time");
    if (plan.stall && !plan.asynchronous)
      in.note("stall_time",
              "a synchronous save stops training for all of its time; expected no "
              "stall_time, or \"mode\": \"asynchronous\"");
  }

  void read_interval(const ValueReader& value) {
    if (value.describes()) return allow_interval(value);
    CheckpointPlan& plan = out_.checkpoint;
    const auto* text = value.value() == nullptr ? nullptr : value.value()->get_if<std::string>();
    if (text != nullptr) {
      const auto* rule = std::find(kIntervalRuleNames.begin() + 1, kIntervalRuleNames.end(), *text);
      if (rule != kIntervalRuleNames.end()) {
        plan.rule = static_cast<IntervalRule>(rule - kIntervalRuleNames.begin());
        return;
      }
      if (const auto time = parse_long_time(*text); time && *time > LongTime{}) {
        plan.rule = IntervalRule::given;
        plan.interval = time;
        return;
      }
    }
    value.refuse(
        "a time above zero such as \"300 s\", or young, daly, exponential, availability or "
        "simulated");
  }

  static void allow_interval(const ValueReader& value) {
    (void)value.one_of("interval", {kIntervalRuleNames.begin() + 1, kIntervalRuleNames.end()});
    (void)read_positive_time(value);
  }

  void read_startup(ObjectReader& in) {
    out_.startup = {
        read_time_or_zero(in, {"accelerator_initialization",
                               "Initialization of GPUs and communicators (default: 0)"}),
        read_time_or_zero(
            in, {"training_preparation", "Building the model and its graph (default: 0)"}),
        read_time_or_zero(in, {"program_startup", "Start of processes and imports (default: 0)"}),
        read_time_or_zero(in, {"data_loading", "Until the first batch is there (default: 0)"})};
  }

  void read_stragglers(ObjectReader& in) {
    double sum = 0;
    in.optional_array(
        {"per_gpu",
         "Distribution of the slowdown of a GPU over the whole campaign; other GPUs have none"},
        [&](const ValueReader& each) {
          each.object([&](ObjectReader& of) {
            SlowGpus slow;
            slow.fraction = of.number({"fraction", "Fraction of the GPUs"}, 0, 1);
            slow.slowdown =
                of.number({"slowdown", "Factor on its computation time"}, 1, kLargestSlowdown);
            sum += slow.fraction;
            if (sum > 1) of.note("fraction", "the fractions of per_gpu exceed 1");
            out_.slow_gpus.push_back(slow);
          });
        });
    in.optional_array({"transient", "Slowdowns that come and go"}, [&](const ValueReader& each) {
      each.object([&](ObjectReader& of) {
        TransientSlowdown slow;
        slow.name = of.string({"name", "Random draws go by it"});
        slow.every =
            read_positive_time(of.required({"every", "Mean time between them, of one GPU"}));
        slow.duration = read_positive_time(of.required({"duration", "Of each"}));
        slow.slowdown =
            of.number({"slowdown", "Factor on its computation time"}, 1, kLargestSlowdown);
        if (!names_.insert(slow.name).second)
          of.note("name", fmt::format("a second cause named \"{}\"", slow.name));
        out_.transients.push_back(std::move(slow));
      });
    });
  }

  void read_maintenance(const ValueReader& value) {
    value.object([&](ObjectReader& in) {
      PlannedMaintenance planned;
      planned.name = in.string("name", "maintenance");
      planned.every = read_positive_time(in.required({"every", "Time between two"}));
      planned.duration = read_time(in.required({"duration", "Of each"}));
      (void)in.string("source", "");
      out_.maintenance.push_back(std::move(planned));
    });
  }

  void read_costs(ObjectReader& in) {
    CampaignCosts& costs = out_.costs;
    costs.usd_per_gpu_hour = in.optional_number(
        {"price", "Price of a GPU hour ($); default: the cluster's"}, 0, kMostMoney);
    costs.usd_per_kwh = in.optional_number(
        {"price_kwh", "Price of a kWh ($), next to price; default: the cluster's"}, 0, kMostMoney);
    costs.pue = in.optional_number({"pue", "Power usage effectiveness; default: the cluster's"}, 1,
                                   kLargestSlowdown);
    const auto energy = in.optional(
        {"energy",
         "Energy of the machines; without it and without watts of the cluster it is unknown"});
    if (!energy) return;
    energy->object([&](ObjectReader& of) {
      costs.static_watts = read_watts(of.required(
          {"static_power", "Power of a GPU and its part of the node, whatever it does"}));
      if (const auto each = of.optional(
              {"per_flop", "Energy of a floating-point operation in addition (default: 0)"}))
        costs.joules_per_flop = read_joules_per_flop(*each);
      if (const auto each = of.optional(
              {"per_byte",
               "Energy of a byte on each link that it crosses in addition (default: 0)"}))
        costs.joules_per_byte = read_joules_per_byte(*each);
    });
  }

  CampaignPlan out_;
  std::set<std::string> names_;
};

}  // namespace

CampaignPlan read_campaign(const JsonDocument& document) {
  return read_document(document, [](ObjectReader& in) { return CampaignReader{}.read(in); });
}

JsonValue campaign_schema() {
  return schema_of("campaign",
                   "What interrupts and slows the training of a scenario and what it costs, for "
                   "`lockstep campaign SCENARIO FILE`.",
                   [](ObjectReader& in) { return CampaignReader{}.read(in); });
}

}  // namespace lockstep::app
