#include <doctest/doctest.h>

#include <array>
#include <map>
#include <memory>
#include <random>

#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/symmetry/check_equal.hpp"

/// Parts that hang on one rank in many shapes: trees, several at a rank, of several kinds.
/// Expectations: an unfolded replay of the same.
using namespace lockstep;

namespace {

class Ways final : public Router {
 public:
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    const auto found = ways.find({from, to});
    route = found == ways.end() ? Route{} : found->second;
    return found != ways.end() || from == to;
  }
  std::map<std::pair<EndpointId, EndpointId>, Route> ways;
};

struct Message {
  int from = 0;
  int to = 0;
  int lane = 0;  // at both ends, and the channel
  std::int64_t step = 0;
  std::int64_t bytes = 0;
  Combine combine = Combine::copy;
};

/// Ranks, ways between them and what goes over these, put together one by one.
class Shape {
 public:
  Network network;
  std::vector<TimePoint> starts;
  std::vector<Message> messages;
  std::vector<std::pair<int, ScheduleStepRef>>
      waits;  // the rank's lane 0 in the step after the one named

  int add_rank(const Endpoint& endpoint = {}) {
    network.endpoints.push_back(endpoint);
    starts.emplace_back();
    return static_cast<int>(starts.size() - 1);
  }
  LinkId add_link(Rate bandwidth) {
    network.links.push_back({bandwidth, {}, true});
    return static_cast<LinkId>(network.links.size() - 1);
  }
  void join(int from, int to, std::vector<Hop> hops, Duration latency) {
    ways_->ways[{static_cast<EndpointId>(from), static_cast<EndpointId>(to)}] = {std::move(hops),
                                                                                 latency, 1};
  }
  /// Replays it folded and not.
  FoldedReplay check(NetworkModel model = NetworkModel::fluid) {
    network.router = ways_;
    FoldOptions options;
    options.max_plus = false;
    return test::check_folded(network, workload(), model, options);
  }

 private:
  [[nodiscard]] Workload workload() const {
    int lanes = 1;
    std::int64_t steps = 1;
    for (const Message& message : messages) {
      lanes = std::max(lanes, message.lane + 1);
      steps = std::max(steps, message.step + 1);
    }
    std::map<std::tuple<int, int, std::int64_t>, ScheduleStep> table;
    for (const auto& [from, to, lane, step, bytes, combine] : messages) {
      table[{from, lane, step}].sends.push_back({to, {Buffer::data, 0, bytes}, lane});
      table[{to, lane, step}].receives.push_back({from, {Buffer::data, 0, bytes}, combine, lane});
    }
    for (const auto& [rank, ref] : waits)
      if (ref.lane < lanes && ref.step + 1 < steps)
        table[{rank, 0, ref.step + 1}].after.push_back(ref);
    const auto write = [table](int rank, int lane, std::int64_t index, ScheduleStep& step) {
      if (const auto found = table.find({rank, lane, index}); found != table.end())
        step = found->second;
    };
    const auto ranks = static_cast<int>(starts.size());
    return test::one_call(std::make_shared<test::Scripted>(ranks, lanes, steps, write), 1_B,
                          starts);
  }

  std::shared_ptr<Ways> ways_ = std::make_shared<Ways>();
};

/// Rank 0 sends to each of `count` attachments in another step, so that all differ.
struct Attachments {
  Shape shape;
  std::vector<int> attachments;
};

Attachments attachments_at_a_hub(int count, const Endpoint& endpoint = {}) {
  Attachments out;
  const int hub = out.shape.add_rank();
  const LinkId port = out.shape.add_link(1_GBps);
  for (int i = 0; i < count; ++i) {
    out.attachments.push_back(out.shape.add_rank(endpoint));
    out.shape.join(hub, out.attachments.back(), {{port}}, 3_us);
    out.shape.messages.push_back({hub, out.attachments.back(), 1, i, 1000, Combine::reduce});
  }
  return out;
}

}  // namespace

TEST_CASE("a transfer of less than a picosecond ends after what ends at its instant anyway") {
  // The hub's first message ends at 4 us. What comes from below arrives then, takes a quarter of a
  // picosecond and is reduced after it, although its lane comes first: the attachment answers at 5
  // us.
  Attachments all = attachments_at_a_hub(6, {Duration{}, 1_GBps, std::nullopt});
  Shape& shape = all.shape;
  const LinkId answers = shape.add_link(1_GBps);
  for (std::size_t i = 0; i < all.attachments.size(); ++i) {
    const int attachment = all.attachments[i];
    const int below = shape.add_rank();
    shape.starts[static_cast<std::size_t>(below)] = TimePoint{3_us};
    shape.join(below, attachment, {{shape.add_link(4000_GBps)}}, 1_us);
    shape.messages.push_back({below, attachment, 0, 0, 1, Combine::reduce});
    const int last = shape.add_rank();
    shape.join(below, last, {{shape.add_link(1_GBps)}}, 1_us);
    shape.messages.push_back({below, last, 0, 0, 1});
    shape.join(attachment, 0, {{answers}}, 3_us);
    shape.messages.push_back({attachment, 0, 1, static_cast<std::int64_t>(i) + 1, 1000});
  }
  const FoldedReplay folded = shape.check();
  CHECK(folded.report.branches == 6);
  // A microsecond for the answer's bytes, 3 for its way.
  CHECK(folded.result.call_ends[0][1] == TimePoint{9_us});
}

