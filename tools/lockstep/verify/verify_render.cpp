#include "tools/lockstep/verify/verify_render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tools/app/json.hpp"
#include "tools/lockstep/output/cells.hpp"

namespace lockstep::cli {

namespace {

std::vector<Column> columns() {
  return {{"collective", "", "", true},
          {"algorithm", "algorithm", "", true},
          {"ranks", "ranks", ""},
          {"root", "root", ""},
          {"helpers", "", ""},
          {"lanes", "", ""},
          {"chunks", "", ""},
          {"count", "", ""},
          {"symbolic", "symbolic", "", true},
          {"orders", "orders", ""},
          {"races", "races", ""},
          {"wrong", "#wrong", "(exact)"},
          {"out_of_bound", "#wrong", "(random)"},
          {"worst_of_bound", "worst", "(x bound)"},
          {"slots", "slots", ""},
          {"ends", "ends", "", true},
          {"deepest_queue", "queue", "(messages)"},
          {"sent_messages", "sent", "(x size)"},
          {"sent_of_least", "ratio", "to min"},
          {"received_messages", "received", "(x size)"},
          {"received_of_least", "ratio", "to min"},
          {"sent_by_helper_messages", "", ""},
          {"received_by_helper_messages", "", ""},
          {"ok", "", ""},
          {"problem", "verdict", "", true},
          {"wrong_rank", "", ""},
          {"wrong_chunk", "", ""},
          {"wrong_chunks", "", ""},
          {"wrong_round", "", ""},
          {"wrong_lane", "", ""},
          {"wrong_step", "", ""}};
}

Cell yes_or_no(bool value) {
  return Cell{value, value ? "ok" : "no"};
}

Cell multiple(double value) {
  return Cell{value, fmt::format("{:.3f}", value)};
}

/// Nothing where the least is nothing; marked where it need not hold.
Cell of_least(const ResourceVerdict& resources, double value, double least) {
  if (least == 0) return no_value();
  return Cell{value / least,
              fmt::format("{:.3f}{}", value / least, resources.auxiliary_ranks ? " *" : "")};
}

void add_numbers(const NumericVerdict& numbers, bool were_run, bool adds, std::vector<Cell>& row) {
  if (!were_run) {
    row.insert(row.end(), 3, no_value());
    return;
  }
  row.emplace_back(numbers.wrong);
  row.push_back(adds ? Cell{numbers.out_of_bound} : no_value());
  row.push_back(adds ? multiple(numbers.worst) : no_value());
}

void add_resources(const ResourceVerdict& resources, std::vector<Cell>& row) {
  row.emplace_back(std::int64_t{resources.slots});
  row.push_back(yes_or_no(resources.ends()));
  row.emplace_back(resources.deepest_queue);
  row.push_back(multiple(resources.sent));
  row.push_back(of_least(resources, resources.sent, resources.least.sent));
  row.push_back(multiple(resources.received));
  row.push_back(of_least(resources, resources.received, resources.least.received));
  row.push_back(multiple(resources.sent_by_auxiliary));
  row.push_back(multiple(resources.received_by_auxiliary));
}

/// The first wrong rank, chunk and round, and in an imported schedule the lane and step.
void add_place(const CollectiveVerdict& verdict, std::vector<Cell>& row) {
  const std::optional<WrongChunk> wrong = verdict.first_wrong();
  const Cell round = verdict.round ? Cell{*verdict.round} : no_value();
  if (!wrong) {
    row.insert(row.end(), {no_value(), no_value(), no_value(), round, no_value(), no_value()});
    return;
  }
  row.emplace_back(std::int64_t{wrong->rank});
  row.emplace_back(wrong->chunk.first);
  row.emplace_back(wrong->chunk.count);
  row.push_back(round);
  row.push_back(wrong->written ? Cell{std::int64_t{wrong->written->lane}} : no_value());
  row.push_back(wrong->written ? Cell{wrong->written->step} : no_value());
}

std::vector<Cell> row_of(const VerifiedSchedule& subject) {
  const CollectiveVerdict& verdict = subject.verdict;
  const bool rooted = has_root(subject.collective);
  const bool were_run = verdict.numbers.outcome.transfers > 0 || verdict.numbers.right();
  std::vector<Cell> row{
      Cell{std::string{to_string(subject.collective)}},
      Cell{subject.name},
      Cell{std::int64_t{subject.contract.ranks}},
      rooted ? Cell{std::int64_t{subject.contract.root}} : no_value(),
      Cell{std::int64_t{subject.schedule->ranks() - subject.contract.ranks}},
      Cell{std::int64_t{subject.schedule->lanes()}},
      Cell{subject.schedule->blocks()},
      Cell{verdict.numbers.count},
      yes_or_no(verdict.symbols.right() && verdict.impossible.empty()),
      Cell{verdict.symbols.orders},
      verdict.races.complete ? Cell{verdict.races.count} : no_value("?"),
  };
  const bool has_numbers = subject.collective != Collective::barrier && verdict.impossible.empty();
  add_numbers(verdict.numbers, has_numbers && were_run, reduces(subject.collective), row);
  add_resources(subject.resources, row);
  row.emplace_back(subject.problem.empty());
  row.emplace_back(subject.problem, subject.problem.empty() ? "ok" : subject.problem);
  add_place(verdict, row);
  return row;
}

std::string config_of(const VerifyCollectiveRequest& request,
                      const std::vector<VerifiedSchedule>& subjects) {
  Json config;
  auto& algorithms = config["algorithms"] = Json::array();
  for (const AlgorithmSpec& spec : request.algorithms)
    algorithms.push_back(fmt::format("{} {}", to_string(spec.algorithm->collective), spec.text()));
  auto& schedules = config["schedules"] = Json::array();
  for (const ImportedSchedule& each : request.schedules) schedules.push_back(each.file);
  config["ranks"] = request.ranks;
  config["ranks_per_node"] = request.ranks_per_node;
  config["dimensions"] = request.dimensions;
  config["root"] = request.every_root ? Json{"all"} : Json{request.root};
  config["count"] = request.count ? Json{*request.count} : Json{};
  config["slots"] = request.slots ? Json{*request.slots} : Json{};
  config["verified"] = subjects.size();
  // A file's name may be any bytes; JSON's texts are UTF-8.
  return config.dump();
}

std::string text_of(const SkippedSchedule& of) {
  if (of.problem)
    return fmt::format("{} {} ranks: {}", to_string(of.collective), of.ranks, of.problem->text());
  return fmt::format("{} {} for {} ranks: too large to execute", to_string(of.collective), of.name,
                     of.ranks);
}

/// The right ones and the wrong ones, counted; what the marks mean; what was left out.
std::vector<std::string> footer_of(const std::vector<VerifiedSchedule>& outcomes,
                                   const std::vector<SkippedSchedule>& skipped) {
  const auto wrong =
      std::count_if(outcomes.begin(), outcomes.end(),
                    [](const VerifiedSchedule& each) { return !each.problem.empty(); });
  std::vector<std::string> out{fmt::format("{} verified, {} wrong", outcomes.size(), wrong)};
  if (std::any_of(outcomes.begin(), outcomes.end(),
                  [](const VerifiedSchedule& each) { return each.resources.auxiliary_ranks; }))
    out.emplace_back(
        "* servers or switches reduce: ranks may move less than the minimum without them");
  constexpr std::size_t kShown = 12;
  for (std::size_t i = 0; i < std::min(kShown, skipped.size()); ++i)
    out.push_back("skipped: " + text_of(skipped[i]));
  if (skipped.size() > kShown)
    out.push_back(fmt::format("skipped: {} more", skipped.size() - kShown));
  return out;
}

}  // namespace

Report report_of(const VerifyCollectiveRequest& request, const VerifyCollectiveResult& done) {
  Report out;
  out.schema = "lockstep.verify.collective/2";
  out.config = config_of(request, done.schedules);
  out.seed = request.seed;
  out.fingerprint = done.fingerprint;
  out.columns = columns();
  out.left_out_first = {
      "deepest_queue",     "received_of_least", "sent_of_least", "slots", "orders",
      "received_messages", "sent_messages",     "races",         "root",  "ends"};
  for (std::size_t i = 0; i < done.schedules.size(); ++i) {
    const Collective collective = done.schedules[i].collective;
    if (i == 0 || collective != done.schedules[i - 1].collective)
      out.sections.push_back({{std::string{to_string(collective)}}, {}});
    out.sections.back().rows.push_back(row_of(done.schedules[i]));
  }
  out.footer = footer_of(done.schedules, done.skipped);
  for (const ImportedSchedule& each : request.schedules)
    if (each.import.collective)
      for (const std::string& note : each.import.notes)
        out.footer.push_back(each.file + ": " + note);
  return out;
}

std::string nothing_to_verify(const std::vector<SkippedSchedule>& skipped) {
  std::string out = "nothing to verify";
  for (const SkippedSchedule& each : skipped) out += "\n  " + text_of(each);
  return out;
}

std::string refusal_text(const VerifiedSchedule& wrong) {
  std::string of =
      fmt::format("{} {}, {} ranks", to_string(wrong.collective), wrong.name, wrong.contract.ranks);
  if (has_root(wrong.collective)) of += fmt::format(", root {}", wrong.contract.root);
  return fmt::format("{}: {}", of, wrong.problem);
}

}  // namespace lockstep::cli
