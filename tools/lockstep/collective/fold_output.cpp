#include "tools/lockstep/collective/fold_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "sim/symmetry/step_partings.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostLines = 20;
constexpr std::size_t kMostRanges = 6;

/// Numbered from `first`.
std::string text_of(const RankRange& range, int first) {
  return range.first == range.last ? std::to_string(range.first - first)
                                   : fmt::format("{}-{}", range.first - first, range.last - first);
}

std::string text_of(const std::vector<RankRange>& ranges, int first) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMostRanges); ++i)
    text += (text.empty() ? "" : ", ") + text_of(ranges[i], first);
  if (ranges.size() > kMostRanges) text += ", ...";
  return text;
}

std::size_t members_of(const FoldReport& report) {
  std::size_t members = 0;
  for (const auto& call : report.class_of) members += call.size();
  return members;
}

/// The largest first, then by their first ranks.
std::vector<std::size_t> by_size(const FoldReport& report) {
  std::vector<std::size_t> order(report.classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.classes[a].members > report.classes[b].members;
  });
  return order;
}

std::string in_step(TimePoint at, std::int64_t step) {
  return fmt::format("{} (step {})", to_string(at.since_start()), step);
}

/// "from 12 us (step 0); 2 us later from 15 us (step 3) on", of its usual rank.
std::string text_of(const StepParting& parting) {
  const std::string from = "from " + in_step(parting.at, parting.step);
  const auto again = [&] { return in_step(*parting.same_from, parting.same_step); };
  if (parting.later_ps == 0) return fmt::format("{} until {}", from, again());
  return fmt::format(
      "{}; {} {} {}", from, to_string(Duration::picoseconds(std::abs(parting.later_ps))),
      parting.later_ps > 0 ? "later" : "earlier",
      parting.same_from ? fmt::format("from {} on", again()) : std::string{"at the end"});
}

std::string text_of(const ClassStepParting& parting, bool by_rank) {
  if (!parting.first) return {};
  if (!by_rank || parting.members == 1) return "; times differ " + text_of(*parting.first);
  return fmt::format("; times of {} of them differ from {} to {} on", parting.members,
                     in_step(parting.first->at, parting.first->step),
                     in_step(parting.last->at, parting.last->step));
}

std::string counted(std::int64_t number, std::string_view of) {
  const std::string_view many = of == "switch" ? "es" : "s";
  return fmt::format("{} {}{}", number, of, number == 1 ? "" : many);
}

/// "16 ranks and 2 switches".
std::string counted_members(const FoldReport& report, const FoldMembers& members) {
  const auto all = static_cast<std::int64_t>(members_of(report));
  const std::int64_t ranks = std::min<std::int64_t>(all, members.ranks);
  if (ranks == all) return counted(ranks, "rank");
  return counted(ranks, "rank") + " and " + counted(all - ranks, members.auxiliary);
}

/// What the times of classes are compared with, and how far differences have spread.
void describe_times(const FoldReport& report, const StepPartings& partings, bool has_auxiliary,
                    std::vector<std::string>& out) {
  std::set<int> usual;
  for (const ClassStepParting& each : partings.classes)
    if (each.members > 0) usual.insert(each.usual);
  if (usual.empty()) {
    if (report.classes.size() > 1)
      out.emplace_back("times are the same in all classes with as many steps");
    return;
  }
  std::vector<int> ranks(usual.begin(), usual.end());
  const bool more = ranks.size() > kMostRanges;
  if (more) ranks.resize(kMostRanges);
  out.push_back(fmt::format(
      "{} of {} {} have times of their own; steps are compared with those of rank{} {}{}",
      partings.distinct, report.step_ends.size(), report.by_rank ? "ranks" : "classes",
      usual.size() == 1 ? "" : "s", fmt::join(ranks, ", "), more ? ", ..." : ""));
  std::vector<std::string> spread;
  for (const auto& [step, members] : partings.spread)
    spread.push_back(fmt::format("{} by step {}",
                                 spread.empty()
                                     ? counted(members, has_auxiliary ? "member" : "rank")
                                     : std::to_string(members),
                                 step));
  constexpr std::size_t kMostSteps = 5;
  if (spread.size() > kMostSteps) {
    spread.erase(spread.begin() + kMostSteps - 1, spread.end() - 1);
    spread.insert(spread.end() - 1, "...");
  }
  out.push_back(fmt::format("times differ on {}", fmt::join(spread, ", ")));
}

constexpr double kPicosecond = 1e-12;

Json parting_json(const StepParting& parting) {
  Json out = {{"at_s", parting.at.since_start().seconds()},
              {"step", parting.step},
              {"same_from_s", nullptr},
              {"same_step", nullptr},
              {"later_s", static_cast<double>(parting.later_ps) * kPicosecond}};
  if (parting.same_from) {
    out["same_from_s"] = parting.same_from->since_start().seconds();
    out["same_step"] = parting.same_step;
  }
  return out;
}

