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

[[nodiscard]] std::optional<FailurePolicy> read_policy(ObjectReader& in) {
  const auto name = in.optional_one_of("policy", "policy", list(kFailurePolicyNames));
  if (!name) return std::nullopt;
  return chosen<FailurePolicy>(*name, kFailurePolicyNames);
}

/// {"failures": 148, "units": 16384, "time": "54 d"}: the mean time between failures of a unit.
[[nodiscard]] LongTime read_observed(ObjectReader& in) {
  const auto failures = static_cast<double>(in.integer("failures", 1, kMostFailures));
  const auto units = static_cast<double>(in.integer("units", 1, kMostUnits));
  const LongTime time = read_positive_time(in.required("time"));
  return LongTime::seconds(time.seconds() * units / failures);
}

[[nodiscard]] LongTime read_mtbf(ObjectReader& in) {
  const auto mtbf = in.optional("mtbf");
  const auto observed = in.optional("observed");
  if (mtbf && observed) {
    observed->note("expected mtbf or observed, not both");
  } else if (!mtbf && !observed) {
    in.note(
        "expected a rate: \"mtbf\": \"50000 h\" of one unit of the domain, or \"observed\": "
        "{\"failures\": 148, \"units\": 16384, \"time\": \"54 d\"}");
  }
  if (mtbf) return read_positive_time(*mtbf);
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
    out_.policy = read_policy(in).value_or(FailurePolicy::rollback);
    read_domains(in);
    in.optional_array(
        "causes", [&](const ValueReader& each) { read_cause(each); }, 0, kMostCauses);
    if (const auto spares = in.optional("spares"))
      spares->object([&](ObjectReader& of) { read_spares(of); });
    in.object("checkpoint", [&](ObjectReader& of) { read_checkpoint(of); });
    if (const auto startup = in.optional("startup"))
      startup->object([&](ObjectReader& of) { read_startup(of); });
    out_.data_stall = in.number("data_stall", 0, 1, 0);
    if (const auto stragglers = in.optional("stragglers"))
      stragglers->object([&](ObjectReader& of) { read_stragglers(of); });
    in.optional_array("maintenance", [&](const ValueReader& each) { read_maintenance(each); });
    read_costs(in);
    return std::move(out_);
  }

 private:
  void read_work(ObjectReader& in) {
    const bool steps = in.optional("steps").has_value();
    const bool tokens = in.optional("tokens").has_value();
    const auto duration = in.optional("duration");
    if (int{steps} + int{tokens} + int{duration.has_value()} > 1)
      in.note("expected at most one of steps, tokens and duration");
    out_.steps = in.optional_integer("steps", 1, std::int64_t{1} << 40U);
    out_.tokens = in.optional_number("tokens", 1, 1e18);
    if (duration) out_.duration = read_positive_time(*duration);
    if (const auto step = in.optional("step_time")) out_.step_time = read_positive_time(*step);
  }

  void read_domains(ObjectReader& in) {
    const auto domains = in.optional("domains");
    if (!domains) return;
    domains->object([&](ObjectReader& of) {
      const auto nodes = [&](const char* key) -> std::int64_t {
        const auto domain = of.optional(key);
        if (!domain) return 0;
        return domain->object(
            [](ObjectReader& each) { return each.integer("nodes", 1, kMostNodes); });
      };
      out_.nodes_per_switch = nodes("switch");
      out_.nodes_per_pod = nodes("pod");
    });
  }

  void read_cause(const ValueReader& value) {
    value.object([&](ObjectReader& in) {
      FailureCause cause;
      cause.name = in.string("name");
      if (!names_.insert(cause.name).second)
        in.note("name", fmt::format("a second cause named \"{}\"; names are different, since "
                                    "random draws go by them",
                                    cause.name));
      const std::string domain = in.one_of("domain", "domain", list(kFaultDomainNames));
      cause.domain = chosen<FaultDomain>(domain, kFaultDomainNames);
      cause.mtbf = read_mtbf(in);
      cause.detection = read_time_or_zero(in, "detection");
      cause.restart = read_time_or_zero(in, "restart");
      cause.repair = read_optional_time(in, "repair");
      cause.policy = read_policy(in);
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
    out_.spare_nodes = in.integer("nodes", 0, kMostNodes);
    out_.spare_swap = read_time_or_zero(in, "swap");
  }

  void read_checkpoint(ObjectReader& in) {
    CheckpointPlan& plan = out_.checkpoint;
    if (const auto interval = in.optional("interval")) read_interval(*interval);
    plan.asynchronous = in.one_of("mode", "mode of checkpoints", {"synchronous", "asynchronous"},
                                  "synchronous") == "asynchronous";
    plan.sharded = in.boolean("sharded", true);
    if (const auto size = in.optional("size")) plan.size = size->positive_bytes();
    if (const auto storage = in.optional("storage")) {
      storage->object([&](ObjectReader& of) {
        plan.write = of.rate("write");
        plan.read = of.optional_rate("read");
        plan.storage_nodes = of.optional_integer("nodes", 1, kMostStorageNodes).value_or(0);
      });
    }
    plan.save = read_optional_time(in, "save_time");
    plan.load = read_optional_time(in, "load_time");
    plan.stall = read_optional_time(in, "stall_time");
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

  void read_startup(ObjectReader& in) {
    out_.startup = {read_time_or_zero(in, "accelerator_initialization"),
                    read_time_or_zero(in, "training_preparation"),
                    read_time_or_zero(in, "program_startup"),
                    read_time_or_zero(in, "data_loading")};
  }

  void read_stragglers(ObjectReader& in) {
    double sum = 0;
    in.optional_array("per_gpu", [&](const ValueReader& each) {
      each.object([&](ObjectReader& of) {
        SlowGpus slow;
        slow.fraction = of.number("fraction", 0, 1);
        slow.slowdown = of.number("slowdown", 1, kLargestSlowdown);
        sum += slow.fraction;
        if (sum > 1) of.note("fraction", "the fractions of per_gpu exceed 1");
        out_.slow_gpus.push_back(slow);
      });
    });
    in.optional_array("transient", [&](const ValueReader& each) {
      each.object([&](ObjectReader& of) {
        TransientSlowdown slow;
        slow.name = of.string("name");
        slow.every = read_positive_time(of.required("every"));
        slow.duration = read_positive_time(of.required("duration"));
        slow.slowdown = of.number("slowdown", 1, kLargestSlowdown);
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
      planned.every = read_positive_time(in.required("every"));
      planned.duration = read_time(in.required("duration"));
      (void)in.string("source", "");
      out_.maintenance.push_back(std::move(planned));
    });
  }

  void read_costs(ObjectReader& in) {
    CampaignCosts& costs = out_.costs;
    costs.usd_per_gpu_hour = in.optional_number("price", 0, kMostMoney);
    costs.usd_per_kwh = in.optional_number("price_kwh", 0, kMostMoney);
    costs.pue = in.optional_number("pue", 1, kLargestSlowdown);
    const auto energy = in.optional("energy");
    if (!energy) return;
    energy->object([&](ObjectReader& of) {
      costs.static_watts = read_watts(of.required("static_power"));
      if (const auto each = of.optional("per_flop"))
        costs.joules_per_flop = read_joules_per_flop(*each);
      if (const auto each = of.optional("per_byte"))
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

}  // namespace lockstep::app
