#include "strategies/interop/msccl/msccl.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

#include "sim/execute/schedule_checks/verify.hpp"
#include "tests/strategies/interop/text/corpus.hpp"

/// MSCCL files become schedules that do what the files say.
using namespace lockstep;
using namespace lockstep::test;

namespace {

std::string fixture(const std::string& name) {
  return LOCKSTEP_SOURCE_DIR "/tests/data/msccl/" + name;
}

/// One step of a schedule on one line: "after 0.1 | send 1 <- data 0+1 @0 | ...".
std::string shown(const Chunk& chunk) {
  constexpr std::array kNames{"data", "output", "scratch"};
  return fmt::format("{} {}+{}", kNames[static_cast<std::size_t>(chunk.buffer)], chunk.first,
                     chunk.count);
}
std::string shown(const Schedule& schedule, int rank, int lane, std::int64_t index) {
  ScheduleStep step;
  schedule.step(rank, lane, index, step);
  std::string out;
  for (const ScheduleStepRef& after : step.after)
    out += fmt::format("after {}.{} ", after.lane, after.step);
  for (const Receive& receive : step.receives) {
    out += fmt::format("{} {} from {} on {} ",
                       receive.combine == Combine::reduce ? "add to" : "receive",
                       shown(receive.chunk), receive.peer, receive.channel);
  }
  for (const Send& send : step.sends)
    out += fmt::format("send {} to {} on {} ", shown(send.chunk), send.peer, send.channel);
  for (const LocalOperation& local : step.locals) {
    out += fmt::format("{} {} to {} ", local.combine == Combine::reduce ? "add" : "copy",
                       shown(local.from), shown(local.to));
  }
  if (!out.empty()) out.pop_back();
  return out;
}

std::vector<std::string> shown(const Schedule& schedule, int rank, int lane) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i)
    out.push_back(shown(schedule, rank, lane, i));
  return out;
}

/// A program of two GPUs around the steps of GPU 0's first tb; GPU 1 has a tb that does the
/// opposite with its own memory.
std::string two_gpus(const std::string& steps, const std::string& opposite) {
  const auto gpu = [](int id, const std::string& inner) {
    return fmt::format(
        "<gpu id=\"{}\" i_chunks=\"4\" o_chunks=\"4\" s_chunks=\"2\">"
        "<tb id=\"0\" send=\"{}\" recv=\"{}\" chan=\"0\">{}</tb></gpu>",
        id, 1 - id, 1 - id, inner);
  };
  return "<algo name=\"two\" proto=\"LL\" nchunksperloop=\"4\" ngpus=\"2\" coll=\"custom\">" +
         gpu(0, steps) + gpu(1, opposite) + "</algo>";
}

std::string one_step(const std::string& type, const std::string& source,
                     const std::string& destination) {
  return fmt::format(
      "<step s=\"0\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" "
      "dstoff=\"{}\" cnt=\"2\"/>",
      type, source[0], source.substr(1), destination[0], destination.substr(1));
}

const std::string kSend = R"(<step s="0" type="s" srcbuf="i" srcoff="0" cnt="2"/>)";
const std::string kReceive = R"(<step s="0" type="r" dstbuf="i" dstoff="0" cnt="2"/>)";
const std::string kSendAndReceive =
    R"(<step s="1" type="r" dstbuf="i" dstoff="0" cnt="2"/>)" + kSend;

/// What GPU 0's lane does for one step of the file, out of place.
std::vector<std::string> meaning(const std::string& type, const std::string& source,
                                 const std::string& destination) {
  const std::string opposite = type == "s"                     ? kReceive
                               : type == "cpy" || type == "re" ? ""
                               : type == "r" || type == "rrc"  ? kSend
                                                               : kSendAndReceive;
  std::string text = two_gpus(one_step(type, source, destination), opposite);
  text.insert(text.find(" coll="), " inplace=\"0\"");
  return shown(*parse_msccl(text, "two.xml").schedule, 0, 0);
}

