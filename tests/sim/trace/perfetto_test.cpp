#include "sim/trace/perfetto.hpp"
#include "sim/base/json_text.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/base/check.hpp"
#include "tests/sim/trace/pipeline_step.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

std::string text_of(const TrainingStepTimeline& step, const TraceOptions& options = {}) {
  std::ostringstream out;
  write_perfetto(step, options, out);
  return out.str();
}

/// Events of one phase; "" for all.
std::vector<Json> events(const TrainingStepTimeline& step, const std::string& phase,
                         const TraceOptions& options = {}) {
  std::vector<Json> out;
  const Json document = Json::parse(text_of(step, options));
  for (const Json& event : document.at("traceEvents")) {
    if (phase.empty() || event.at("ph") == phase) out.push_back(event);
  }
  return out;
}

TimePoint at(std::int64_t ps) {
  return TimePoint{Duration::picoseconds(ps)};
}

TEST_CASE("every operation is an event of its rank's process and its stream's thread") {
  const std::vector<Json> complete = events(two_stages(), "X");
  REQUIRE(complete.size() == 8);
  const Json& receive = complete[4];  // of rank 1
  CHECK(receive.at("name") == "receive");
  CHECK(receive.at("cat") == "communication");
  CHECK(receive.at("pid") == 2);
  CHECK(receive.at("tid") == 2);
  CHECK(receive.at("args").at("group") == "pp");
  CHECK(receive.at("args").at("writes") == Json::array({"residual"}));
  CHECK(receive.at("args").at("bytes") == 64);
  CHECK(receive.at("args").at("position") == 1);
  CHECK(receive.at("args").at("microbatch") == 0);
  CHECK(complete[5].at("args").at("class") == "matmul");
  CHECK(complete[5].at("args").at("purpose") == "forward");
}

TEST_CASE("times are microseconds to the picosecond") {
  CHECK(trace_time(0) == "0.000000");
  CHECK(trace_time(12'000'345) == "12.000345");
  // Of 106 days to the last digit, where a double would round.
  CHECK(trace_time(std::numeric_limits<std::int64_t>::max()) == "9223372036854.775807");
  // Rank 0's backward runs from 460 to 660 ps.
  const std::string text = text_of(two_stages());
  CHECK(text.find(R"("ts":0.000460,"dur":0.000200)") != std::string::npos);
}

TEST_CASE("processes and threads have names") {
  std::map<std::pair<int, int>, std::string> threads;
  std::map<int, std::string> processes;
  for (const Json& event : events(two_stages(), "M")) {
    if (event.at("name") == "process_name") {
      processes[event.at("pid").get<int>()] = event.at("args").at("name").get<std::string>();
    }
    if (event.at("name") == "thread_name") {
      threads[{event.at("pid").get<int>(), event.at("tid").get<int>()}] =
          event.at("args").at("name").get<std::string>();
    }
  }
  CHECK(processes == std::map<int, std::string>{{1, "rank 0 (stage 0)"}, {2, "rank 1 (stage 1)"}});
  CHECK(threads == std::map<std::pair<int, int>, std::string>{
                       {{1, 1}, "compute"}, {{1, 2}, "pp"}, {{2, 1}, "compute"}, {{2, 2}, "pp"}});
}

TEST_CASE("a flow leads from every send to its receive, forward in time") {
  struct Arrow {
    int from = 0;
    int to = 0;
    double start_us = 0;
    double end_us = 0;
  };
  std::map<int, Arrow> arrows;
  for (const Json& event : events(two_stages(), "")) {
    if (event.at("ph") == "s") {
      Arrow& arrow = arrows[event.at("id").get<int>()];
      arrow.from = event.at("pid").get<int>();
      arrow.start_us = event.at("ts").get<double>();
    }
    if (event.at("ph") == "f") {
      Arrow& arrow = arrows[event.at("id").get<int>()];
      arrow.to = event.at("pid").get<int>();
      arrow.end_us = event.at("ts").get<double>();
    }
  }
  // 100-130 ps from rank 0 to 1 into operation 0, 430-460 ps back into operation 2: ends in the
  // middle of the transfers. Ids count rank 0's operations 1-4, then rank 1's.
  REQUIRE(arrows.size() == 2);
  CHECK(arrows[5].from == 1);
  CHECK(arrows[5].to == 2);
  CHECK(arrows[5].start_us == doctest::Approx(100e-6));
  CHECK(arrows[5].end_us == doctest::Approx(115e-6));
  CHECK(arrows[3].from == 2);
  CHECK(arrows[3].to == 1);
  CHECK(arrows[3].start_us == doctest::Approx(430e-6));
  CHECK(arrows[3].end_us == doctest::Approx(445e-6));
}

TEST_CASE("flows lead from the member of a collective that came last to the others") {
  const std::vector<Json> starts = events(two_replicas(), "s");
  const std::vector<Json> ends = events(two_replicas(), "f");
  REQUIRE(starts.size() == 1);
  REQUIRE(ends.size() == 1);
  CHECK(starts[0].at("pid") == 2);  // rank 1 is ready at 120
  CHECK(ends[0].at("pid") == 1);
  CHECK(starts[0].at("id") == ends[0].at("id"));
  CHECK(ends[0].at("bp") == "e");
}

TEST_CASE("flows to ranks that are not written are left out") {
  TraceOptions options;
  options.ranks = {1};
  CHECK(events(two_stages(), "s", options).empty());
  CHECK(events(two_stages(), "f", options).empty());
  const std::vector<Json> complete = events(two_stages(), "X", options);
  CHECK(complete.size() == 4);
  for (const Json& event : complete) CHECK(event.at("pid") == 2);
}

