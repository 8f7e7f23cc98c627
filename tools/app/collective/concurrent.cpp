#include "tools/app/collective/concurrent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/config/did_you_mean.hpp"
#include "sim/config/reader.hpp"
#include "strategies/collectives/placement/chunk_search.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/app/collective/setup/replay_limit.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/parallel.hpp"

namespace lockstep::app {

namespace {

constexpr std::int64_t kMostRepeats = 10'000;
constexpr std::size_t kMostCollectives = 1000;

std::vector<EndpointId> read_listed_ranks(const ValueReader& value) {
  std::vector<EndpointId> out;
  value.array(
      [&](const ValueReader& rank) {
        const auto id = static_cast<EndpointId>(rank.integer(0, kMostRanks - 1));
        if (std::find(out.begin(), out.end(), id) != out.end())
          rank.note(fmt::format("rank {} is listed twice", id));
        out.push_back(id);
      },
      1, 100'000);
  return out;
}

std::vector<EndpointId> read_ranks(const ValueReader& value) {
  if (value.is_array() || value.describes()) {
    auto listed = read_listed_ranks(value);
    value.refine("uniqueItems", "true");
    if (!value.describes()) return listed;
  }
  return value.object([](ObjectReader& in) {
    const std::int64_t first = in.integer({"first", "Default: 0"}, 0, kMostRanks - 1, 0);
    const std::int64_t count = in.integer("count", 1, kMostRanks);
    const std::int64_t stride =
        in.integer({"stride", "From one to the next (default: 1)"}, 1, kMostRanks, 1);
    std::vector<EndpointId> out;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t rank = first + i * stride;
      if (rank >= kMostRanks) break;
      out.push_back(static_cast<EndpointId>(rank));
    }
    return out;
  });
}

AlgorithmSpec read_algorithm(const ValueReader& value, Collective collective) {
  ParsedSpecs parsed = parse_specs(value.string(), collective);
  if (!parsed.errors.empty()) {
    value.note(parsed.errors.front().message);
  } else if (parsed.specs.size() != 1) {
    value.note("expected one algorithm");
  } else {
    return std::move(parsed.specs.front());
  }
  return {find_algorithm(collective, algorithm_names(collective).front()), {}};
}

ConcurrentCollective read_job(ObjectReader& in, std::size_t index) {
  std::vector<std::string_view> names;
  for (const Collective each : collectives()) names.push_back(to_string(each));
  ConcurrentCollective job;
  job.collective = parse_collective(in.one_of("collective", "collective", names)).value();
  if (const auto algorithm = in.optional(
          {"algorithm",
           "Algorithm with parameters, e.g. ring:channels=2 (default: ring if present)"})) {
    job.spec = read_algorithm(*algorithm, job.collective);
  } else {
    const CollectiveAlgorithm* ring = find_algorithm(job.collective, "ring");
    job.spec.algorithm =
        ring != nullptr ? ring
                        : find_algorithm(job.collective, algorithm_names(job.collective).front());
  }
  job.size = in.bytes({"size", "Of the message, such as \"64 MiB\""});
  if (const auto ranks =
          in.optional({"ranks", "Who takes part, in this order (default: all of the cluster)"}))
    job.ranks = read_ranks(*ranks);
  job.start =
      in.duration({"start", "When it begins, such as \"2 us\" (default: at once)"}, Duration{});
  job.repeat =
      in.integer({"repeat", "So often, one after the other (default: 1)"}, 1, kMostRepeats, 1);
  if (const auto root = in.optional({"root", "Counted among those who take part (default: 0)"})) {
    job.root = static_cast<int>(root->integer(0, kMostRanks - 1));
    if (!has_root(job.collective))
      root->note(fmt::format("{} has no root", to_string(job.collective)));
  }
  job.traffic_weight = static_cast<TrafficWeight>(
      in.integer({"traffic_weight", "Relative share of links that others use too (default: 1)"}, 1,
                 kMostTrafficWeight, 1));
  job.name =
      in.string({"name", "For the table (default: the collective and its place in the list)"},
                fmt::format("{} {}", to_string(job.collective), index));
  return job;
}

std::vector<ConcurrentCollective> read_jobs(ObjectReader& in) {
  std::vector<ConcurrentCollective> jobs;
  in.array(
      "collectives",
      [&](const ValueReader& value) {
        jobs.push_back(value.object([&](ObjectReader& one) { return read_job(one, jobs.size()); }));
      },
      1, kMostCollectives);
  return jobs;
}

/// A schedule for its times alone: which buffer has the result does not matter.
class ForTimes final : public Schedule {
 public:
  explicit ForTimes(SchedulePtr of) : of_{std::move(of)} {}

