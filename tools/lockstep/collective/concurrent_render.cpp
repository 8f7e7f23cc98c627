#include <fmt/format.h>

#include <utility>

#include "tools/app/json.hpp"
#include "tools/lockstep/collective/collective_render.hpp"
#include "tools/lockstep/collective/fold_output.hpp"
#include "tools/lockstep/collective/other_renders.hpp"
#include "tools/lockstep/collective/rank_setting_output.hpp"
#include "tools/lockstep/collective/setup_text.hpp"
#include "tools/lockstep/output/cells.hpp"
#include "tools/lockstep/output/cluster_json.hpp"

namespace lockstep::cli {

namespace {

std::vector<Cell> row(const ConcurrentRow& one) {
  const ConcurrentCollective& what = one.collective;
  const double slowdown = one.alone > Duration{} ? one.together.seconds() / one.alone.seconds() : 1;
  return {Cell{what.name},
          Cell{std::string{to_string(what.collective)}},
          Cell{what.spec.text()},
          Cell{static_cast<std::int64_t>(what.ranks.size())},
          Cell{one.size.count()},
          Cell{what.repeat},
          Cell{std::int64_t{what.traffic_weight}},
          in_microseconds(what.start),
          in_microseconds(one.alone),
          in_microseconds(one.together),
          Cell{slowdown, fmt::format("{:.3f}", slowdown)}};
}

std::string config(const CollectiveRequest& request, const ConcurrentReport& done,
                   const std::string& file) {
  const CollectiveSetup& setup = *done.setup;
  Json out;
  out["concurrent"] = file;
  out["cluster"] = cluster_json(request.cluster, setup.loaded());
  out["network"] = request.network.model;
  out["type"] = request.type->name;
  auto& list = out["collectives"] = Json::array();
  for (const ConcurrentRow& one : done.collectives) {
    const ConcurrentCollective& what = one.collective;
    list.push_back({{"name", what.name},
                    {"collective", to_string(what.collective)},
                    {"algorithm", what.spec.text()},
                    {"size_bytes", what.size.count()},
                    {"ranks", what.ranks},
                    {"start_s", what.start.seconds()},
                    {"repeat", what.repeat},
                    {"traffic_weight", what.traffic_weight},
                    {"root", what.root}});
  }
  out["skew_s"] = request.skew.seconds();
  add_rank_settings(request, *done.setup, out);
  return out.dump();
}

/// Folded calls are one a collective.
FoldMembers members_of(const ConcurrentReport& done) {
  FoldMembers out;
  for (const ConcurrentRow& row : done.collectives) {
    const ConcurrentCollective& what = row.collective;
    const bool hosts = what.spec.algorithm->auxiliary_ranks == AuxiliaryRanks::hosts;
    out.calls.push_back({what.name, what.ranks, hosts ? "host" : "switch"});
  }
  return out;
}

}  // namespace

Report report_of(const CollectiveRequest& request, const ConcurrentReport& done,
                 const std::string& file, bool classes) {
  Report out;
  out.schema = "lockstep.concurrent/1";
  out.config = config(request, done, file);
  out.seed = request.cluster.seed;
  out.fingerprint = done.fingerprint;
  out.columns = {{"name", "name", "", true},           {"collective", "collective", "", true},
                 {"algorithm", "algorithm", "", true}, {"ranks", "ranks", ""},
                 {"size_bytes", "size", "(B)"},        {"repeat", "times", ""},
                 {"traffic_weight", "weight", ""},     {"start_s", "start", "(us)"},
                 {"alone_s", "alone", "(us)"},         {"together_s", "together", "(us)"},
                 {"slowdown", "slowdown", ""}};
  out.left_out_first = {"traffic_weight", "repeat", "start_s", "ranks", "algorithm", "collective"};
  Section section;
  const std::size_t count = done.collectives.size();
  section.notes.push_back(fmt::format(
      "{} at once: {}", count == 1 ? "1 collective" : fmt::format("{} collectives", count),
      setup_text_with_ranks(done.setup->names())));
  add_link_changes(*done.setup, section);
  add_drawn_ranks(request, *done.setup, section);
  for (const ConcurrentRow& one : done.collectives) section.rows.push_back(row(one));
  const FoldMembers members = members_of(done);
  if (classes)
    for (std::string& line : describe_fold(done.fold, members))
      section.closing.push_back(std::move(line));
  out.sections.push_back(std::move(section));
  out.more.emplace_back("fold", fold_json(done.fold, classes, members));
  return out;
}

}  // namespace lockstep::cli