TEST_CASE("counters tell of memory by category") {
  std::vector<std::pair<double, std::int64_t>> activation;
  for (const Json& event : events(two_stages(), "C")) {
    CHECK(event.at("name") == "device memory, bytes");
    if (event.at("pid") != 1) continue;
    CHECK(event.at("args").size() == 1);  // nothing else is ever held
    activation.emplace_back(event.at("ts").get<double>(),
                            event.at("args").at("activation").get<std::int64_t>());
  }
  // Stage 0: the residual stream (64) from F's start to the send's end, its gradient (32) from the
  // receive, posted at the same instant, to B's end.
  const std::vector<std::pair<double, std::int64_t>> expected{{0, 64}, {130e-6, 32}, {660e-6, 0}};
  REQUIRE(activation.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(activation[i].first == doctest::Approx(expected[i].first));
    CHECK(activation[i].second == expected[i].second);
  }
}

TEST_CASE("a window keeps the operations that touch it, and what is held when it opens") {
  TraceOptions options;
  options.from = at(130);
  options.to = at(230);
  std::vector<std::string> names;
  for (const Json& event : events(two_stages(), "X", options)) {
    names.push_back(
        fmt::format("{} {}", event.at("pid").get<int>(), event.at("name").get<std::string>()));
  }
  // Rank 0 waits in its receive; rank 1's F is over at 230.
  CHECK(names == std::vector<std::string>{"1 receive", "2 F"});
  const std::vector<Json> counters = events(two_stages(), "C", options);
  // Rank 0 holds the gradient (32), rank 1 the residual stream (64) and from F's start its
  // gradient.
  REQUIRE(counters.size() == 2);
  CHECK(counters[0].at("ts").get<double>() == doctest::Approx(130e-6));
  CHECK(counters[0].at("args").at("activation") == 32);
  CHECK(counters[1].at("args").at("activation") == 64 + 32);
}

TEST_CASE("links have a process of their own") {
  TraceOptions options;
  options.links = {{"gpu0 -> switch", {{at(0), 0}, {at(100), 5e10}, {at(130), 0}}}};
  std::vector<Json> counters;
  for (const Json& event : events(two_stages(), "C", options)) {
    if (event.at("pid") == 3) counters.push_back(event);
  }
  REQUIRE(counters.size() == 3);
  CHECK(counters[1].at("name") == "gpu0 -> switch");
  CHECK(counters[1].at("ts").get<double>() == doctest::Approx(100e-6));
  CHECK(counters[1].at("args").at("bytes_per_second") == 5e10);

  options.from = at(110);
  options.to = at(130);
  counters.clear();
  for (const Json& event : events(two_stages(), "C", options)) {
    if (event.at("pid") == 3) counters.push_back(event);
  }
  REQUIRE(counters.size() == 1);  // the rate when the window opens, moved to its edge
  CHECK(counters[0].at("ts").get<double>() == doctest::Approx(110e-6));
}

TEST_CASE("a rate that is no number is refused") {
  TraceOptions options;
  options.links = {{"link", {{at(0), std::numeric_limits<double>::quiet_NaN()}}}};
  CHECK_THROWS_AS(text_of(two_stages(), options), InternalError);
}

TEST_CASE("names are escaped, and what is no UTF-8 replaced") {
  CHECK(json_string("a\"b\\c\n\x01") == R"("a\"b\\c\u000a\u0001")");
  CHECK(json_string("µs → 𝛼") == "\"µs → 𝛼\"");
  CHECK(json_string("\xff") == R"("\ufffd")");
  CHECK(json_string("\xc3") == R"("\ufffd")");                           // cut off
  CHECK(json_string("\xc0\xaf") == R"("\ufffd\ufffd")");                 // overlong
  CHECK(json_string("\xed\xa0\x80").find('\xed') == std::string::npos);  // a surrogate
  CHECK(json_string("\xf5\x80\x80\x80").find('\xf5') == std::string::npos);

  TrainingStepTimeline step = two_stages();
  Program program = *step.program;
  program.tensors[0].name = "a \"quoted\"\\\xff\t name";
  program.roles[0].name = "stage \"0\"";
  const TrainingStepTimeline odd = timeline_of(program, {{{0, 1}, {1, 2}, {2, 3}, {3, 4}}});
  const Json writes = events(odd, "X")[0].at("args").at("writes");
  CHECK(writes[0] == "a \"quoted\"\\\xEF\xBF\xBD\t name");
}

TEST_CASE("a trace of nothing is valid") {
  Program program;
  program.roles.push_back({"all", {}, false, {}});
  const TrainingStepTimeline nobody = timeline_of(program, {});
  CHECK(events(nobody, "").empty());
  CHECK(events(timeline_of(program, {{}}), "X").empty());
}

TEST_CASE("the text comes in pieces, and is the same every time") {
  std::vector<std::size_t> pieces;
  std::string text;
  const auto collect = [&](std::string_view piece) {
    pieces.push_back(piece.size());
    text += piece;
  };
  Program program;
  program.add(tensor_of("x", 1, Category::activation, true));
  Routine routine{"all", {}};
  std::vector<Ran> ran;
  for (int i = 0; i < 2000; ++i) {
    routine.operations.push_back(
        operation_of(OperationKind::activation, "relu", {Ref{0}}, {Ref{0}}));
    ran.push_back({i, i + 1});
  }
  const RoutineId all = program.add(routine);
  program.roles.push_back({"all", {}, false, {{all, 0, 0}}});
  const TrainingStepTimeline step = timeline_of(program, {ran});
  write_perfetto(step, {}, collect);
  CHECK(pieces.size() > 2);
  CHECK(*std::max_element(pieces.begin(), pieces.end()) < 100'000);
  CHECK(text == text_of(step));
}

}  // namespace
}  // namespace lockstep
