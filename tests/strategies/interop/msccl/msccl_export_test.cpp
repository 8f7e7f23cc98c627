#include "strategies/interop/msccl/msccl_export.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <numeric>

#include "sim/engine/replay.hpp"
#include "sim/execute/schedule_checks/races.hpp"
#include "sim/execute/schedule_checks/verify.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/sim/execute/schedule/table_schedule.hpp"
#include "tests/strategies/collectives/every_row.hpp"
#include "tests/strategies/interop/text/corpus.hpp"

/// Schedules written as MSCCL algorithms and read again: they do the same, at the same times, and
/// no two thread blocks get into each other's way.
using namespace lockstep;
using namespace lockstep::test;

namespace {

/// Time on a star whose ranks copy for nothing.
ReplayResult played(const SchedulePtr& schedule, NetworkModel model,
                    std::optional<Rate> reduce_rate = {}) {
  CollectiveCall call{"exported", schedule, {}, 1000_B, {}};
  call.members.resize(static_cast<std::size_t>(schedule->ranks()));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  const Network network =
      star(call.members.size(), 1_GBps, 2_us, {Duration{}, reduce_rate, std::nullopt});
  return replay(network, {{call}, {}}, model);
}

MscclImport again(const Schedule& schedule, const MscclExportOptions& options) {
  const MscclExport written = write_msccl(schedule, options);
  REQUIRE(written.problem == "");
  return parse_msccl(written.text, "exported.xml");
}

MscclExportOptions options_for(const Contract& contract) {
  return {.collective = contract.collective,
          .ranks = contract.ranks,
          .root = contract.root,
          .distance = contract.distance,
          .name = "exported"};
}

/// What two lanes do to the same memory without knowing of each other, where no sender ever waits
/// for its receiver; empty where there is nothing.
std::string side_by_side(const Schedule& schedule) {
  const RaceVerdict verdict = check_races(schedule, 1 << 16);
  CHECK(verdict.complete);
  return verdict.first ? verdict.first->what : "";
}

void check_round_trip(const SchedulePtr& schedule, const Contract& contract) {
  const MscclImport read = again(*schedule, options_for(contract));
  REQUIRE(read.contract().has_value());
  CHECK(read.contract()->collective == contract.collective);
  CHECK(read.notes.empty());
  CHECK(verify(*read.schedule, *read.contract()).problem() == "");
  CHECK(side_by_side(*read.schedule) == "");
  for (const NetworkModel model : {NetworkModel::fluid, NetworkModel::alpha_beta}) {
    const ReplayResult before = played(schedule, model);
    const ReplayResult after = played(read.schedule, model);
    CHECK(after.unfinished.empty());
    CHECK(after.end == before.end);
    CHECK(after.call_ends == before.call_ends);
    CHECK(after.transfers == before.transfers);
  }
}

/// A table of two ranks that both hold all of the message, and whose second does what the first
/// does with the peer's number the other way round.
ScheduleStep exchange(int peer, std::vector<Chunk> sent, std::vector<Chunk> received,
                      Combine combine) {
  ScheduleStep step;
  step.send(peer, sent);
  step.receive(peer, received, combine);
  return step;
}

}  // namespace

TEST_CASE("msccl: an exchange, written out") {
  const auto table = std::make_shared<const TableSchedule>(std::vector<TableSchedule::Rank>{
      {{exchange(1, {{Buffer::data, 0, 1}}, {{Buffer::data, 0, 1}}, Combine::reduce)}},
      {{exchange(0, {{Buffer::data, 0, 1}}, {{Buffer::data, 0, 1}}, Combine::reduce)}}});
  const MscclExport written = write_msccl(*table, {.ranks = 2, .name = "a \"pair\""});
  CHECK(written.warnings.empty());
  CHECK(
      written.text ==
      R"(<algo name="a &quot;pair&quot;" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="allreduce" inplace="1" outofplace="0" slots="0">
  <gpu id="0" i_chunks="1" o_chunks="0" s_chunks="1">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="1" chan="0">
      <step s="0" type="r" srcbuf="s" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="0" s_chunks="1">
    <tb id="0" send="0" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="0" chan="0">
      <step s="0" type="r" srcbuf="s" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)");
  check_round_trip(table, contract_of(Collective::all_reduce, *table, 2));
}

