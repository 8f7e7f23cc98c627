#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/execute/schedule_checks/verify.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "tests/strategies/interop/text/refused.hpp"

/// MSCCL files that are wrong: every problem with its line, its column and what is allowed.
using namespace lockstep;
using namespace lockstep::test;

namespace {

using Lines = std::vector<std::string>;

/// A right file of two GPUs, one element a line; each test changes one thing.
const std::string kGood =
    R"(<algo name="pair" proto="LL" nchannels="1" nchunksperloop="4" ngpus="2" coll="allreduce" inplace="1" outofplace="0">
  <gpu id="0" i_chunks="4" o_chunks="0" s_chunks="4">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="4" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="1" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="4" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="4" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="4" o_chunks="0" s_chunks="4">
    <tb id="0" send="0" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="4" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="0" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="4" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="4" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)";

Lines refused_text(const std::string& text) {
  return refused([&] { return parse_msccl(text, "f.xml"); });
}

/// The good file with something replaced on one line.
std::string changed(int line, const std::string& from, const std::string& to) {
  std::size_t begin = 0;
  for (int i = 1; i < line; ++i) begin = kGood.find('\n', begin) + 1;
  const std::size_t at = kGood.find(from, begin);
  REQUIRE(at < kGood.find('\n', begin));
  return kGood.substr(0, at) + to + kGood.substr(at + from.size());
}

Lines refused_change(int line, const std::string& from, const std::string& to) {
  return refused_text(changed(line, from, to));
}

}  // namespace

TEST_CASE("msccl: the file that the following cases break is right") {
  const MscclImport read = parse_msccl(kGood, "f.xml");
  CHECK(verify(*read.schedule, *read.contract()).problem() == "");
  CHECK(read.notes.empty());
}

TEST_CASE("msccl: a wrong chunk is seen in the result, not in the reading") {
  const MscclImport read = parse_msccl(changed(8, "cnt=\"4\"", "cnt=\"3\""), "f.xml");
  CHECK(verify(*read.schedule, *read.contract()).problem() != "");
}

TEST_CASE("msccl: text that is no XML") {
  CHECK(refused_text("") == Lines{"f.xml: there is no element in this file"});
  CHECK(refused_text("<!-- nothing -->") == Lines{"f.xml: there is no element in this file"});
  CHECK(refused_text("<algo") == Lines{"f.xml:1:5: malformed start of an element"});
  CHECK(refused_text("<algo name=ring/>") ==
        Lines{"f.xml:1:12: malformed attribute; expected NAME=\"VALUE\""});
  CHECK(refused_text("<algo>\n</gpu>") == Lines{"f.xml:2:3: this end belongs to no open element"});
  CHECK(refused_text("<algo>\n  <gpu>") ==
        Lines{"f.xml:2:7: the file ends before its elements do"});
  CHECK(refused_text("<algo/>\n<algo/>") == Lines{"f.xml:2:1: a second element outside the first"});
  CHECK(refused_text(std::string{"<algo/>\0", 8}) ==
        Lines{"f.xml:1:8: this byte is not valid UTF-8"});
  CHECK(refused_text("<algo name=\"\xff\"/>") == Lines{"f.xml:1:13: this byte is not valid UTF-8"});
}

TEST_CASE("msccl: text and elements that do not belong") {
  CHECK(refused_change(2, "s_chunks=\"4\">", "s_chunks=\"4\">\n  steps:") ==
        Lines{"f.xml:3:3: text, where only elements can stand"});
  CHECK(refused_text("<graph/>") ==
        Lines{"f.xml:1:1: expected the element \"algo\", got \"graph\""});
  CHECK(refused_change(4, "<step", "<stpe") ==
        Lines{"f.xml:4:7: gpu 0, tb 0: unexpected element \"stpe\" in <tb>; did you mean "
              "\"step\"?"});
  CHECK(refused_change(3, "<tb id=\"0\"", "<tb id=\"0\" id=\"0\"") ==
        Lines{"f.xml:3:16: attribute \"id\" is given twice"});
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "<a>";
  for (int i = 0; i < 65; ++i) deep += "</a>";
  CHECK(refused_text(deep) == Lines{"f.xml:1:190: more than 64 elements in one another"});
}

