#include "sim/program/kernel/attention_loads.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "sim/program/kernel/kernel_attention.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t kTokens = 48;
constexpr int kParts = 4;
constexpr int kReplicas = 2;
constexpr std::int64_t kBatch = 6;  // sequences of a microbatch, three for each replica

/// Attention of `kBatch` sequences over two replicas with rings of four.
struct Case {
  Program program;
  Routine routine;

  Case(const VisibleKeys& visible, bool zigzag, bool gathered, int ring_offset,
       int parts = kParts) {
    program.mesh = Mesh{{{"ring", parts}, {"dp", kReplicas}}};
    const auto tensor = [&](Dim dim, std::int64_t heads, bool keys) {
      Tensor out;
      const MeshSubAxes cut = parts > 1 ? MeshSubAxes{0} : MeshSubAxes{};
      const Extent tokens = keys && gathered ? Extent{Dim::keys, kTokens}
                                             : Extent{Dim::sequence, kTokens, cut, zigzag};
      out.extents = {{Dim::batch, kBatch, {1}}, tokens, {dim, heads}, {Dim::head_size, 16}};
      return Ref{program.add(std::move(out))};
    };
    Operation operation;
    operation.kind = OperationKind::attention;
    const Ref q = tensor(Dim::heads, 4, false);
    operation.reads = {q, tensor(Dim::kv_heads, 2, true), tensor(Dim::kv_heads, 2, true)};
    operation.writes = {q};
    operation.causal = true;
    operation.ring_offset = ring_offset;
    operation.visible = visible;
    routine.operations.push_back(std::move(operation));
  }
  [[nodiscard]] const Operation& operation() const { return routine.operations.front(); }
};

/// Whether a rank of the ring has a token.
bool has(int part, std::int64_t token, bool zigzag) {
  if (!zigzag) return token / (kTokens / kParts) == part;
  const std::int64_t run = token / (kTokens / (2 * kParts));
  return run == part || run == 2 * kParts - 1 - part;
}

/// One by one: pairs, queries that see a key, and keys of the query with most.
MaskedAttention counted(const VisibleKeys& visible, int microbatch, int replica, int part, int from,
                        bool zigzag, bool gathered) {
  MaskedAttention out;
  const std::int64_t local = kBatch / kReplicas;
  for (std::int64_t sample = replica * local; sample < (replica + 1) * local; ++sample) {
    const VisibleKeys own = visible.of_sequence(microbatch * kBatch + sample, kTokens);
    for (std::int64_t query = 0; query < kTokens; ++query) {
      if (!has(part, query, zigzag)) continue;
      std::int64_t keys = 0;
      for (std::int64_t key = 0; key < kTokens; ++key)
        if (gathered || has(from, key, zigzag)) keys += own.sees(query, key) ? 1 : 0;
      out.pairs += static_cast<double>(keys);
      out.most_keys = std::max(out.most_keys, keys);
    }
  }
  return out;
}

std::vector<VisibleKeys> kinds_of_documents() {
  VisibleKeys same;
  same.documents = {10, 7};
  VisibleKeys listed;
  listed.packed.lists = {{3, 20}, {48}, {1}, {17, 5, 9}, {100}};
  VisibleKeys drawn;
  drawn.packed.drawn = DocumentDraw{DocumentDraw::Kind::lognormal, 1, 1, 9, 1.2, 5};
  VisibleKeys uniform;
  uniform.packed.drawn = DocumentDraw{DocumentDraw::Kind::uniform, 2, 30, 1, 1, 8};
  return {same, listed, drawn, uniform};
}

}  // namespace

TEST_CASE("documents in a ring: the blocks of every rank and step, counted one by one") {
  for (const VisibleKeys& visible : kinds_of_documents()) {
    for (const bool zigzag : {false, true}) {
      for (const int microbatch : {0, 3}) {
        double all = 0;
        for (int offset = 0; offset < kParts; ++offset) {
          const Case of{visible, zigzag, false, offset};
          const auto loads = AttentionLoads::of(of.program, of.operation());
          REQUIRE(loads);
          REQUIRE(loads->places() == kReplicas * kParts);
          const std::vector<MaskedAttention> found = loads->loads(microbatch);
          for (int rank = 0; rank < of.program.mesh.ranks(); ++rank) {
            const int part = rank % kParts;
            const MaskedAttention& own = found[static_cast<std::size_t>(loads->place_of(rank))];
            const MaskedAttention expected =
                counted(visible, microbatch, rank / kParts, part, (part + kParts - offset) % kParts,
                        zigzag, false);
            CHECK(own.pairs == expected.pairs);
            CHECK(own.most_keys == expected.most_keys);
            CHECK(own.heads == 4);
            // 2 GEMMs of 2 FLOPs for each number of a head of 16.
            const Kernel kernel = kernel_of(of.program, of.routine, 0, own);
            CHECK(kernel.flops == 4.0 * 16 * 4 * expected.pairs);
            CHECK((kernel.moved_bytes > 0) == (expected.pairs > 0));
            all += own.pairs;
          }
        }
        // All steps of the ring together are the whole sequences.
        double whole = 0;
        for (std::int64_t i = 0; i < kBatch; ++i)
          whole += limited_pairs(visible.of_sequence(microbatch * kBatch + i, kTokens), kTokens);
        CHECK(all == whole);
      }
    }
  }
}

