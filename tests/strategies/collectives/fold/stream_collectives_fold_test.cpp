#include <doctest/doctest.h>

#include <map>

#include "sim/symmetry/streams/stream_fold.hpp"
#include "tests/random_folds.hpp"
#include "tests/sim/symmetry/streams/check_streams.hpp"
#include "tests/strategies/collectives/random_configurations.hpp"

/// Streams that call collectives, as Chakra traces do: folded and not, to the last bit.
using namespace lockstep;
using namespace lockstep::test;

namespace {

using Kind = Activity::Kind;

/// An operation of every rank's program, with what it waits for.
struct Line {
  Activity of;
  std::uint32_t further = 0;  // of a message: by how many ranks of its group
  bool strided = false;       // of a collective: its group
  std::size_t kind = 0;       // of a collective: which schedule
};

/// A mesh of `inner` by `outer` ranks, with groups along both axes.
struct Mesh {
  std::uint32_t inner = 0;
  std::uint32_t outer = 0;

  [[nodiscard]] std::uint32_t ranks() const { return inner * outer; }
  [[nodiscard]] std::vector<EndpointId> group(EndpointId rank, bool strided) const {
    std::vector<EndpointId> out;
    for (std::uint32_t i = 0; i < (strided ? outer : inner); ++i)
      out.push_back(strided ? rank % inner + i * inner : rank / inner * inner + i);
    return out;
  }
};

SchedulePtr schedule_of(std::size_t kind, bool gathers, std::uint32_t ranks) {
  static const std::vector<std::string> kNames{"ring", "double_binary_tree", "halving_doubling",
                                               "ring"};
  const CollectiveAlgorithm* row =
      gathers ? find_algorithm(Collective::all_gather, "ring")
              : find_algorithm(Collective::all_reduce, kNames[kind % kNames.size()]);
  AlgorithmInput input{.n = static_cast<int>(ranks)};
  if (kind % 4 == 3) input.arguments["channels"] = std::int64_t{2};
  if (!validate(*row, input).empty())
    return make_schedule(*find_algorithm(Collective::all_reduce, "ring"),
                         {.n = static_cast<int>(ranks)});
  return make_schedule(*row, input);
}

std::vector<Line> draw_program(const Mesh& mesh, Draws& draws) {
  std::vector<Line> out;
  for (std::size_t lines = 3 + draws.below(8); lines > 0; --lines) {
    Line line;
    switch (draws.below(4)) {
      case 0:
        line.of.duration = 1_us * static_cast<std::int64_t>(draws.below(4));
        line.of.processor =
            draws.one_in(3) ? Activity::kOwnProcessor : static_cast<std::uint32_t>(draws.below(2));
        out.push_back(line);
        break;
      case 1: {
        line.of.kind = Kind::send;
        line.further = static_cast<std::uint32_t>(1 + draws.below(mesh.ranks() - 1));
        line.of.size = Bytes{static_cast<std::int64_t>(1000 * (1 + line.further % 3))};
        out.push_back(line);
        line.of.kind = Kind::receive;
        out.push_back(line);
        break;
      }
      default:
        line.of.kind = Kind::collective;
        line.strided = draws.one_in(2);
        line.kind = draws.below(5);
        if ((line.strided ? mesh.outer : mesh.inner) > 1) out.push_back(line);
    }
  }
  for (std::uint32_t i = 1; i < out.size(); ++i) {
    for (std::size_t k = 1 + draws.below(2); k > 0; --k) {
      const auto before = static_cast<std::uint32_t>(draws.below(i));
      const auto& known = out[i].of.after;
      if (std::none_of(known.begin(), known.end(),
                       [&](const ActivityRef& ref) { return ref.stream == before; }))
        out[i].of.after.push_back({before, 0});
    }
  }
  return out;
}

/// Every line is a stream of every rank; a line of a collective is a call of each group.
Workload workload_of(const Mesh& mesh, const std::vector<Line>& program, Draws& draws) {
  Workload out;
  out.slots = Workload::kNoLimit;
  if (draws.one_in(3)) out.slowed_permille = 1300;
  std::map<std::pair<std::size_t, bool>, SchedulePtr> schedules;
  for (EndpointId rank = 0; rank < mesh.ranks(); ++rank) {
    const auto first = static_cast<std::uint32_t>(out.streams.size());
    for (const Line& line : program) {
      Activity of = line.of;
      for (ActivityRef& ref : of.after) ref.stream += first;
      if (of.kind == Kind::send || of.kind == Kind::receive) {
        const std::uint32_t n = mesh.ranks();
        of.peer = (rank + (of.kind == Kind::send ? line.further : n - line.further)) % n;
      }
      out.streams.push_back({rank, "", {of}});
    }
  }
  const auto lines = static_cast<std::uint32_t>(program.size());
  for (std::uint32_t i = 0; i < lines; ++i) {
    const Line& line = program[i];
    if (line.of.kind != Kind::collective) continue;
    for (EndpointId rank = 0; rank < mesh.ranks(); ++rank) {
      const std::vector<EndpointId> group = mesh.group(rank, line.strided);
      if (group.front() != rank) continue;
      SchedulePtr& schedule = schedules[{line.kind, line.strided}];
      if (!schedule)
        schedule = schedule_of(line.kind, line.kind == 4, static_cast<std::uint32_t>(group.size()));
      CollectiveCall call{"call", schedule, group, {}};
      call.block = Bytes{static_cast<std::int64_t>(1000 * (1 + line.kind))};
      for (std::uint32_t member = 0; member < group.size(); ++member) {
        Activity& of = out.streams[group[member] * lines + i].operations[0];
        of.call = static_cast<std::uint32_t>(out.calls.size());
        of.member = member;
      }
      out.calls.push_back(std::move(call));
    }
  }
  return out;
}

int turns() {
  return fold_cases(800);
}

}  // namespace

