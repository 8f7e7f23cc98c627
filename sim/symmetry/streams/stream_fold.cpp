#include "sim/symmetry/streams/stream_fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/symmetry/partition/partition.hpp"
#include "sim/symmetry/quotient/link_bytes.hpp"
#include "sim/symmetry/quotient/quotient.hpp"
#include "sim/symmetry/streams/stream_calls.hpp"
#include "sim/symmetry/streams/stream_programs.hpp"
#include "sim/symmetry/streams/stream_ties.hpp"

namespace lockstep {
namespace {

using namespace fold;

constexpr std::uint64_t kMostRelations = std::uint64_t{1} << 27U;

bool is_message(const Activity& operation) {
  return operation.kind == Activity::Kind::send || operation.kind == Activity::Kind::receive;
}

std::string obstacle_of_streams(const Workload& workload, NetworkModel model) {
  if (model == NetworkModel::queue) return "the queue model distinguishes all messages";
  if (workload.logs_transfers) return "every transfer is to be logged";
  if (!workload.speed_changes.empty()) return "speeds change";
  for (const Stream& stream : workload.streams) {
    if (stream.pattern) return "streams of patterns are not folded";
    for (const Activity& operation : stream.operations) {
      if (operation.not_before != TimePoint{} || operation.launched_after)
        return "operations have launch times";
      for (const ActivityRef& ref : operation.after)
        if (workload.streams[ref.stream].endpoint != stream.endpoint)
          return "operations wait for those of other endpoints";
    }
  }
  return {};
}

/// All messages of streams as one schedule of all ranks: who exchanges what with whom, not
/// when. A block is one byte; step i + 1 is operation i.
class StreamsSchedule final : public Schedule {
 public:
  StreamsSchedule(const Workload& workload, const Programs& programs)
      : workload_{workload}, programs_{programs} {}

  [[nodiscard]] int ranks() const override { return static_cast<int>(programs_.endpoint.size()); }
  [[nodiscard]] std::int64_t blocks() const override { return 1; }
  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return std::ssize(programs_.operations[static_cast<std::size_t>(rank)]) + 1;
  }
  /// The first step distinguishes programs: by how much each copies.
  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const auto own = static_cast<std::size_t>(rank);
    if (index == 0) {
      const Chunk chunk{Buffer::data, 0, programs_.kind[own] + 1};
      step.locals.push_back({chunk, chunk, Combine::copy});
      return;
    }
    const auto place = static_cast<std::size_t>(index - 1);
    const ActivityRef at = programs_.operations[own][place];
    const Activity& operation = workload_.streams[at.stream].operations[at.index];
    if (!is_message(operation)) return;
    const auto peer = static_cast<int>(programs_.rank_of[operation.peer]);
    const auto channel = static_cast<int>(programs_.connection[own][place]);
    const Chunk all{Buffer::data, 0, operation.size.count()};
    if (operation.kind == Activity::Kind::send) {
      step.sends.push_back({peer, all, channel});
    } else {
      step.receives.push_back({peer, all, Combine::copy, channel});
    }
  }

 private:
  const Workload& workload_;
  const Programs& programs_;
};

class StreamFold {
 public:
  StreamFold(const Network& network, const Workload& workload, NetworkModel model)
      : network_{network},
        workload_{workload},
        model_{model},
        programs_{network, workload},
        calls_{workload, programs_} {}

  /// Empty where it is not possible: `why_not`.
  std::optional<FoldedStreams> run(std::string& why_not) {
    why_not = calls_.find();
    if (!why_not.empty()) return std::nullopt;
    why_not = "messages have one end";
    if (!number_connections()) return std::nullopt;
    number_programs();
    why_not = "too many messages, or ranks without a route";
    if (!find_classes()) return std::nullopt;
    why_not = fmt::format("too many ranks differ: {} classes of {} ranks", classes_,
                          programs_.endpoint.size());
    if (2 * classes_ > programs_.endpoint.size()) return std::nullopt;
    calls_.fold(relations_, partition_, static_cast<int>(quotient_.channels));
    const Workload representatives = workload_of_classes();
    const ReplayResult played = replay(quotient_.network, representatives, model_);
    why_not = "the workload deadlocks";
    if (!played.unfinished.empty()) return std::nullopt;
    why_not = "the order of events within an instant may decide";
    if (order_may_decide(quotient_.network, representatives, played)) return std::nullopt;
    why_not.clear();
    return spread(played);
  }

 private:
  struct End {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t tag = 0;
    bool receiving = false;
    std::uint32_t place = 0;  // of the operation in its rank

