#include "tools/lockstep/collective/fold_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tools/app/json.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostLines = 20;
constexpr std::size_t kMostRanges = 6;

std::string text_of(const RankRange& range) {
  return range.first == range.last ? std::to_string(range.first)
                                   : fmt::format("{}-{}", range.first, range.last);
}

std::string text_of(const std::vector<RankRange>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMostRanges); ++i)
    text += (text.empty() ? "" : ", ") + text_of(ranges[i]);
  if (ranges.size() > kMostRanges) text += ", ...";
  return text;
}

std::size_t ranks_of(const FoldReport& report) {
  std::size_t ranks = 0;
  for (const auto& call : report.class_of) ranks += call.size();
  return ranks;
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

Json classes_json(const FoldReport& report) {
  Json out = Json::array();
  const auto ranges = report.ranges();
  for (const std::size_t c : by_size(report)) {
    if (out.size() == FoldReport::kMaxDescribed) break;
    Json one = {{"ranks", report.classes[c].members},
                {"representative", report.classes[c].representative},
                {"difference", report.classes[c].difference}};
    Json& members = one["members"] = Json::array();
    for (const RankRange& range : ranges[c]) members.push_back({range.first, range.last});
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::vector<std::string> describe_fold(const FoldReport& report) {
  if (!report.folded) return {"nothing folded: " + report.why_not};
  const std::string skipped =
      report.rounds_skipped == 0
          ? ""
          : fmt::format(", {} of {} rounds skipped", report.rounds_skipped, report.rounds);
  const std::string worked_out = fmt::format("{} of {} transfers worked out{}",
                                             report.simulated_transfers, report.transfers, skipped);
  std::vector<std::string> out;
  if (report.by_rank) {
    out.push_back(fmt::format("{} ranks one by one, as no transfers limit each other; {}",
                              ranks_of(report), worked_out));
    out.emplace_back("by start, figures, messages and routes, though not by times:");
  } else {
    out.push_back(fmt::format("{} class{} of {} ranks, {} of {} links; {}", report.classes.size(),
                              report.classes.size() == 1 ? "" : "es", ranks_of(report),
                              report.link_classes, report.links, worked_out));
  }
  if (report.branches > 0)
    out.push_back(
        fmt::format("{} parts hang on one rank each; worked out for the {} histories that they had",
                    report.branches, report.branch_histories));
  const auto ranges = report.ranges();
  const auto order = by_size(report);
  for (std::size_t i = 0; i < std::min(order.size(), kMostLines); ++i) {
    const EquivalenceClass& each = report.classes[order[i]];
    out.push_back(fmt::format("  {} rank{}: {}{}", each.members, each.members == 1 ? "" : "s",
                              text_of(ranges[order[i]]),
                              each.difference.empty() ? "" : "; " + each.difference));
  }
  if (order.size() > kMostLines)
    out.push_back(fmt::format("  and {} more classes", order.size() - kMostLines));
  return out;
}

namespace {

void add_fold(const FoldReport& report, bool with_classes, Json& out) {
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
  if (with_classes) out["members"] = classes_json(report);
}

}  // namespace

std::string fold_json(const FoldReport& report, bool with_classes) {
  Json out = Json::object();
  add_fold(report, with_classes, out);
  return out.dump();
}

std::string fold_json(const std::string& algorithm, Bytes size, const FoldReport& report,
                      bool with_classes) {
  Json out = {{"algorithm", algorithm}, {"size_bytes", size.count()}};
  add_fold(report, with_classes, out);
  return out.dump();
}

}  // namespace lockstep::cli
