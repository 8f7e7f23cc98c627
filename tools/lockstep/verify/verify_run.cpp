#include "tools/lockstep/verify/verify_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/execute/host/schedule/resources.hpp"
#include "sim/execute/host/schedule/verify.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/parallel.hpp"
#include "tools/lockstep/progress.hpp"

namespace lockstep::cli {

namespace {

/// What is executed are single-precision floats.
constexpr Bytes kFloat = 4_B;

/// One schedule to be verified.
struct Subject {
  std::string name;
  Collective collective = Collective::all_reduce;
  SchedulePtr schedule;
  Contract contract;
};

struct Outcome {
  CollectiveVerdict verdict;
  ResourceVerdict resources;
  std::string problem;  // the first; empty where all is right
};

/// A switch in every node and one above all ranks, so that algorithms that reduce in switches can
/// be had.
RankLayout layout_of(const VerifyQuestion& question, int n) {
  RankLayout layout;
  layout.per_node = question.ranks_per_node;
  std::int64_t product = 1;
  for (const int size : question.dimensions) product *= size;
  if (product == n) layout.dimensions = question.dimensions;
  layout.fabric_switches.assign(static_cast<std::size_t>(n), n);
  layout.fabric_switches.push_back(-1);
  if (layout.per_node == 1 || n % layout.per_node != 0) return layout;
  for (int rank = 0; rank < n; ++rank) layout.node_switches.push_back(n + rank / layout.per_node);
  layout.node_switches.resize(
      layout.node_switches.size() + static_cast<std::size_t>(n / layout.per_node), -1);
  return layout;
}

class Subjects {
 public:
  explicit Subjects(const VerifyQuestion& question) : question_{question} {}

  /// Throws UsageError where there is none.
  std::vector<Subject> list() {
    for (const AlgorithmSpec& spec : question_.algorithms) {
      for (const int n : question_.ranks) add_algorithm(spec, n);
    }
    for (const ImportedSchedule& imported : question_.schedules) add_schedule(imported);
    if (!subjects_.empty()) return std::move(subjects_);
    std::string text = "nothing to verify";
    for (const std::string& each : left_out_) text += "\n  " + each;
    throw UsageError(text);
  }

  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  [[nodiscard]] std::vector<int> roots(Collective collective, int n) const {
    if (!has_root(collective)) return {0};
    if (!question_.every_root) return {question_.root};
    std::vector<int> all(static_cast<std::size_t>(n));
    for (int root = 0; root < n; ++root) all[static_cast<std::size_t>(root)] = root;
    return all;
  }

  void add_algorithm(const AlgorithmSpec& spec, int n) {
    const Collective collective = spec.algorithm->collective;
    for (const int root : roots(collective, n)) {
      AlgorithmInput input;
      input.n = n;
      input.arguments = spec.arguments;
      input.root = root;
      input.layout = layout_of(question_, n);
      if (question_.count) input.size = *question_.count * kFloat;
      const std::vector<std::string> problems = validate(*spec.algorithm, input);
      if (problems.empty()) {
        SchedulePtr schedule = make_schedule(*spec.algorithm, input);
        const Contract contract = contract_of(collective, *schedule, n, root);
        add({spec.text(), collective, std::move(schedule), contract});
        continue;
      }
      left_out_.push_back(
          fmt::format("{} {} ranks: {}", to_string(collective), n, problems.front()));
      return;
    }
  }

  void add_schedule(const ImportedSchedule& imported) {
    const MscclImport& import = imported.import;
    Contract contract =
        contract_of(imported.collective, *import.schedule, import.ranks, import.root);
    if (import.collective == imported.collective) contract = *import.contract();
    add({import.name.empty() ? imported.file : import.name, imported.collective, import.schedule,
         contract});
  }

  /// What would take hours is left out.
  void add(Subject subject) {
    constexpr std::int64_t kMostMessages = 20'000'000;
    constexpr std::int64_t kMostBlocks = 4'000'000'000;
    const auto measured = measure(*subject.schedule);
    if (measured && measured->messages <= kMostMessages &&
        measured->sent_blocks <= kMostBlocks / subject.schedule->ranks()) {
      subjects_.push_back(std::move(subject));
      return;
    }
    left_out_.push_back(fmt::format("{} {} for {} ranks: too large to execute",
                                    to_string(subject.collective), subject.name,
                                    subject.contract.ranks));
  }