    [[nodiscard]] std::uint32_t rank() const { return receiving ? to : from; }
    [[nodiscard]] auto connection() const { return std::tuple{from, to, tag}; }
    [[nodiscard]] auto key() const { return std::tuple{connection(), receiving, place}; }
  };

  [[nodiscard]] const Activity& operation(ActivityRef at) const {
    return workload_.streams[at.stream].operations[at.index];
  }

  /// Connections of a pair, in the order of the first sends: their tags may differ from rank to
  /// rank.
  bool number_connections() {
    std::vector<End> ends;
    for (std::uint32_t rank = 0; rank < programs_.endpoint.size(); ++rank) {
      const auto& own = programs_.operations[rank];
      for (std::uint32_t i = 0; i < own.size(); ++i) {
        const Activity& of = operation(own[i]);
        if (!is_message(of)) continue;
        const std::uint32_t peer = programs_.rank_of[of.peer];
        if (peer == Programs::kNoRank) return false;
        const bool receiving = of.kind == Activity::Kind::receive;
        ends.push_back({receiving ? peer : rank, receiving ? rank : peer, of.tag, receiving, i});
      }
    }
    std::sort(ends.begin(), ends.end(),
              [](const End& a, const End& b) { return a.key() < b.key(); });
    std::vector<std::pair<std::size_t, std::size_t>> connections;  // of a pair: of ends
    for (std::size_t first = 0; first < ends.size();) {
      std::size_t end = first;
      std::size_t sends = 0;
      for (; end < ends.size() && ends[end].connection() == ends[first].connection(); ++end)
        sends += ends[end].receiving ? 0 : 1;
      if (2 * sends != end - first) return false;
      connections.emplace_back(first, end);
      first = end;
      const bool last = first == ends.size() || ends[first].from != ends[first - 1].from ||
                        ends[first].to != ends[first - 1].to;
      if (!last) continue;
      number_pair(ends, connections);
      connections.clear();
    }
    return true;
  }

  void number_pair(const std::vector<End>& ends,
                   std::vector<std::pair<std::size_t, std::size_t>>& connections) {
    std::sort(connections.begin(), connections.end(), [&](const auto& a, const auto& b) {
      return ends[a.first].place < ends[b.first].place;
    });
    for (std::uint32_t number = 0; number < connections.size(); ++number)
      for (std::size_t i = connections[number].first; i < connections[number].second; ++i)
        programs_.connection[ends[i].rank()][ends[i].place] = number;
  }

  /// Programs are equal but for peers and tags.
  void number_programs() {
    std::map<Key, std::int64_t> known;
    for (std::uint32_t rank = 0; rank < programs_.endpoint.size(); ++rank) {
      KeyBuilder key;
      for (const std::uint32_t s : programs_.streams[rank]) {
        key.add(std::uint64_t{workload_.streams[s].operations.size()});
        for (const Activity& of : workload_.streams[s].operations) add(of, key);
      }
      calls_.add_key(rank, key);
      programs_.kind.push_back(
          known.try_emplace(key.key(), static_cast<std::int64_t>(known.size())).first->second);
    }
  }

  void add(const Activity& of, KeyBuilder& key) const {
    key.add(static_cast<int>(of.kind)).add(of.any_speed ? 1 : 0).add(of.duration.ps());
    key.add(of.size.count()).add(std::uint64_t{of.traffic_weight}).add(of.processor);
    key.add(std::uint64_t{of.after.size()});
    for (const ActivityRef& ref : of.after) key.add(programs_.place[ref.stream]).add(ref.index);
  }

  bool find_classes() {
    CollectiveCall call;
    call.name = "streams";
    call.schedule = std::make_shared<StreamsSchedule>(workload_, programs_);
    call.block = Bytes{1};
    call.members = programs_.endpoint;
    messages_.calls.push_back(std::move(call));
    calls_.add_kinds(messages_);
    auto relations = find_relations(network_, messages_, kMostRelations);
    if (!relations) return false;
    relations_ = std::move(*relations);
    partition_ = find_partition(relations_, network_, model_);
    quotient_ = make_quotient(relations_, partition_, network_, messages_, model_);
    // Those of the streams come first.
    const std::size_t ranks = programs_.endpoint.size();
    for (std::uint32_t c = 0; c < partition_.first_member.size(); ++c)
      if (partition_.first_member[c] < ranks) ++classes_;
    return quotient_.class_routes.size() * quotient_.channels < Programs::kNoRank;
  }

