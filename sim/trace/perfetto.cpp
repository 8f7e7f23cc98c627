#include "sim/trace/perfetto.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "sim/base/check.hpp"
#include "sim/base/json_text.hpp"
#include "sim/trace/breakdown.hpp"
#include "sim/trace/memory/memory.hpp"
#include "sim/trace/passes.hpp"
#include "sim/trace/peers.hpp"

namespace lockstep {

namespace {

[[nodiscard]] std::int64_t process_of(int rank) {
  return std::int64_t{rank} + 1;
}

[[nodiscard]] std::vector<std::string_view> tensor_names(const RoleProgram& role,
                                                         const IndexList& instances) {
  std::vector<std::string_view> out;
  for (const std::uint32_t instance : instances) out.push_back(role.tensor(instance).name);
  return out;
}

/// The members of an operation's `args`.
[[nodiscard]] std::string args_of(const Peers& peers, const RoleProgram& role,
                                  std::uint32_t index) {
  const RoleOperation& of = role.operations[index];
  const Operation& operation = *of.operation;
  std::string out = fmt::format(
      R"("kind":"{}","class":"{}","purpose":"{}","routine":{},"position":{},"microbatch":{},)"
      R"("reads":{},"writes":{},"bytes":{})",
      to_string(operation.kind), to_string(class_of(operation.kind)), to_string(operation.purpose),
      json_string(role.program->routines[of.call.routine].name), of.call.position,
      of.call.microbatch, json_strings(tensor_names(role, of.reads)),
      json_strings(tensor_names(role, of.writes)), message_bytes(role, index).count());
  if (is_communication(operation)) {
    out += fmt::format(R"(,"group":{})", json_string(peers.group(operation)));
  }
  if (operation.kind == OperationKind::collective && operation.communication) {
    out += fmt::format(R"(,"collective":"{}")", to_string(operation.communication->collective));
  }
  return out;
}

class TraceWriter {
 public:
  TraceWriter(const TrainingStepTimeline& timeline, const TraceOptions& options,
              const TextSink& sink)
      : timeline_{&timeline}, options_{&options}, peers_{timeline}, events_{sink} {
    for (const RankTimeline& rank : timeline.ranks) {
      first_flow_.push_back(flows_);
      flows_ += rank.operations.size();
    }
  }

  void write() {
    for (std::size_t i = 0; i < timeline_->ranks.size(); ++i) {
      if (is_written(i)) write_rank(i);
    }
    if (!options_->links.empty()) write_links();
    events_.finish();
  }

 private:
  [[nodiscard]] bool is_written(std::size_t rank) const {
    const std::vector<int>& wanted = options_->ranks;
    return wanted.empty() ||
           std::find(wanted.begin(), wanted.end(), timeline_->ranks[rank].rank) != wanted.end();
  }

  [[nodiscard]] bool is_written(Place place) const {
    if (!is_written(place.rank)) return false;
    const Interval interval = peers_.interval(place);
    const bool begins_in_time = !options_->to || interval.start < *options_->to;
    return begins_in_time && (interval.end > options_->from || interval.start >= options_->from);
  }

  [[nodiscard]] TraceEvents::Track track_of(Place place) const {
    return {process_of(timeline_->ranks[place.rank].rank),
            std::int64_t{peers_.operation(place).operation->stream} + 1};
  }

  void write_rank(std::size_t index) {
    const RankTimeline& rank = timeline_->ranks[index];
    const RoleProgram& role = timeline_->roles[rank.role];
    name_rank(rank, role);
    if (options_->passes) write_passes(rank, role);
    for (std::uint32_t i = 0; i < rank.operations.size(); ++i) {
      const Place place{index, i};
      if (!is_written(place)) continue;
      const Operation& operation = *role.operations[i].operation;
      if (!is_detailed(operation, rank.operations[i])) continue;
      const std::string_view name =
          operation.name.empty() ? to_string(operation.kind) : operation.name;
      events_.complete(track_of(place), name, to_string(class_of(operation.kind)),
                       rank.operations.start_of(i), rank.operations.end_of(i),
                       args_of(peers_, role, i));
      if (is_communication(operation)) write_flows(place);
    }
    const MemoryAccount account = memory_account(role, rank);
    write_memory(rank, "device memory, bytes", account.device);
    write_memory(rank, "host memory, bytes", account.host);
  }

  /// Whether an operation has a slice of its own.
  [[nodiscard]] bool is_detailed(const Operation& operation, const Interval& interval) const {
    if (options_->detail != TraceDetail::kernel) return false;
    const bool empty = interval.start == interval.end && !is_communication(operation);
    return options_->empty_slices || !empty;
  }

