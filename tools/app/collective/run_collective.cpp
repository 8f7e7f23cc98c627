#include "tools/app/collective/run_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "sim/engine/link_load.hpp"
#include "sim/execute/schedule_checks/numeric.hpp"
#include "tools/app/collective/bounds.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/parallel.hpp"
#include "topologies/routing/lower.hpp"

namespace lockstep::app {

namespace {

/// Lower bounds by collective and who takes part; made once for each.
class Bounds {
 public:
  explicit Bounds(const CollectiveRunner& runner) : runner_{runner} {}

  [[nodiscard]] LowerBound at(const Contract& contract, const CollectiveRun& prepared) {
    const Key key{contract.collective,      contract.root,           contract.distance,
                  prepared.auxiliary_ranks, prepared.members.size(), prepared.network};
    const std::lock_guard lock(mutex_);
    auto found = bounds_.find(key);
    if (found == bounds_.end()) found = bounds_.emplace(key, made(contract, prepared)).first;
    return found->second.at(prepared.layout.size);
  }

 private:
  using Key =
      std::tuple<Collective, int, int, AuxiliaryRanks, std::size_t, std::shared_ptr<const Network>>;

  [[nodiscard]] CollectiveBound made(const Contract& contract,
                                     const CollectiveRun& prepared) const {
    return bound_on(runner_.setup(), *runner_.network_of(prepared),
                    {contract.collective, prepared.members, prepared.auxiliary_ranks, contract.root,
                     contract.distance});
  }

  const CollectiveRunner& runner_;
  std::mutex mutex_;
  std::map<Key, CollectiveBound> bounds_;
};

class Run {
 public:
  explicit Run(const CollectiveRequest& request)
      : request_{request},
        setup_{setup_for(request)},
        runner_{*setup_, request.runner_options()},
        bounds_{runner_} {
    out_.setup = setup_;
    out_.candidates = allowed(request, runner_, out_.left_out);
    out_.sizes = request.sizes;
    if (request.load)
      single_ = lower(setup_->cluster(), setup_->loaded().device.endpoint(), RoutePolicy::shortest);
  }

  CollectiveReport run() {
    out_.rows.resize(out_.candidates.size() * out_.sizes.size());
    for (const std::string& refusal : play_all())
      if (!refusal.empty()) throw Refusal(refusal);
    mark_fastest();
    Fingerprint fingerprint;
    for (const CollectiveRow& row : out_.rows)
      for (const char digit : row.result.fingerprint) fingerprint.add(digit);
    out_.fingerprint = fingerprint.text();
    return std::move(out_);
  }

 private:
  /// Why rows cannot be so; empty for those that can.
  [[nodiscard]] std::vector<std::string> play_all() {
    const std::vector<Candidate>& candidates = out_.candidates;
    const std::vector<Bytes>& sizes = out_.sizes;
    if (out_.rows.size() == 1)
      return {play(candidates[0], sizes[0], out_.rows[0], request_.on_phase)};
    std::vector<std::string> refusals(out_.rows.size());
    ProgressCounter progress(request_.on_progress, parts());
    in_parallel(out_.rows.size(), [&](std::size_t part) {
      // Every candidate at one size first: then what the others take can be estimated.
      const Candidate& candidate = candidates[part % candidates.size()];
      const std::size_t size = part / candidates.size();
      const std::size_t i = part % candidates.size() * sizes.size() + size;
      const std::string name = fmt::format("{} at {}", candidate.text(), to_string(sizes[size]));
      const OnPhase during = [&](const Phase& now) {
        if (now.share > 0) progress.during(part, now.share, name);
      };
      progress.run(part, [&] { refusals[i] = play(candidate, sizes[size], out_.rows[i], during); });
    });
    return refusals;
  }

  [[nodiscard]] std::vector<WorkPart> parts() const {
    std::vector<WorkPart> out;
    for (std::size_t i = 0; i < out_.rows.size(); ++i) out.push_back({i % out_.candidates.size()});
    return out;
  }