void check_right(const std::string& path) {
  CAPTURE(path);
  const MscclImport read = read_msccl(path);
  REQUIRE(read.contract().has_value());
  CHECK(verify(*read.schedule, *read.contract()).problem() == "");
}

}  // namespace

TEST_CASE("msccl: every kind of step says what it says in MSCCL") {
  using Lines = std::vector<std::string>;
  CHECK(meaning("s", "i1", "o0") == Lines{"send data 1+2 to 1 on 0"});
  CHECK(meaning("r", "i0", "o1") == Lines{"receive output 1+2 from 1 on 0"});
  CHECK(meaning("rcs", "i0", "o1") ==
        Lines{"receive output 1+2 from 1 on 0", "send output 1+2 to 1 on 0"});
  CHECK(meaning("rrc", "i0", "i0") == Lines{"add to data 0+2 from 1 on 0"});
  CHECK(meaning("rrc", "i0", "o1") ==
        Lines{"receive output 1+2 from 1 on 0 add data 0+2 to output 1+2"});
  CHECK(meaning("rrcs", "i0", "i0") ==
        Lines{"add to data 0+2 from 1 on 0", "send data 0+2 to 1 on 0"});
  CHECK(meaning("cpy", "i0", "s0") == Lines{"copy data 0+2 to scratch 0+2"});
  CHECK(meaning("re", "s0", "i2") == Lines{"add scratch 0+2 to data 2+2"});
  CHECK(meaning("cpy", "i1", "i1") == Lines{""});
}

TEST_CASE("msccl: what is forwarded but not kept passes through scratch behind the file's own") {
  using Lines = std::vector<std::string>;
  CHECK(meaning("rrs", "i1", "o0") ==
        Lines{"receive scratch 2+2 from 1 on 0 add data 1+2 to scratch 2+2",
              "send scratch 2+2 to 1 on 0"});
  const MscclImport read = read_msccl(fixture("allreduce_ring_fused.xml"));
  CHECK(read.schedule->scratch_blocks(0) == 1);
}

TEST_CASE("msccl: a destination that holds a part of the source is not overwritten too early") {
  CHECK(meaning("rrc", "i0", "i1") ==
        std::vector<std::string>{"receive scratch 2+2 from 1 on 0 add data 0+2 to scratch 2+2 "
                                 "copy scratch 2+2 to data 1+2"});
}

TEST_CASE("msccl: a step is waited for until all that it became is done") {
  const std::string text = R"(<algo coll="custom" nchunksperloop="1">
    <gpu id="0" i_chunks="1">
      <tb id="0" send="1" recv="1" chan="0">
        <step s="0" type="rcs" dstbuf="i" dstoff="0" cnt="1" hasdep="1"/></tb>
      <tb id="1" send="-1" recv="-1" chan="0"><step s="0" type="nop" depid="0" deps="0"/></tb></gpu>
    <gpu id="1" i_chunks="1"><tb id="0" send="0" recv="0" chan="0">
        <step s="0" type="s" srcbuf="i" srcoff="0" cnt="1"/>
        <step s="1" type="r" dstbuf="i" dstoff="0" cnt="1"/></tb></gpu></algo>)";
  const MscclImport read = parse_msccl(text, "wait.xml");
  CHECK(shown(*read.schedule, 0, 1) == std::vector<std::string>{"after 0.1"});
  CHECK(read.notes.size() == 1);  // nothing can be verified
}

TEST_CASE("msccl: steps and tbs count by their ids, in whatever order they stand") {
  const std::string text = R"(<algo coll="custom" nchunksperloop="4" inplace="1">
    <gpu id="1"/>
    <gpu id="0">
      <tb id="1" send="-1" recv="-1" chan="0"/>
      <tb id="0" send="-1" recv="-1" chan="0">
        <step s="1" type="cpy" srcbuf="i" srcoff="1" dstbuf="i" dstoff="2" cnt="1"/>
        <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="i" dstoff="1" cnt="1"/></tb></gpu></algo>)";
  const MscclImport read = parse_msccl(text, "order.xml");
  CHECK(shown(*read.schedule, 0, 0) ==
        std::vector<std::string>{"copy data 0+1 to data 1+1", "copy data 1+1 to data 2+1"});
}

