#include "tools/lockstep/replay/replay_render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "tools/app/json.hpp"
#include "tools/lockstep/collective/rank_setting_output.hpp"
#include "tools/lockstep/collective/setup_text.hpp"
#include "tools/lockstep/output/cells.hpp"
#include "tools/lockstep/output/cluster_json.hpp"
#include "tools/lockstep/topology/link_text.hpp"

namespace lockstep::cli {

namespace {

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
    out.emplace_back(link->busy, fmt::format("{:.1f}", 100 * link->busy));
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

std::string algorithms_text(const ReplayTraceResult& done) {
  std::string out;
  for (const auto& [collective, spec] : done.algorithms)
    out += fmt::format("{}{} by {}", out.empty() ? "" : ", ", to_string(collective), spec.text());
  return out;
}

/// Folded as `run` says it, or not and why as `collective` does.
std::string fold_text(const ReplayTraceResult& done) {
  if (!done.fold.folded) return "nothing folded: " + done.fold.why_not;
  const std::size_t classes = done.fold.representatives.size();
  return fmt::format("all {} ranks, folded into {} class{}", done.ranks.size(), classes,
                     classes == 1 ? "" : "es");
}

constexpr double kPicosecond = 1e-12;

Json parting_json(const std::optional<app::ReplayParting>& parting) {
  if (!parting) return nullptr;
  return {{"at_s", parting->at.since_start().seconds()},
          {"operation", parting->operation},
          {"same_from_s",
           parting->again ? Json(parting->again->since_start().seconds()) : Json(nullptr)},
          {"later_s", static_cast<double>(parting->later_ps) * kPicosecond}};
}

Json class_json(const app::ReplayClass& each) {
  Json members = Json::array();
  for (const auto& [first, last] : each.ranges) members.push_back({first, last});
  return {{"ranks", each.ranks},
          {"representative", each.representative},
          {"difference", each.difference},
          {"parts", parting_json(each.parting)},
          {"members", std::move(members)}};
}

std::string fold_json(const ReplayTraceRequest& request, const ReplayTraceResult& done) {
  const StreamFoldReport& fold = done.fold;
  Json out = {{"folded", fold.folded}, {"classes", fold.representatives.size()}};
  if (!fold.why_not.empty()) out["why_not"] = fold.why_not;
  if (request.classes) {
    Json& members = out["members"] = Json::array();
    for (const app::ReplayClass& each : done.classes) members.push_back(class_json(each));
  }
  return out.dump();
}

std::string text_of(const std::vector<std::pair<int, int>>& ranges) {
  constexpr std::size_t kMostRanges = 6;
  std::string out;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMostRanges); ++i) {
    const auto& [first, last] = ranges[i];
    out += fmt::format("{}{}", i == 0 ? "" : ", ",
                       first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
  }
  return out + (ranges.size() > kMostRanges ? ", ..." : "");
}

/// "; times differ from 12 us (send to rank 3); 2 us later from 15 us on".
std::string text_of(const std::optional<app::ReplayParting>& parting) {
  if (!parting) return {};
  std::string out = fmt::format("; times differ from {} ({})", to_string(parting->at.since_start()),
                                parting->operation);
  if (parting->later_ps == 0 && parting->again)
    return fmt::format("{} until {}", out, to_string(parting->again->since_start()));
  return fmt::format(
      "{}; {} {} {}", out, to_string(Duration::picoseconds(std::abs(parting->later_ps))),
      parting->later_ps > 0 ? "later" : "earlier",
      parting->again ? fmt::format("from {} on", to_string(parting->again->since_start()))
                     : std::string{"at the end"});
}

/// Those that a difference reaches first come first.
void add_classes(const ReplayTraceResult& done, Section& out) {
  constexpr std::size_t kMostLines = 20;
  out.closing.push_back(fmt::format(
      "{} class{} of ranks {}; times differ from those of the largest class with as many "
      "operations",
      done.classes.size(), done.classes.size() == 1 ? "" : "es",
      done.fold.folded ? "that were folded" : "with the same times, which nothing was folded by"));
  for (std::size_t i = 0; i < std::min(done.classes.size(), kMostLines); ++i) {
    const app::ReplayClass& each = done.classes[i];
    out.closing.push_back(fmt::format(
        "  {} rank{}: {}{}{}", each.ranks, each.ranks == 1 ? "" : "s", text_of(each.ranges),
        each.difference.empty() ? "" : "; " + each.difference, text_of(each.parting)));
  }
  if (done.classes.size() > kMostLines)
    out.closing.push_back(fmt::format("  and {} more classes (all in --format json)",
                                      done.classes.size() - kMostLines));
}

std::string config_of(const ReplayTraceRequest& request, const ReplayTraceResult& done) {
  const CollectiveSetup& setup = *done.setup;
  Json out;
  out["trace"] = request.trace;
  out["form"] = done.form;
  out["trace_ranks"] = done.ranks.size();
  out["cluster"] = cluster_json(request.cluster, setup.loaded());
  out["network"] = request.network.model;
  out["protocol"] = setup.protocol() ? setup.protocol()->id : "none";
  out["routes"] = kRoutePolicyNames.at(static_cast<std::size_t>(setup.policy()));
  out["compute_scale"] = request.compute_scale;
  out["slots"] = request.slots ? Json(*request.slots) : "unlimited";
  auto& algorithms = out["algorithms"] = Json::object();
  for (const auto& [collective, spec] : done.algorithms)
    algorithms[std::string{to_string(collective)}] = spec.text();
  add_rank_settings(done.settings, out);
  // A file's name may be any bytes; JSON's texts are UTF-8.
  return out.dump();
}

Section summary(const ReplayTraceRequest& request, const ReplayTraceResult& done) {
  Section out;
  const std::size_t ranks = done.ranks.size();
  out.notes = {fmt::format("{}: {} of {} rank{}; {}", request.trace, done.form, ranks,
                           ranks == 1 ? "" : "s", setup_text_with_ranks(done.setup->names()))};
  if (!done.algorithms.empty()) out.notes.push_back("collectives: " + algorithms_text(done));
  out.notes.push_back(fold_text(done));
  out.notes.insert(out.notes.end(), done.notes.begin(), done.notes.end());
  for (std::string& line : lines_of(done.setup->loaded())) out.notes.push_back(std::move(line));
  add_drawn_ranks(done.settings, static_cast<int>(ranks), request.cluster.seed, out);
  Cell everyone;
  everyone.text = "all";
  out.rows.push_back(row(everyone, sum_of(done.ranks), &done.busiest));
  return out;
}

}  // namespace

