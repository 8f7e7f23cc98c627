#include "tools/lockstep/collective/fold_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>

#include "sim/symmetry/step_partings.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostLines = 20;
constexpr std::size_t kMostRanges = 6;

std::int64_t members_of(const FoldReport& report) {
  std::size_t members = 0;
  for (const auto& call : report.class_of) members += call.size();
  return static_cast<std::int64_t>(members);
}

std::string counted(std::int64_t number, std::string_view of) {
  const std::string_view many = of == "switch" ? "es" : "s";
  return fmt::format("{} {}{}", number, of, number == 1 ? "" : many);
}

/// Members of calls in words: "3", with several calls "gradients 3".
class MemberWords {
 public:
  MemberWords(const FoldReport& report, const FoldMembers& members)
      : members_{members}, all_{members_of(report)} {
    for (std::uint32_t call = 0; call < report.class_of.size(); ++call)
      ranks_ += std::min<std::int64_t>(ranks_of(call),
                                       static_cast<std::int64_t>(report.class_of[call].size()));
  }

  [[nodiscard]] bool has_auxiliary() const { return ranks_ < all_; }
  [[nodiscard]] std::string_view kind(const EquivalenceClass& of) const {
    if (of.representative < ranks_of(of.call)) return "rank";
    return auxiliary_of(of.call);
  }
  /// Of members that are not all of one kind or of one collective.
  [[nodiscard]] std::string_view kind_of_all() const {
    return has_auxiliary() || !members_.calls.empty() ? "member" : "rank";
  }
  /// "16 ranks and 2 switches", "15 members of 3 collectives".
  [[nodiscard]] std::string counted_all() const {
    if (!members_.calls.empty())
      return fmt::format("{} of {}", counted(all_, "member"),
                         counted(static_cast<std::int64_t>(members_.calls.size()), "collective"));
    if (!has_auxiliary()) return counted(ranks_, "rank");
    return counted(ranks_, "rank") + " and " + counted(all_ - ranks_, members_.auxiliary);
  }
  [[nodiscard]] std::string text(std::uint32_t call, int member) const {
    const int at = number(call, member);
    const std::string text = text_of({call, at, at}, true);
    return member < ranks_of(call) ? text : fmt::format("{} {}", auxiliary_of(call), text);
  }
  /// "rank 3", "switch 0", with several calls "gradients 3".
  [[nodiscard]] std::string with_kind(std::uint32_t call, int member) const {
    const bool alone = members_.calls.empty() && member < ranks_of(call);
    return (alone ? "rank " : "") + text(call, member);
  }
  [[nodiscard]] std::string text(const std::vector<RankRange>& of) const {
    std::string text;
    std::optional<std::uint32_t> call;
    const std::vector<RankRange> ranges = numbered(of);
    for (std::size_t i = 0; i < std::min(ranges.size(), kMostRanges); ++i) {
      text += (text.empty() ? "" : ", ") + text_of(ranges[i], call != ranges[i].call);
      call = ranges[i].call;
    }
    if (ranges.size() > kMostRanges) text += ", ...";
    return text;
  }
  /// Ranges of consecutive members as ranges of consecutive ranks of the cluster.
  [[nodiscard]] std::vector<RankRange> numbered(const std::vector<RankRange>& of) const {
    std::vector<RankRange> out;
    for (const RankRange& range : of) {
      for (int member = range.first; member <= range.last; ++member) {
        const int at = number(range.call, member);
        const bool follows = member > range.first && out.back().last + 1 == at;
        if (follows) {
          out.back().last = at;
        } else {
          out.push_back({range.call, at, at});
        }
      }
    }
    return out;
  }

 private:
  [[nodiscard]] int ranks_of(std::uint32_t call) const {
    return members_.calls.empty() ? members_.ranks
                                  : static_cast<int>(members_.calls[call].ranks.size());
  }
  [[nodiscard]] std::string_view auxiliary_of(std::uint32_t call) const {
    return members_.calls.empty() ? members_.auxiliary : members_.calls[call].auxiliary;
  }
  /// A rank's in the cluster; an auxiliary one's among those of its collective.
  [[nodiscard]] int number(std::uint32_t call, int member) const {
    if (member >= ranks_of(call)) return member - ranks_of(call);
    if (members_.calls.empty()) return member;
    return static_cast<int>(members_.calls[call].ranks[static_cast<std::size_t>(member)]);
  }
  [[nodiscard]] std::string text_of(const RankRange& range, bool with_name) const {
    const std::string name =
        with_name && !members_.calls.empty() ? members_.calls[range.call].name + " " : "";
    return range.first == range.last ? fmt::format("{}{}", name, range.first)
                                     : fmt::format("{}{}-{}", name, range.first, range.last);
  }

