#include "tools/lockstep/collective_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "sim/engine/link_load.hpp"
#include "sim/execute/host/all_reduce_check.hpp"
#include "strategies/collectives/lower_bound.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/parallel.hpp"
#include "tools/lockstep/partitions.hpp"
#include "tools/lockstep/progress.hpp"
#include "topologies/lower.hpp"

namespace lockstep::cli {

namespace {

/// One algorithm, ready to be replayed at any size.
struct Contestant {
  AlgorithmSpec spec;
  SchedulePtr schedule;
  std::vector<EndpointId> members;  // the ranks, then the helpers
  std::optional<AllReduceBound> bound;
  ScheduleMeasure measure;
  std::optional<double> load;
};

struct Outcome {
  MessageLayout layout;
  Duration time;
  LowerBound bound;
  std::string busiest_link;
  double busy = 0;  // share of the time that it would take the busiest link alone
  std::optional<std::int64_t> wrong;
  std::string refusal;
  std::string fingerprint;
};

class Run {
 public:
  explicit Run(const CollectiveQuestion& question)
      : question_{question}, loaded_{load(question)}, ranks_{loaded_.cluster.ranks()} {
    refuse_bad_arguments();
    network_ = lower(loaded_.cluster, loaded_.device.endpoint(), policy(), question.cluster.seed);
    for (const AlgorithmSpec& spec : question_.algorithms) contestants_.push_back(prepare(spec));
  }

  Report run() {
    const std::size_t sizes = question_.sizes.size();
    std::vector<Outcome> outcomes(contestants_.size() * sizes);
    Progress progress(std::string{to_string(question_.collective)}, outcomes.size());
    in_parallel(outcomes.size(), [&](std::size_t i) {
      outcomes[i] = replay_once(contestants_[i / sizes], question_.sizes[i % sizes]);
      progress.step();
    });
    for (const Outcome& outcome : outcomes)
      if (!outcome.refusal.empty()) throw Refusal(outcome.refusal);
    return report(outcomes);
  }

 private:
  /// Nodes have CPU sockets that can serve; where those are too few, hosts are built beside.
  static LoadedCluster load(const CollectiveQuestion& question) {
    const int helpers = most_helpers(question);
    LoadedCluster plain = question.cluster.load();
    if (plain.cluster.helpers() >= helpers) return plain;
    return question.cluster.load(helpers);
  }

  /// Hosts for parameter servers have to be built along with the cluster, before its ranks are
  /// known; validate() has the last word on what is too many.
  static int most_helpers(const CollectiveQuestion& question) {
    constexpr int kManyRanks = 1 << 20;
    int most = 0;
    for (const AlgorithmSpec& spec : question.algorithms)
      if (validate(*spec.algorithm, {kManyRanks, spec.arguments}).empty())
        most = std::max(most, helpers_of(*spec.algorithm, {kManyRanks, spec.arguments}));
    return most;
  }

  /// Whole messages are not divided: they take one of the equal paths each.
  [[nodiscard]] RoutePolicy policy() const {
    return question_.model == NetworkModel::queue && question_.policy == RoutePolicy::automatic
               ? RoutePolicy::ecmp
               : question_.policy;
  }

  void refuse_bad_arguments() const {
    std::string text;
    for (const AlgorithmSpec& spec : question_.algorithms) {
      for (const std::string& problem : validate(*spec.algorithm, {ranks_, spec.arguments}))
        text +=
            fmt::format("{}--algorithm {}: {}", text.empty() ? "" : "\n  ", spec.text(), problem);
      const int helpers = text.empty() ? helpers_of(*spec.algorithm, {ranks_, spec.arguments}) : 0;
      if (helpers > loaded_.cluster.helpers())
        text += fmt::format(
            "--algorithm {}: needs {} hosts beside the {} ranks; this cluster has {} (CPU sockets)",
            spec.text(), helpers, ranks_, loaded_.cluster.helpers());
    }
    if (!text.empty()) throw UsageError(text);
  }

