#include "tools/app/verify/verify_run.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/execute/schedule_checks/resources.hpp"
#include "sim/execute/schedule_checks/verify.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/parallel.hpp"

namespace lockstep::app {

namespace {

/// What is executed are single-precision floats.
constexpr Bytes kFloat = 4_B;

/// A switch in every node and one above all ranks, so that algorithms that reduce in switches can
/// be had; numbers do not depend on the links, so that NVLink may lead everywhere.
RankLayout layout_of(const VerifyCollectiveRequest& request, int n) {
  RankLayout layout;
  layout.per_node = request.ranks_per_node;
  layout.nvlink_domain = true;
  std::int64_t product = 1;
  for (const int size : request.dimensions) product *= size;
  if (product == n) layout.dimensions = request.dimensions;
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
  explicit Subjects(const VerifyCollectiveRequest& request) : request_{request} {}

  std::vector<VerifiedSchedule> list() {
    for (const AlgorithmSpec& spec : request_.algorithms) {
      for (const int n : request_.ranks) add_algorithm(spec, n);
    }
    for (const ImportedSchedule& imported : request_.schedules) add_schedule(imported);
    return std::move(subjects_);
  }

  [[nodiscard]] const std::vector<SkippedSchedule>& skipped() const { return skipped_; }

 private:
  [[nodiscard]] std::vector<int> roots(Collective collective, int n) const {
    if (!has_root(collective)) return {0};
    if (!request_.every_root) {
      check_root(collective, request_.root, n);
      return {request_.root};
    }
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
      input.layout = layout_of(request_, n);
      if (request_.count) input.size = *request_.count * kFloat;
      std::vector<AlgorithmProblem> problems = algorithm_problems(*spec.algorithm, input);
      if (problems.empty()) {
        SchedulePtr schedule = make_schedule(*spec.algorithm, input);
        const Contract contract = contract_of(collective, *schedule, n, root);
        add(spec.text(), collective, std::move(schedule), contract);
        continue;
      }
      skipped_.push_back({collective, spec.text(), n, std::move(problems.front())});
      return;
    }
  }

  void add_schedule(const ImportedSchedule& imported) {
    const MscclImport& import = imported.import;
    Contract contract =
        contract_of(imported.collective, *import.schedule, import.ranks, import.root);
    if (import.collective == imported.collective) contract = *import.contract();
    add(import.name.empty() ? imported.file : import.name, imported.collective, import.schedule,
        contract);
  }

  /// What would take hours is left out.
  void add(std::string name, Collective collective, SchedulePtr schedule,
           const Contract& contract) {
    VerifiedSchedule subject;
    subject.name = std::move(name);
    subject.collective = collective;
    subject.schedule = std::move(schedule);
    subject.contract = contract;
    constexpr std::int64_t kMostMessages = 20'000'000;
    constexpr std::int64_t kMostBlocks = 4'000'000'000;
    const auto measured = measure(*subject.schedule);
    if (measured && measured->messages <= kMostMessages &&
        measured->sent_blocks <= kMostBlocks / subject.schedule->ranks()) {
      subjects_.push_back(std::move(subject));
      return;
    }
    skipped_.push_back({subject.collective, std::move(subject.name), subject.contract.ranks});
  }

  const VerifyCollectiveRequest& request_;
  std::vector<VerifiedSchedule> subjects_;
  std::vector<SkippedSchedule> skipped_;
};

void judge(const VerifyCollectiveRequest& request, VerifiedSchedule& out) {
  VerifyOptions options{.seed = request.seed, .slots = request.slots, .count = request.count};
  if (request.device != nullptr) {
    options.significand = significand_bits(request.numbers.type);
    options.run = move_on_device(*request.device, request.numbers);
  }
  out.verdict = verify(*out.schedule, out.contract, options);
  const ExecuteOutcome& executed = out.verdict.symbols.outcome;
  if (out.verdict.impossible.empty())
    out.resources = check_resources(*out.schedule, out.contract, request.slots,
                                    executed.finished() ? &executed : nullptr);
  // Who waits for whom says more than who waits.
  const bool stuck = out.resources.outcome.kind == ExecuteOutcome::Kind::stuck;
  out.problem =
      stuck ? in_round(out.verdict.round, out.resources.problem()) : out.verdict.problem();
}

std::string fingerprint_of(const std::vector<VerifiedSchedule>& schedules) {
  Fingerprint fingerprint;
  for (const VerifiedSchedule& each : schedules) {
    fingerprint.add(each.problem.empty() ? 1 : 0);
    fingerprint.add(each.verdict.symbols.outcome.transfers);
    fingerprint.add(std::llround(each.verdict.numbers.worst * 1e9));
    fingerprint.add(each.resources.deepest_queue);
    for (const std::int64_t sent : each.resources.outcome.traffic.sent) fingerprint.add(sent);
  }
  return fingerprint.text();
}

}  // namespace

const VerifiedSchedule* VerifyCollectiveResult::first_wrong() const {
  const auto found =
      std::find_if(schedules.begin(), schedules.end(),
                   [](const VerifiedSchedule& each) { return !each.problem.empty(); });
  return found == schedules.end() ? nullptr : &*found;
}

VerifyCollectiveResult verify_collective(const VerifyCollectiveRequest& request) {
  Subjects listing(request);
  VerifyCollectiveResult out;
  out.schedules = listing.list();
  out.skipped = listing.skipped();
  ProgressCounter progress(request.on_progress, out.schedules.size());
  const auto judge_one = [&](std::size_t i) {
    judge(request, out.schedules[i]);
    progress.step();
  };
  if (request.device == nullptr) {
    in_parallel(out.schedules.size(), judge_one);
  } else {  // one after the other: they share the device
    for (std::size_t i = 0; i < out.schedules.size(); ++i) judge_one(i);
  }
  out.fingerprint = fingerprint_of(out.schedules);
  return out;
}

}  // namespace lockstep::app