TEST_CASE("msccl: additions of two lanes to one block are made by one tb") {
  // Ranks 1 and 2 send two blocks each to rank 0, which adds them in two lanes of their own and
  // sends each on once both have come.
  const auto receive = [](int peer, std::int64_t block) {
    ScheduleStep step;
    step.receives = {{peer, {Buffer::data, block, 1}, Combine::reduce}};
    return step;
  };
  const auto send = [](int peer, std::int64_t block, std::vector<ScheduleStepRef> after = {}) {
    ScheduleStep step;
    step.sends = {{peer, {Buffer::data, block, 1}}};
    step.after = std::move(after);
    return step;
  };
  const auto take = [](std::int64_t block) {
    ScheduleStep step;
    step.receives = {{0, {Buffer::data, block, 1}, Combine::copy}};
    return step;
  };
  const auto back = [&](int peer) {
    return TableSchedule::Lane{send(peer, 0, {{0, 0}, {1, 0}}), send(peer, 1, {{0, 1}, {1, 1}})};
  };
  const TableSchedule::Rank leaf{{send(0, 0), send(0, 1)}, {take(0), take(1)}};
  const auto table = std::make_shared<const TableSchedule>(
      std::vector<TableSchedule::Rank>{
          {{receive(1, 0), receive(1, 1)}, {receive(2, 0), receive(2, 1)}, back(1), back(2)},
          leaf,
          leaf},
      2);
  CHECK(check_races(*table).count > 0);
  check_round_trip(table, contract_of(Collective::all_reduce, *table, 3));
}

TEST_CASE("msccl: a lane that uses what is added for it waits for that") {
  const auto add_and_send = [](int peer, int other_lane) {
    ScheduleStep add;
    add.receives = {{peer, {Buffer::data, 0, 1}, Combine::reduce}};
    ScheduleStep back;
    back.sends = {{peer, {Buffer::data, 0, 1}}};
    back.after = {{other_lane, 0}};
    return TableSchedule::Lane{add, back};
  };
  ScheduleStep send;
  send.sends = {{0, {Buffer::data, 0, 1}}};
  ScheduleStep take;
  take.receives = {{0, {Buffer::data, 0, 1}, Combine::copy}};
  const TableSchedule::Rank leaf{{send, take}};
  const auto table = std::make_shared<const TableSchedule>(
      std::vector<TableSchedule::Rank>{{add_and_send(1, 1), add_and_send(2, 0)}, leaf, leaf});
  check_round_trip(table, contract_of(Collective::all_reduce, *table, 3));
}

TEST_CASE("msccl: every algorithm of the table comes back the same") {
  for (const RowCase& row : every_row({1, 2, 3, 4, 5, 8})) {
    CAPTURE(row.name());
    const SchedulePtr schedule = row.make();
    const Contract contract = row.contract(*schedule);
    if (schedule->ranks() > row.n()) {
      CHECK(write_msccl(*schedule, options_for(contract)).problem.find("helpers") !=
            std::string::npos);
    } else if (contract.collective == Collective::barrier && row.n() > 1) {
      CHECK(write_msccl(*schedule, options_for(contract)).problem.find("without a chunk") !=
            std::string::npos);
    } else {
      check_round_trip(schedule, contract);
    }
  }
}

TEST_CASE("msccl: reductions take the same time as before") {
  for (const char* name : {"ring", "direct", "recursive_doubling", "one_shot"}) {
    for (const int n : {2, 4, 8}) {
      const SchedulePtr schedule =
          make_schedule(*find_algorithm(Collective::all_reduce, name), {.n = n});
      const Contract contract = contract_of(Collective::all_reduce, *schedule, n);
      const SchedulePtr read = again(*schedule, options_for(contract)).schedule;
      CAPTURE(name);
      CAPTURE(n);
      CHECK(played(read, NetworkModel::fluid, 2_GBps).end ==
            played(schedule, NetworkModel::fluid, 2_GBps).end);
    }
  }
}

