#include <doctest/doctest.h>

#include <numeric>
#include <tuple>

#include "sim/schedule/message_depth.hpp"
#include "sim/schedule/schedule_traits.hpp"
#include "sim/symmetry/fold.hpp"
#include "sim/symmetry/partition/relations.hpp"
#include "sim/symmetry/replay_memory.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/strategies/collectives/every_row.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/routing/lower.hpp"

/// What schedules say of themselves so that not all of their steps have to be visited.
using namespace lockstep;

namespace {

/// What of a step the network and the rank's device see, with the peers of another rank.
using Message = std::tuple<int, std::int64_t, int, bool>;  // peer, blocks, channel, reduced
struct Looks {
  std::vector<Message> sent;
  std::vector<Message> received;
  std::int64_t reduced = 0;
  std::int64_t copied = 0;
  std::vector<std::pair<int, std::int64_t>> after;

  friend bool operator==(const Looks&, const Looks&) = default;
};

Looks looks_of(const Schedule& schedule, int rank, int lane, std::int64_t index,
               const auto& moved) {
  ScheduleStep step;
  schedule.step(rank, lane, index, step);
  Looks out;
  for (const Send& send : step.sends)
    out.sent.emplace_back(moved(send.peer), step.blocks_of(send), send.channel, false);
  for (const Receive& receive : step.receives)
    out.received.emplace_back(moved(receive.peer), step.blocks_of(receive), receive.channel,
                              receive.combine == Combine::reduce);
  for (const LocalOperation& local : step.locals)
    (local.combine == Combine::reduce ? out.reduced : out.copied) += local.to.count;
  for (const ScheduleStepRef& ref : step.after) out.after.emplace_back(ref.lane, ref.step);
  return out;
}

bool all_blocks_do_alike(const Schedule& schedule, const BlockMoves& moves) {
  const auto first = [&](int block) {
    return [&moves, block](int rank) {
      return moves.seen_from(block, rank / moves.block) * moves.block + rank % moves.block;
    };
  };
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const int alike = rank % moves.block;
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      if (schedule.steps(rank, lane) != schedule.steps(alike, lane)) return false;
      for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i)
        if (looks_of(schedule, rank, lane, i, first(rank / moves.block)) !=
            looks_of(schedule, alike, lane, i, first(0)))
          return false;
    }
  }
  return true;
}

Workload workload_of(const SchedulePtr& schedule, int n) {
  CollectiveCall call{"call",
                      schedule,
                      {},
                      divide_message(1_MiB, *find_element_type("uint8"), schedule->blocks()).block};
  call.members.resize(static_cast<std::size_t>(n));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  Workload out;
  out.calls.push_back(std::move(call));
  return out;
}

Network star_of(int n) {
  return lower(direct("star", n), Endpoint{Duration{}, 100_GBps, 200_GBps});
}

SchedulePtr schedule_of(Collective collective, std::string_view name, int n) {
  const CollectiveAlgorithm* row = find_algorithm(collective, name);
  REQUIRE(row != nullptr);
  return make_schedule(*row, {.n = n});
}

/// Another schedule's steps, counted as they are asked for; without its phases where they are
/// hidden.
class Watched final : public Schedule, public LateSchedule {
 public:
  explicit Watched(SchedulePtr of, bool phases = true) : of_{std::move(of)}, phases_{phases} {}

  [[nodiscard]] int ranks() const override { return of_->ranks(); }
  [[nodiscard]] int lanes() const override { return of_->lanes(); }
  [[nodiscard]] std::int64_t blocks() const override { return of_->blocks(); }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return of_->steps(rank, lane);
  }
  [[nodiscard]] std::int64_t first_step(int rank, int lane) const override {
    return lockstep::first_step(*of_, rank, lane);
  }
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    ++asked_;
    of_->step(rank, lane, index, step);
  }
  [[nodiscard]] std::vector<Phase> phases() const override {
    return phases_ ? of_->phases() : std::vector<Phase>{};
  }
  [[nodiscard]] std::int64_t asked() const { return asked_; }

 private:
  SchedulePtr of_;
  bool phases_;
  mutable std::int64_t asked_ = 0;
};

}  // namespace

