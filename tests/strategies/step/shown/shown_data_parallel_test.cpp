#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/shown/shown_scenario.hpp"

/// How gradients come together. N parameters, W workers, R bytes per second of a link.
namespace lockstep::test {
namespace {

[[nodiscard]] std::int64_t parameters(const Shown& shown) {
  return count_parameters(shown.scenario().model).total();
}

[[nodiscard]] Shown parameter_server(int workers) {
  return Shown("parameter-server", {"cluster.ranks=" + std::to_string(workers)});
}

[[nodiscard]] Shown ring_instead(int workers) {
  return Shown("parameter-server", {"cluster.ranks=" + std::to_string(workers),
                                    "parallel.exchange=all_reduce", "parallel.algorithms.dp=ring"});
}

/// Of the first rank: when its last backward operation ends, and when its first reduction begins.
[[nodiscard]] std::pair<TimePoint, TimePoint> backward_end_and_first_reduction(const Shown& shown) {
  const RankTimeline& rank = shown.timeline().ranks.front();
  const RoleProgram& role = shown.timeline().roles.at(rank.role);
  TimePoint end;
  TimePoint begin = shown.timeline().end;
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    if (operation.purpose == Purpose::backward) end = std::max(end, rank.operations[i].end);
    if (operation.communication) begin = std::min(begin, rank.operations[i].start);
  }
  return {end, begin};
}

}  // namespace

TEST_CASE(
    "parameter-server: the server's link carries W gradients in and W times the weights out") {
  for (const int workers : {2, 4, 8, 16}) {
    CAPTURE(workers);
    const Shown shown = parameter_server(workers);
    const std::int64_t fp32 = 4 * parameters(shown);
    CHECK(shown.link_bytes("leaf0 -> host0") == workers * fp32);
    CHECK(shown.link_bytes("host0 -> leaf0") == workers * fp32);
    // A worker pushes once and pulls once, however many there are.
    CHECK(shown.link_bytes("gpu0 -> leaf0") == fp32);
    CHECK(shown.link_bytes("leaf0 -> gpu0") == fp32);
  }
}

TEST_CASE("parameter-server: a ring instead leaves every link 2 (W-1)/W gradients") {
  for (const int workers : {2, 4, 8, 16}) {
    CAPTURE(workers);
    const Shown shown = ring_instead(workers);
    const auto fp32 = static_cast<double>(4 * parameters(shown));
    // Blocks are whole: up to W - 1 elements more for each of the few buckets.
    const double expected = 2.0 * (workers - 1) / workers * fp32;
    CHECK(within(static_cast<double>(shown.link_bytes("gpu0 -> leaf0")), expected, 1e-4));
    CHECK(within(static_cast<double>(shown.link_bytes("leaf0 -> gpu1")), expected, 1e-4));
  }
}

TEST_CASE("parameter-server: its step grows with every worker, a ring's hardly") {
  // Each further worker adds 4 N to the server's link in either direction, one after the other, for
  // nothing overlaps; what the server does to add it up comes on top.
  const Shown of_16 = parameter_server(16);
  const Shown of_32 = parameter_server(32);
  const double rate = 50e9;  // star: 400 Gb/s
  const double one_way = 4 * static_cast<double>(parameters(of_16)) / rate;
  const double per_worker = (of_32.step_s() - of_16.step_s()) / 16;
  CHECK(per_worker > 2 * one_way);
  CHECK(per_worker < 2 * one_way * 1.25);
  // A ring's bytes rise from 2 * 15/16 to 2 * 31/32 of 4 N, its 30 rounds become 62, with four
  // buckets of 2 us a hop.
  const double bytes_more = 2.0 * (31.0 / 32 - 15.0 / 16) * one_way;
  const double rounds_more = 32 * 4 * 2e-6;
  const double ring_more = ring_instead(32).step_s() - ring_instead(16).step_s();
  CHECK(ring_more >= 0);
  CHECK(ring_more < 1.5 * (bytes_more + rounds_more));
  CHECK(ring_more < 0.01 * 16 * per_worker);
}

TEST_CASE("host-average: four gradients over one slot and back, slower than an all-reduce") {
  const Shown by_host("host-average");
  const std::int64_t fp32 = 4 * parameters(by_host);  // as Megatron-Core keeps gradients
  CHECK(by_host.link_bytes("node0/pcie_switch0 -> node0/cpu0") == 4 * fp32);
  CHECK(by_host.link_bytes("node0/cpu0 -> node0/pcie_switch0") == 4 * fp32);

  const Shown by_ring("host-average", {"parallel.exchange=all_reduce"});
  CHECK(by_host.step_s() > 1.5 * by_ring.step_s());
  // The slot of the socket carries 24 GB/s each way, all the sum before any of the mean.
  const double slot = 4 * static_cast<double>(fp32) / 24e9;
  CHECK(by_host.traffic("dp").transfer.seconds() > 1.9 * slot);
}

TEST_CASE(
    "data-parallel-from-scratch: every gradient once, 7/4 of them over every hop of the ring") {
  const Shown shown("data-parallel-from-scratch");
  const std::int64_t gradients = 2 * parameters(shown);  // fp16
  CHECK(shown.traffic("dp").bytes.count() == gradients);
  // Between ranks 3 and 4, and from 7 to 0, no NVLink: over the sockets.
  CHECK(within(static_cast<double>(shown.link_bytes("node0/cpu0 -> node0/cpu1")),
               1.75 * static_cast<double>(gradients), 1e-4));
}

TEST_CASE("data-parallel-from-scratch: nothing is reduced before the backward pass is over") {
  const Shown alone("data-parallel-from-scratch");
  const auto [backward_ends, reduction_begins] = backward_end_and_first_reduction(alone);
  CHECK(reduction_begins >= backward_ends);
  const Shown beside("data-parallel-from-scratch", {R"(parallel.overlap=["dp_gradients"])"});
  const auto [still_backward, already_reducing] = backward_end_and_first_reduction(beside);
  CHECK(already_reducing < still_backward);
  CHECK(beside.step_s() < alone.step_s());
}

TEST_CASE("data-parallel-from-scratch: M microbatches communicate as much as one") {
  const Shown once("data-parallel-from-scratch");
  const GroupTraffic one = once.traffic("dp");
  for (const int m : {2, 4}) {
    CAPTURE(m);
    const Shown shown("data-parallel-from-scratch",
                      {"parallel.global_batch=" + std::to_string(32 * m)});
    const GroupTraffic traffic = shown.traffic("dp");
    CHECK(traffic.operations == one.operations);
    CHECK(traffic.bytes == one.bytes);
    CHECK(traffic.transfer == one.transfer);
    // So a sample pays the M-th part, and less of the step is communication.
    CHECK(shown.exposed_s("dp") / shown.step_s() < once.exposed_s("dp") / once.step_s());
    CHECK(shown.samples_per_s() > once.samples_per_s());
  }
}

}  // namespace lockstep::test