  [[nodiscard]] std::uint32_t pair_class(std::uint32_t from, std::uint32_t to) const {
    for (std::uint32_t p = relations_.first_pair[from]; p < relations_.first_pair[from + 1]; ++p)
      if (relations_.pairs[p].receiver == to) return partition_.pair_class[p];
    throw InternalError("ranks that exchange messages are no pair");
  }

  [[nodiscard]] Workload workload_of_classes() const {
    Workload out;
    out.slots = workload_.slots;
    out.slowed_permille = workload_.slowed_permille;
    out.calls = calls_.of_classes();
    for (std::uint32_t c = 0; c < classes_; ++c) {
      const std::uint32_t rank = partition_.first_member[c];
      const auto first = static_cast<std::uint32_t>(out.streams.size());
      std::size_t place = 0;
      for (const std::uint32_t s : programs_.streams[rank]) {
        Stream& stream = out.streams.emplace_back();
        stream.endpoint = c;
        stream.operations = workload_.streams[s].operations;
        for (Activity& of : stream.operations) {
          for (ActivityRef& ref : of.after) ref.stream = first + programs_.place[ref.stream];
          if (is_message(of)) address(of, rank, place);
          if (of.kind == Activity::Kind::collective) calls_.address(of);
          ++place;
        }
      }
    }
    return out;
  }

  void address(Activity& of, std::uint32_t rank, std::size_t place) const {
    const std::uint32_t peer = programs_.rank_of[of.peer];
    const bool sends = of.kind == Activity::Kind::send;
    const std::uint32_t pairs = sends ? pair_class(rank, peer) : pair_class(peer, rank);
    of.peer = partition_.member_class[peer];
    of.tag = pairs * quotient_.channels + programs_.connection[rank][place];
  }

  /// The results of the classes, for every rank and link.
  [[nodiscard]] FoldedStreams spread(const ReplayResult& played) const {
    FoldedStreams out;
    out.result.end = played.end;
    out.result.solves = played.solves;
    out.result.link_bytes = link_bytes_of(relations_, partition_, quotient_, network_, played);
    out.report.folded = true;
    std::vector<std::uint32_t> first_stream;  // per class
    std::uint32_t next = 0;
    for (std::uint32_t c = 0; c < classes_; ++c) {
      const std::uint32_t rank = partition_.first_member[c];
      first_stream.push_back(next);
      next += static_cast<std::uint32_t>(programs_.streams[rank].size());
      out.report.representatives.push_back(programs_.endpoint[rank]);
      out.report.simulated_operations += programs_.operations[rank].size();
    }
    out.report.class_of.assign(network_.endpoints.size(), StreamFoldReport::kNoClass);
    for (std::uint32_t rank = 0; rank < programs_.endpoint.size(); ++rank)
      out.report.class_of[programs_.endpoint[rank]] = partition_.member_class[rank];
    for (std::uint32_t s = 0; s < workload_.streams.size(); ++s) {
      const std::uint32_t rank = programs_.rank_of[workload_.streams[s].endpoint];
      const std::uint32_t c = partition_.member_class[rank];
      out.result.stream_ends.add(played.stream_ends[first_stream[c] + programs_.place[s]]);
    }
    for (std::uint32_t rank = 0; rank < programs_.endpoint.size(); ++rank) {
      out.report.operations += programs_.operations[rank].size();
      for (const ActivityRef& at : programs_.operations[rank])
        if (operation(at).kind == Activity::Kind::send) ++out.result.transfers;
    }
    out.result.transfers += calls_.transfers();
    out.result.call_ends = calls_.ends(played.call_ends);
    return out;
  }

  const Network& network_;
  const Workload& workload_;
  NetworkModel model_;
  Programs programs_;
  StreamCalls calls_;
  Workload messages_;  // one call of all, and one of each kind of collective
  std::size_t classes_ = 0;
  Relations relations_;
  Partition partition_;
  Quotient quotient_;
};

}  // namespace

FoldedStreams replay_streams_folded(const Network& network, const Workload& workload,
                                    NetworkModel model, bool fold) {
  std::string why_not = fold ? obstacle_of_streams(workload, model) : "not asked for";
  if (why_not.empty()) {
    if (auto folded = StreamFold{network, workload, model}.run(why_not)) return *std::move(folded);
  }
  FoldedStreams out;
  out.result = replay(network, workload, model);
  out.report.why_not = std::move(why_not);
  for (const Stream& stream : workload.streams) out.report.operations += stream.all().size();
  out.report.simulated_operations = out.report.operations;
  return out;
}

}  // namespace lockstep