TEST_CASE("schedules that say that blocks of ranks do alike are right") {
  int symmetric = 0;
  for (const RowCase& each : every_row({1, 2, 3, 4, 6, 7, 8, 12, 16})) {
    const SchedulePtr schedule = each.make();
    const auto moves = moves_of(*schedule);
    if (!moves) continue;
    CAPTURE(each.name());
    CHECK(moves->block * moves->blocks == schedule->ranks());
    CHECK(all_blocks_do_alike(*schedule, *moves));
    ++symmetric;
  }
  CHECK(symmetric > 80);
}

/// Rings pass nodes in pairs, each entered by where the one before is left: two nodes are a block
/// if all have a partner, whatever the number of channels and either way round.
TEST_CASE("rings through nodes say that pairs of nodes do alike") {
  for (const std::string_view name : {"ring", "bidirectional_ring"}) {
    const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, name);
    REQUIRE(row != nullptr);
    for (const int per_node : {2, 4, 8}) {
      for (const int nodes : {2, 3, 4, 6, 7}) {
        for (const std::int64_t channels : {1, 2, 3}) {
          AlgorithmInput input{.n = nodes * per_node};
          input.layout.per_node = per_node;
          if (name == "ring") input.arguments = {{"channels", channels}};
          CAPTURE(name);
          CAPTURE(per_node);
          CAPTURE(nodes);
          CAPTURE(channels);
          const SchedulePtr schedule = make_schedule(*row, input);
          const auto moves = moves_of(*schedule);
          REQUIRE(moves.has_value() == (nodes % 2 == 0 && nodes > 2));
          if (!moves) continue;
          CHECK(moves->block == 2 * per_node);
          CHECK(all_blocks_do_alike(*schedule, *moves));
        }
      }
    }
  }
}

TEST_CASE("steps before a lane's first one are empty") {
  int late = 0;
  for (const RowCase& each : every_row({1, 2, 3, 5, 8, 12})) {
    const SchedulePtr schedule = each.make();
    CAPTURE(each.name());
    for (int rank = 0; rank < schedule->ranks(); ++rank) {
      for (int lane = 0; lane < schedule->lanes(); ++lane) {
        const std::int64_t first = first_step(*schedule, rank, lane);
        CHECK(first <= schedule->steps(rank, lane));
        late += first > 0 ? 1 : 0;
        for (std::int64_t i = 0; i < first; ++i) {
          ScheduleStep step;
          schedule->step(rank, lane, i, step);
          CHECK(step.sends.size() + step.receives.size() + step.locals.size() == 0);
        }
      }
    }
  }
  CHECK(late > 50);
}

/// Moves of blocks 2 long on a star, whose blocks are 1 long, are the schedule's; those of 1 on
/// blocks of 3 have 3 of its ranks each. Exclusive or goes with blocks 2^k times as long only.
TEST_CASE("moves of a schedule and of a network have those of longer blocks in common") {
  using Kind = BlockMoves::Kind;
  const auto common = [](Kind kind, int block, int blocks, int unit) {
    return coarser({kind, block, blocks}, unit);
  };
  CHECK(common(Kind::rotation, 2, 6, 1) == BlockMoves{Kind::rotation, 2, 6});
  CHECK(common(Kind::rotation, 1, 12, 3) == BlockMoves{Kind::rotation, 3, 4});
  CHECK(common(Kind::rotation, 2, 6, 3) == BlockMoves{Kind::rotation, 6, 2});
  CHECK(common(Kind::rotation, 1, 12, 5) == std::nullopt);
  CHECK(common(Kind::rotation, 1, 12, 12) == std::nullopt);
  CHECK(common(Kind::exclusive_or, 1, 8, 2) == BlockMoves{Kind::exclusive_or, 2, 4});
  CHECK(common(Kind::exclusive_or, 2, 8, 1) == BlockMoves{Kind::exclusive_or, 2, 8});
  CHECK(common(Kind::exclusive_or, 1, 24, 3) == std::nullopt);
}