Report report_of(const ReplayTraceRequest& request, const ReplayTraceResult& done) {
  Report out;
  out.schema = "lockstep.replay/3";
  out.config = config_of(request, done);
  out.seed = request.cluster.seed;
  out.fingerprint = done.fingerprint;
  out.columns = {{"rank", "rank", ""},
                 {"time_s", "time", "(us)"},
                 {"compute_s", "compute", "(us)"},
                 {"operations", "operations", ""},
                 {"sent_bytes", "sent", "(B)"},
                 {"received_bytes", "received", "(B)"},
                 {"busiest_link_busy_fraction", "%busy", ""},
                 {"busiest_link", "busiest link", "", true}};
  out.left_out_first = {"operations", "busiest_link_busy_fraction", "busiest_link",
                        "received_bytes"};
  out.more.emplace_back("fold", fold_json(request, done));
  out.more.emplace_back("notes", Json(done.notes).dump());
  Section each;
  for (std::size_t r = 0; r < done.ranks.size(); ++r)
    each.rows.push_back(row(Cell{static_cast<std::int64_t>(r)}, done.ranks[r], nullptr));
  if (request.classes) add_classes(done, each);
  out.sections = {summary(request, done), std::move(each)};
  const auto slowest =
      std::max_element(done.ranks.begin(), done.ranks.end(),
                       [](const RankTotals& a, const RankTotals& b) { return a.end < b.end; });
  out.footer.push_back(fmt::format("slowest: rank {}, {}", slowest - done.ranks.begin(),
                                   to_string(slowest->end.since_start())));
  return out;
}

}  // namespace lockstep::cli