TEST_CASE("msccl: a place is named as in the file") {
  const MscclImport read = read_msccl(fixture("allreduce_ring_fused.xml"));
  CHECK(read.schedule->place(2, 0, 0) == "gpu 2, tb 0, step 0 (s)");
  CHECK(read.schedule->place(2, 0, 1) == "gpu 2, tb 0, step 1 (rrs)");
  CHECK(read.schedule->place(2, 0, 2) == "gpu 2, tb 0, step 1 (rrs)");
  CHECK(read.schedule->place(2, 0, 3) == "gpu 2, tb 0, step 2 (rrcs)");
}

TEST_CASE("msccl: what the file says of itself") {
  const MscclImport read = read_msccl(fixture("allreduce_ring_fused.xml"));
  CHECK(read.name == "ring");
  CHECK(read.protocol == "LL");
  CHECK(read.ranks == 3);
  CHECK(read.channels == 1);
  CHECK(read.chunks_per_loop == 3);
  CHECK(read.min_bytes == 0);
  CHECK(read.max_bytes == 65536);
  CHECK(read.in_place);
  CHECK(read.collective == Collective::all_reduce);
  CHECK(read.notes.empty());
  CHECK(read_msccl(fixture("broadcast_chain.xml")).root == 1);
}

TEST_CASE("msccl: slots follow the caller, then the file, then the protocol") {
  const std::string path = fixture("allreduce_ring_fused.xml");
  CHECK(read_msccl(path).schedule->slots() == 8);  // LL
  CHECK(read_msccl(path, {.slots = 3}).schedule->slots() == 3);
  CHECK(read_msccl(fixture("allreduce_star.xml")).schedule->slots() == 2);  // Simple
  CHECK(read_msccl(fixture("allgather_ring.xml")).schedule->slots() == 8);  // LL128
  std::string text = two_gpus(kSend, kReceive);
  text.insert(text.find(" coll="), " slots=\"0\"");
  CHECK(parse_msccl(text, "two.xml").schedule->slots() == 0);
  CHECK(parse_msccl(text, "two.xml", {.slots = 5}).schedule->slots() == 5);
}

TEST_CASE("msccl: in place where the file allows no other way or names one buffer alone") {
  CHECK_FALSE(read_msccl(fixture("allreduce_star.xml")).in_place);
  CHECK(read_msccl(fixture("allgather_in_place.xml")).in_place);
  CHECK_FALSE(read_msccl(fixture("reduce_both_ways.xml")).in_place);
  std::string text = two_gpus(kSend, kReceive);
  CHECK(parse_msccl(text, "two.xml").in_place);
}

TEST_CASE("msccl: hand-made files of every collective finish and are right") {
  for (const char* name :
       {"allgather_in_place", "allgather_ring", "allreduce_ring_fused", "allreduce_star",
        "alltoall", "broadcast_chain", "gather", "reduce_both_ways", "reduce_scatter_scratch",
        "reducescatter_in_place", "scatter"}) {
    check_right(fixture(std::string{name} + ".xml"));
  }
}

TEST_CASE("msccl: a program without a known result is read, and says so") {
  const MscclImport read = read_msccl(fixture("custom.xml"));
  CHECK_FALSE(read.contract().has_value());
  CHECK(read.notes == std::vector<std::string>{"nothing says what the result of \"custom\" should "
                                               "be, so it is not verified"});
}

TEST_CASE("msccl: files of others finish and are right") {
  const std::vector<std::string> names{
      "msccl/a2a2ll.xml",        "msccl/ag-1k-512k.xml",
      "msccl/ag_hier_4_LL.xml",  "msccl/alltoall-8n-0-9kb.xml",
      "msccl/ar_tree_12_LL.xml", "chakra/custom_ring_allreduce_8npus_1MB/custom_allreduce.xml"};
  for (const std::string& name : names) {
    if (const auto path = corpus(name)) {
      check_right(*path);
      CHECK(read_msccl(*path).notes.empty());
    }
  }
}