  [[nodiscard]] Contestant prepare(const AlgorithmSpec& spec) const {
    Contestant out;
    out.spec = spec;
    out.schedule = make_schedule(*spec.algorithm, {ranks_, spec.arguments});
    out.members.resize(static_cast<std::size_t>(out.schedule->ranks()));
    std::iota(out.members.begin(), out.members.end(), EndpointId{0});
    const std::span<const EndpointId> all = out.members;
    const auto workers = static_cast<std::size_t>(ranks_);
    out.bound.emplace(network_, all.first(workers), all.subspan(workers),
                      partitions_of(loaded_.cluster, static_cast<int>(all.size() - workers)));
    if (const auto measured = measure(*out.schedule)) {
      out.measure = *measured;
    } else {
      const auto cost = cost_of(*spec.algorithm, {ranks_, spec.arguments});
      if (cost) out.measure = {cost->rounds, cost->sent_blocks, 0};
    }
    if (question_.load) {
      const Network single =
          lower(loaded_.cluster, loaded_.device.endpoint(), RoutePolicy::shortest);
      out.load = busiest_link_load(*out.schedule, single, out.members);
    }
    return out;
  }

  [[nodiscard]] std::vector<TimePoint> starts(std::size_t members) const {
    std::vector<TimePoint> out;
    if (question_.skew == Duration{}) return out;
    for (std::size_t i = 0; i < members; ++i)
      out.emplace_back(Duration::picoseconds(draw(question_.cluster.seed, i, question_.skew.ps())));
    return out;
  }

