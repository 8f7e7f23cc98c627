#include "strategies/sharding/ring_attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/program/kernel/kernel.hpp"
#include "strategies/models/build_model.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/sharding/sharding_rules.hpp"

namespace lockstep {
namespace {

struct Laid {
  Mesh mesh;
  ModelGraph graph;

  [[nodiscard]] const Block& layer() const {
    return graph.blocks[static_cast<std::size_t>(graph.chain[1])];
  }
};

[[nodiscard]] Laid ring_of(int n, bool zigzag, ContextKind kind = ContextKind::ring,
                           AttentionKind attention = AttentionKind::flash) {
  TransformerConfig shape;
  shape.attention = attention;
  shape.hidden = 32;
  shape.heads = 4;
  shape.kv_heads = 4;
  shape.head_size = 8;
  shape.ffn = 128;
  shape.sequence = 64;
  shape.vocabulary = 64;
  ModelConfig model;
  model.shape = shape;
  ParallelConfig with;
  with.cp = n;
  with.cp_kind = kind;
  with.ulysses = 2;
  Laid out{device_mesh(with, 4, 8), build_model(model, {})};
  propagate_sharding(out.graph, out.mesh, sharding_rules(with, out.mesh));
  ring_attention(out.graph, out.mesh, zigzag);
  return out;
}

[[nodiscard]] std::vector<Operation> of_kind(const std::vector<Operation>& body,
                                             OperationKind kind) {
  std::vector<Operation> out;
  std::copy_if(body.begin(), body.end(), std::back_inserter(out),
               [kind](const Operation& one) { return one.kind == kind; });
  return out;
}

[[nodiscard]] std::vector<Operation> hops(const std::vector<Operation>& body) {
  std::vector<Operation> out;
  for (const Operation& one : of_kind(body, OperationKind::collective)) {
    if (one.communication->collective == Collective::send_recv) out.push_back(one);
  }
  return out;
}

}  // namespace

TEST_CASE("forward: a part for every member, the first its own, the others added to it") {
  const Laid laid = ring_of(4, true);
  const auto parts = of_kind(laid.layer().forward, OperationKind::attention);
  REQUIRE(parts.size() == 4);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CHECK(parts[i].ring_offset == static_cast<int>(i));
    CHECK(parts[i].accumulate == (i > 0));
    CHECK(parts[i].writes == parts[0].writes);
    // A running softmax reads what it adds to.
    CHECK(parts[i].reads.size() == (i > 0 ? 5 : 3));
  }
}

TEST_CASE("forward: each hop passes on what the last one brought, before that is worked on") {
  const Laid laid = ring_of(4, true);
  const auto& body = laid.layer().forward;
  const auto passed = hops(body);
  REQUIRE(passed.size() == 3);
  CHECK(passed[1].reads == passed[0].writes);
  CHECK(passed[2].reads == passed[1].writes);
  const auto parts = of_kind(body, OperationKind::attention);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    CHECK(parts[i].reads[1] == passed[i - 1].writes[0]);
    CHECK(parts[i].reads[2] == passed[i - 1].writes[1]);
  }
}

TEST_CASE("backward: begins with the keys that came first, and ends with the rank's own") {
  // Gradients that travel with their keys from the next rank on are at home after n - 1 hops.
  const Laid laid = ring_of(4, true);
  const auto& body = laid.layer().backward;
  const auto parts = of_kind(body, OperationKind::attention_backward);
  const auto first = hops(laid.layer().forward).front();
  REQUIRE(parts.size() == 4);
  CHECK(hops(body).size() == 3 + 3);
  CHECK(parts[0].reads[1] == first.writes[0]);
  CHECK(parts[0].reads[2] == first.writes[1]);
  const std::vector<int> from{1, 2, 3, 0};
  for (std::size_t i = 0; i < parts.size(); ++i) CHECK(parts[i].ring_offset == from[i]);
}

TEST_CASE("backward: no part waits for gradients that travel, which are added to its own") {
  const Laid laid = ring_of(4, true);
  const auto& body = laid.layer().backward;
  const auto parts = of_kind(body, OperationKind::attention_backward);
  std::set<TensorId> travel;
  for (const Operation& hop : hops(body))
    for (const Ref& ref : hop.writes) travel.insert(ref.tensor);
  std::set<TensorId> sums;
  for (const Operation& add : of_kind(body, OperationKind::add)) {
    if (!add.name.ends_with("attention.backward.add")) continue;
    sums.insert(add.writes[0].tensor);
  }
  for (const Operation& part : parts) {
    CHECK_FALSE(part.accumulate);
    for (const Ref& ref : part.writes) CHECK_FALSE(travel.contains(ref.tensor));
  }
  // What follows reads the last sums: of queries, keys and values.
  std::set<TensorId> read;
  for (const Operation& operation : body)
    if (operation.kind != OperationKind::add && operation.kind != OperationKind::collective)
      for (const Ref& ref : operation.reads) read.insert(ref.tensor);
  int at_home = 0;
  for (const TensorId sum : sums) at_home += read.contains(sum) ? 1 : 0;
  CHECK(at_home == 3);
}

