#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/engine/replay.hpp"
#include "sim/execute/schedule/no_content.hpp"
#include "sim/execute/schedule_checks/resources.hpp"
#include "sim/execute/schedule_checks/rounds.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "tests/sim/engine/star.hpp"

/// How many slots MSCCL's fused steps need: one that receives and sends on forwards out of the slot
/// that the message came in, and gives it back when the sending is over.
using namespace lockstep;
using namespace lockstep::test;

namespace {

std::string step(int number, const std::string& type, int chunk) {
  return fmt::format(
      R"(<step s="{}" type="{}" srcbuf="o" srcoff="{}" dstbuf="o" dstoff="{}" cnt="1"/>)", number,
      type, chunk, chunk);
}

/// An all-gather in a ring of n GPUs, each with `ahead` chunks of its own, which it sends before it
/// takes any. What is not the last to need a chunk passes it on: fused, or as two steps.
std::string ring(int n, int ahead, bool fused) {
  std::string out = fmt::format(
      R"(<algo name="ring" proto="Simple" nchunksperloop="{}" ngpus="{}" coll="allgather" inplace="1" outofplace="0">)",
      n * ahead, n);
  for (int gpu = 0; gpu < n; ++gpu) {
    out += fmt::format(
        R"(<gpu id="{}" i_chunks="{}" o_chunks="{}"><tb id="0" send="{}" recv="{}" chan="0">)", gpu,
        ahead, n * ahead, (gpu + 1) % n, (gpu + n - 1) % n);
    int number = 0;
    for (int i = 0; i < ahead; ++i) out += step(number++, "s", gpu * ahead + i);
    for (int from = 1; from < n; ++from) {
      for (int i = 0; i < ahead; ++i) {
        const int chunk = (gpu + n - from) % n * ahead + i;
        const bool last = from == n - 1;
        out += step(number++, fused && !last ? "rcs" : "r", chunk);
        if (!fused && !last) out += step(number++, "s", chunk);
      }
    }
    out += "</tb></gpu>";
  }
  return out + "</algo>";
}

ResourceVerdict checked(const std::string& text, int slots) {
  const MscclImport read = parse_msccl(text, "ring.xml", {.slots = slots});
  return check_resources(*read.schedule, *read.contract(), slots);
}

/// Whether the program ends with so many slots, as all that runs schedules must agree on.
bool ends(const std::string& text, int slots) {
  const MscclImport read = parse_msccl(text, "ring.xml", {.slots = slots});
  const bool executed = check_resources(*read.schedule, *read.contract()).ends();
  NoContent memory;
  RoundSimulator player{*read.schedule, memory};
  Round round;
  while (player.next(round)) {
  }
  CHECK(player.stopped().has_value() == !executed);
  const Network network = star(static_cast<std::size_t>(read.ranks), 1_GBps, 2_us, {});
  Workload workload;
  CollectiveCall call;
  call.schedule = read.schedule;
  call.block = 1000_B;
  for (int rank = 0; rank < read.ranks; ++rank)
    call.members.push_back(static_cast<EndpointId>(rank));
  workload.calls.push_back(std::move(call));
  for (const NetworkModel model :
       {NetworkModel::fluid, NetworkModel::alpha_beta, NetworkModel::queue})
    CHECK(replay(network, workload, model).unfinished.empty() == executed);
  return executed;
}

}  // namespace

TEST_CASE("msccl: a ring of fused steps waits in a circle with one slot") {
  // Every GPU's send fills the one slot to its next. Then each takes what lies in the slot from
  // the one before, and keeps that slot while it waits to send on, which wants the slot that the
  // next GPU keeps: 0 waits for 1, 1 for 2, 2 for 0.
  const ResourceVerdict one = checked(ring(3, 1, true), 1);
  CHECK_FALSE(one.ends());
  CHECK(one.problem() ==
        "deadlock with 1 slot (2 would be enough): rank 0 step 2 waits to send to rank 1 <- rank "
        "1 step 2 waits to send to rank 2 <- rank 2 step 2 waits to send to rank 0 <- rank 0 step "
        "2");
  // With a second slot all send on at once.
  CHECK(checked(ring(3, 1, true), 2).ends());
  // Two steps, one to receive and one to send, give the slot back in between.
  CHECK(checked(ring(3, 1, false), 1).ends());
}