TEST_CASE("msccl: messages of several runs are gathered and taken apart") {
  const std::vector<Chunk> even{{Buffer::data, 0, 1}, {Buffer::data, 2, 1}};
  const std::vector<Chunk> odd{{Buffer::data, 1, 1}, {Buffer::data, 3, 1}};
  const std::vector<Chunk> joined{{Buffer::data, 0, 1}, {Buffer::data, 1, 1}};
  const std::vector<Chunk> behind{{Buffer::data, 2, 2}};
  using Rank = TableSchedule::Rank;
  const auto table = std::make_shared<const TableSchedule>(
      std::vector<Rank>{
          {{exchange(1, even, odd, Combine::reduce), exchange(1, odd, even, Combine::copy)}},
          {{exchange(0, odd, even, Combine::reduce), exchange(0, even, odd, Combine::copy)}}},
      4);
  check_round_trip(table, contract_of(Collective::all_reduce, *table, 2));
  const auto neighbours = std::make_shared<const TableSchedule>(
      std::vector<Rank>{{{exchange(1, joined, behind, Combine::reduce),
                          exchange(1, behind, joined, Combine::copy)}},
                        {{exchange(0, behind, joined, Combine::reduce),
                          exchange(0, joined, behind, Combine::copy)}}},
      4);
  check_round_trip(neighbours, contract_of(Collective::all_reduce, *neighbours, 2));
  CHECK(again(*neighbours, {.ranks = 2}).schedule->scratch_blocks(0) == 0);
}

TEST_CASE("msccl: two messages of a step to one peer travel side by side") {
  using Rank = TableSchedule::Rank;
  const auto rank = [](int peer, std::int64_t own, std::int64_t other) {
    ScheduleStep first;
    first.sends = {{peer, {Buffer::data, own, 1}}, {peer, {Buffer::data, own + 1, 1}}};
    first.receives = {{peer, {Buffer::data, other, 1}, Combine::copy},
                      {peer, {Buffer::data, other + 1, 1}, Combine::copy}};
    return Rank{{first}};
  };
  const auto table =
      std::make_shared<const TableSchedule>(std::vector<Rank>{rank(1, 0, 2), rank(0, 2, 0)}, 4);
  check_round_trip(table, contract_of(Collective::all_gather, *table, 2));
  CHECK(again(*table, {.collective = Collective::all_gather, .ranks = 2}).channels == 2);
}

TEST_CASE("msccl: lanes that wait for each other, empty steps and local work") {
  using Rank = TableSchedule::Rank;
  const auto rank = [](int peer) {
    ScheduleStep arrive;
    arrive.receives = {{peer, {Buffer::scratch, 0, 1}, Combine::copy}};
    ScheduleStep leave;
    leave.sends = {{peer, {Buffer::data, 0, 1}}};
    ScheduleStep wait;
    wait.after = {{1, 0}};
    ScheduleStep add;
    add.after = {{2, 0}};
    add.locals = {{{Buffer::scratch, 0, 1}, {Buffer::data, 0, 1}, Combine::reduce},
                  {{Buffer::data, 0, 1}, {Buffer::output, 0, 1}, Combine::copy}};
    // Lane 2 only waits for lane 1; lane 0 receives and adds after lane 2.
    return Rank{{arrive, ScheduleStep{}, add}, {leave}, {wait}};
  };
  const auto table = std::make_shared<const TableSchedule>(std::vector<Rank>{rank(1), rank(0)}, 1,
                                                           0, 1, Buffer::output);
  check_round_trip(table, contract_of(Collective::all_reduce, *table, 2));
}

TEST_CASE("msccl: blocks beyond a part that is all the program has lie in scratch") {
  // An all-gather out of place that collects in data, where MSCCL has the own part alone.
  using Rank = TableSchedule::Rank;
  const auto rank = [](int peer, std::int64_t own) {
    ScheduleStep swap;
    swap.sends = {{peer, {Buffer::data, own, 1}}};
    swap.receives = {{peer, {Buffer::data, 1 - own, 1}, Combine::copy}};
    swap.locals = {{{Buffer::data, 0, 2}, {Buffer::output, 0, 2}, Combine::copy}};
    return Rank{{swap}};
  };
  const auto table = std::make_shared<const TableSchedule>(
      std::vector<Rank>{rank(1, 0), rank(0, 1)}, 2, 0, 0, Buffer::output);
  check_round_trip(table, contract_of(Collective::all_gather, *table, 2));
}