TEST_CASE("of the keys in forward only those that came first are kept for backward") {
  const Laid laid = ring_of(4, true);
  std::set<TensorId> written;
  for (const Operation& operation : laid.layer().forward)
    if (operation.kind == OperationKind::collective)
      for (const Ref& ref : operation.writes) written.insert(ref.tensor);
  std::set<TensorId> kept;
  for (const Operation& operation : laid.layer().backward)
    for (const Ref& ref : operation.reads)
      if (written.contains(ref.tensor)) kept.insert(ref.tensor);
  const auto first = hops(laid.layer().forward).front();
  CHECK(kept == std::set<TensorId>{first.writes[0].tensor, first.writes[1].tensor});
}

TEST_CASE("zigzag marks every sequence that the ring cuts, and no other dimension") {
  for (const bool zigzag : {false, true}) {
    const Laid laid = ring_of(4, zigzag);
    const MeshSubAxes ring = laid.mesh.axis("ring");
    for (const Tensor& tensor : laid.graph.tensors) {
      for (const Extent& extent : tensor.extents) {
        const bool cut = std::any_of(extent.shards.begin(), extent.shards.end(), [&](AtomId atom) {
          return std::find(ring.begin(), ring.end(), atom) != ring.end();
        });
        CHECK(extent.zigzag == (zigzag && cut && extent.dim == Dim::sequence));
      }
    }
  }
}

TEST_CASE("both kinds: as many parts as the ring has members") {
  const Laid laid = ring_of(4, true, ContextKind::both);
  CHECK(of_kind(laid.layer().forward, OperationKind::attention).size() == 2);
  CHECK(hops(laid.layer().forward).size() == 1);
}

TEST_CASE("without a ring nothing changes") {
  const Laid laid = ring_of(4, true, ContextKind::ulysses);
  CHECK(hops(laid.layer().forward).empty());
  CHECK(of_kind(laid.layer().forward, OperationKind::attention).size() == 1);
}

TEST_CASE("parts of stored scores do the FLOPs of the whole, and move its scores once") {
  // Queries are read, and outputs added to, by every part; a rank's rows of scores and of what has
  // their shape are s/n * s numbers of its heads in 2 bytes, however many parts write them.
  const auto sums = [](const Laid& laid, OperationKind kind) {
    Program program;
    program.mesh = laid.mesh;
    for (const Tensor& tensor : laid.graph.tensors) (void)program.add(tensor);
    std::pair<double, double> out;
    for (const auto* body : {&laid.layer().forward, &laid.layer().backward}) {
      const Routine routine{"", *body};
      for (std::size_t i = 0; i < body->size(); ++i) {
        if ((*body)[i].kind != kind) continue;
        const Kernel kernel = kernel_of(program, routine, i);
        out.first += kernel.flops;
        out.second += kernel.moved_bytes;
      }
    }
    return out;
  };
  using enum OperationKind;
  constexpr double kScores = 4 * 64 * 64 * 2;  // bytes
  constexpr double kRows = 64 * 32 * 2;        // of queries, keys, values or outputs
  for (const int n : {2, 4}) {
    CAPTURE(n);
    const Laid laid = ring_of(n, false, ContextKind::ring, AttentionKind::unfused);
    const double flops = 2.0 * 64 * 64 * 32 / n;
    CHECK(sums(laid, attention_scores) ==
          std::pair{flops, kScores / n + kRows + kRows});  // n parts of queries, n of keys
    // Outputs are written by the first part, read and written by others.
    CHECK(sums(laid, attention_context) ==
          std::pair{flops, kScores / n + kRows + kRows / n * (2 * n - 1)});
    CHECK(sums(laid, attention_scores_backward).first == 2 * flops);
    CHECK(sums(laid, attention_context_backward).first == 2 * flops);
  }
}

TEST_CASE("parts of stored scores: the sum of a key's gradients travels with it and comes home") {
  const Laid laid = ring_of(4, true, ContextKind::ring, AttentionKind::unfused);
  const auto forward = of_kind(laid.layer().forward, OperationKind::attention_scores);
  const auto backward = of_kind(laid.layer().backward, OperationKind::attention_scores_backward);
  REQUIRE(forward.size() == 4);
  REQUIRE(backward.size() == 4);
  CHECK(hops(laid.layer().forward).size() == 2 * 3);
  CHECK(hops(laid.layer().backward).size() == 2 * (3 + 3));
  const std::vector<int> from{1, 2, 3, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(forward[i].ring_offset == static_cast<int>(i));
    CHECK(backward[i].ring_offset == from[i]);
    CHECK(forward[i].accumulate == (i > 0));
    CHECK(backward[i].accumulate == (i > 0));
    CHECK(backward[i].writes[0] == backward[0].writes[0]);
  }
  CHECK(backward[3].reads[1] == forward[0].reads[1]);
}

}  // namespace lockstep