TEST_CASE("msccl: names that are nearly right") {
  CHECK(refused_change(1, "allreduce", "alreduce") ==
        Lines{"f.xml:1:73: no collective named \"alreduce\"; did you mean \"allreduce\"?"});
  CHECK(refused_change(1, "\"LL\"", "\"simple\"") ==
        Lines{"f.xml:1:19: no protocol named \"simple\"; did you mean \"Simple\"?"});
  CHECK(refused_change(4, "type=\"s\"", "type=\"snd\"") ==
        Lines{"f.xml:4:19: gpu 0, tb 0, step 0: no step type named \"snd\"; there are \"s\", "
              "\"r\", \"rcs\", \"rrs\", \"rrc\", \"rrcs\", \"cpy\", \"re\", \"ra\", \"nop\""});
  CHECK(refused_change(4, "srcbuf=\"i\"", "srcbuf=\"input\"") ==
        Lines{"f.xml:4:28: gpu 0, tb 0, step 0: no buffer named \"input\"; there are \"i\", "
              "\"o\", \"s\""});
  CHECK(refused_change(4, " cnt=", " cont=") ==
        Lines{"f.xml:4:7: gpu 0, tb 0, step 0: <step> has no attribute \"cnt\"; is it "
              "\"cont\"?"});
}

TEST_CASE("msccl: numbers out of range") {
  CHECK(refused_change(4, "cnt=\"4\"", "cnt=\"0\"") ==
        Lines{"f.xml:4:72: gpu 0, tb 0, step 0: cnt is \"0\"; expected an integer, 1 to "
              "1048576"});
  CHECK(refused_change(4, "cnt=\"4\"", "cnt=\"99999999999999999999\"") ==
        Lines{"f.xml:4:72: gpu 0, tb 0, step 0: cnt is \"99999999999999999999\"; expected an "
              "integer, 1 to 1048576"});
  CHECK(refused_change(4, "cnt=\"4\"", "cnt=\"4.0\"").size() == 1);
  CHECK(refused_change(4, "cnt=\"4\"", "cnt=\"\"").size() == 1);
  CHECK(refused_change(2, "i_chunks=\"4\"", "i_chunks=\"-4\"") ==
        Lines{"f.xml:2:15: gpu 0: i_chunks is \"-4\"; expected an integer, 0 to 1048576"});
  CHECK(refused_change(3, "send=\"1\"", "send=\"2\"") ==
        Lines{"f.xml:3:16: gpu 0, tb 0: send is \"2\"; expected an integer, -1 to 1"});
  CHECK(refused_change(1, "ngpus=\"2\"", "ngpus=\"1000000000000\"").size() == 1);
}

TEST_CASE("msccl: ids that repeat or leave gaps") {
  CHECK(refused_change(11, "gpu id=\"1\"", "gpu id=\"0\"") ==
        Lines{"f.xml:11:3: there is a gpu 0 already",
              "f.xml:12:5: gpu 0, tb 0: a tb connects "
              "with another GPU, not with its own",
              "f.xml:15:5: gpu 0, tb 1: a tb connects with another GPU, not with its own"});
  CHECK(refused_change(1, "ngpus=\"2\"", "ngpus=\"3\"") ==
        Lines{"f.xml:1:1: ngpus is 3, but there are 2 elements \"gpu\""});
  CHECK(refused_change(6, "tb id=\"1\"", "tb id=\"2\"") ==
        Lines{"f.xml:6:5: gpu 0: there is no tb 1 before tb 2; they count from 0"});
  CHECK(refused_change(8, "s=\"1\"", "s=\"0\"") ==
        Lines{"f.xml:8:7: gpu 0, tb 1: there is a step 0 already"});
}

TEST_CASE("msccl: chunks outside their buffers") {
  CHECK(refused_change(4, "srcoff=\"0\"", "srcoff=\"1\"") ==
        Lines{"f.xml:4:7: gpu 0, tb 0, step 0 (s): names 4 chunks from 1 on of buffer \"i\", "
              "which has 4 chunks"});
  CHECK(refused_change(2, "s_chunks=\"4\"", "s_chunks=\"0\"").size() == 2);
  CHECK(refused_change(2, "i_chunks=\"4\"", "i_chunks=\"5\"") ==
        Lines{"f.xml:2:3: gpu 0: i_chunks is 5; expected 4 for this collective and "
              "nchunksperloop 4, or 0"});
  CHECK(refused_text(R"(<algo coll="custom"><gpu id="0"/></algo>)") ==
        Lines{"f.xml:1:1: neither nchunksperloop nor any i_chunks or o_chunks says how many "
              "chunks the message has"});
  CHECK(refused_text(
            R"(<algo coll="allgather" nchunksperloop="3"><gpu id="0"/><gpu id="1"/></algo>)") ==
        Lines{"f.xml:1:1: the message of this allgather has 3 chunks, which 2 GPUs cannot share "
              "equally"});
  CHECK(refused_change(8, "srcbuf=\"s\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"4\"",
                       "srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"1\" cnt=\"2\"") ==
        Lines{"f.xml:8:7: gpu 0, tb 1, step 1 (re): copies onto a part of its own source"});
}