  [[nodiscard]] int ranks() const override { return of_->ranks(); }
  [[nodiscard]] int lanes() const override { return of_->lanes(); }
  [[nodiscard]] int slots() const override { return of_->slots(); }
  [[nodiscard]] std::int64_t blocks() const override { return of_->blocks(); }
  [[nodiscard]] std::int64_t scratch_blocks(int rank) const override {
    return of_->scratch_blocks(rank);
  }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return of_->steps(rank, lane);
  }
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    of_->step(rank, lane, index, step);
  }
  [[nodiscard]] std::vector<lockstep::Phase> phases() const override { return of_->phases(); }

 private:
  SchedulePtr of_;
};

/// Switches and hosts that the jobs need in addition to the ranks. Hosts have to be built along
/// with the cluster, before its ranks are known.
CollectiveSetup::Wants wants_of(const std::vector<ConcurrentCollective>& jobs) {
  constexpr int kManyRanks = 1 << 20;
  CollectiveSetup::Wants out;
  for (const ConcurrentCollective& job : jobs) {
    const CollectiveAlgorithm& row = *job.spec.algorithm;
    if (row.auxiliary_ranks == AuxiliaryRanks::none) continue;
    if (row.auxiliary_ranks != AuxiliaryRanks::hosts) {
      out.switches = true;
      continue;
    }
    const int ranks = job.ranks.empty() ? kManyRanks : static_cast<int>(job.ranks.size());
    const AlgorithmInput many{ranks, job.spec.arguments};
    if (validate(row, many).empty()) out.hosts = std::max(out.hosts, auxiliary_ranks_of(row, many));
  }
  return out;
}

class Concurrent {
 public:
  Concurrent(const std::string& file, const CollectiveRequest& request)
      : file_{file},
        request_{request},
        jobs_{read_config(file, read_jobs)},
        setup_{std::make_shared<const CollectiveSetup>(request.cluster, request.network,
                                                       wants_of(jobs_))} {
    std::vector<RequestProblem> problems;
    for (ConcurrentCollective& job : jobs_) place(job, problems);
    if (!problems.empty()) throw RequestError(std::move(problems));
    set_ranks();
  }

  /// All together take the most memory.
  ConcurrentReport run() {
    std::vector<std::size_t> all(jobs_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    refuse_large(all);
    std::vector<Played> played(jobs_.size() + 1);
    ProgressCounter progress(request_.on_progress, played.size());
    in_parallel(played.size(), [&](std::size_t i) {
      std::vector<std::size_t> chosen;
      for (std::size_t j = 0; j < jobs_.size(); ++j)
        if (i == jobs_.size() || i == j) chosen.push_back(j);
      played[i] = play(chosen);
      progress.step();
    });
    ConcurrentReport out;
    Fingerprint fingerprint;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const Duration together = played.back().times[j];
      out.collectives.push_back({jobs_[j], layouts_[j].size, played[j].times.front(), together});
      fingerprint.add(together.ps());
    }
    out.fold = std::move(played.back().fold);
    out.setup = setup_;
    out.fingerprint = fingerprint.text();
    return out;
  }

 private:
  /// Why a job cannot have the switches or hosts that it needs; empty if it can.
  [[nodiscard]] std::string problem_of_auxiliaries(const CollectiveAlgorithm& row,
                                                   const AlgorithmInput& input,
                                                   const PlacedCommunicator& by) const {
    const int number = auxiliary_ranks_of(row, input);
    if (!by.members(row.auxiliary_ranks, number).empty())
      return setup_->unreachable(by, row.auxiliary_ranks, number);
    return fmt::format(
        "{} needs {} {} in addition to its {} ranks, which this cluster lacks", row.name, number,
        row.auxiliary_ranks == AuxiliaryRanks::hosts ? "hosts" : "switches", input.n);
  }