TEST_CASE("documents and windows with gathered keys: the pairs of every rank, counted one by one") {
  for (VisibleKeys visible : kinds_of_documents()) {
    for (const std::int64_t window : {0, 5, 12}) {
      for (const bool zigzag : {false, true}) {
        for (const bool chunked : {false, true}) {
          visible.window = window;
          visible.chunked = chunked;
          const Case of{visible, zigzag, true, 0};
          const auto loads = AttentionLoads::of(of.program, of.operation());
          REQUIRE(loads);
          const std::vector<MaskedAttention> found = loads->loads(1);
          double most = 0;
          for (int rank = 0; rank < of.program.mesh.ranks(); ++rank) {
            const double pairs =
                counted(visible, 1, rank / kParts, rank % kParts, 0, zigzag, true).pairs;
            CHECK(found[static_cast<std::size_t>(loads->place_of(rank))].pairs == pairs);
            most = std::max(
                most, counted(visible, 0, rank / kParts, rank % kParts, 0, zigzag, true).pairs);
          }
          // Without a load of its own, a kernel is that of the busiest rank of the first
          // microbatch.
          CHECK(kernel_of(of.program, of.routine, 0).flops == 4.0 * 16 * 4 * most);
        }
      }
    }
  }
}

TEST_CASE("a block of attention has queries of one document that see some of the keys") {
  // Quarters of 12 tokens; documents of 16: rank 1 has the last 4 tokens of the first document and
  // 8 of the second, rank 2 the other 8 and 4 of the third.
  VisibleKeys visible;
  visible.documents = {16};
  const Case own{visible, false, false, 0};
  const auto diagonal = AttentionLoads::of(own.program, own.operation())->loads(0);
  CHECK(diagonal[1].runs == std::vector<std::int64_t>{4, 8, 4, 8, 4, 8});  // of three sequences
  const Case before{visible, false, false, 1};
  const auto earlier = AttentionLoads::of(before.program, before.operation())->loads(0);
  CHECK(earlier[0].runs.empty());                                // keys of the last quarter
  CHECK(earlier[1].runs == std::vector<std::int64_t>{4, 4, 4});  // 4 of the first document
  CHECK(earlier[1].pairs == 3.0 * 4 * 12);                       // each sees all 12 of rank 0
  CHECK(earlier[2].runs == std::vector<std::int64_t>{8, 8, 8});
}

TEST_CASE("past the diagonal of a ring, queries see all keys of their document: no causal kernel") {
  VisibleKeys visible;
  for (const std::vector<std::int64_t>& documents :
       std::vector<std::vector<std::int64_t>>{{16}, {48, 1}, {5, 40}}) {
    visible.packed.lists = {documents};
    for (const bool zigzag : {false, true}) {
      for (int offset = 0; offset < kParts; ++offset) {
        const Case of{visible, zigzag, false, offset};
        for (const MaskedAttention& load : AttentionLoads::of(of.program, of.operation())->loads(0))
          CHECK(kernel_of(of.program, of.routine, 0, load).causal == (offset == 0));
      }
    }
  }
}

TEST_CASE("attention without documents, or over the same ones on whole sequences, has one load") {
  VisibleKeys visible;
  const auto found = [&](bool causal, int parts) {
    Case of{visible, false, false, 0, parts};
    of.routine.operations.front().causal = causal;
    return AttentionLoads::of(of.program, of.operation()).has_value();
  };
  CHECK_FALSE(found(true, kParts));
  visible.documents = {16, 3};
  CHECK_FALSE(found(true, 1));
  CHECK(found(true, kParts));
  CHECK_FALSE(found(false, kParts));
  visible.documents = {kTokens, 3};  // one document
  CHECK_FALSE(found(true, kParts));
  visible.documents = {};
  visible.packed.lists = {{16, 3}};
  CHECK(found(true, 1));
}

TEST_CASE("drawn documents fill a sequence, differ by sequence and seed, and have their mean") {
  PackedDocuments packed;
  packed.drawn = DocumentDraw{DocumentDraw::Kind::lognormal, 1, 1, 200, 0.8, 1};
  CHECK(packed.of_sequence(3, 4096) == packed.of_sequence(3, 4096));
  CHECK(packed.of_sequence(3, 4096) != packed.of_sequence(4, 4096));
  PackedDocuments other = packed;
  other.drawn->seed = 2;
  CHECK(packed.of_sequence(3, 4096) != other.of_sequence(3, 4096));
  for (const std::int64_t tokens : {1, 7, 4096}) {
    const auto lengths = packed.of_sequence(0, tokens);
    CHECK(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == tokens);
    CHECK(*std::min_element(lengths.begin(), lengths.end()) >= 1);
  }
  // 10,000 documents or so: the mean's standard error is 200 * sqrt(exp(0.64) - 1) / 100, 1 %.
  const auto many = packed.of_sequence(0, 2'000'000);
  CHECK(2e6 / static_cast<double>(many.size()) == doctest::Approx(200).epsilon(0.04));
  packed.drawn = DocumentDraw{DocumentDraw::Kind::uniform, 3, 5, 1, 1, 1};
  const auto some = packed.of_sequence(0, 10'000);
  const std::set<std::int64_t> lengths(some.begin(), some.end() - 1);  // the last may be cut
  CHECK(lengths == std::set<std::int64_t>{3, 4, 5});
}