TEST_CASE("msccl: connections that do not meet") {
  CHECK(
      refused_change(3, "send=\"1\" recv=\"-1\" chan=\"0\"", "send=\"1\" recv=\"-1\" chan=\"3\"") ==
      Lines{"f.xml:3:5: gpu 0, tb 0: sends 1 message to gpu 1 on channel 3, which receives 0",
            "f.xml:15:5: gpu 1, tb 1: receives 1 message from gpu 0 on channel 0, which sends "
            "0"});
  CHECK(refused_change(4, "cnt=\"4\"", "cnt=\"2\"") ==
        Lines{"f.xml:16:7: gpu 1, tb 1, step 0 (r): receives 4 chunks, but meets gpu 0, tb 0, "
              "step 0 (s), which sends 2 chunks"});
  CHECK(refused_change(6, "send=\"-1\"", "send=\"1\"") ==
        Lines{"f.xml:6:5: gpu 0, tb 1: tb 0 sends to gpu 1 on channel 0 already; a connection "
              "belongs to one tb at either end"});
}

TEST_CASE("msccl: dependencies on what is not there") {
  CHECK(refused_change(8, "depid=\"0\"", "depid=\"2\"") ==
        Lines{"f.xml:8:7: gpu 0, tb 1, step 1 (re): waits for tb 2, but gpu 0 has 2 of them"});
  CHECK(refused_change(8, "deps=\"0\"", "deps=\"1\"") ==
        Lines{"f.xml:8:7: gpu 0, tb 1, step 1 (re): waits for step 1 of tb 0, which has 1"});
  CHECK(refused_change(8, "deps=\"0\"", "deps=\"-1\"").size() == 1);
}

TEST_CASE("msccl: dependencies in a circle") {
  CHECK(refused_change(4, "depid=\"-1\" deps=\"-1\"", "depid=\"1\" deps=\"1\"") ==
        Lines{"f.xml:4:7: gpu 0, tb 0, step 0 (s): waits for itself: tb 0, step 0 -> tb 1, step 1 "
              "-> tb 0, step 0"});
  CHECK(refused_change(7, "depid=\"-1\" deps=\"-1\"", "depid=\"1\" deps=\"0\"") ==
        Lines{"f.xml:7:7: gpu 0, tb 1, step 0 (r): waits for itself: tb 1, step 0 -> tb 1, step "
              "0"});
}

TEST_CASE("msccl: a program that could never be called") {
  CHECK(refused_change(1, "inplace=\"1\"", "inplace=\"0\"") ==
        Lines{"f.xml:1:1: inplace and outofplace are both 0: the program could not be called at "
              "all"});
}

TEST_CASE("msccl: more lanes than anything could run") {
  std::string text = R"(<algo coll="custom" nchunksperloop="1"><gpu id="0">)";
  for (int i = 0; i < 3000; ++i)
    text += fmt::format(R"(<tb id="{}" send="-1" recv="-1" chan="0"/>)", i);
  text += "</gpu>";
  for (int i = 1; i < 3000; ++i) text += fmt::format(R"(<gpu id="{}"/>)", i);
  CHECK(refused_text(text + "</algo>") ==
        Lines{"f.xml:1:1: 3000 GPUs times 3000 tbs are too many; at most 8388608"});
}

TEST_CASE("msccl: all problems of a file are reported at once") {
  std::string text = changed(4, "cnt=\"4\"", "cnt=\"x\"");
  text.replace(text.rfind("type=\"re\""), 9, "type=\"rr\"");
  CHECK(refused_text(text).size() == 2);
}

TEST_CASE("msccl: what a user should know without its being wrong") {
  CHECK(parse_msccl(changed(4, "hasdep=\"1\"", "hasdep=\"0\""), "f.xml").notes ==
        Lines{"gpu 0, tb 0, step 0 (s) is waited for but has no hasdep=\"1\" (1 such); MSCCL "
              "would hang"});
  CHECK(parse_msccl(changed(8, "type=\"re\"", "type=\"ra\""), "f.xml").notes ==
        Lines{"1 steps of type \"ra\" are assumed to be \"re\": the source is added to the "
              "destination"});
  CHECK(parse_msccl(changed(1, "inplace=\"1\" outofplace=\"0\"", "inplace=\"0\""), "f.xml").notes ==
        Lines{"the program runs out of place, but no step writes to \"o\""});
}

TEST_CASE("msccl: files that cannot be read") {
  CHECK(refused([] { return read_msccl("/nowhere/a.xml"); }) ==
        Lines{"/nowhere/a.xml: no such file"});
  CHECK(refused([] { return read_msccl("/tmp"); }) ==
        Lines{"/tmp: this is a directory; expected an MSCCL XML file"});
}