TEST_CASE("a member whose software lets messages go one by one is in no branch") {
  Attachments all = attachments_at_a_hub(6);
  Shape& shape = all.shape;
  for (const int attachment : all.attachments) {
    const int below = shape.add_rank({200_ns, std::nullopt, std::nullopt});
    const int last = shape.add_rank();
    shape.join(below, attachment, {{shape.add_link(4_GBps)}}, 1_us);
    shape.join(below, last, {{shape.add_link(4_GBps)}}, 1_us);
    // Both wait for their receivers, which come at once: the first leaves first.
    shape.messages.push_back({below, attachment, 0, 0, 1000});
    shape.messages.push_back({below, last, 0, 0, 5000});
    shape.starts[static_cast<std::size_t>(attachment)] = TimePoint{1_us};
    shape.starts[static_cast<std::size_t>(last)] = TimePoint{1_us};
  }
  CHECK(shape.check().report.branches == 0);
}

TEST_CASE("attachments of a class that communicate with each other next to their branches") {
  // Two attachments each hear of the hub in the same step and exchange over the ports of what hangs
  // on them; a smaller part hangs there too, over links of its own.
  Attachments all = attachments_at_a_hub(8);
  Shape& shape = all.shape;
  std::vector<LinkId> out;
  std::vector<LinkId> in;
  for (std::size_t i = 0; i < all.attachments.size(); ++i) {
    const int attachment = all.attachments[i];
    shape.messages[i].step = static_cast<std::int64_t>(i / 2);
    out.push_back(shape.add_link(4_GBps));
    in.push_back(shape.add_link(4_GBps));
    int above = attachment;
    for (int depth = 0; depth < 3; ++depth) {
      const int below = shape.add_rank();
      shape.join(above, below, {{depth == 0 ? out.back() : shape.add_link(1_GBps)}}, 1_us);
      shape.join(below, above, {{depth == 0 ? in.back() : shape.add_link(1_GBps)}}, 1_us);
      shape.messages.push_back({above, below, 0, 0, 3000});
      shape.messages.push_back({below, above, 0, 1, 2000});
      above = below;
    }
    const int apart = shape.add_rank();
    shape.join(attachment, apart, {{shape.add_link(1_GBps)}}, 1_us);
    shape.messages.push_back({attachment, apart, 0, 1, 10'000});
  }
  for (std::size_t i = 0; i < all.attachments.size(); ++i) {
    const std::size_t twin = i ^ 1U;
    shape.join(all.attachments[i], all.attachments[twin], {{out[i]}, {in[twin]}}, 1_us);
    shape.messages.push_back({all.attachments[i], all.attachments[twin], 0, 0, 4000});
  }
  // Four attachments in the quotient, two parts on each.
  CHECK(shape.check().report.branches == 8);
}

namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_{seed} {}
  [[nodiscard]] int below(int most) {
    return static_cast<int>(random_() % static_cast<std::uint64_t>(most));
  }
  template <typename T>
  [[nodiscard]] T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

 private:
  std::mt19937_64 random_;
};

/// A tree below a attachment: member i hangs on an earlier one, or on the attachment, which is 0.
struct Tree {
  struct Edge {
    int above = 0;
    Rate down = 1_GBps;
    Rate up = 1_GBps;
    Duration latency{};
    bool split = false;
  };
  std::vector<Edge> edges;             // of member i + 1
  std::vector<Message> messages;       // between its own numbers
  std::vector<ScheduleStepRef> waits;  // of all
  Duration late{};                     // when the last one starts
  bool ports = false;                  // of members, which all of a member's messages share
};

/// `plain`: nothing that an engine of small states would leave to the large one.
Tree draw_tree(int lanes, int steps, bool plain, Draws& draws) {
  Tree out;
  out.ports = draws.below(2) == 0;
  const int members = 1 + draws.below(4);
  for (int i = 0; i < members; ++i)
    out.edges.push_back({draws.below(2) * draws.below(i + 1), draws.of({1_GBps, 2_GBps, 4_GBps}),
                         draws.of({1_GBps, 4_GBps}), draws.of({1_ps, 1_ns, 1_us, 2_us}),
                         draws.below(4) == 0 && !plain});
  for (int i = 0; i < 3 * members; ++i) {
    const int below = (i < members ? i : draws.below(members)) + 1;
    const int above = out.edges[static_cast<std::size_t>(below - 1)].above;
    const bool down = draws.below(2) == 0;
    out.messages.push_back({down ? above : below, down ? below : above, draws.below(lanes),
                            draws.below(steps), draws.of<std::int64_t>({0, 1, 1000, 3001, 20'000}),
                            draws.of({Combine::copy, Combine::reduce})});
  }
  if (plain) return out;
  for (int lane = 1; lane < lanes; ++lane)
    if (draws.below(2) == 0) out.waits.push_back({lane, draws.below(steps)});
  if (draws.below(4) == 0) out.late = draws.of({1_us, 7_us});
  return out;
}

void hang(Shape& shape, int attachment, const Tree& tree, const Endpoint& endpoint) {
  std::vector<int> ranks{attachment};
  std::vector<std::array<LinkId, 2>> ports{{shape.add_link(2_GBps), shape.add_link(2_GBps)}};
  for (const Tree::Edge& edge : tree.edges) {
    ranks.push_back(shape.add_rank(endpoint));
    ports.push_back({shape.add_link(edge.up), shape.add_link(edge.down)});
    const int above = ranks[static_cast<std::size_t>(edge.above)];
    for (const bool down : {true, false}) {
      std::vector<Hop> hops{{shape.add_link(down ? edge.down : edge.up)}};
      if (tree.ports) {
        const auto& from = down ? ports[static_cast<std::size_t>(edge.above)] : ports.back();
        const auto& to = down ? ports.back() : ports[static_cast<std::size_t>(edge.above)];
        hops = {{from[0]}, {to[1]}};
      }
      for (int part = 0; part < 2 && edge.split; ++part)
        hops.push_back({shape.add_link(1_GBps), kWeightUnit / 2});
      shape.join(down ? above : ranks.back(), down ? ranks.back() : above, std::move(hops),
                 edge.latency);
    }
  }
  for (Message message : tree.messages) {
    message.from = ranks[static_cast<std::size_t>(message.from)];
    message.to = ranks[static_cast<std::size_t>(message.to)];
    shape.messages.push_back(message);
  }
  for (const int rank : ranks)
    for (const ScheduleStepRef& wait : tree.waits) shape.waits.emplace_back(rank, wait);
  shape.starts[static_cast<std::size_t>(ranks.back())] = TimePoint{tree.late};
}

/// Attachments in a ring over ports of their own, with up to three trees each, of up to two kinds.
Shape draw_shape(Draws& draws) {
  Shape out;
  const int lanes = 1 + draws.below(3);
  const int steps = 1 + draws.below(4);
  const bool plain = draws.below(2) == 0;
  const int count = 4 * (1 + draws.below(3));
  Endpoint endpoint;
  if (draws.below(2) == 0) endpoint.reduce_rate = draws.of({1_GBps, 5_GBps, 4000_GBps});
  std::vector<std::vector<Tree>> kinds(static_cast<std::size_t>(1 + draws.below(2)));
  for (std::vector<Tree>& trees : kinds)
    for (int i = draws.below(3); i >= 0; --i)
      trees.push_back(draw_tree(lanes, steps, plain, draws));
  std::vector<int> attachments;
  std::vector<LinkId> ports;
  for (int i = 0; i < count; ++i) {
    attachments.push_back(out.add_rank(endpoint));
    ports.push_back(out.add_link(2_GBps));
    for (const Tree& tree : kinds[static_cast<std::size_t>(i) % kinds.size()])
      hang(out, attachments.back(), tree, endpoint);
  }
  const int lane = draws.below(lanes);
  const auto bytes = draws.of<std::int64_t>({0, 1000, 3001});
  const Combine combine = draws.of({Combine::copy, Combine::reduce});
  for (std::size_t i = 0; i < attachments.size(); ++i) {
    const std::size_t next = (i + 1) % attachments.size();
    out.join(attachments[i], attachments[next], {{ports[i]}}, 1_us);
    for (int step = 0; step < steps; ++step)
      out.messages.push_back({attachments[i], attachments[next], lane, step, bytes, combine});
  }
  // Late attachments; two opposite ones leave classes of two.
  const auto late = static_cast<std::size_t>(draws.below(count));
  for (const std::size_t each :
       {late, (late + attachments.size() / 2 * draws.of({0U, 1U})) % attachments.size()})
    out.starts[static_cast<std::size_t>(attachments[each])] = TimePoint{10_us};
  return out;
}

}  // namespace

TEST_CASE(
    "trees below attachments, several on each and of several kinds, as in an unfolded replay") {
  Draws draws{5};
  int with_branches = 0;
  int alike = 0;
  int in_classes = 0;
  for (int turn = 0; turn < 400; ++turn) {
    CAPTURE(turn);
    Shape shape = draw_shape(draws);
    const auto model =
        draws.of({NetworkModel::fluid, NetworkModel::fluid, NetworkModel::alpha_beta});
    const FoldReport report = shape.check(model).report;
    if (report.branches == 0) continue;
    ++with_branches;
    if (report.branch_histories < report.branches) ++alike;
    if (report.classes.size() < shape.starts.size()) ++in_classes;
  }
  CHECK(with_branches > 100);
  CHECK(alike > 50);
  CHECK(in_classes > 10);
}