TEST_CASE("msccl: as many slots as are sent ahead are one too few for fused steps") {
  // All `ahead` slots are full when the first fused step takes a message and keeps its slot.
  for (const int n : {3, 4, 7}) {
    for (const int ahead : {1, 2, 3, 8}) {
      CAPTURE(n);
      CAPTURE(ahead);
      const std::string fused = ring(n, ahead, true);
      CHECK_FALSE(ends(fused, ahead));
      CHECK(ends(fused, ahead + 1));
      CHECK(checked(fused, ahead).enough_slots == ahead + 1);
      CHECK(ends(ring(n, ahead, false), ahead));
    }
  }
}

TEST_CASE("msccl: the usual slots of a protocol are no promise") {
  // Simple has two, LL eight.
  CHECK_FALSE(check_resources(*parse_msccl(ring(4, 2, true), "f").schedule, {}).ends());
  std::string low_latency = ring(4, 8, true);
  low_latency.replace(low_latency.find("Simple"), 6, "LL");
  CHECK_FALSE(check_resources(*parse_msccl(low_latency, "f").schedule, {}).ends());
}

TEST_CASE("msccl: what rendezvous does and slots do not") {
  // Without slots nobody sends before the next one receives, which all do after their own send.
  const ResourceVerdict none = checked(ring(3, 1, true), 0);
  CHECK(none.enough_slots == 2);
  CHECK(none.problem().find("deadlock where every send waits for its receive (2 would be "
                            "enough): rank 0 step 0 waits to send to rank 1") == 0);
}

TEST_CASE("msccl: the fused ring of all kinds needs two slots") {
  const std::string file =
      std::string{LOCKSTEP_SOURCE_DIR} + "/tests/data/msccl/allreduce_ring_fused.xml";
  const MscclImport read = read_msccl(file);
  // ScheduleStep 1, an rrs, is the first that every GPU forwards: see the ring of three above.
  CHECK(check_resources(*read.schedule, *read.contract(), 1).enough_slots == 2);
  CHECK(check_resources(*read.schedule, *read.contract(), 2).ends());
}

TEST_CASE("msccl: elements <copy> are passed over and counted, maxBytes 0 is no limit") {
  std::string text = ring(2, 1, true);
  const MscclImport plain = parse_msccl(text, "f");
  CHECK(plain.notes.empty());
  for (const std::string place : {"<tb ", "<step "})
    for (std::size_t at = text.find(place); at != text.npos; at = text.find(place, at + 40))
      text.insert(at, R"(<copy i_off="0" o_off="0"/>)");
  text.insert(text.find(" coll="), R"( minBytes="0" maxBytes="0")");
  const MscclImport copies = parse_msccl(text, "f");
  // Two GPUs of one tb with two steps: one before each tb, one before each step.
  CHECK(copies.notes == std::vector<std::string>{"6 elements <copy> are ignored, as RCCL does"});
  CHECK(copies.schedule->steps(0, 0) == plain.schedule->steps(0, 0));
  CHECK(copies.min_bytes == 0);
  CHECK_FALSE(copies.max_bytes.has_value());
}

TEST_CASE("msccl: a file for no size says so") {
  std::string text = ring(2, 1, true);
  text.insert(text.find(" coll="), R"( minBytes="4096" maxBytes="1024")");
  CHECK(
      parse_msccl(text, "f").notes ==
      std::vector<std::string>{"minBytes, 4096, is above maxBytes, 1024: it is meant for no size"});
}