/// From its usual rank; null: its times never differ.
Json parting_json(const ClassStepParting& parting, bool by_rank) {
  if (!parting.first) return nullptr;
  Json out = parting_json(*parting.first);
  out["usual_rank"] = parting.usual;
  if (!by_rank) return out;
  out["ranks"] = parting.members;
  out["last"] = parting_json(*parting.last);
  return out;
}

Json classes_json(const FoldReport& report, const std::optional<StepPartings>& partings,
                  const FoldMembers& who) {
  Json out = Json::array();
  const auto ranges = report.ranges();
  for (const std::size_t c : by_size(report)) {
    if (out.size() == FoldReport::kMaxDescribed) break;
    const bool auxiliary = report.classes[c].representative >= who.ranks;
    Json one = {{"kind", auxiliary ? who.auxiliary : std::string{"rank"}},
                {"ranks", report.classes[c].members},
                {"representative", report.classes[c].representative},
                {"difference", report.classes[c].difference}};
    Json& members = one["members"] = Json::array();
    for (const RankRange& range : ranges[c]) members.push_back({range.first, range.last});
    if (partings) one["parts"] = parting_json(partings->classes[c], report.by_rank);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::vector<std::string> describe_fold(const FoldReport& report, const FoldMembers& members) {
  if (!report.folded) return {"nothing folded: " + report.why_not};
  const std::string skipped =
      report.rounds_skipped == 0
          ? ""
          : fmt::format(", {} of {} rounds skipped", report.rounds_skipped, report.rounds);
  const std::string simulated = fmt::format("{} of {} transfers simulated{}",
                                            report.simulated_transfers, report.transfers, skipped);
  const std::string all = counted_members(report, members);
  const bool has_auxiliary = all.find(" and ") != std::string::npos;
  std::vector<std::string> out;
  if (report.by_rank) {
    out.push_back(fmt::format(
        "{}, each simulated, which is quick as no transfers slow down others; {}", all, simulated));
    out.push_back(
        fmt::format("{} class{}, each of ranks that start together, are as fast, and send "
                    "the same over equivalent routes; times within one may differ:",
                    report.classes.size(), report.classes.size() == 1 ? "" : "es"));
  } else {
    out.push_back(fmt::format("{} in {} class{}, {} links in {}; {}", all, report.classes.size(),
                              report.classes.size() == 1 ? "" : "es", report.links,
                              report.link_classes, simulated));
  }
  if (report.branches > 0)
    out.push_back(fmt::format(
        "{} parts of the tree depend on one rank each; equal ones are simulated once, {} in all",
        report.branches, report.branch_histories));
  const auto partings = find_step_partings(report);
  if (partings) {
    describe_times(report, *partings, has_auxiliary, out);
  } else {
    out.emplace_back("times of steps are not kept: they change their pace too often");
  }
  const auto ranges = report.ranges();
  const auto order = by_size(report);
  for (std::size_t i = 0; i < std::min(order.size(), kMostLines); ++i) {
    const EquivalenceClass& each = report.classes[order[i]];
    const bool auxiliary = has_auxiliary && each.representative >= members.ranks;
    out.push_back(
        fmt::format("  {}: {}{}{}", counted(each.members, auxiliary ? members.auxiliary : "rank"),
                    text_of(ranges[order[i]], auxiliary ? members.ranks : 0),
                    each.difference.empty() ? "" : "; " + each.difference,
                    partings ? text_of(partings->classes[order[i]], report.by_rank) : ""));
  }
  if (order.size() > kMostLines)
    out.push_back(fmt::format("  and {} more classes", order.size() - kMostLines));
  return out;
}

namespace {

void add_fold(const FoldReport& report, bool with_classes, const FoldMembers& members, Json& out) {
  out.update({{"folded", report.folded},
              {"by_rank", report.by_rank},
              {"classes", report.classes.size()},
              {"link_classes", report.link_classes},
              {"links", report.links},
              {"transfers", report.transfers},
              {"simulated_transfers", report.simulated_transfers},
              {"branches", report.branches},
              {"branch_histories", report.branch_histories},
              {"rounds", report.rounds},
              {"rounds_skipped", report.rounds_skipped}});
  if (!report.why_not.empty()) out["why_not"] = report.why_not;
  if (!with_classes) return;
  const auto partings = find_step_partings(report);
  out["members"] = classes_json(report, partings, members);
  if (!partings) return;
  out["distinct_times"] = partings->distinct;
  Json& spread = out["spread"] = Json::array();
  for (const auto& [step, differ] : partings->spread)
    spread.push_back({{"step", step}, {"ranks", differ}});
}

}  // namespace

std::string fold_json(const FoldReport& report, bool with_classes) {
  Json out = Json::object();
  add_fold(report, with_classes, {}, out);
  return out.dump();
}

std::string fold_json(const std::string& algorithm, Bytes size, const FoldReport& report,
                      bool with_classes, const FoldMembers& members) {
  Json out = {{"algorithm", algorithm}, {"size_bytes", size.count()}};
  add_fold(report, with_classes, members, out);
  return out.dump();
}

}  // namespace lockstep::cli