  [[nodiscard]] bool is_within(const Interval& interval) const {
    return (!options_->to || interval.start < *options_->to) && interval.end > options_->from;
  }

  /// Slices of passes and, nested in them, of layers.
  void write_passes(const RankTimeline& rank, const RoleProgram& role) {
    const TraceEvents::Track track{process_of(rank.rank), 0};
    events_.name_thread(track, "passes");
    for (const Pass& pass : passes(role, rank)) {
      if (!is_within(pass.interval)) continue;
      const bool update = pass.kind == Pass::Kind::update;
      const std::string name = update ? std::string{to_string(pass.kind)}
                                      : fmt::format("{} {}", to_string(pass.kind), pass.microbatch);
      events_.complete(
          track, name, "pass", pass.interval.start, pass.interval.end,
          fmt::format(R"("microbatch":{},"chunk":{},"recomputation_us":{})", pass.microbatch,
                      pass.chunk, trace_time(pass.recomputation.ps())));
    }
    if (options_->detail != TraceDetail::microbatch) write_layers(track, rank, role);
  }

  /// Of the calls of a routine on the compute stream, each from its first computation to its last.
  void write_layers(TraceEvents::Track track, const RankTimeline& rank, const RoleProgram& role) {
    std::optional<Interval> open;
    Call call;
    const auto close = [&] {
      if (open && is_within(*open))
        events_.complete(
            track, fmt::format("{} {}", role.program->routines[call.routine].name, call.position),
            "layer", open->start, open->end,
            fmt::format(R"("position":{},"microbatch":{})", call.position, call.microbatch));
      open.reset();
    };
    for (std::size_t i = 0; i < rank.operations.size(); ++i) {
      const RoleOperation& of = role.operations[i];
      const Interval interval = rank.operations[i];
      const bool computes =
          of.operation->stream == kComputeStream && !is_communication(*of.operation);
      if (!computes || interval.start == interval.end || !belongs_to_pass(role, of)) continue;
      const bool same = open && of.call.routine == call.routine &&
                        of.call.position == call.position && of.call.microbatch == call.microbatch;
      if (!same) {
        close();
        open = interval;
        call = of.call;
      }
      open->end = interval.end;
    }
    close();
  }

  void name_rank(const RankTimeline& rank, const RoleProgram& role) {
    const int ranks = timeline_->program->mesh.ranks();
    const bool host = rank.rank >= ranks;
    const std::string& part = timeline_->program->roles[rank.role].name;
    events_.name_process(
        process_of(rank.rank),
        fmt::format("{} {}{}", host ? "host" : "rank", host ? rank.rank - ranks : rank.rank,
                    part.empty() ? "" : fmt::format(" ({})", part)));
    std::vector<bool> used(timeline_->program->streams.size());
    for (const RoleOperation& operation : role.operations) {
      used[operation.operation->stream] = true;
    }
    for (std::size_t stream = 0; stream < used.size(); ++stream) {
      if (!used[stream]) continue;
      events_.name_thread({process_of(rank.rank), static_cast<std::int64_t>(stream) + 1},
                          timeline_->program->streams[stream]);
    }
  }

  /// The end that arrows come from: the send or, of a collective, the member that came last.
  [[nodiscard]] Place origin(Place place, const std::vector<Place>& others) const {
    const OperationKind kind = peers_.operation(place).operation->kind;
    if (kind == OperationKind::send) return place;
    if (kind == OperationKind::receive) return others.front();
    Place out = place;
    for (const Place& other : others) {
      const TimePoint start = peers_.interval(other).start;
      const TimePoint known = peers_.interval(out).start;
      if (start > known || (start == known && other.rank < out.rank)) out = other;
    }
    return out;
  }

  void write_flows(Place place) {
    const std::vector<Place> others = peers_.exact_others(place);
    if (others.empty()) return;
    const Place from = origin(place, others);
    if (from != place) {
      end_flow(from, place);
      return;
    }
    for (const Place& other : others) start_flow(place, other);
  }

  /// Arrows end in the middle of the transfer, so that they point forward in time.
  [[nodiscard]] std::optional<TimePoint> flow_end(Place from, Place to) const {
    const TimePoint start = std::max(peers_.interval(from).start, peers_.interval(to).start);
    const TimePoint end = peers_.interval(to).end;
    if (!is_written(from) || !is_written(to) || end < start) return std::nullopt;
    return start + Duration::picoseconds((end - start).ps() / 2);
  }

  [[nodiscard]] std::uint64_t flow_id(Place to) const {
    return first_flow_[to.rank] + to.operation + 1;
  }