  /// Why it cannot be so; empty if it can.
  [[nodiscard]] std::string play(const Candidate& candidate, Bytes size, CollectiveRow& out,
                                 const OnPhase& on_phase) {
    const auto begin = [&on_phase](const char* phase) {
      if (on_phase) on_phase({phase});
    };
    begin("preparing the schedule");
    out.run = runner_.prepare(candidate, size);
    out.result = runner_.replay(candidate, out.run, on_phase);
    begin("counting rounds");
    out.counts = runner_.counts_of(candidate, out.run, out.result);
    begin("computing the lower bound");
    out.bound = bound_on_run(bounds_.at(runner_.contract_of(candidate, *out.run.schedule), out.run),
                             out.result.time, out.result.messages);
    if (request_.load && out.run.auxiliary_ranks != AuxiliaryRanks::node_switches &&
        out.run.auxiliary_ranks != AuxiliaryRanks::fabric_switches)
      out.load = busiest_link_load(*out.run.schedule, single_, out.run.members);
    if (!out.result.unfinished.empty() || !request_.check) return out.result.unfinished;
    begin("checking the result on numbers");
    return check(candidate, out);
  }

  [[nodiscard]] std::string check(const Candidate& candidate, CollectiveRow& out) const {
    const Schedule& schedule = *out.run.schedule;
    const Contract contract = runner_.contract_of(candidate, schedule);
    const NumericVerdict checked =
        check_numbers(schedule, contract, out.run.layout.count, {.seed = request_.cluster.seed});
    out.wrong = checked.wrong + checked.out_of_bound;
    if (checked.right()) return {};
    return fmt::format("{} at {} bytes: {}", candidate.text(), out.run.layout.size.count(),
                       checked.problem());
  }

  void mark_fastest() {
    const std::size_t sizes = out_.sizes.size();
    for (std::size_t s = 0; s < sizes; ++s) {
      std::map<Collective, CollectiveRow*> best;
      for (std::size_t c = 0; c < out_.candidates.size(); ++c) {
        CollectiveRow& row = out_.rows[c * sizes + s];
        CollectiveRow*& leader = best[out_.candidates[c].collective];
        if (leader == nullptr || row.result.time < leader->result.time) leader = &row;
      }
      for (const auto& [collective, row] : best) row->fastest = true;
    }
  }

  const CollectiveRequest& request_;
  std::shared_ptr<const CollectiveSetup> setup_;
  CollectiveRunner runner_;
  Bounds bounds_;
  CollectiveReport out_;
  Network single_;  // for loads: single shortest paths
};

}  // namespace

std::shared_ptr<const CollectiveSetup> setup_for(const CollectiveRequest& request) {
  constexpr int kManyRanks = 1 << 20;
  CollectiveSetup::Wants wants;
  for (const Candidate& each : request.candidates) {
    if (each.kind != Candidate::Kind::algorithm || request.every_row) wants.switches = true;
    if (each.kind != Candidate::Kind::algorithm) continue;
    const CollectiveAlgorithm& row = *each.spec.algorithm;
    wants.switches = wants.switches || row.auxiliary_ranks == AuxiliaryRanks::node_switches ||
                     row.auxiliary_ranks == AuxiliaryRanks::fabric_switches;
    // Hosts have to be built along with the cluster, before its ranks are known; problems() has
    // the last word on what is too many.
    const AlgorithmInput many{kManyRanks, each.spec.arguments};
    if (row.auxiliary_ranks == AuxiliaryRanks::hosts && validate(row, many).empty())
      wants.hosts = std::max(wants.hosts, auxiliary_ranks_of(row, many));
  }
  if (request.every_row) wants.hosts = 0;
  return std::make_shared<const CollectiveSetup>(request.cluster, request.network, wants);
}

std::vector<Candidate> allowed(const CollectiveRequest& request, const CollectiveRunner& runner,
                               std::vector<RequestProblem>& left_out) {
  std::vector<Candidate> out;
  for (const Candidate& each : request.candidates) {
    std::vector<RequestProblem> problems = runner.problems(each);
    // One alone is refused when it is replayed, in more words.
    if (problems.empty() && request.candidates.size() > 1 && !request.sizes.empty())
      problems = runner.memory_problems(each, request.sizes.back());
    if (problems.empty()) out.push_back(each);
    std::move(problems.begin(), problems.end(), std::back_inserter(left_out));
  }
  if (out.empty()) throw RequestError(left_out);
  return out;
}

CollectiveReport run_collective(const CollectiveRequest& request) {
  return Run(request).run();
}

}  // namespace lockstep::app