  const VerifyQuestion& question_;
  std::vector<Subject> subjects_;
  std::vector<std::string> left_out_;
};

Outcome judge(const VerifyQuestion& question, const Subject& subject) {
  Outcome out;
  VerifyOptions options{.seed = question.seed, .slots = question.slots, .count = question.count};
  if (question.device != nullptr) {
    options.significand = significand_bits(question.numbers.type);
    options.run = move_on_device(*question.device, question.numbers);
  }
  out.verdict = verify(*subject.schedule, subject.contract, options);
  const ExecuteOutcome& executed = out.verdict.symbols.outcome;
  if (out.verdict.impossible.empty())
    out.resources = check_resources(*subject.schedule, subject.contract, question.slots,
                                    executed.finished() ? &executed : nullptr);
  // Who waits for whom says more than who waits.
  const bool stuck = out.resources.outcome.kind == ExecuteOutcome::Kind::stuck;
  out.problem =
      stuck ? in_round(out.verdict.round, out.resources.problem()) : out.verdict.problem();
  return out;
}

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
          {"sent_of_least", "of least", "(x)"},
          {"received_messages", "received", "(x size)"},
          {"received_of_least", "of least", "(x)"},
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

Cell nothing(std::string shown = "-") {
  Cell out;
  out.text = std::move(shown);
  return out;
}

Cell yes_or_no(bool value) {
  return Cell{value, value ? "ok" : "no"};
}

Cell multiple(double value) {
  return Cell{value, fmt::format("{:.3f}", value)};
}

/// Nothing where the least is nothing; marked where it need not hold.
Cell of_least(const ResourceVerdict& resources, double value, double least) {
  if (least == 0) return nothing();
  return Cell{value / least, fmt::format("{:.3f}{}", value / least, resources.helpers ? " *" : "")};
}

void add_numbers(const NumericVerdict& numbers, bool were_run, bool adds, std::vector<Cell>& row) {
  if (!were_run) {
    row.insert(row.end(), 3, nothing());
    return;
  }
  row.emplace_back(numbers.wrong);
  row.push_back(adds ? Cell{numbers.out_of_bound} : nothing());
  row.push_back(adds ? multiple(numbers.worst) : nothing());
}

void add_resources(const ResourceVerdict& resources, std::vector<Cell>& row) {
  row.emplace_back(std::int64_t{resources.slots});
  row.push_back(yes_or_no(resources.ends()));
  row.emplace_back(resources.deepest_queue);
  row.push_back(multiple(resources.sent));
  row.push_back(of_least(resources, resources.sent, resources.least.sent));
  row.push_back(multiple(resources.received));
  row.push_back(of_least(resources, resources.received, resources.least.received));
  row.push_back(multiple(resources.sent_by_helper));
  row.push_back(multiple(resources.received_by_helper));
}

/// The first wrong rank, chunk and round, and in an imported schedule the lane and step.
void add_place(const CollectiveVerdict& verdict, std::vector<Cell>& row) {
  const std::optional<WrongChunk> wrong = verdict.first_wrong();
  const Cell round = verdict.round ? Cell{*verdict.round} : nothing();
  if (!wrong) {
    row.insert(row.end(), {nothing(), nothing(), nothing(), round, nothing(), nothing()});
    return;
  }
  row.emplace_back(std::int64_t{wrong->rank});
  row.emplace_back(wrong->chunk.first);
  row.emplace_back(wrong->chunk.count);
  row.push_back(round);
  row.push_back(wrong->written ? Cell{std::int64_t{wrong->written->lane}} : nothing());
  row.push_back(wrong->written ? Cell{wrong->written->step} : nothing());
}

std::vector<Cell> row_of(const Subject& subject, const Outcome& outcome) {
  const CollectiveVerdict& verdict = outcome.verdict;
  const bool rooted = has_root(subject.collective);
  const bool were_run = verdict.numbers.outcome.transfers > 0 || verdict.numbers.right();
  std::vector<Cell> row{
      Cell{std::string{to_string(subject.collective)}},
      Cell{subject.name},
      Cell{std::int64_t{subject.contract.ranks}},
      rooted ? Cell{std::int64_t{subject.contract.root}} : nothing(),
      Cell{std::int64_t{subject.schedule->ranks() - subject.contract.ranks}},
      Cell{std::int64_t{subject.schedule->lanes()}},
      Cell{subject.schedule->blocks()},
      Cell{verdict.numbers.count},
      yes_or_no(verdict.symbols.right() && verdict.impossible.empty()),
      Cell{verdict.symbols.orders},
      verdict.races.complete ? Cell{verdict.races.count} : nothing("?"),
  };
  const bool has_numbers = subject.collective != Collective::barrier && verdict.impossible.empty();
  add_numbers(verdict.numbers, has_numbers && were_run, reduces(subject.collective), row);
  add_resources(outcome.resources, row);
  row.emplace_back(outcome.problem.empty());
  row.emplace_back(outcome.problem, outcome.problem.empty() ? "ok" : outcome.problem);
  add_place(verdict, row);
  return row;
}

std::string config_of(const VerifyQuestion& question, const std::vector<Subject>& subjects) {
  nlohmann::ordered_json config;
  auto& algorithms = config["algorithms"] = nlohmann::ordered_json::array();
  for (const AlgorithmSpec& spec : question.algorithms)
    algorithms.push_back(fmt::format("{} {}", to_string(spec.algorithm->collective), spec.text()));
  auto& schedules = config["schedules"] = nlohmann::ordered_json::array();
  for (const ImportedSchedule& each : question.schedules) schedules.push_back(each.file);
  config["ranks"] = question.ranks;
  config["ranks_per_node"] = question.ranks_per_node;
  config["dimensions"] = question.dimensions;
  config["root"] =
      question.every_root ? nlohmann::ordered_json{"all"} : nlohmann::ordered_json{question.root};
  config["count"] =
      question.count ? nlohmann::ordered_json{*question.count} : nlohmann::ordered_json{};
  config["slots"] =
      question.slots ? nlohmann::ordered_json{*question.slots} : nlohmann::ordered_json{};
  config["verified"] = subjects.size();
  // A file's name may be any bytes; JSON's texts are UTF-8.
  return config.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// The right ones and the wrong ones, counted; what the marks mean; what was left out.
std::vector<std::string> footer_of(const std::vector<Outcome>& outcomes,
                                   const std::vector<std::string>& left_out) {
  const auto wrong = std::count_if(outcomes.begin(), outcomes.end(),
                                   [](const Outcome& each) { return !each.problem.empty(); });
  std::vector<std::string> out{fmt::format("{} verified, {} wrong", outcomes.size(), wrong)};
  if (std::any_of(outcomes.begin(), outcomes.end(),
                  [](const Outcome& each) { return each.resources.helpers; }))
    out.emplace_back(
        "* servers or switches add up on the way: ranks may move less than the least that holds "
        "where they add up themselves");
  constexpr std::size_t kShown = 12;
  for (std::size_t i = 0; i < std::min(kShown, left_out.size()); ++i)
    out.push_back("left out: " + left_out[i]);
  if (left_out.size() > kShown)
    out.push_back(fmt::format("left out: {} more", left_out.size() - kShown));
  return out;
}

std::string refusal_of(const std::vector<Subject>& subjects, const std::vector<Outcome>& outcomes) {
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (outcomes[i].problem.empty()) continue;
    const Subject& subject = subjects[i];
    std::string text = fmt::format("{} {}, {} ranks", to_string(subject.collective), subject.name,
                                   subject.contract.ranks);
    if (has_root(subject.collective)) text += fmt::format(", root {}", subject.contract.root);
    return fmt::format("{}: {}", text, outcomes[i].problem);
  }
  return {};
}

void fingerprint_of(const std::vector<Outcome>& outcomes, Report& report) {
  Fingerprint fingerprint;
  for (const Outcome& outcome : outcomes) {
    fingerprint.add(outcome.problem.empty() ? 1 : 0);
    fingerprint.add(outcome.verdict.symbols.outcome.transfers);
    fingerprint.add(std::llround(outcome.verdict.numbers.worst * 1e9));
    fingerprint.add(outcome.resources.deepest_queue);
    for (const std::int64_t sent : outcome.resources.outcome.traffic.sent) fingerprint.add(sent);
  }
  report.fingerprint = fingerprint.text();
}

}  // namespace

VerifyAnswer run_verify(const VerifyQuestion& question) {
  Subjects listing(question);
  const std::vector<Subject> subjects = listing.list();
  std::vector<Outcome> outcomes(subjects.size());
  Progress progress("verify", subjects.size());
  const auto judge_one = [&](std::size_t i) {
    outcomes[i] = judge(question, subjects[i]);
    progress.step();
  };
  if (question.device == nullptr) {
    in_parallel(subjects.size(), judge_one);
  } else {  // one after the other: they share the device
    for (std::size_t i = 0; i < subjects.size(); ++i) judge_one(i);
  }
  VerifyAnswer answer;
  Report& report = answer.report;
  report.schema = "lockstep.verify.collective/2";
  report.config = config_of(question, subjects);
  report.seed = question.seed;
  report.columns = columns();
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (i == 0 || subjects[i].collective != subjects[i - 1].collective)
      report.sections.push_back({{std::string{to_string(subjects[i].collective)}}, {}});
    report.sections.back().rows.push_back(row_of(subjects[i], outcomes[i]));
  }
  fingerprint_of(outcomes, report);
  report.footer = footer_of(outcomes, listing.left_out());
  for (const ImportedSchedule& each : question.schedules)
    if (each.import.collective)
      for (const std::string& note : each.import.notes)
        report.footer.push_back(each.file + ": " + note);
  answer.refusal = refusal_of(subjects, outcomes);
  return answer;
}

}  // namespace lockstep::cli