/// One rank of a star stands for all where everybody sends to everybody: n - 1 pairs, not
/// n * (n - 1).
TEST_CASE("communications are found for one block of ranks if blocks are equivalent") {
  const int n = 64;
  const Network network = star_of(n);
  for (const auto& [collective, name, block] :
       {std::tuple{Collective::all_reduce, "direct", 1},
        {Collective::all_reduce, "one_shot", 1},
        {Collective::all_to_all, "direct", 1},
        {Collective::all_to_all, "pairwise", 1},
        {Collective::all_to_all, "bruck", 1},
        {Collective::all_gather, "neighbour_exchange", 2}}) {
    CAPTURE(name);
    const Workload workload = workload_of(schedule_of(collective, name, n), n);
    const auto relations = fold::find_relations(network, workload, 1'000'000, true);
    REQUIRE(relations);
    REQUIRE(relations->moves);
    CHECK(std::ssize(relations->members) == block);
    CHECK(relations->pairs.size() <= static_cast<std::size_t>(block * (n - 1)));
  }
}

/// Whatever the report says of classes, links and transfers must not depend on how they were found.
TEST_CASE("ranks found block by block fold as all of them do") {
  const Cluster tree =
      build_cluster(call("fat_tree", {{"link", plain_link()}, {"radix", std::int64_t{8}}}),
                    std::nullopt, ranks(32));
  for (const RowCase& each : every_row({8, 16, 32})) {
    const SchedulePtr schedule = each.make();
    if (!moves_of(*schedule)) continue;
    CAPTURE(each.name());
    for (const Network& network : {star_of(each.n()), lower(tree, Endpoint{})}) {
      const Workload workload = workload_of(schedule, each.n());
      const auto plain = replay_folded(network, workload, NetworkModel::fluid, {.blocks = false});
      const auto blocks = replay_folded(network, workload, NetworkModel::fluid);
      CHECK(blocks.result.call_ends == plain.result.call_ends);
      CHECK(blocks.result.link_bytes == plain.result.link_bytes);
      CHECK(blocks.result.transfers == plain.result.transfers);
      CHECK(blocks.report.class_of == plain.report.class_of);
      CHECK(blocks.report.links == plain.report.links);
      CHECK(blocks.report.link_classes == plain.report.link_classes);
      CHECK(blocks.report.simulated_transfers == plain.report.simulated_transfers);
      CHECK(blocks.report.rounds == plain.report.rounds);
    }
  }
}

/// n - 1 messages with two ends each, looked at once for the relations and once more (and once
/// more by a reader of phases) for the replay; all ranks' steps are n * (n - 1) / 2.
TEST_CASE("a chain of one chunk costs as many steps as it has messages") {
  const int n = 400;
  for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
    const CollectiveAlgorithm* row = find_algorithm(collective, "chain");
    REQUIRE(row != nullptr);
    const auto chain = std::make_shared<const Watched>(
        make_schedule(*row, {.n = n, .arguments = {{"chunks", std::int64_t{1}}}}));
    const Network network = star_of(n);
    const Workload workload = workload_of(chain, n);
    const FoldedReplay folded = replay_folded(network, workload, NetworkModel::fluid);
    CHECK(folded.report.folded);
    CHECK(chain->asked() <= 4 * 2 * (n - 1));
    CHECK(folded.result.call_ends == replay(network, workload, NetworkModel::fluid).call_ends);
  }
}

