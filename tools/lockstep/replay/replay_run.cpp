#include "tools/lockstep/replay/replay_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/replay/replay_algorithms.hpp"
#include "tools/lockstep/replay/replay_trace.hpp"
#include "tools/lockstep/replay/replay_traffic.hpp"

namespace lockstep::cli {

namespace {

Arena arena_of_ranks(const ReplayQuestion& question, std::optional<int> ranks) {
  ClusterOptions cluster = question.cluster;
  if (ranks) cluster.ranks = ranks;
  return {cluster, question.network, {}};
}

/// Where nobody says how large the cluster is, it is as large as the trace, if it can be.
Arena arena_for(const ReplayQuestion& question, int ranks) {
  if (question.cluster.ranks || question.cluster.nodes) return arena_of_ranks(question, {});
  try {
    return arena_of_ranks(question, ranks);
  } catch (const UsageError&) {
    return arena_of_ranks(question, {});
  }
}

Duration scaled(Duration duration, double factor) {
  const double ps = std::round(static_cast<double>(duration.ps()) * factor);
  if (ps >= static_cast<double>(INT64_MAX)) throw std::overflow_error("--compute");
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

void scale_computations(Workload& workload, double factor) {
  if (factor == 1) return;
  for (Stream& stream : workload.streams)
    for (Activity& operation : stream.operations)
      if (operation.kind == Activity::Kind::compute)
        operation.duration = scaled(operation.duration, factor);
}

/// Those that wait for a peer come first: the others wait for them.
std::string unfinished_text(const std::vector<Unfinished>& unfinished) {
  constexpr std::size_t kShown = 10;
  constexpr std::string_view kBehindOthers = "waits for operations of other streams";
  std::vector<std::string> causes;
  for (const Unfinished& each : unfinished)
    if (each.text.find(kBehindOthers) == std::string::npos) causes.push_back(each.text);
  std::string text = fmt::format("the trace cannot end; {} ends of messages wait for ever{}",
                                 causes.size(), causes.empty() ? "" : ":");
  for (std::size_t i = 0; i < std::min(kShown, causes.size()); ++i) text += "\n  " + causes[i];
  if (causes.size() > kShown) text += fmt::format("\n  and {} more", causes.size() - kShown);
  if (const std::size_t behind = unfinished.size() - causes.size(); behind > 0)
    text += fmt::format("\n{} further operation{} for these", behind,
                        behind == 1 ? " waits" : "s wait");
  return text;
}

struct BusiestLink {
  std::string name;
  double busy = 0;  // share of the time that it would take the link alone
};

class Run {
 public:
  explicit Run(const ReplayQuestion& question)
      : question_{question},
        trace_{load_trace(question.trace)},
        arena_{arena_for(question, trace_.ranks())},
        algorithms_{arena_, question.algorithms} {
    if (arena_.ranks() < trace_.ranks())
      throw UsageError(fmt::format(
          "{} has {} rank{}, the cluster {}; --nodes or --ranks makes it "
          "larger where its size is free",
          question.trace, trace_.ranks(), trace_.ranks() == 1 ? "" : "s", arena_.ranks()));
  }

  ReplayAnswer run() {
    std::vector<EndpointId> members = arena_.members(Helpers::none, 0);
    members.resize(static_cast<std::size_t>(trace_.ranks()));
    Workload workload =
        trace_.workload(members, [this](Collective collective, auto ranks, Bytes message) {
          return algorithms_.choose(collective, ranks, message);
        });
    if (question_.slots) workload.slots = *question_.slots;
    scale_computations(workload, question_.compute_scale);
    refuse_large_streams(arena_.network(), workload,
                         {question_.trace, members.size(), "lockstep replay"},
                         question_.most_memory);
    const ReplayResult result = replay(arena_.network(), workload, arena_.model());
    if (!result.unfinished.empty()) throw Refusal(unfinished_text(result.unfinished));
    return {report(result, totals_of(workload, result, trace_.ranks())), trace_.notes()};
  }

 private:
  [[nodiscard]] BusiestLink busiest(const ReplayResult& result) const {
    double most = 0;
    BusiestLink out;
    for (std::size_t i = 0; i < result.link_bytes.size(); ++i) {
      const Link& link = arena_.network().links[i];
      // Where only ports limit, what other links would have to carry says nothing.
      if (arena_.model() == NetworkModel::alpha_beta && !link.port) continue;
      const double seconds =
          static_cast<double>(result.link_bytes[i].count()) / link.bandwidth.bytes_per_second();
      if (seconds <= most) continue;
      most = seconds;
      out.name = arena_.link_name(static_cast<LinkId>(i));
    }
    // A link may seem to carry more than it can by what messages end early, at whole picoseconds.
    if (result.end > TimePoint{})
      out.busy = std::min(1.0, most / result.end.since_start().seconds());
    return out;
  }

  [[nodiscard]] Report report(const ReplayResult& result,
                              const std::vector<RankTotals>& ranks) const;
  [[nodiscard]] std::string config() const;
  [[nodiscard]] std::string algorithms_text() const;

  const ReplayQuestion& question_;
  ReplayTrace trace_;
  Arena arena_;
  ReplayAlgorithms algorithms_;
};

Cell in_microseconds(Duration time) {
  return Cell{time.seconds(), fmt::format("{:.2f}", time.seconds() * 1e6)};
}

std::vector<Cell> row(Cell rank, const RankTotals& totals, const BusiestLink* link) {
  std::vector<Cell> out = {std::move(rank),
                           in_microseconds(totals.end.since_start()),
                           in_microseconds(totals.computed),
                           Cell{totals.operations},
                           Cell{totals.sent.count()},
                           Cell{totals.received.count()}};
  if (link == nullptr) {
    out.resize(out.size() + 2);
  } else {
    out.emplace_back(100 * link->busy, fmt::format("{:.1f}", 100 * link->busy));
    out.emplace_back(link->name);
  }
  return out;
}

RankTotals sum_of(const std::vector<RankTotals>& ranks) {
  RankTotals out;
  for (const RankTotals& each : ranks) {
    out.end = std::max(out.end, each.end);
    out.operations += each.operations;
    out.computed += each.computed;
    out.sent += each.sent;
    out.received += each.received;
  }
  return out;
}

std::string json_text(const std::vector<std::string>& lines) {
  return nlohmann::ordered_json(lines).dump();
}

Report Run::report(const ReplayResult& result, const std::vector<RankTotals>& ranks) const {
  Report out;
  out.schema = "lockstep.replay/1";
  out.config = config();
  out.seed = question_.cluster.seed;
  out.columns = {{"rank", "rank", ""},
                 {"time_s", "time", "(us)"},
                 {"compute_s", "compute", "(us)"},
                 {"operations", "operations", ""},
                 {"sent_bytes", "sent", "(B)"},
                 {"received_bytes", "received", "(B)"},
                 {"busiest_link_percent", "%busy", ""},
                 {"busiest_link", "busiest link", "", true}};
  const BusiestLink link = busiest(result);
  const RankTotals sum = sum_of(ranks);
  Section all;
  all.notes = {fmt::format("{}: {} of {} rank{}; {}", question_.trace, trace_.form_name(),
                           trace_.ranks(), trace_.ranks() == 1 ? "" : "s", arena_.text())};
  if (!algorithms_.chosen().empty()) all.notes.push_back("collectives: " + algorithms_text());
  const std::vector<std::string> ignored = trace_.notes();
  all.notes.insert(all.notes.end(), ignored.begin(), ignored.end());
  out.more.emplace_back("notes", json_text(ignored));
  for (const std::string& change : arena_.loaded().link_changes) all.notes.push_back(change);
  Cell everyone;
  everyone.text = "all";
  all.rows.push_back(row(everyone, sum, &link));
  Section each;
  Fingerprint fingerprint;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    each.rows.push_back(row(Cell{static_cast<std::int64_t>(r)}, ranks[r], nullptr));
    fingerprint.add(ranks[r].end.ps());
  }
  out.fingerprint = fingerprint.text();
  out.sections = {std::move(all), std::move(each)};
  const auto slowest =
      std::max_element(ranks.begin(), ranks.end(),
                       [](const RankTotals& a, const RankTotals& b) { return a.end < b.end; });
  out.footer.push_back(fmt::format("slowest: rank {}, {}", slowest - ranks.begin(),
                                   to_string(slowest->end.since_start())));
  return out;
}

std::string Run::algorithms_text() const {
  std::string out;
  for (const auto& [collective, spec] : algorithms_.chosen())
    out += fmt::format("{}{} by {}", out.empty() ? "" : ", ", to_string(collective), spec.text());
  return out;
}

std::string Run::config() const {
  nlohmann::ordered_json out;
  out["trace"] = question_.trace;
  out["form"] = trace_.form_name();
  out["trace_ranks"] = trace_.ranks();
  out["cluster"] = {{"file", question_.cluster.path()},
                    {"name", arena_.loaded().name},
                    {"device", arena_.loaded().device.id},
                    {"nodes", arena_.cluster().nodes()},
                    {"ranks", arena_.ranks()}};
  out["network"] = question_.network.model;
  out["protocol"] = arena_.protocol() ? arena_.protocol()->id : "none";
  out["routes"] = kRoutePolicyNames.at(static_cast<std::size_t>(arena_.policy()));
  out["compute_scale"] = question_.compute_scale;
  out["slots"] = question_.slots ? nlohmann::ordered_json(*question_.slots) : "unlimited";
  auto& algorithms = out["algorithms"] = nlohmann::ordered_json::object();
  for (const auto& [collective, spec] : algorithms_.chosen())
    algorithms[std::string{to_string(collective)}] = spec.text();
  // A file's name may be any bytes; JSON's texts are UTF-8.
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

ReplayAnswer run_replay(const ReplayQuestion& question) {
  return Run(question).run();
}

}  // namespace lockstep::cli
