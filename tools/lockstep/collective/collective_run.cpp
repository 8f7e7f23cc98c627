#include "tools/lockstep/collective/collective_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/engine/link_load.hpp"
#include "sim/execute/host/schedule/numeric.hpp"
#include "tools/lockstep/bounds.hpp"
#include "tools/lockstep/collective/fold_output.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/parallel.hpp"
#include "tools/lockstep/progress.hpp"
#include "topologies/lower.hpp"

namespace lockstep::cli {

namespace {

/// One contestant at one size.
struct Outcome {
  Prepared prepared;
  Played played;
  ScheduleCounts counts;
  LowerBound bound;
  std::optional<std::int64_t> wrong;
  std::optional<double> load;
  std::string refusal;
  bool best = false;
};

/// Lower bounds by collective and who takes part; made once for each.
class Bounds {
 public:
  explicit Bounds(const Player& player) : player_{player} {}

  [[nodiscard]] LowerBound at(const Contract& contract, const Prepared& prepared) {
    const Key key{contract.collective, contract.root,           contract.distance,
                  prepared.helpers,    prepared.members.size(), prepared.network};
    const std::lock_guard lock(mutex_);
    auto found = bounds_.find(key);
    if (found == bounds_.end()) found = bounds_.emplace(key, made(contract, prepared)).first;
    return found->second.at(prepared.layout.size);
  }

 private:
  using Key =
      std::tuple<Collective, int, int, Helpers, std::size_t, std::shared_ptr<const Network>>;

  [[nodiscard]] CollectiveBound made(const Contract& contract, const Prepared& prepared) const {
    return bound_on(player_.arena(), player_.network_of(prepared),
                    {contract.collective, prepared.members, prepared.helpers, contract.root,
                     contract.distance});
  }

  const Player& player_;
  std::mutex mutex_;
  std::map<Key, CollectiveBound> bounds_;
};

class Run {
 public:
  explicit Run(const CollectiveQuestion& question)
      : question_{question},
        arena_{arena_for(question)},
        player_{arena_, question.play()},
        contestants_{allowed(question, player_, left_out_)},
        bounds_{player_},
        chooses_{std::any_of(contestants_.begin(), contestants_.end(), [](const auto& each) {
          return each.kind == Contestant::Kind::replayed || each.kind == Contestant::Kind::nccl;
        })} {
    if (question.load)
      single_ = lower(arena_.cluster(), arena_.loaded().device.endpoint(), RoutePolicy::shortest);
  }

  Report run() {
    const std::size_t sizes = question_.sizes.size();
    std::vector<Outcome> outcomes(contestants_.size() * sizes);
    Progress progress("collective", outcomes.size());
    in_parallel(outcomes.size(), [&](std::size_t i) {
      outcomes[i] = play(contestants_[i / sizes], question_.sizes[i % sizes]);
      progress.step();
    });
    for (const Outcome& outcome : outcomes)
      if (!outcome.refusal.empty()) throw Refusal(outcome.refusal);
    crown(outcomes);
    return report(outcomes);
  }

 private:
  [[nodiscard]] Outcome play(const Contestant& contestant, Bytes size) {
    Outcome out;
    out.prepared = player_.prepare(contestant, size);
    out.played = player_.play(contestant, out.prepared);
    out.counts = player_.counts_of(contestant, out.prepared, out.played);
    out.bound = bound_on_run(
        bounds_.at(player_.contract_of(contestant, *out.prepared.schedule), out.prepared),
        out.played.time, out.played.messages);
    out.refusal = out.played.unfinished;
    if (question_.load && out.prepared.helpers != Helpers::node_switches &&
        out.prepared.helpers != Helpers::fabric_switches)
      out.load = busiest_link_load(*out.prepared.schedule, single_, out.prepared.members);
    if (question_.check && out.refusal.empty()) check(contestant, out);
    return out;
  }

  void check(const Contestant& contestant, Outcome& out) const {
    const Schedule& schedule = *out.prepared.schedule;
    const Contract contract = player_.contract_of(contestant, schedule);
    const NumericVerdict checked = check_numbers(schedule, contract, out.prepared.layout.count,
                                                 {.seed = question_.cluster.seed});
    out.wrong = checked.wrong + checked.out_of_bound;
    if (!checked.right())
      out.refusal = fmt::format("{} at {} bytes: {}", contestant.text(),
                                out.prepared.layout.size.count(), checked.problem());
  }

  /// Marks the fastest of each collective at each size; the first of equals.
  void crown(std::vector<Outcome>& outcomes) const {
    const std::size_t sizes = question_.sizes.size();
    for (std::size_t s = 0; s < sizes; ++s) {
      std::map<Collective, Outcome*> best;
      for (std::size_t c = 0; c < contestants_.size(); ++c) {
        Outcome& outcome = outcomes[c * sizes + s];
        Outcome*& leader = best[contestants_[c].collective];
        if (leader == nullptr || outcome.played.time < leader->played.time) leader = &outcome;
      }
      for (const auto& [collective, outcome] : best) outcome->best = true;
    }
  }

