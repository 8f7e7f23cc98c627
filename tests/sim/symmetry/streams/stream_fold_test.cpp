#include "sim/symmetry/streams/stream_fold.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/random_folds.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/sim/symmetry/streams/check_streams.hpp"

using namespace lockstep;

namespace {

using Kind = Activity::Kind;

Activity message(Kind kind, EndpointId peer, std::uint32_t tag, Bytes size) {
  Activity out;
  out.kind = kind;
  out.peer = peer;
  out.tag = tag;
  out.size = size;
  return out;
}

Activity computation(Duration duration, std::uint32_t processor) {
  Activity out;
  out.duration = duration;
  out.processor = processor;
  return out;
}

/// Every rank computes, sends to the next and takes from the one before, `rounds` times.
Workload ring(EndpointId n, int rounds) {
  Workload out;
  out.slots = Workload::kNoLimit;
  for (EndpointId rank = 0; rank < n; ++rank) {
    Stream& stream = out.streams.emplace_back();
    stream.endpoint = rank;
    const auto first = static_cast<std::uint32_t>(out.streams.size());
    out.streams.push_back({rank, "", {}});
    for (int i = 0; i < rounds; ++i) {
      Activity send = message(Kind::send, (rank + 1) % n, rank, Bytes{1000});
      if (i > 0) send.after.push_back({first, static_cast<std::uint32_t>(i - 1)});
      out.streams[first - 1].operations.push_back(send);
      out.streams[first].operations.push_back(
          message(Kind::receive, (rank + n - 1) % n, (rank + n - 1) % n, Bytes{1000}));
    }
  }
  return out;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_{seed} {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// One operation of every rank's program; of a message, the ranks it goes on by and its tag.
struct Line {
  Activity of;
  std::uint32_t further = 0;
};

Bytes size_of(std::uint32_t further) {
  return Bytes{1000 * (1 + further % 3)};
}

/// A program that all ranks run, each line a stream, with sends and receives by rotation.
std::vector<Line> random_program(Random& random, std::uint32_t n) {
  std::vector<Line> out;
  const std::uint32_t lines = 2 + random.below(8);
  for (std::uint32_t i = 0; i < lines; ++i) {
    if (random.one_in(3)) {
      const Duration duration = 1_us * std::int64_t{random.below(3)};
      const bool own = random.one_in(4);
      out.push_back({computation(duration, own ? Activity::kOwnProcessor : random.below(2))});
    } else {
      const std::uint32_t further = 1 + random.below(n - 1);
      const std::uint32_t tag = random.below(2);
      out.push_back({message(Kind::send, 0, tag, size_of(further)), further});
      out.push_back({message(Kind::receive, 0, tag, size_of(further)), further});
      if (random.one_in(2)) std::swap(out[out.size() - 1], out[out.size() - 2]);
    }
  }
  for (std::uint32_t i = 1; i < out.size(); ++i)
    for (std::uint32_t k = random.below(3); k > 0; --k) {
      const std::uint32_t before = random.below(i);
      const auto& known = out[i].of.after;
      if (std::none_of(known.begin(), known.end(),
                       [&](const ActivityRef& ref) { return ref.stream == before; }))
        out[i].of.after.push_back({before, 0});
    }
  return out;
}

/// Of groups of `n` ranks each.
Workload random_workload(Random& random, std::uint32_t n, std::uint32_t groups) {
  Workload out;
  out.slots = random.one_in(4) ? static_cast<int>(random.below(3)) : Workload::kNoLimit;
  const bool tags_differ = random.one_in(2);
  const std::vector<Line> program = random_program(random, n);
  for (EndpointId rank = 0; rank < n * groups; ++rank) {
    const auto first = static_cast<std::uint32_t>(out.streams.size());
    const EndpointId group = rank / n * n;
    for (const Line& line : program) {
      Activity of = line.of;
      for (ActivityRef& ref : of.after) ref.stream += first;
      if (of.kind == Kind::send || of.kind == Kind::receive) {
        const EndpointId by = of.kind == Kind::send ? line.further : n - line.further;
        of.peer = group + (rank - group + by) % n;
        const EndpointId sender = of.kind == Kind::send ? rank : of.peer;
        if (tags_differ) of.tag += 2 * sender;
      }
      out.streams.push_back({rank, "", {of}});
    }
  }
  if (random.one_in(4)) {  // one rank computes longer
    const std::uint32_t late = random.below(n * groups);
    for (Stream& stream : out.streams)
      if (stream.endpoint == late && stream.operations[0].kind == Kind::compute)
        stream.operations[0].duration += 700_ns;
  }
  return out;
}

}  // namespace

TEST_CASE("a ring of messages is one class, whatever its tags") {
  const FoldedStreams folded =
      test::check_streams(test::star(8, 1_GBps, 2_us, {}), ring(8, 10), NetworkModel::fluid);
  CHECK(folded.report.folded);
  CHECK(folded.report.representatives == std::vector<EndpointId>{0});
  CHECK(folded.report.operations == 160);
  CHECK(folded.report.simulated_operations == 20);
  // 2 us and 1000 bytes at 1 GB/s, ten times.
  CHECK(folded.result.end == TimePoint{} + 30_us);
}

TEST_CASE("what is not folded says why") {
  const Network star = test::star(8, 1_GBps, 2_us, {});
  Workload workload = ring(8, 2);
  CHECK(replay_streams_folded(star, workload, NetworkModel::fluid, false).report.why_not ==
        "not asked for");
  CHECK(test::check_streams(star, workload, NetworkModel::queue).report.why_not ==
        "the queue model distinguishes all messages");
  workload.streams[0].operations[0].size = workload.streams[3].operations[0].size = Bytes{500};
  CHECK(test::check_streams(star, workload, NetworkModel::fluid).report.why_not ==
        "too many ranks differ: 8 classes of 8 ranks");
  workload = ring(8, 2);
  workload.streams[1].operations.pop_back();
  CHECK(test::check_streams(star, workload, NetworkModel::fluid).report.why_not ==
        "messages have one end");
}

TEST_CASE("where the turn on a processor is by the order of events, nothing is folded") {
  // Messages from both neighbors arrive at once, and each is followed by work on one processor.
  constexpr EndpointId n = 6;
  Workload workload;
  workload.slots = Workload::kNoLimit;
  for (EndpointId rank = 0; rank < n; ++rank) {
    const auto first = static_cast<std::uint32_t>(workload.streams.size());
    const EndpointId peers[] = {(rank + 1) % n, (rank + n - 1) % n};
    for (const EndpointId peer : peers)
      workload.streams.push_back({rank, "", {message(Kind::send, peer, 0, Bytes{1000})}});
    for (std::uint32_t i = 0; i < 2; ++i) {
      workload.streams.push_back({rank, "", {message(Kind::receive, peers[i], 0, Bytes{1000})}});
      Activity work = computation(1_us * std::int64_t{1 + i}, 0);
      work.after.push_back({first + 2 + 2 * i, 0});
      workload.streams.push_back({rank, "", {work}});
    }
  }
  const FoldedStreams folded =
      test::check_streams(test::star(n, 1_GBps, 2_us, {}), workload, NetworkModel::fluid);
  CHECK(folded.report.why_not == "the order of events within an instant may decide");
}

TEST_CASE("random programs of messages and computations, folded and not") {
  const auto cases = static_cast<std::uint64_t>(test::fold_cases(400));
  const std::uint64_t first = test::fold_seed(1);
  test::FoldCount count{"streams of messages"};
  std::uint64_t folded = 0;
  std::uint64_t of_several = 0;  // classes
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::uint32_t n = 2 + random.below(5);
    const std::uint32_t groups = 1 + random.below(4);
    Workload workload = random_workload(random, n, groups);
    Network network = test::star(n * groups, 1_GBps, 2_us, {});
    if (random.one_in(4))
      network.links[random.below(static_cast<std::uint32_t>(network.links.size()))].bandwidth =
          Rate::bytes_per_second(500'000'000);
    if (random.one_in(4))
      for (Endpoint& each : network.endpoints) each.message_overhead = 100_ns;
    const NetworkModel model = random.one_in(3) ? NetworkModel::alpha_beta : NetworkModel::fluid;
    bool same = false;
    const StreamFoldReport report = test::check_streams(network, workload, model, &same).report;
    count.add(report.folded, same);
    folded += report.folded ? 1 : 0;
    of_several += report.folded && report.representatives.size() > 1 ? 1 : 0;
  }
  MESSAGE(of_several, " folded with several classes");
  CHECK(folded > cases / 4);
  CHECK(of_several > cases / 50);
}
