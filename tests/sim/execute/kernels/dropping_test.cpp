#include <doctest/doctest.h>

#include <algorithm>

#include "sim/execute/kernels/execution_error.hpp"
#include "tests/sim/execute/kernels/kernel_case.hpp"

/// Experts of limited capacity: ranks that drop what they have no room for, and one device that
/// drops the same.
namespace lockstep {
namespace {

constexpr std::int64_t kExperts = 3;
constexpr std::int64_t kHidden = 2;
constexpr std::int64_t kCapacity = 2;
constexpr std::int64_t kRanks = 4;

[[nodiscard]] Shape tokens(Dim last, std::int64_t size) {
  return {{Dim::batch, 2}, {Dim::sequence, 8}, {last, size}};
}

/// Sixteen tokens with two visits each; four on each of the ranks below, whose eight visits meet
/// 3 * 2 slots: on every rank at least two are dropped.
struct Layer {
  Part x = spread("x", tokens(Dim::hidden, kHidden));
  Part weights = spread("weights", tokens(Dim::choice, 2));
  Part experts = numbers("experts", tokens(Dim::choice, 2), kExperts);
  Part g_y = spread("gradient of y", tokens(Dim::hidden, kHidden));
};

/// A rank has one of the sequences, and a zigzag half of its tokens.
const std::vector<std::int64_t> kHalves[2] = {{0, 1, 6, 7}, {2, 3, 4, 5}};
[[nodiscard]] int rank_of(std::int64_t batch, std::int64_t sequence) {
  return static_cast<int>(2 * batch) + (sequence >= 2 && sequence < 6 ? 1 : 0);
}
[[nodiscard]] Layer of_rank(const Layer& all, int rank) {
  Layer out = all;
  for (Part* part : {&out.x, &out.weights, &out.experts, &out.g_y}) {
    *part = cut(cut(*part, Dim::batch, {rank / 2}), Dim::sequence,
                kHalves[static_cast<std::size_t>(rank % 2)]);
  }
  return out;
}

/// Experts multiply by their number and two: what comes to the wrong one shows.
[[nodiscard]] Part multiplied(Part slots) {
  const auto row = slots.values.size() / static_cast<std::size_t>(kExperts);
  for (std::size_t i = 0; i < slots.values.size(); ++i) {
    slots.values[i] *= static_cast<double>(i / row + 2);
  }
  return slots;
}

struct Result {
  Part y{};
  Part g_x{};
  Part g_weights{};
};

/// Out to the experts and back, and the gradients.
[[nodiscard]] Result through(const Layer& layer, std::int64_t room, const KernelSettings& by = {}) {
  const Part slots =
      zeros("slots", {{Dim::expert, kExperts}, {Dim::slot, room}, {Dim::hidden, kHidden}});
  const auto one = [&](OperationKind kind, const std::vector<Part>& reads,
                       const std::vector<Part>& writes) {
    return run<double>(operation_of(kind), reads, writes, by);
  };
  const Part sent =
      with_values(slots, one(OperationKind::dispatch, {layer.x, layer.experts}, {slots})[0]);
  const Part done = multiplied(sent);
  Result out;
  out.y = with_values(
      layer.x, one(OperationKind::combine, {done, layer.weights, layer.experts}, {layer.x})[0]);
  const Values<double> back =
      one(OperationKind::combine_backward, {done, layer.weights, layer.experts, layer.g_y},
          {slots, layer.weights});
  out.g_weights = with_values(layer.weights, back[1]);
  const Part g_slots = multiplied(with_values(slots, back[0]));
  out.g_x = with_values(
      layer.x, one(OperationKind::dispatch_backward, {g_slots, layer.experts}, {layer.x})[0]);
  return out;
}

[[nodiscard]] bool is_part_of(const Part& part, const Part& whole) {
  std::vector<double> expected(part.values.size(), 0.0);
  copy_common(whole.layout, whole.values, part.layout, expected, false);
  return part.values == expected;
}

const DroppingRule kRule{kCapacity, rank_of};

[[nodiscard]] KernelSettings with_rule(const DroppingRule& rule) {
  KernelSettings out;
  out.dropping = &rule;
  return out;
}

}  // namespace

TEST_CASE("one device drops, group by group, what ranks drop") {
  const Layer layer;
  const Result whole = through(layer, kRanks * kCapacity, with_rule(kRule));
  for (int rank = 0; rank < kRanks; ++rank) {
    CAPTURE(rank);
    const Result part = through(of_rank(layer, rank), kCapacity);
    CHECK(is_part_of(part.y, whole.y));
    CHECK(is_part_of(part.g_x, whole.g_x));
    CHECK(is_part_of(part.g_weights, whole.g_weights));
  }
}

TEST_CASE("a rank under the rule drops what it drops for lack of room") {
  const Layer layer = of_rank({}, 3);
  const Result by_room = through(layer, kCapacity);
  const Result by_rule = through(layer, kCapacity, with_rule(kRule));
  CHECK(by_rule.y.values == by_room.y.values);
  CHECK(by_rule.g_x.values == by_room.g_x.values);
}

/// All visits go to expert 1, which has two slots for each group; each token visits it twice. So
/// the first token of each group is all that is taken, here of the groups {0, 2, 4, 6} and
/// {1, 3, 5, 7} of each sequence: y = (w_0 + w_1) 3 x for tokens 0 and 1, else zero.
TEST_CASE("an expert takes the first visits of each group and no more") {
  Layer layer;
  std::fill(layer.experts.values.begin(), layer.experts.values.end(), 1.0);
  std::fill(layer.x.values.begin(), layer.x.values.end(), 1.0);
  std::fill(layer.weights.values.begin(), layer.weights.values.end(), 0.5);
  const DroppingRule odd_and_even{kCapacity, [](std::int64_t batch, std::int64_t sequence) {
                                    return static_cast<int>(2 * batch + sequence % 2);
                                  }};
  const Result result = through(layer, 4 * kCapacity, with_rule(odd_and_even));
  std::vector<double> expected(result.y.values.size(), 0.0);
  for (const std::size_t token : {0U, 1U, 8U, 9U}) {
    for (std::size_t i = 0; i < kHidden; ++i) expected[token * kHidden + i] = 3;
  }
  CHECK(result.y.values == expected);
}

/// Four groups may send two tokens each to an expert, and all of them do.
TEST_CASE("less room than the groups may need is refused when they need it") {
  Layer layer;
  std::fill(layer.experts.values.begin(), layer.experts.values.end(), 1.0);
  CHECK_THROWS_WITH_AS(through(layer, 4 * kCapacity - 1, with_rule(kRule)),
                       "operation (dispatch): expert 1 is to take more tokens than its 7 slots",
                       ExecutionError);
}

TEST_CASE("a visit to an expert that there is not is refused") {
  Layer layer;
  layer.experts.values[5] = kExperts;
  CHECK_THROWS_WITH_AS(through(layer, 32), "operation (dispatch): no expert 3", ExecutionError);
}

}  // namespace lockstep
