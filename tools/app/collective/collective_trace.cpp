#include "tools/app/collective/collective_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "sim/base/json_text.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/trace_stream.hpp"

namespace lockstep::app {

namespace {

/// Sends and receives of each member on tracks where none overlaps another.
class TransferTrace {
 public:
  TransferTrace(std::vector<LoggedTransfer> log, const CollectiveRun& run, int ranks)
      : log_{std::move(log)}, ranks_{ranks} {
    for (std::size_t i = 0; i < run.members.size(); ++i) member_of_[run.members[i]] = i;
    std::stable_sort(
        log_.begin(), log_.end(),
        [](const LoggedTransfer& a, const LoggedTransfer& b) { return a.start < b.start; });
    for (const LoggedTransfer& each : log_) {
      sends_.push_back(track_for(each, member_of_.at(each.from), sending_, 0));
      receives_.push_back(track_for(each, member_of_.at(each.to), receiving_, kMostLanes));
    }
  }

  void write(const TextSink& sink) const {
    TraceEvents events(sink);
    name_tracks(events);
    for (std::size_t i = 0; i < log_.size(); ++i) write_transfer(events, i);
    events.finish();
  }

 private:
  using Lanes = std::map<std::size_t, std::vector<TimePoint>>;  // by member: ends of their last
  static constexpr std::int64_t kMostLanes = 1 << 20;

  /// The first lane of a member that is free. Viewers sort threads by number: sends come first.
  TraceEvents::Track track_for(const LoggedTransfer& each, std::size_t member, Lanes& lanes,
                               std::int64_t first) {
    std::vector<TimePoint>& ends = lanes[member];
    const auto free =
        std::find_if(ends.begin(), ends.end(), [&](TimePoint end) { return end <= each.start; });
    const auto lane = static_cast<std::int64_t>(free - ends.begin());
    if (free == ends.end()) {
      ends.push_back(each.end);
    } else {
      *free = each.end;
    }
    return {static_cast<std::int64_t>(member) + 1, first + lane + 1};
  }

  [[nodiscard]] std::string name_of(std::size_t member) const {
    const auto rank = static_cast<int>(member);
    return rank < ranks_ ? fmt::format("rank {}", rank)
                         : fmt::format("switch or host {}", rank - ranks_);
  }

  void name_tracks(TraceEvents& events) const {
    for (const auto& [endpoint, member] : member_of_) {
      const std::int64_t process = static_cast<std::int64_t>(member) + 1;
      events.name_process(process, name_of(member));
      name_lanes(events, process, member, sending_, "sends", 0);
      name_lanes(events, process, member, receiving_, "receives", kMostLanes);
    }
  }

  static void name_lanes(TraceEvents& events, std::int64_t process, std::size_t member,
                         const Lanes& lanes, std::string_view name, std::int64_t first) {
    const auto found = lanes.find(member);
    if (found == lanes.end()) return;
    for (std::size_t lane = 0; lane < found->second.size(); ++lane)
      events.name_thread({process, first + static_cast<std::int64_t>(lane) + 1}, name);
  }

  void write_transfer(TraceEvents& events, std::size_t i) const {
    const LoggedTransfer& each = log_[i];
    const std::size_t from = member_of_.at(each.from);
    const std::size_t to = member_of_.at(each.to);
    const std::string args =
        fmt::format(R"("from":{},"to":{},"bytes":{})", json_string(name_of(from)),
                    json_string(name_of(to)), each.size.count());
    events.complete(sends_[i], fmt::format("to {}", name_of(to)), "send", each.start, each.end,
                    args);
    events.flow_start(sends_[i], i + 1, each.start);
    events.complete(receives_[i], fmt::format("from {}", name_of(from)), "receive", each.start,
                    each.end, args);
    const Duration half = Duration::picoseconds((each.end - each.start).ps() / 2);
    events.flow_end(receives_[i], i + 1, each.start + half);
  }

  std::vector<LoggedTransfer> log_;
  int ranks_;
  std::map<EndpointId, std::size_t> member_of_{};
  Lanes sending_{};
  Lanes receiving_{};
  std::vector<TraceEvents::Track> sends_{};
  std::vector<TraceEvents::Track> receives_{};
};

}  // namespace

void write_collective_trace(const CollectiveRequest& request, const std::string& file,
                            const OnTraceSize& on_size) {
  const auto setup = setup_for(request);
  const CollectiveRunner runner(*setup, request.runner_options());
  std::vector<RequestProblem> left_out;
  const std::vector<Candidate> candidates = allowed(request, runner, left_out);
  if (candidates.size() != 1 || request.sizes.size() != 1)
    throw RequestError("trace",
                       fmt::format("one algorithm at one size is traced, got {} algorithm{} "
                                   "and {} size{}",
                                   candidates.size(), candidates.size() == 1 ? "" : "s",
                                   request.sizes.size(), request.sizes.size() == 1 ? "" : "s"));
  const CollectiveRun run = runner.prepare(candidates[0], request.sizes[0]);
  const TransferTrace trace(runner.transfers(candidates[0], run, request.on_phase), run,
                            setup->ranks());
  if (request.on_phase) request.on_phase({"writing the trace"});
  write_trace_file(
      file, [&](const TextSink& sink) { trace.write(sink); }, on_size);
}

}  // namespace lockstep::app