TEST_CASE("random programs that call collectives, folded and not") {
  static const std::vector<std::string> kFabrics{"star", "star", "fat_tree", "rails", "full_mesh"};
  static const std::vector<Mesh> kMeshes{{2, 4}, {4, 2}, {8, 1}, {4, 4}, {2, 8}, {8, 2}, {3, 4}};
  Draws draws{fold_seed(21)};
  FoldCount count{"streams with collectives"};
  std::map<std::string, int> why;
  int cases = 0;
  int folded = 0;
  int of_several = 0;  // classes
  int with_calls = 0;
  for (int turn = 0; turn < turns(); ++turn) {
    CAPTURE(turn);
    const Mesh mesh = draws.of(kMeshes);
    const auto cluster = build(fabric_named(draws.of(kFabrics)), static_cast<int>(mesh.ranks()), 0);
    if (!cluster) continue;
    Network network = lower(*cluster, draws.one_in(2) ? draw_endpoint(draws) : Endpoint{});
    const Workload workload = workload_of(mesh, draw_program(mesh, draws), draws);
    if (draws.one_in(5)) network.links[draws.below(network.links.size())].bandwidth = 3_GBps;
    const NetworkModel model = draws.one_in(3) ? NetworkModel::alpha_beta : NetworkModel::fluid;
    bool same = false;
    const StreamFoldReport report = check_streams(network, workload, model, &same).report;
    count.add(report.folded, same);
    ++cases;
    if (!report.folded) {
      ++why[report.why_not];
      continue;
    }
    ++folded;
    if (report.representatives.size() > 1) ++of_several;
    if (!workload.calls.empty()) ++with_calls;
  }
  for (const auto& [text, times] : why) MESSAGE(text << ": " << times);
  MESSAGE(folded << " of " << cases << " folded, " << with_calls << " with collectives, "
                 << of_several << " with several classes");
  CHECK(with_calls > cases / 10);
  CHECK(of_several > cases / 50);
}

/// Data parallelism of eight: every rank computes, then all reduce. 8 ranks are one class; a ring
/// call of eight becomes one of a rank with itself.
TEST_CASE("ranks that compute and reduce together are one class") {
  const Mesh mesh{8, 1};
  Line compute;
  compute.of.duration = 5_us;
  compute.of.processor = 0;
  Line reduce;
  reduce.of.kind = Kind::collective;
  reduce.of.after.push_back({0, 0});
  Draws draws{1};
  const Workload workload = workload_of(mesh, {compute, reduce}, draws);
  const Network network = lower(fabric_named("star").build(8, 0), Endpoint{});
  const FoldedStreams folded = check_streams(network, workload, NetworkModel::fluid);
  CHECK(folded.report.folded);
  CHECK(folded.report.representatives == std::vector<EndpointId>{0});
  CHECK(folded.report.simulated_operations == 2);
  CHECK(folded.result.transfers == 112);  // eight ranks in 14 rounds
}

TEST_CASE("collectives that cannot be folded say why") {
  const Mesh mesh{4, 1};
  Line reduce;
  reduce.of.kind = Kind::collective;
  Draws draws{1};
  Workload workload = workload_of(mesh, {reduce, reduce}, draws);
  const Network network = lower(fabric_named("star").build(4, 0), Endpoint{});
  const auto why = [&](const Workload& of) {
    return check_streams(network, of, NetworkModel::fluid).report.why_not;
  };
  // Rank 0 calls the second of two equal collectives first.
  std::swap(workload.streams[0].operations[0].call, workload.streams[1].operations[0].call);
  CHECK(why(workload) == "ranks call equal collectives in different orders");
  std::swap(workload.streams[0].operations[0].call, workload.streams[1].operations[0].call);
  workload.calls[1].takes = 3_us;
  CHECK(why(workload) == "a collective of a given duration is not folded");
}