TEST_CASE("messages that follow one another are counted the same with and without phases") {
  int phased = 0;
  for (const RowCase& each : every_row({1, 2, 3, 4, 6, 8, 12, 16})) {
    const SchedulePtr schedule = each.make();
    phased += schedule->phases().empty() ? 0 : 1;
    CAPTURE(each.name());
    CHECK(message_depth(*schedule) == message_depth(Watched{schedule, false}));
  }
  CHECK(phased > 50);
}

/// Pipelines meet a step apart. Each step of theirs comes to make all lanes one message deeper, and
/// those left out of the walk are multiplied.
TEST_CASE("messages that follow one another are counted from a pipeline's first steps") {
  int counted = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    for (const int n : {2, 3, 5, 8, 12, 31, 48}) {
      for (const std::int64_t chunks : {31, 64, 257}) {
        AlgorithmInput input{.n = n, .arguments = {{"chunks", chunks}}, .layout = layout_for(n)};
        if (!validate(row, input).empty()) continue;
        const Watched schedule{make_schedule(row, input), true};
        CAPTURE(row.name);
        CAPTURE(n);
        CAPTURE(chunks);
        const auto steady = steady_depth(schedule);
        if (!steady) continue;
        ++counted;
        CHECK(steady == message_depth(Watched{make_schedule(row, input), false}));
      }
    }
  }
  CHECK(counted > 50);
}

/// Both trees of 512 ranks are 9 deep: at most 16 + 32 + 64 steps of 4 lanes show what 481 chunks
/// come to.
TEST_CASE("messages that follow one another in a double binary tree are counted from a few steps") {
  const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, "double_binary_tree");
  REQUIRE(row != nullptr);
  const auto make = [row] {
    return make_schedule(*row, {.n = 512, .arguments = {{"chunks", std::int64_t{481}}}});
  };
  const Watched tree{make()};
  CHECK(message_depth(tree) == message_depth(Watched{make(), false}));
  CHECK(tree.asked() <= 512 * 4 * (16 + 32 + 64 + 8));
}

/// Of the 2 * 63 rounds of 2 lanes of 64 ranks each of two phases needs one: 256 steps, not 16,128.
TEST_CASE("messages that follow one another are counted once a phase") {
  const CollectiveAlgorithm* row = find_algorithm(Collective::all_reduce, "ring");
  REQUIRE(row != nullptr);
  const Watched ring{make_schedule(*row, {.n = 64, .arguments = {{"channels", std::int64_t{2}}}})};
  CHECK(message_depth(ring) == 2 * 63);
  CHECK(ring.asked() <= 2 * 256);
}