  /// A number in [0, most] for this seed and rank (splitmix64; Steele, Lea and Flood 2014).
  static std::int64_t draw(std::uint64_t seed, std::uint64_t rank, std::int64_t most) {
    std::uint64_t z = (seed * 0x9E3779B97F4A7C15ULL) ^ ((rank + 1) * 0xD1B54A32D192ED03ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    z ^= z >> 31U;
    return static_cast<std::int64_t>(z % (static_cast<std::uint64_t>(most) + 1));
  }

  [[nodiscard]] Outcome replay_once(const Contestant& contestant, Bytes size) const {
    Outcome out;
    out.layout = lay_out(size, *question_.type, contestant.schedule->blocks());
    CollectiveCall call;
    call.name = fmt::format("{} {}", to_string(question_.collective), contestant.spec.text());
    call.schedule = contestant.schedule;
    call.members = contestant.members;
    call.block = out.layout.block;
    call.starts = starts(contestant.members.size());
    Workload workload;
    workload.calls.push_back(std::move(call));
    const ReplayResult result = replay(network_, workload, question_.model);
    out.refusal = refusal_of(result);
    out.time = result.end.since_start();
    out.bound = contestant.bound->at(out.layout.size);
    find_busiest(result, out);
    Fingerprint fingerprint;
    for (const TimePoint end : result.call_ends[0]) fingerprint.add(end.ps());
    out.fingerprint = fingerprint.text();
    if (question_.check && out.refusal.empty()) check(contestant, out);
    return out;
  }

  static std::string refusal_of(const ReplayResult& result) {
    if (result.unfinished.empty()) return {};
    std::string text = fmt::format("the collective cannot end; {} ends of transfers wait for ever:",
                                   result.unfinished.size());
    constexpr std::size_t kShown = 10;
    for (std::size_t i = 0; i < std::min(kShown, result.unfinished.size()); ++i)
      text += "\n  " + result.unfinished[i].text;
    return text;
  }

  void find_busiest(const ReplayResult& result, Outcome& out) const {
    double most = 0;
    std::size_t busiest = result.link_bytes.size();
    for (std::size_t i = 0; i < result.link_bytes.size(); ++i) {
      // Where only ports limit, what other links would have to carry says nothing.
      if (question_.model == NetworkModel::alpha_beta && !network_.links[i].port) continue;
      const double seconds = static_cast<double>(result.link_bytes[i].count()) /
                             network_.links[i].bandwidth.bytes_per_second();
      if (seconds <= most) continue;
      most = seconds;
      busiest = i;
    }
    if (busiest == result.link_bytes.size() || out.time == Duration{}) return;
    out.busiest_link = loaded_.cluster.link_name(static_cast<LinkId>(busiest));
    out.busy = most / out.time.seconds();
  }

  void check(const Contestant& contestant, Outcome& out) const {
    AllReduceCheckOptions options;
    options.seed = question_.cluster.seed;
    const AllReduceCheck checked =
        check_all_reduce(*contestant.schedule, ranks_, out.layout.count, options);
    out.wrong = checked.wrong + checked.out_of_bound;
    if (!checked.right())
      out.refusal = fmt::format("{} at {} bytes: {}", contestant.spec.text(),
                                out.layout.size.count(), checked.problem());
  }

  [[nodiscard]] Report report(const std::vector<Outcome>& outcomes) const;
  [[nodiscard]] std::vector<Cell> row(const Contestant& contestant, const Outcome& outcome) const;
  [[nodiscard]] std::string config_text() const;

  const CollectiveQuestion& question_;
  LoadedCluster loaded_;
  int ranks_;
  Network network_;
  std::vector<Contestant> contestants_;
};

/// As nccl-tests fits numbers into a column: 2 decimals, fewer as the number grows.
std::string fitted(double value) {
  if (value < 1000) return fmt::format("{:.2f}", value);
  if (value < 10000) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

Cell in_microseconds(Duration time) {
  return Cell{time.seconds(), fitted(time.seconds() * 1e6)};
}

/// GB/s times a factor, as bytes per second for programs; nothing where no time passes.
Cell bandwidth(const std::optional<double>& gb_per_s, double factor) {
  if (!gb_per_s) {
    Cell out;
    out.text = "-";
    return out;
  }
  const double value = gb_per_s.value_or(0) * factor;
  return Cell{value * 1e9, fitted(value)};
}

std::vector<Column> columns(bool with_load) {
  std::vector<Column> out = {{"algorithm", "algorithm", "", true},
                             {"collective", "", "", true},
                             {"ranks", "", ""},
                             {"size_bytes", "size", "(B)"},
                             {"count", "count", "(elements)"},
                             {"type", "type", ""},
                             {"redop", "redop", ""},
                             {"time_s", "time", "(us)"},
                             {"algbw_Bps", "algbw", "(GB/s)"},
                             {"busbw_Bps", "busbw", "(GB/s)"},
                             {"wrong", "#wrong", ""},
                             {"rounds", "rounds", ""},
                             {"sent_per_rank_bytes", "sent/rank", "(B)"},
                             {"bound_s", "bound", "(us)"},
                             {"bound_percent", "%bound", ""},
                             {"bound_by", "bound by", "", true},
                             {"busiest_link_percent", "%busy", ""},
                             {"busiest_link", "busiest link", "", true}};
  if (with_load) out.push_back({"busiest_link_load", "load", "(x size)"});
  return out;
}

/// What the lower bound comes from.
std::string source_of(const LowerBound& bound) {
  if (bound.time() == bound.bandwidth && bound.bandwidth > Duration{}) return bound.tightest_cut;
  return bound.time() == bound.reduction && bound.reduction > bound.latency ? "reduction"
                                                                            : "latency";
}

std::vector<Cell> Run::row(const Contestant& contestant, const Outcome& outcome) const {
  const MessageLayout& layout = outcome.layout;
  const std::optional<double> algbw = algbw_gb_per_s(layout.size, outcome.time);
  const double percent = outcome.time > Duration{}
                             ? 100 * outcome.bound.time().seconds() / outcome.time.seconds()
                             : 100;
  const std::int64_t sent = contestant.measure.sent_blocks * layout.block.count();
  std::vector<Cell> out = {Cell{contestant.spec.text()},
                           Cell{std::string{to_string(question_.collective)}},
                           Cell{std::int64_t{ranks_}},
                           Cell{layout.size.count()},
                           Cell{layout.count},
                           Cell{std::string{question_.type->name}},
                           Cell{std::string{"sum"}},
                           in_microseconds(outcome.time),
                           bandwidth(algbw, 1),
                           bandwidth(algbw, bus_factor(question_.collective, ranks_)),
                           outcome.wrong ? Cell{*outcome.wrong} : Cell{},
                           Cell{contestant.measure.rounds},
                           Cell{sent},
                           in_microseconds(outcome.bound.time()),
                           Cell{percent, fmt::format("{:.1f}", percent)},
                           Cell{source_of(outcome.bound)},
                           Cell{100 * outcome.busy, fmt::format("{:.1f}", 100 * outcome.busy)},
                           Cell{outcome.busiest_link}};
  if (!outcome.wrong) out[10].text = "N/A";
  if (question_.load)
    out.push_back(contestant.load ? Cell{*contestant.load, fmt::format("{:.3f}", *contestant.load)}
                                  : Cell{});
  return out;
}

nlohmann::ordered_json parameters_of(const AlgorithmInput& input) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& [name, value] : input.arguments) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      out[name] = *number;
    } else {
      out[name] = to_string(value);
    }
  }
  return out;
}

