#include <doctest/doctest.h>

#include <array>

#include "tests/sim/execute/kernels/kernel_case.hpp"

/// Keys that arrive part by part, as round a ring, give what all keys give at once.
namespace lockstep {
namespace {

using Tokens = std::vector<std::int64_t>;

/// Sums of at most 8 keys of numbers of size 1, in another order.
constexpr double kRounding = 1e-14;

[[nodiscard]] Shape rows(Dim heads, std::int64_t count) {
  return {{Dim::batch, 2}, {Dim::sequence, 8}, {heads, count}, {Dim::head_size, 3}};
}

struct Attention {
  Part q = spread("q", rows(Dim::heads, 4));
  Part k = spread("k", rows(Dim::kv_heads, 2));
  Part v = spread("v", rows(Dim::kv_heads, 2));
  Part o = zeros("o", rows(Dim::heads, 4));
  Part statistics = zeros("statistics", {{Dim::batch, 2}, {Dim::heads, 4}, {Dim::sequence, 8}});
};

[[nodiscard]] Attention of_queries(Attention all, const Tokens& tokens) {
  for (Part* part : {&all.q, &all.o, &all.statistics}) *part = cut(*part, Dim::sequence, tokens);
  return all;
}

[[nodiscard]] Operation attention(bool causal, double dropout = 0) {
  Operation out = operation_of(OperationKind::attention);
  out.causal = causal;
  out.dropout = dropout;
  return out;
}

/// Adds the keys of some tokens to what `held` has seen.
void visit(Attention& held, const Tokens& tokens, Operation operation, bool first) {
  operation.accumulate = !first;
  std::vector<Part> reads{held.q, cut(held.k, Dim::sequence, tokens),
                          cut(held.v, Dim::sequence, tokens)};
  if (!first) reads.insert(reads.end(), {held.o, held.statistics});
  Values<double> out = run<double>(operation, reads, {held.o, held.statistics});
  held.o.values = std::move(out[0]);
  held.statistics.values = std::move(out[1]);
}

[[nodiscard]] Attention after(Attention held, const std::vector<Tokens>& parts,
                              const Operation& operation) {
  bool first = true;
  for (const Tokens& tokens : parts) {
    visit(held, tokens, operation, first);
    first = false;
  }
  return held;
}

void check_same(const Attention& ring, const Attention& at_once) {
  CHECK(largest_gap(ring.o.values, at_once.o.values) <= kRounding);
  CHECK(largest_gap(ring.statistics.values, at_once.statistics.values) <= kRounding);
}

const Tokens kAll{0, 1, 2, 3, 4, 5, 6, 7};

}  // namespace

TEST_CASE("two parts of keys give what all give at once, in either order") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const Attention at_once = after({}, {kAll}, attention(causal));
    check_same(after({}, {{0, 1, 2, 3}, {4, 5, 6, 7}}, attention(causal)), at_once);
    // The first four queries see nothing of what comes first here.
    check_same(after({}, {{4, 5, 6, 7}, {0, 1, 2, 3}}, attention(causal)), at_once);
  }
}

TEST_CASE("a rank's zigzag queries see the keys of the other's") {
  const Tokens own{0, 1, 6, 7};
  const Tokens others{2, 3, 4, 5};
  check_same(after(of_queries({}, own), {own, others}, attention(true)),
             after(of_queries({}, own), {kAll}, attention(true)));
}

TEST_CASE("probabilities are dropped by the places of query and key, whoever has them") {
  const Operation drops = attention(true, 0.25);
  check_same(after({}, {{4, 5, 6, 7}, {0, 1, 2, 3}}, drops), after({}, {kAll}, drops));
}

/// The later sequence of a batch of two, by itself.
TEST_CASE("attention in a batch that begins further on drops what the larger one drops there") {
  const Operation drops = attention(false, 0.25);
  const Attention all = after({}, {kAll}, drops);
  const auto second = [](const Part& part) {
    Part out = cut(part, Dim::batch, {1});
    out.layout.axes[0].at = {0};
    return out;
  };
  KernelSettings later;
  later.first_sample = 1;
  const Values<double> own = run<double>(drops, {second(all.q), second(all.k), second(all.v)},
                                         {second(all.o), second(all.statistics)}, later);
  CHECK(own[0] == second(all.o).values);
}

TEST_CASE("gradients of the parts add up to those of all keys") {
  const Attention at_once = after({}, {kAll}, attention(true));
  const Part g = spread("gradient of o", rows(Dim::heads, 4));
  Operation backward = operation_of(OperationKind::attention_backward);
  backward.causal = true;
  const auto gradients = [&](const Tokens& tokens) {
    const Part k = cut(at_once.k, Dim::sequence, tokens);
    const Part v = cut(at_once.v, Dim::sequence, tokens);
    Values<double> out = run<double>(backward, {at_once.q, k, v, at_once.o, at_once.statistics, g},
                                     {at_once.q, k, v});
    return std::array{with_values(at_once.q, out[0]), with_values(k, out[1]),
                      with_values(v, out[2])};
  };
  const auto whole = gradients(kAll);
  std::vector<double> g_q(whole[0].values.size(), 0.0);
  for (const Tokens& tokens : {Tokens{0, 1, 2, 3}, Tokens{4, 5, 6, 7}}) {
    const auto part = gradients(tokens);
    copy_common(part[0].layout, part[0].values, whole[0].layout, g_q, true);
    for (const std::size_t i : {1U, 2U}) {
      CHECK(largest_gap(part[i].values, cut(whole[i], Dim::sequence, tokens).values) <= kRounding);
    }
  }
  CHECK(largest_gap(g_q, whole[0].values) <= kRounding);
}

TEST_CASE("attention that adds to what it does not read is refused") {
  const Attention at;
  Operation adds = attention(true);
  adds.accumulate = true;
  CHECK_THROWS_WITH(run<double>(adds, {at.q, at.k, at.v}, {at.o, at.statistics}),
                    "operation (attention): adds to what it does not read");
}

/// Flash and written-out attention are two ways to one result.
TEST_CASE("scores, softmax and weighted values give what fused attention gives") {
  const Attention fused = after({}, {kAll}, attention(true));
  const Part scores =
      zeros("scores", {{Dim::batch, 2}, {Dim::heads, 4}, {Dim::sequence, 8}, {Dim::keys, 8}});
  Operation softmax = operation_of(OperationKind::softmax);
  softmax.causal = true;
  const Part written = with_values(
      scores,
      run<double>(operation_of(OperationKind::attention_scores), {fused.q, fused.k}, {scores})[0]);
  const Part weights = with_values(scores, run<double>(softmax, {written}, {scores})[0]);
  const Values<double> o =
      run<double>(operation_of(OperationKind::attention_context), {weights, fused.v}, {fused.o});
  CHECK(largest_gap(o[0], fused.o.values) <= kRounding);
}

}  // namespace lockstep