/// Of one-shot on 65,536 ranks 65,536 * 65,535 pairs talk, at more than 200 bytes each; where ranks
/// of a star do alike, 65,535 do. What is counted is at most a few ranks' steps.
TEST_CASE("a replay's memory is known before it is taken") {
  const int n = 65'536;
  const Network network = star_of(n);
  const SchedulePtr one_shot = schedule_of(Collective::all_reduce, "one_shot", n);
  const auto of = [&](const SchedulePtr& schedule, const FoldOptions& options) {
    return replay_memory(network, workload_of(schedule, n), NetworkModel::fluid, options);
  };
  CHECK(of(one_shot, {}).bytes < 1_GiB);
  const auto watched = std::make_shared<const Watched>(one_shot);
  const ReplayMemory apart = of(watched, {});
  CHECK(apart.pairs == std::uint64_t{65'536} * 65'535);
  CHECK(apart.bytes > 800_GiB);
  CHECK(watched->asked() < 5000);
  CHECK(of(one_shot, {.fold = false}).bytes > 800_GiB);
  CHECK(of(schedule_of(Collective::all_reduce, "ring", n), {.fold = false}).bytes < 1_GiB);
}

/// Pairwise exchanges send one message a step, so that their steps may be planned: 180 bytes for
/// each of n (n - 1) connections. One-shot sends n - 1 at once, more than a plan has in a step.
TEST_CASE("a replay's memory counts the plan of plain steps") {
  const int n = 1500;
  const Network network = star_of(n);
  const auto of = [&](Collective collective, const std::string& name, bool plain) {
    const Workload workload = workload_of(schedule_of(collective, name, n), n);
    return memory_not_by_rank(network, workload, NetworkModel::fluid,
                              {.plain = plain, .blocks = false});
  };
  const ReplayMemory planned = of(Collective::all_to_all, "pairwise", true);
  const ReplayMemory engine = of(Collective::all_to_all, "pairwise", false);
  CHECK(planned.pairs == std::uint64_t{1500} * 1499);
  CHECK(planned.bytes.count() - engine.bytes.count() == std::int64_t{180} * 1500 * 1499);
  CHECK(of(Collective::all_reduce, "one_shot", true).bytes ==
        of(Collective::all_reduce, "one_shot", false).bytes);
}

TEST_CASE("a hub with very many peers is no reason to refuse a replay") {
  const int n = 65'536;
  const SchedulePtr naive = schedule_of(Collective::all_reduce, "naive", n);
  const ReplayMemory memory = replay_memory(star_of(n), workload_of(naive, n), NetworkModel::fluid);
  CHECK(memory.pairs <= 2 * std::uint64_t{65'535});  // rank 0 and each other one, both ways
  CHECK(memory.bytes < 1_GiB);
}

/// 2,000 ranks that call a one-shot all-reduce post 2,000 * 1,999 messages at once, 670 bytes each
/// where routes have two links: 2.49 GiB, and twice that where two calls run in streams of their
/// own, but not where one follows the other.
TEST_CASE("collectives of streams take the memory of those that run at once") {
  const int n = 2000;
  const Network network = star_of(n);
  const SchedulePtr one_shot = schedule_of(Collective::all_reduce, "one_shot", n);
  const Workload call = workload_of(one_shot, n);
  Workload twice;
  twice.calls = {call.calls.front(), call.calls.front()};
  const auto collective = [](std::uint32_t number, std::uint32_t member) {
    Activity out;
    out.kind = Activity::Kind::collective;
    out.call = number;
    out.member = member;
    return out;
  };
  Workload named = twice;    // in streams of their own, of which the second waits for the first
  Workload at_once = twice;  // likewise, but nobody waits
  for (std::uint32_t member = 0; member < n; ++member) {
    twice.streams.push_back({member, "both", {collective(0, member), collective(1, member)}});
    for (const std::uint32_t number : {0U, 1U}) {
      at_once.streams.push_back({member, "one", {collective(number, member)}});
      named.streams.push_back(at_once.streams.back());
    }
    named.streams.back().operations[0].after = {{2 * member, 0}};
  }
  const ReplayMemory in_turn = stream_memory(network, twice);
  CHECK(in_turn.posted == 2000 * 1999);
  CHECK(in_turn.bytes == Bytes{std::int64_t{2000} * 1999 * 670});
  CHECK(stream_memory(network, named).bytes == in_turn.bytes);
  CHECK(stream_memory(network, at_once).posted == 2 * in_turn.posted);
  CHECK(stream_memory(network, at_once).bytes == Bytes{2 * in_turn.bytes.count()});
}

TEST_CASE("sends of streams take memory where they are in flight at once") {
  const std::uint32_t sends = 3'000'000;
  Activity send;
  send.kind = Activity::Kind::send;
  send.peer = 1;
  Workload chain;
  chain.streams.push_back({0, "chain", std::vector<Activity>(sends, send)});
  Workload at_once;
  for (std::uint32_t i = 0; i < sends; ++i) at_once.streams.push_back({0, "one", {send}});
  const Network network = star_of(2);
  CHECK(stream_memory(network, chain).bytes == Bytes{});
  CHECK(stream_memory(network, at_once).pairs == 2);  // no more than there are
  CHECK(stream_memory(network, at_once).bytes == Bytes{std::int64_t{sends} * 670});
}
