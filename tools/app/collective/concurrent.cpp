#include "tools/app/collective/concurrent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/config/did_you_mean.hpp"
#include "sim/config/reader.hpp"
#include "strategies/collectives/placement/chunk_search.hpp"
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

class Concurrent {
 public:
  Concurrent(const std::string& file, const CollectiveRequest& request)
      : file_{file},
        request_{request},
        jobs_{read_config(file, read_jobs)},
        setup_{std::make_shared<const CollectiveSetup>(request.cluster, request.network,
                                                       CollectiveSetup::Wants{})} {
    std::vector<RequestProblem> problems;
    for (ConcurrentCollective& job : jobs_) place(job, problems);
    if (!problems.empty()) throw RequestError(std::move(problems));
  }

  /// All together take the most memory.
  ConcurrentReport run() {
    std::vector<std::size_t> all(jobs_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    refuse_large_streams(setup_->network(), workload_of(all),
                         {file_, static_cast<std::size_t>(setup_->ranks()), "lockstep collective"},
                         request_.most_memory);
    std::vector<std::vector<Duration>> times(jobs_.size() + 1);
    ProgressCounter progress(request_.on_progress, times.size());
    in_parallel(times.size(), [&](std::size_t i) {
      std::vector<std::size_t> chosen;
      for (std::size_t j = 0; j < jobs_.size(); ++j)
        if (i == jobs_.size() || i == j) chosen.push_back(j);
      times[i] = play(chosen);
      progress.step();
    });
    ConcurrentReport out;
    Fingerprint fingerprint;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const Duration together = times.back()[j];
      out.collectives.push_back({jobs_[j], layouts_[j].size, times[j].front(), together});
      fingerprint.add(together.ps());
    }
    out.setup = setup_;
    out.fingerprint = fingerprint.text();
    return out;
  }

 private:
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
    if (row.auxiliary_ranks != AuxiliaryRanks::none)
      return refuse(
          fmt::format("{} needs more than the ranks; not among concurrent collectives", row.name));
    for (const std::string& problem : validate(row, input)) return refuse(problem);
    input = ChunkSearch{setup_->model()}.with_best_chunks(row, std::move(input), by);
    schedules_.push_back(make_schedule(row, input));
    layouts_.push_back(divide_message(job.size, *request_.type, schedules_.back()->blocks()));
  }

  /// Time from its start to its end, of each chosen job.
  [[nodiscard]] std::vector<Duration> play(const std::vector<std::size_t>& chosen) const {
    const ReplayResult result = replay(setup_->network(), workload_of(chosen), setup_->model());
    if (!result.unfinished.empty()) throw Refusal(result.unfinished.front().text);
    std::vector<Duration> out;
    std::size_t stream = 0;
    for (const std::size_t j : chosen) {
      const ConcurrentCollective& job = jobs_[j];
      TimePoint end;
      for (std::size_t m = 0; m < job.ranks.size(); ++m, ++stream)
        end = std::max(end, result.stream_ends[stream].back());
      out.push_back(end.since_start() - job.start);
    }
    return out;
  }

  [[nodiscard]] Workload workload_of(const std::vector<std::size_t>& chosen) const {
    Workload out;
    for (const std::size_t j : chosen) add(j, out);
    return out;
  }

  /// A stream for every rank: waits for the start, then calls one collective after the other.
  void add(std::size_t j, Workload& workload) const {
    const ConcurrentCollective& job = jobs_[j];
    const auto first_call = static_cast<std::uint32_t>(workload.calls.size());
    for (std::int64_t k = 0; k < job.repeat; ++k) {
      CollectiveCall& call = workload.calls.emplace_back();
      call.name = job.name;
      call.schedule = schedules_[j];
      call.members = job.ranks;
      call.block = layouts_[j].block;
      call.traffic_weight = job.traffic_weight;
    }
    for (std::size_t m = 0; m < job.ranks.size(); ++m) {
      Stream stream{job.ranks[m], job.name, {}};
      Activity wait;
      wait.duration = job.start;
      stream.operations.push_back(wait);
      for (std::int64_t k = 0; k < job.repeat; ++k) {
        Activity call;
        call.kind = Activity::Kind::collective;
        call.call = first_call + static_cast<std::uint32_t>(k);
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
  // By collective.
  std::vector<SchedulePtr> schedules_;
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