  void start_flow(Place from, Place to) {
    if (!flow_end(from, to)) return;
    events_.flow_start(track_of(from), flow_id(to), peers_.interval(from).start);
  }

  void end_flow(Place from, Place to) {
    const std::optional<TimePoint> at = flow_end(from, to);
    if (at) events_.flow_end(track_of(to), flow_id(to), *at);
  }

  /// Calls `write` for each point of a step function within the window, and for what holds when
  /// the window opens.
  template <typename Points, typename Size, typename Write>
  void within_window(const Points& points, const Size& size, const Write& write) const {
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (options_->to && points[i].at >= *options_->to) break;
      const bool over = i + 1 < points.size() && points[i + 1].at <= options_->from;
      if (!over) kept.push_back(i);
    }
    if (options_->counter_points > 0 && kept.size() > options_->counter_points)
      kept = thinned(points, kept, size);
    for (const std::size_t i : kept) write(points[i], std::max(points[i].at, options_->from));
  }

  /// Of the points in each of `counter_points` / 2 equal parts of the window the largest and the
  /// last.
  template <typename Points, typename Size>
  [[nodiscard]] std::vector<std::size_t> thinned(const Points& points,
                                                 const std::vector<std::size_t>& kept,
                                                 const Size& size) const {
    const TimePoint end = options_->to ? std::min(*options_->to, timeline_->end) : timeline_->end;
    const std::int64_t span = std::max<std::int64_t>(1, (end - options_->from).ps());
    const auto parts =
        static_cast<std::int64_t>(std::max<std::size_t>(1, options_->counter_points / 2));
    const std::int64_t part = span / parts + 1;
    const auto part_of = [&](std::size_t i) {
      return (std::max(points[i].at, options_->from) - options_->from).ps() / part;
    };
    std::vector<std::size_t> out;
    for (std::size_t k = 0; k < kept.size();) {
      std::size_t largest = kept[k];
      std::size_t last = kept[k];
      const std::int64_t own = part_of(kept[k]);
      for (; k < kept.size() && part_of(kept[k]) == own; ++k) {
        last = kept[k];
        if (size(points[last]) > size(points[largest])) largest = last;
      }
      out.push_back(largest);
      if (last != largest) out.push_back(last);
    }
    return out;
  }

  void write_memory(const RankTimeline& rank, std::string_view name, const MemoryUse& use) {
    CategoryBytes ever;
    for (const MemoryPoint& point : use.curve) {
      for (std::size_t i = 0; i < kCategories; ++i) {
        ever.bytes[i] = std::max(ever.bytes[i], point.held.bytes[i]);
      }
    }
    if (ever.total() == Bytes{0}) return;
    const auto total = [](const MemoryPoint& point) { return point.held.total(); };
    within_window(use.curve, total, [&](const MemoryPoint& point, TimePoint at) {
      std::string args;
      for (std::size_t i = 0; i < kCategories; ++i) {
        if (ever.bytes[i] == Bytes{0}) continue;
        args += fmt::format("{}\"{}\":{}", args.empty() ? "" : ",",
                            to_string(static_cast<Category>(i)), point.held.bytes[i].count());
      }
      events_.counter(process_of(rank.rank), name, at, args);
    });
  }

  [[nodiscard]] std::int64_t links_process() const {
    std::int64_t last = timeline_->program->mesh.ranks();
    for (const RankTimeline& rank : timeline_->ranks) last = std::max(last, process_of(rank.rank));
    return last + 1;
  }

  void write_links() {
    const std::int64_t process = links_process();
    events_.name_process(process, "links");
    for (const LinkSeries& link : options_->links) {
      const auto rate = [](const LinkSeries::Point& point) { return point.bytes_per_second; };
      within_window(link.points, rate, [&](const LinkSeries::Point& point, TimePoint at) {
        LOCKSTEP_CHECK(std::isfinite(point.bytes_per_second));
        events_.counter(process, link.name, at,
                        fmt::format("\"bytes_per_second\":{}", point.bytes_per_second));
      });
    }
  }

  const TrainingStepTimeline* timeline_;
  const TraceOptions* options_;
  Peers peers_;
  TraceEvents events_;
  std::vector<std::uint64_t> first_flow_;  // by rank: flows into its operations
  std::uint64_t flows_ = 0;
};

}  // namespace

void write_perfetto(const TrainingStepTimeline& timeline, const TraceOptions& options,
                    const TextSink& sink) {
  TraceWriter{timeline, options, sink}.write();
}

void write_perfetto(const TrainingStepTimeline& timeline, const TraceOptions& options,
                    std::ostream& out) {
  write_perfetto(timeline, options, [&](std::string_view text) { out << text; });
}

}  // namespace lockstep