std::string Run::config_text() const {
  nlohmann::ordered_json config;
  config["collective"] = to_string(question_.collective);
  config["cluster"] = {{"file", question_.cluster.path()},
                       {"name", loaded_.name},
                       {"device", loaded_.device.id},
                       {"nodes", loaded_.cluster.nodes()},
                       {"ranks", ranks_}};
  config["network"] = question_.network;
  config["routes"] = kRoutePolicyNames.at(static_cast<std::size_t>(policy()));
  auto& algorithms = config["algorithms"] = nlohmann::ordered_json::array();
  for (const AlgorithmSpec& spec : question_.algorithms)
    algorithms.push_back(
        {{"name", spec.algorithm->name},
         {"parameters", parameters_of(complete(*spec.algorithm, {ranks_, spec.arguments}))}});
  auto& sizes = config["sizes_bytes"] = nlohmann::ordered_json::array();
  for (const Bytes size : question_.sizes) sizes.push_back(size.count());
  config["type"] = question_.type->name;
  config["redop"] = "sum";
  config["skew_s"] = question_.skew.seconds();
  config["check"] = question_.check;
  // A file's name may be any bytes; JSON's texts are UTF-8.
  return config.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Report Run::report(const std::vector<Outcome>& outcomes) const {
  Report out;
  out.schema = "lockstep.collective/1";
  out.config = config_text();
  out.seed = question_.cluster.seed;
  out.columns = columns(question_.load);
  Fingerprint fingerprint;
  const std::size_t sizes = question_.sizes.size();
  for (std::size_t c = 0; c < contestants_.size(); ++c) {
    Section section;
    if (c == 0)
      section.notes.push_back(fmt::format(
          "{}: {} rank{} on {} ({}), network {}, routes {}", to_string(question_.collective),
          ranks_, ranks_ == 1 ? "" : "s", loaded_.name, loaded_.device.id, question_.network,
          kRoutePolicyNames.at(static_cast<std::size_t>(policy()))));
    for (std::size_t s = 0; s < sizes; ++s) {
      const Outcome& outcome = outcomes[c * sizes + s];
      section.rows.push_back(row(contestants_[c], outcome));
      for (const char digit : outcome.fingerprint) fingerprint.add(digit);
    }
    out.sections.push_back(std::move(section));
  }
  out.fingerprint = fingerprint.text();
  return out;
}

}  // namespace

Report run_collective(const CollectiveQuestion& question) {
  return Run(question).run();
}

}  // namespace lockstep::cli
