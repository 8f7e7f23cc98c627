#include "tools/lockstep/replay/replay_render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/app/json.hpp"
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

std::string fold_json(const StreamFoldReport& fold) {
  Json out = {{"folded", fold.folded}, {"classes", fold.representatives.size()}};
  if (!fold.why_not.empty()) out["why_not"] = fold.why_not;
  return out.dump();
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
  out.more.emplace_back("fold", fold_json(done.fold));
  out.more.emplace_back("notes", Json(done.notes).dump());
  Section each;
  for (std::size_t r = 0; r < done.ranks.size(); ++r)
    each.rows.push_back(row(Cell{static_cast<std::int64_t>(r)}, done.ranks[r], nullptr));
  out.sections = {summary(request, done), std::move(each)};
  const auto slowest =
      std::max_element(done.ranks.begin(), done.ranks.end(),
                       [](const RankTotals& a, const RankTotals& b) { return a.end < b.end; });
  out.footer.push_back(fmt::format("slowest: rank {}, {}", slowest - done.ranks.begin(),
                                   to_string(slowest->end.since_start())));
  return out;
}

}  // namespace lockstep::cli
