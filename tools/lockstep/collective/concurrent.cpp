#include "tools/lockstep/collective/concurrent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "strategies/collectives/chunk_search.hpp"
#include "tools/lockstep/collective/collective_run.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/parallel.hpp"
#include "tools/lockstep/replay_limit.hpp"
#include "topologies/config/did_you_mean.hpp"
#include "topologies/config/reader.hpp"

namespace lockstep::cli {

namespace {

constexpr std::int64_t kMostRepeats = 10'000;
constexpr std::size_t kMostJobs = 1000;

/// One entry of the file.
struct Job {
  std::string name;
  Collective collective = Collective::all_reduce;
  AlgorithmSpec spec;
  Bytes size;
  std::vector<EndpointId> ranks;  // empty: all of the cluster
  Duration start;
  std::int64_t repeat = 1;
  int root = 0;
};

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
  if (value.is_array()) return read_listed_ranks(value);
  return value.object([](ObjectReader& in) {
    const std::int64_t first = in.integer("first", 0, kMostRanks - 1, 0);
    const std::int64_t count = in.integer("count", 1, kMostRanks);
    const std::int64_t stride = in.integer("stride", 1, kMostRanks, 1);
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

Job read_job(ObjectReader& in, std::size_t index) {
  std::vector<std::string_view> names;
  for (const Collective each : collectives()) names.push_back(to_string(each));
  Job job;
  job.collective = parse_collective(in.one_of("collective", "collective", names)).value();
  if (const auto algorithm = in.optional("algorithm")) {
    job.spec = read_algorithm(*algorithm, job.collective);
  } else {
    const CollectiveAlgorithm* ring = find_algorithm(job.collective, "ring");
    job.spec.algorithm =
        ring != nullptr ? ring
                        : find_algorithm(job.collective, algorithm_names(job.collective).front());
  }
  job.size = in.bytes("size");
  if (const auto ranks = in.optional("ranks")) job.ranks = read_ranks(*ranks);
  job.start = in.duration("start", Duration{});
  job.repeat = in.integer("repeat", 1, kMostRepeats, 1);
  if (const auto root = in.optional("root")) {
    job.root = static_cast<int>(root->integer(0, kMostRanks - 1));
    if (!has_root(job.collective))
      root->note(fmt::format("{} has no root", to_string(job.collective)));
  }
  job.name = in.string("name", fmt::format("{} {}", to_string(job.collective), index));
  return job;
}

std::vector<Job> read_jobs(const std::string& file) {
  return read_config(file, [](ObjectReader& in) {
    std::vector<Job> jobs;
    in.array(
        "collectives",
        [&](const ValueReader& value) {
          jobs.push_back(
              value.object([&](ObjectReader& one) { return read_job(one, jobs.size()); }));
        },
        1, kMostJobs);
    return jobs;
  });
}

/// A job on an arena: what the engine needs for it.
struct Placed {
  const Job* job = nullptr;
  SchedulePtr schedule;
  MessageLayout layout;
};

class Concurrent {
 public:
  Concurrent(const std::string& file, const CollectiveQuestion& question)
      : file_{file},
        question_{question},
        jobs_{read_jobs(file)},
        arena_{question.cluster, question.network, {}} {
    std::string text;
    for (Job& job : jobs_) place(job, text);
    if (!text.empty()) throw UsageError(text);
  }

  /// All together take the most memory.
  Report run() {
    std::vector<std::size_t> all(jobs_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    refuse_large_streams(arena_.network(), workload_of(all),
                         {file_, static_cast<std::size_t>(arena_.ranks()), "lockstep collective"},
                         question_.most_memory);
    std::vector<std::vector<Duration>> times(jobs_.size() + 1);
    in_parallel(times.size(), [&](std::size_t i) {
      std::vector<std::size_t> chosen;
      for (std::size_t j = 0; j < jobs_.size(); ++j)
        if (i == jobs_.size() || i == j) chosen.push_back(j);
      times[i] = play(chosen);
    });
    Report out;
    out.schema = "lockstep.concurrent/1";
    out.config = config();
    out.seed = question_.cluster.seed;
    out.columns = {{"name", "name", "", true},           {"collective", "collective", "", true},
                   {"algorithm", "algorithm", "", true}, {"ranks", "ranks", ""},
                   {"size_bytes", "size", "(B)"},        {"repeat", "times", ""},
                   {"start_s", "start", "(us)"},         {"alone_s", "alone", "(us)"},
                   {"together_s", "together", "(us)"},   {"slowdown", "slowdown", ""}};
    Fingerprint fingerprint;
    Section section;
    section.notes.push_back(fmt::format(
        "{} at once: {}",
        jobs_.size() == 1 ? "1 collective" : fmt::format("{} collectives", jobs_.size()),
        arena_.text()));
    add_link_changes(arena_, section);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      section.rows.push_back(row(placed_[j], times[j].front(), times.back()[j]));
      fingerprint.add(times.back()[j].ps());
    }
    out.sections.push_back(std::move(section));
    out.fingerprint = fingerprint.text();
    return out;
  }

 private:
  /// Notes what the cluster cannot have in `text`.
  void place(Job& job, std::string& text) {
    const auto refuse = [&](const std::string& why) {
      text += fmt::format("{}{}: {}: {}", text.empty() ? "" : "\n  ", file_, job.name, why);
    };
    if (job.ranks.empty()) job.ranks = arena_.members(Helpers::none, 0);
    for (const EndpointId rank : job.ranks)
      if (rank >= static_cast<EndpointId>(arena_.ranks()))
        return refuse(fmt::format("there is no rank {}; the cluster has {}", rank, arena_.ranks()));
    const PlacedCommunicator by = arena_.communicator_of(job.ranks);
    AlgorithmInput input = by.input(job.spec.arguments, job.root, job.size);
    const CollectiveAlgorithm& row = *job.spec.algorithm;
    if (row.helpers != Helpers::none)
      return refuse(
          fmt::format("{} needs more than the ranks; not among concurrent collectives", row.name));
    for (const std::string& problem : validate(row, input)) return refuse(problem);
    input = ChunkSearch{arena_.model()}.with_best_chunks(row, std::move(input), by);
    Placed placed{&job, make_schedule(row, input), {}};
    placed.layout = lay_out(job.size, *question_.type, placed.schedule->blocks());
    placed_.push_back(std::move(placed));
  }

  /// Time from its start to its end, of each chosen job.
  [[nodiscard]] std::vector<Duration> play(const std::vector<std::size_t>& chosen) const {
    const ReplayResult result = replay(arena_.network(), workload_of(chosen), arena_.model());
    if (!result.unfinished.empty()) throw Refusal(result.unfinished.front().text);
    std::vector<Duration> out;
    std::size_t stream = 0;
    for (const std::size_t j : chosen) {
      const Job& job = jobs_[j];
      TimePoint end;
      for (std::size_t m = 0; m < job.ranks.size(); ++m, ++stream)
        end = std::max(end, result.stream_ends[stream].back());
      out.push_back(end.since_start() - job.start);
    }
    return out;
  }

  [[nodiscard]] Workload workload_of(const std::vector<std::size_t>& chosen) const {
    Workload out;
    for (const std::size_t j : chosen) add(placed_[j], out);
    return out;
  }

  /// A stream for every rank: waits for the start, then calls one collective after the other.
  static void add(const Placed& placed, Workload& workload) {
    const Job& job = *placed.job;
    const auto first_call = static_cast<std::uint32_t>(workload.calls.size());
    for (std::int64_t k = 0; k < job.repeat; ++k)
      workload.calls.push_back({job.name, placed.schedule, job.ranks, placed.layout.block, {}});
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

  [[nodiscard]] static std::vector<Cell> row(const Placed& placed, Duration alone,
                                             Duration together) {
    const auto time = [](Duration d) {
      return Cell{d.seconds(), fmt::format("{:.2f}", d.seconds() * 1e6)};
    };
    const Job& job = *placed.job;
    const double slowdown = alone > Duration{} ? together.seconds() / alone.seconds() : 1;
    return {Cell{job.name},
            Cell{std::string{to_string(job.collective)}},
            Cell{job.spec.text()},
            Cell{static_cast<std::int64_t>(job.ranks.size())},
            Cell{placed.layout.size.count()},
            Cell{job.repeat},
            time(job.start),
            time(alone),
            time(together),
            Cell{slowdown, fmt::format("{:.3f}", slowdown)}};
  }

  [[nodiscard]] std::string config() const {
    nlohmann::ordered_json out;
    out["concurrent"] = file_;
    out["cluster"] = {{"file", question_.cluster.path()},
                      {"name", arena_.loaded().name},
                      {"device", arena_.loaded().device.id},
                      {"nodes", arena_.cluster().nodes()},
                      {"ranks", arena_.ranks()}};
    out["network"] = question_.network.model;
    out["type"] = question_.type->name;
    auto& list = out["collectives"] = nlohmann::ordered_json::array();
    for (const Job& job : jobs_)
      list.push_back({{"name", job.name},
                      {"collective", to_string(job.collective)},
                      {"algorithm", job.spec.text()},
                      {"size_bytes", job.size.count()},
                      {"ranks", job.ranks},
                      {"start_s", job.start.seconds()},
                      {"repeat", job.repeat},
                      {"root", job.root}});
    return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  const std::string& file_;
  const CollectiveQuestion& question_;
  std::vector<Job> jobs_;
  Arena arena_;
  std::vector<Placed> placed_;
};

}  // namespace

Report run_concurrent(const std::string& file, const CollectiveQuestion& question) {
  return Concurrent(file, question).run();
}

}  // namespace lockstep::cli