  [[nodiscard]] bool contested(Collective collective) const {
    return std::count_if(contestants_.begin(), contestants_.end(),
                         [&](const Contestant& each) { return each.collective == collective; }) > 1;
  }

  [[nodiscard]] Report report(const std::vector<Outcome>& outcomes) const;
  [[nodiscard]] std::vector<Cell> row(const Contestant& contestant, const Outcome& outcome) const;
  /// A schedule from a file has its root for good.
  [[nodiscard]] int root_of(const Contestant& contestant) const {
    return contestant.import ? contestant.import->root : question_.root;
  }
  void name_winners(const std::vector<Outcome>& outcomes, Report& out) const;
  void add_fold(const Contestant& contestant, const Outcome& outcome, Section& section,
                std::string& json) const;

  const CollectiveQuestion& question_;
  Arena arena_;
  std::vector<std::string> left_out_;
  Player player_;
  std::vector<Contestant> contestants_;
  Bounds bounds_;
  bool chooses_ = false;  // some contestant is an automatic choice
  Network single_;        // for loads: single shortest paths
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

Cell nothing(std::string shown = "-") {
  Cell out;
  out.text = std::move(shown);
  return out;
}

/// Nothing where it was not counted.
Cell counted(const std::optional<std::int64_t>& number, std::int64_t factor) {
  return number ? Cell{*number * factor} : nothing();
}

bool not_counted(const Outcome& outcome) {
  return !outcome.counts.rounds || !outcome.counts.sent_blocks;
}

/// GB/s times a factor, as bytes per second for programs; nothing where no time passes.
Cell bandwidth(const std::optional<double>& gb_per_s, double factor) {
  if (!gb_per_s) return nothing();
  const double value = gb_per_s.value_or(0) * factor;
  return Cell{value * 1e9, fitted(value)};
}

std::vector<Column> columns(bool with_load, bool with_choice, bool contested) {
  std::vector<Column> out = {{"algorithm", "algorithm", "", true},
                             {"collective", "", "", true},
                             {"ranks", "", ""},
                             {"size_bytes", "size", "(B)"},
                             {"count", "count", "(elements)"},
                             {"type", "type", ""},
                             {"redop", "redop", ""},
                             {"root", "root", ""},
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
                             {"busiest_link", "busiest link", "", true},
                             {"best", contested ? "best" : "", "", true}};
  if (with_load) out.push_back({"busiest_link_load", "load", "(x size)"});
  if (with_choice) {
    out.push_back({"nccl_model_s", "NCCL's model", "(us)"});
    out.push_back({"chosen", "chosen", "", true});
  }
  return out;
}

void add_bound(const Outcome& outcome, std::vector<Cell>& row) {
  const Duration bound = outcome.bound.time();
  const Duration time = outcome.played.time;
  const double percent = time > Duration{} ? 100 * (bound.seconds() / time.seconds()) : 100;
  row.push_back(in_microseconds(bound));
  row.emplace_back(percent, fmt::format("{:.1f}", percent));
  row.emplace_back(source_of(outcome.bound));
}

std::vector<Cell> Run::row(const Contestant& contestant, const Outcome& outcome) const {
  const MessageLayout& layout = outcome.prepared.layout;
  const std::optional<double> algbw = algbw_gb_per_s(layout.size, outcome.played.time);
  const Collective collective = contestant.collective;
  std::vector<Cell> out = {
      Cell{contestant.text()},
      Cell{std::string{to_string(collective)}},
      Cell{std::int64_t{arena_.ranks()}},
      Cell{layout.size.count()},
      Cell{layout.count},
      Cell{std::string{question_.type->name}},
      Cell{std::string{reduces(collective) ? "sum" : "none"}},
      Cell{std::int64_t{has_root(collective) ? root_of(contestant) : -1}},
      in_microseconds(outcome.played.time),
      bandwidth(algbw, 1),
      bandwidth(algbw, bus_factor(collective, arena_.ranks())),
      outcome.wrong ? Cell{*outcome.wrong} : nothing("N/A"),
      counted(outcome.counts.rounds, 1),
      counted(outcome.counts.sent_blocks, layout.block.count()),
  };
  add_bound(outcome, out);
  out.emplace_back(100 * outcome.played.busy, fmt::format("{:.1f}", 100 * outcome.played.busy));
  out.emplace_back(outcome.played.busiest_link);
  out.emplace_back(outcome.best, outcome.best ? "*" : " ");
  if (question_.load)
    out.push_back(outcome.load ? Cell{*outcome.load, fmt::format("{:.3f}", *outcome.load)}
                               : nothing());
  if (chooses_) {
    out.push_back(outcome.prepared.nccl_model ? in_microseconds(*outcome.prepared.nccl_model)
                                              : nothing());
    out.emplace_back(outcome.prepared.chosen);
  }
  return out;
}

/// "all_reduce: fastest from 8 B to 64 KiB is ring:channels=2, ...", one line a collective.
void Run::name_winners(const std::vector<Outcome>& outcomes, Report& out) const {
  const std::size_t sizes = question_.sizes.size();
  std::vector<Collective> done;
  for (const Contestant& first : contestants_) {
    const Collective collective = first.collective;
    if (!contested(collective) || std::find(done.begin(), done.end(), collective) != done.end())
      continue;
    done.push_back(collective);
    std::vector<std::pair<std::string, std::pair<Bytes, Bytes>>> runs;
    for (std::size_t s = 0; s < sizes; ++s) {
      for (std::size_t c = 0; c < contestants_.size(); ++c) {
        if (contestants_[c].collective != collective || !outcomes[c * sizes + s].best) continue;
        const std::string& chosen = outcomes[c * sizes + s].prepared.chosen;
        const std::string name = chosen.empty() ? contestants_[c].text() : chosen;
        if (runs.empty() || runs.back().first != name)
          runs.push_back({name, {question_.sizes[s], question_.sizes[s]}});
        runs.back().second.second = question_.sizes[s];
      }
    }
    std::string text;
    for (const auto& [name, range] : runs) {
      const auto& [from, to] = range;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          from == to ? "at " + to_string(from)
                                     : "from " + to_string(from) + " to " + to_string(to));
    }
    out.footer.push_back(fmt::format("fastest {}: {}", to_string(collective), text));
  }
}

/// What a user should know of an imported schedule at these sizes and on these links.
std::vector<std::string> notes_on(const MscclImport& import, const CollectiveQuestion& question) {
  std::vector<std::string> out = import.notes;
  const Bytes least{import.min_bytes.value_or(0)};
  const Bytes most{import.max_bytes.value_or(INT64_MAX)};
  const bool all_meant = std::all_of(question.sizes.begin(), question.sizes.end(),
                                     [&](Bytes size) { return least <= size && size <= most; });
  if (!all_meant)
    out.push_back(fmt::format("it is meant for sizes from {}{}", to_string(least),
                              import.max_bytes ? " to " + to_string(most) : " on"));
  if (import.protocol != "Simple" && question.network.protocol.empty())
    out.push_back(
        fmt::format("it is written for {}; --protocol {} puts what that costs on the links",
                    import.protocol, import.protocol == "LL" ? "ll" : "ll128"));
  return out;
}

Report Run::report(const std::vector<Outcome>& outcomes) const {
  Report out;
  out.schema = "lockstep.collective/1";
  out.config = config_of(question_, arena_, contestants_);
  out.seed = question_.cluster.seed;
  const bool any_contest =
      std::any_of(contestants_.begin(), contestants_.end(),
                  [&](const auto& each) { return contested(each.collective); });
  out.columns = columns(question_.load, chooses_, any_contest);
  Fingerprint fingerprint;
  std::string folds;
  const std::size_t sizes = question_.sizes.size();
  for (std::size_t c = 0; c < contestants_.size(); ++c) {
    Section section;
    if (c == 0 || contestants_[c].collective != contestants_[c - 1].collective)
      section.notes.push_back(
          fmt::format("{}: {}", to_string(contestants_[c].collective), arena_.text()));
    if (c == 0) add_link_changes(arena_, section);
    for (std::size_t s = 0; s < sizes; ++s) {
      const Outcome& outcome = outcomes[c * sizes + s];
      section.rows.push_back(row(contestants_[c], outcome));
      add_fold(contestants_[c], outcome, section, folds);
      for (const char digit : outcome.played.fingerprint) fingerprint.add(digit);
    }
    out.sections.push_back(std::move(section));
  }
  out.more.emplace_back("fold", "[" + folds + "]");
  out.fingerprint = fingerprint.text();
  name_winners(outcomes, out);
  if (std::any_of(outcomes.begin(), outcomes.end(), not_counted))
    out.footer.emplace_back("-: too many messages to be counted");
  for (const Contestant& each : contestants_) {
    if (!each.import) continue;
    for (const std::string& note : notes_on(*each.import, question_))
      out.footer.push_back(each.text() + ": " + note);
  }
  for (const std::string& text : left_out_) out.footer.push_back("left out: " + text);
  return out;
}

/// In the section where it was asked for, and for JSON.
void Run::add_fold(const Contestant& contestant, const Outcome& outcome, Section& section,
                   std::string& json) const {
  const FoldReport& fold = outcome.played.fold;
  const Bytes size = outcome.prepared.layout.size;
  json += (json.empty() ? "" : ",") + fold_json(contestant.text(), size, fold, question_.classes);
  if (!question_.classes) return;
  section.closing.push_back(fmt::format("{} at {}:", contestant.text(), to_string(size)));
  for (std::string& line : describe_fold(fold)) section.closing.push_back(std::move(line));
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

nlohmann::ordered_json config_of(const RankSetting& setting) {
  nlohmann::ordered_json out = {{"rank", setting.rank}};
  if (setting.start) out["start_s"] = setting.start->seconds();
  if (setting.message_overhead) out["message_overhead_s"] = setting.message_overhead->seconds();
  if (setting.reduce_rate) out["reduce_rate_Bps"] = setting.reduce_rate->bytes_per_second();
  return out;
}

nlohmann::ordered_json config_of(const Contestant& contestant, const Arena& arena, int root) {
  nlohmann::ordered_json out = {{"collective", to_string(contestant.collective)},
                                {"name", contestant.text()}};
  if (contestant.kind != Contestant::Kind::algorithm) return out;
  out["name"] = contestant.spec.algorithm->name;
  out["parameters"] = parameters_of(
      complete(*contestant.spec.algorithm, arena.input(contestant.spec.arguments, root, {})));
  return out;
}

}  // namespace

Arena arena_for(const CollectiveQuestion& question) {
  constexpr int kManyRanks = 1 << 20;
  Arena::Wants wants;
  for (const Contestant& each : question.contestants) {
    if (each.kind != Contestant::Kind::algorithm || question.every_row) wants.switches = true;
    if (each.kind != Contestant::Kind::algorithm) continue;
    const CollectiveAlgorithm& row = *each.spec.algorithm;
    wants.switches = wants.switches || row.helpers == Helpers::node_switches ||
                     row.helpers == Helpers::fabric_switches;
    // Hosts have to be built along with the cluster, before its ranks are known; problems() has
    // the last word on what is too many.
    const AlgorithmInput many{kManyRanks, each.spec.arguments};
    if (row.helpers == Helpers::hosts && validate(row, many).empty())
      wants.hosts = std::max(wants.hosts, helpers_of(row, many));
  }
  if (question.every_row) wants.hosts = 0;
  return {question.cluster, question.network, wants};
}

std::vector<Contestant> allowed(const CollectiveQuestion& question, const Player& player,
                                std::vector<std::string>& left_out) {
  std::vector<Contestant> out;
  std::string text;
  for (const Contestant& each : question.contestants) {
    const std::vector<std::string> problems = player.problems(each);
    if (problems.empty()) out.push_back(each);
    for (const std::string& problem : problems) {
      if (question.every_row) left_out.push_back(problem);
      text += fmt::format("{}--{} {}", text.empty() ? "" : "\n  ",
                          each.import ? "schedule" : "algorithm", problem);
    }
  }
  if (out.empty() || (!question.every_row && !text.empty())) throw UsageError(text);
  return out;
}

void add_link_changes(const Arena& arena, Section& section) {
  const std::vector<std::string>& changes = arena.loaded().link_changes;
  section.notes.insert(section.notes.end(), changes.begin(), changes.end());
}

std::string config_of(const CollectiveQuestion& question, const Arena& arena,
                      const std::vector<Contestant>& contestants) {
  nlohmann::ordered_json config;
  config["collective"] = to_string(contestants.front().collective);
  config["cluster"] = {{"file", question.cluster.path()},
                       {"name", arena.loaded().name},
                       {"device", arena.loaded().device.id},
                       {"nodes", arena.cluster().nodes()},
                       {"ranks", arena.ranks()}};
  if (!arena.loaded().link_changes.empty()) config["link_changes"] = arena.loaded().link_changes;
  config["network"] = question.network.model;
  config["protocol"] = arena.protocol() ? arena.protocol()->id : "none";
  config["routes"] = kRoutePolicyNames.at(static_cast<std::size_t>(arena.policy()));
  auto& algorithms = config["algorithms"] = nlohmann::ordered_json::array();
  for (const Contestant& each : contestants)
    algorithms.push_back(config_of(each, arena, question.root));
  auto& sizes = config["sizes_bytes"] = nlohmann::ordered_json::array();
  for (const Bytes size : question.sizes) sizes.push_back(size.count());
  config["type"] = question.type->name;
  config["redop"] = "sum";
  config["root"] = question.root;
  config["skew_s"] = question.skew.seconds();
  for (const RankSetting& rank : question.ranks) config["ranks"].push_back(config_of(rank));
  config["check"] = question.check;
  // A file's name may be any bytes; JSON's texts are UTF-8.
  return config.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Report run_collective(const CollectiveQuestion& question) {
  return Run(question).run();
}

}  // namespace lockstep::cli