  /// Notes what the cluster cannot have.
  void place(ConcurrentCollective& job, std::vector<RequestProblem>& problems) {
    const auto refuse = [&](const std::string& why) {
      problems.push_back({{}, fmt::format("{}: {}: {}", file_, job.name, why)});
    };
    if (job.traffic_weight != 1 && setup_->model() == NetworkModel::queue)
      return refuse("traffic_weight requires --network fluid or alpha-beta");
    if (job.ranks.empty()) job.ranks = setup_->members(AuxiliaryRanks::none, 0);
    for (const EndpointId rank : job.ranks)
      if (rank >= static_cast<EndpointId>(setup_->ranks()))
        return refuse(
            fmt::format("there is no rank {}; the cluster has {}", rank, setup_->ranks()));
    const PlacedCommunicator by = setup_->communicator_of(job.ranks);
    AlgorithmInput input = by.input(job.spec.arguments, job.root, job.size);
    const CollectiveAlgorithm& row = *job.spec.algorithm;
    for (const std::string& problem : validate(row, input)) return refuse(problem);
    if (const std::string problem = problem_of_auxiliaries(row, input, by); !problem.empty())
      return refuse(problem);
    input = ChunkSearch{setup_->model()}.with_best_chunks(row, std::move(input), by);
    schedules_.push_back(make_schedule(row, input));
    members_.push_back(by.members(row.auxiliary_ranks, schedules_.back()->ranks() - input.n));
    layouts_.push_back(divide_message(job.size, *request_.type, schedules_.back()->blocks()));
  }

  [[nodiscard]] bool takes_part(EndpointId rank) const {
    return std::any_of(jobs_.begin(), jobs_.end(), [rank](const ConcurrentCollective& job) {
      return std::find(job.ranks.begin(), job.ranks.end(), rank) != job.ranks.end();
    });
  }

  /// Ranks with parameters of their own. Single ones take part; of others that are named, drawn
  /// ones for instance, some may not.
  void set_ranks() {
    const std::vector<RankSetting> settings =
        rank_settings(request_.ranks, setup_->ranks(), request_.cluster.seed, setup_->network())
            .ranks;
    for (const RankSettingRange& each : request_.ranks)
      if (each.ranks.is_single() &&
          !takes_part(static_cast<EndpointId>(each.ranks.intervals[0].first)))
        throw RequestError(fmt::format("set_rank {}", each.ranks.text),
                           fmt::format("takes part in no collective of {}", file_));
    if (settings.empty()) return;
    changed_ = setup_->network();
    apply(settings, *changed_);
    for (const RankSetting& each : settings)
      if (each.start) starts_.emplace(static_cast<EndpointId>(each.rank), *each.start);
  }

  [[nodiscard]] const Network& network() const { return changed_ ? *changed_ : setup_->network(); }

  /// When a member begins a collective: at its start, a rank with one of its own not before that,
  /// others later by what --skew draws for them. Switches and hosts begin at once.
  [[nodiscard]] Duration start_of(const ConcurrentCollective& job, EndpointId member) const {
    const auto own = starts_.find(member);
    if (own != starts_.end()) return std::max(job.start, own->second);
    if (member >= static_cast<EndpointId>(setup_->ranks())) return job.start;
    return job.start + skew_of(request_.cluster.seed, member, request_.skew);
  }

  struct Played {
    std::vector<Duration> times{};  // from its start to its end, of each chosen job
    FoldReport fold{};
  };

  [[nodiscard]] Played play(const std::vector<std::size_t>& chosen) const {
    FoldOptions options;
    options.fold = request_.fold;
    options.step_ends = request_.step_ends && chosen.size() == jobs_.size();
    FoldedReplay replayed = replay_folded(network(), workload_of(chosen), setup_->model(), options);
    const ReplayResult& result = replayed.result;
    if (!result.unfinished.empty()) throw Refusal(result.unfinished.front().text);
    Played out;
    std::size_t call = 0;
    for (const std::size_t j : chosen) {
      call += static_cast<std::size_t>(calls_of(j)) - 1;  // of several in turn, the last
      const std::vector<TimePoint>& ends = result.call_ends[call++];
      const TimePoint end = *std::max_element(ends.begin(), ends.end());
      out.times.push_back(end.since_start() - jobs_[j].start);
    }
    out.fold = std::move(replayed.report);
    return out;
  }