TEST_CASE("msccl: what was read is written and read again, slots and all") {
  std::vector<std::string> paths;
  for (const char* name : {"allgather_in_place", "allgather_ring", "allreduce_ring_fused",
                           "allreduce_star", "alltoall", "broadcast_chain", "gather",
                           "reduce_scatter_scratch", "reducescatter_in_place", "scatter"})
    paths.push_back(fmt::format("{}/tests/data/msccl/{}.xml", LOCKSTEP_SOURCE_DIR, name));
  for (const char* name : {"msccl/a2a2ll.xml", "msccl/ag-1k-512k.xml", "msccl/ag_hier_4_LL.xml",
                           "msccl/alltoall-8n-0-9kb.xml", "msccl/ar_tree_12_LL.xml"})
    if (const auto path = corpus(name)) paths.push_back(*path);
  for (const std::string& path : paths) {
    CAPTURE(path);
    const MscclImport read = read_msccl(path);
    CHECK(side_by_side(*read.schedule) == "");
    check_round_trip(read.schedule, *read.contract());
    CHECK(again(*read.schedule, options_for(*read.contract())).schedule->slots() ==
          read.schedule->slots());
  }
}

TEST_CASE("msccl: what MSCCL has no name for keeps its own") {
  ScheduleStep shift;
  shift.sends = {{1, {Buffer::data, 0, 2}}};
  shift.receives = {{1, {Buffer::output, 0, 2}, Combine::copy}};
  ScheduleStep back = shift;
  back.sends[0].peer = back.receives[0].peer = 0;
  const auto table = std::make_shared<const TableSchedule>(
      std::vector<TableSchedule::Rank>{{{shift}}, {{back}}}, 2, 0, 0, Buffer::output);
  check_round_trip(table, contract_of(Collective::send_recv, *table, 2, 0, 3));
  CHECK(
      write_msccl(*table, {.collective = Collective::send_recv, .ranks = 2, .distance = 3})
          .text.find(
              R"(coll="custom" inplace="0" outofplace="1" collective="send_recv" distance="3")") !=
      std::string::npos);
}

TEST_CASE("msccl: what MSCCL does not have is no program") {
  const SchedulePtr server =
      make_schedule(*find_algorithm(Collective::all_reduce, "parameter_server"), {.n = 4});
  const MscclExport written = write_msccl(*server, {.ranks = 4});
  CHECK(written.text.empty());
  CHECK(written.problem ==
        "1 of its 5 ranks are helpers, such as servers or switches, which MSCCL does not have");
  ScheduleStep nothing;
  nothing.sends = {{1, {Buffer::data, 0, 0}}};
  ScheduleStep none;
  none.receives = {{0, {Buffer::data, 0, 0}, Combine::copy}};
  CHECK(write_msccl(TableSchedule{{{{nothing}}, {{none}}}}, {.ranks = 2}).problem ==
        "rank 0 sends a message without a chunk, which MSCCL does not have");
  CHECK(write_msccl(TableSchedule{{{}, {}}, 3}, {.collective = Collective::all_gather, .ranks = 2})
            .problem == "its 3 blocks cannot be divided equally over 2 ranks");
}

TEST_CASE("msccl: what MSCCL's interpreter would not take is warned of") {
  const CollectiveAlgorithm& ring = *find_algorithm(Collective::all_reduce, "ring");
  CHECK(write_msccl(*make_schedule(ring, {.n = 129}), {.ranks = 129}).warnings.empty());
  CHECK(write_msccl(*make_schedule(ring, {.n = 130}), {.ranks = 130}).warnings ==
        std::vector<std::string>{"there are up to 258 steps in a tb; MSCCL takes at most 256"});
  const CollectiveAlgorithm& direct = *find_algorithm(Collective::all_reduce, "direct");
  CHECK(write_msccl(*make_schedule(direct, {.n = 18}), {.ranks = 18}).warnings ==
        std::vector<std::string>{
            "there are up to 35 tbs on a channel of a GPU; MSCCL takes at most 32"});
}