  const FoldMembers& members_;
  std::int64_t all_ = 0;
  std::int64_t ranks_ = 0;
};

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

/// "; 3 messages from rank 5 (starts 20 us later)".
std::string text_of(const ClassCause& cause, const MemberWords& words) {
  if (cause.messages == 0) return {};
  return fmt::format("; {} from {} ({})", counted(cause.messages, "message"),
                     words.with_kind(cause.call, cause.rank), cause.difference);
}

/// What the times of classes are compared with, and how far differences have spread.
void describe_times(const FoldReport& report, const StepPartings& partings,
                    const MemberWords& words, std::vector<std::string>& out) {
  std::set<std::pair<std::uint32_t, int>> usual;
  for (std::size_t c = 0; c < partings.classes.size(); ++c)
    if (partings.classes[c].members > 0)
      usual.emplace(report.classes[c].call, partings.classes[c].usual);
  if (usual.empty()) {
    if (report.classes.size() > 1)
      out.emplace_back("times are the same in all classes with as many steps");
    return;
  }
  std::vector<std::string> ranks;
  for (const auto& [call, rank] : usual) ranks.push_back(words.text(call, rank));
  const bool more = ranks.size() > kMostRanges;
  if (more) ranks.resize(kMostRanges);
  out.push_back(
      fmt::format("{} of {} {} have times of their own; steps are compared with those of {}{} {}{}",
                  partings.distinct, report.step_ends.size(), report.by_rank ? "ranks" : "classes",
                  words.kind_of_all(), usual.size() == 1 ? "" : "s", fmt::join(ranks, ", "),
                  more ? ", ..." : ""));
  std::vector<std::string> spread;
  for (const auto& [step, members] : partings.spread)
    spread.push_back(fmt::format(
        "{} by step {}",
        spread.empty() ? counted(members, words.kind_of_all()) : std::to_string(members), step));
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
  const MemberWords words{report, who};
  Json out = Json::array();
  const auto ranges = report.ranges();
  for (const std::size_t c : by_size(report)) {
    if (out.size() == FoldReport::kMaxDescribed) break;
    Json one = {{"kind", words.kind(report.classes[c])},
                {"ranks", report.classes[c].members},
                {"representative", report.classes[c].representative},
                {"difference", report.classes[c].difference}};
    Json& members = one["members"] = Json::array();
    if (who.calls.empty()) {
      for (const RankRange& range : ranges[c]) members.push_back({range.first, range.last});
    } else {
      one["collective"] = who.calls[report.classes[c].call].name;
      for (const RankRange& range : words.numbered(ranges[c]))
        members.push_back({{"collective", who.calls[range.call].name},
                           {"first", range.first},
                           {"last", range.last}});
    }
    if (const ClassCause& cause = report.classes[c].cause; cause.messages > 0) {
      one["cause"] = {{"messages", cause.messages},
                      {"member", words.with_kind(cause.call, cause.rank)},
                      {"difference", cause.difference}};
    }
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
  const MemberWords words{report, members};
  const std::string all = words.counted_all();
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
    describe_times(report, *partings, words, out);
  } else {
    out.emplace_back("times of steps are not kept: they change their pace too often");
  }
  const auto ranges = report.ranges();
  const auto order = by_size(report);
  for (std::size_t i = 0; i < std::min(order.size(), kMostLines); ++i) {
    const EquivalenceClass& each = report.classes[order[i]];
    out.push_back(fmt::format(
        "  {}: {}{}{}{}", counted(each.members, words.kind(each)), words.text(ranges[order[i]]),
        each.difference.empty() ? "" : "; " + each.difference, text_of(each.cause, words),
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

std::string fold_json(const FoldReport& report, bool with_classes, const FoldMembers& members) {
  Json out = Json::object();
  add_fold(report, with_classes, members, out);
  return out.dump();
}

std::string fold_json(const std::string& algorithm, Bytes size, const FoldReport& report,
                      bool with_classes, const FoldMembers& members) {
  Json out = {{"algorithm", algorithm}, {"size_bytes", size.count()}};
  add_fold(report, with_classes, members, out);
  return out.dump();
}

}  // namespace lockstep::cli