  void refuse_large(const std::vector<std::size_t>& all) const {
    const Workload workload = workload_of(all);
    if (!workload.streams.empty()) {
      return refuse_large_streams(
          network(), workload,
          {file_, static_cast<std::size_t>(setup_->ranks()), "lockstep collective"},
          request_.most_memory);
    }
    FoldOptions options;
    options.fold = request_.fold;
    refuse_large_replay(network(), workload, setup_->model(), options, request_.most_memory);
  }

  /// Collectives that are repeated are one call of a schedule that repeats theirs, unless slots,
  /// which a connection of each call has for itself, would be shared.
  [[nodiscard]] std::int64_t calls_of(std::size_t j) const {
    return schedules_[j]->slots() == 0 ? 1 : jobs_[j].repeat;
  }

  /// In streams, which are not folded, where one of the jobs needs them.
  [[nodiscard]] Workload workload_of(const std::vector<std::size_t>& chosen) const {
    Workload out;
    const bool in_streams = std::any_of(chosen.begin(), chosen.end(),
                                        [this](std::size_t j) { return calls_of(j) > 1; });
    for (const std::size_t j : chosen) {
      add_calls(j, in_streams, out);
      if (in_streams) add_streams(j, out);
    }
    return out;
  }

  [[nodiscard]] SchedulePtr schedule_of_call(std::size_t j) const {
    const SchedulePtr& once = schedules_[j];
    if (jobs_[j].repeat == 1 || calls_of(j) > 1) return once;
    const Stage stage{.part = std::make_shared<const ForTimes>(once), .members = once->ranks()};
    return in_sequence(once->ranks(), once->blocks(),
                       std::vector<Stage>(static_cast<std::size_t>(jobs_[j].repeat), stage));
  }

  void add_calls(std::size_t j, bool in_streams, Workload& workload) const {
    const ConcurrentCollective& job = jobs_[j];
    const SchedulePtr schedule = schedule_of_call(j);
    for (std::int64_t k = 0; k < calls_of(j); ++k) {
      CollectiveCall& call = workload.calls.emplace_back();
      call.name = job.name;
      call.schedule = schedule;
      call.members = members_[j];
      call.block = layouts_[j].block;
      call.traffic_weight = job.traffic_weight;
      const bool at_zero = job.start == Duration{} && request_.skew == Duration{} &&
                           std::none_of(job.ranks.begin(), job.ranks.end(),
                                        [this](EndpointId r) { return starts_.contains(r); });
      if (in_streams || at_zero) continue;
      for (const EndpointId member : members_[j]) call.starts.emplace_back(start_of(job, member));
    }
  }

  /// A stream for every member: waits for the start, then calls one collective after the other.
  void add_streams(std::size_t j, Workload& workload) const {
    const ConcurrentCollective& job = jobs_[j];
    const auto end = static_cast<std::uint32_t>(workload.calls.size());
    for (std::size_t m = 0; m < members_[j].size(); ++m) {
      Stream stream{members_[j][m], job.name, {}};
      Activity wait;
      wait.duration = start_of(job, members_[j][m]);
      stream.operations.push_back(wait);
      for (auto k = end - static_cast<std::uint32_t>(calls_of(j)); k < end; ++k) {
        Activity call;
        call.kind = Activity::Kind::collective;
        call.call = k;
        call.member = static_cast<std::uint32_t>(m);
        stream.operations.push_back(call);
      }
      workload.streams.push_back(std::move(stream));
    }
  }

  const std::string& file_;
  const CollectiveRequest& request_;
  std::vector<ConcurrentCollective> jobs_;
  std::shared_ptr<const CollectiveSetup> setup_;
  std::optional<Network> changed_;                   // none: the setup's
  std::unordered_map<EndpointId, Duration> starts_;  // of ranks with one of their own
  // By collective.
  std::vector<SchedulePtr> schedules_;
  std::vector<std::vector<EndpointId>> members_;  // the ranks, then switches or hosts
  std::vector<MessageLayout> layouts_;
};

}  // namespace

ConcurrentReport run_concurrent(const std::string& file, const CollectiveRequest& request) {
  return Concurrent(file, request).run();
}

JsonValue concurrent_schema() {
  return schema_of("concurrent collectives",
                   "Collectives that share a cluster, for `lockstep collective --concurrent FILE`.",
                   read_jobs);
}

}  // namespace lockstep::app
