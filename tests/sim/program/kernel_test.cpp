#include "sim/program/kernel/kernel.hpp"
#include "sim/program/kernel/kernel_attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace lockstep;

namespace {

/// Mesh of four atoms: tp 2 (0), cp 4 (1), dp 2 (2), ep 2 (3).
constexpr AtomId kTp = 0;
constexpr AtomId kCp = 1;
constexpr AtomId kEp = 3;

/// A program with one routine, built tensor by tensor.
class Bed {
 public:
  Bed() { program_.mesh = Mesh{{{"tp", 2}, {"cp", 4}, {"dp", 2}, {"ep", 2}}, {{"ring", {kCp}}}}; }

  Ref tensor(std::vector<Extent> extents, Dtype dtype = Dtype::bf16,
             Category category = Category::activation) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.category = category;
    tensor.extents = std::move(extents);
    return Ref{program_.add(std::move(tensor))};
  }

  Operation& operation(OperationKind kind, std::vector<Ref> reads, std::vector<Ref> writes) {
    Operation operation;
    operation.kind = kind;
    operation.reads = std::move(reads);
    operation.writes = std::move(writes);
    routine_.operations.push_back(std::move(operation));
    return routine_.operations.back();
  }

  Program& program() { return program_; }
  [[nodiscard]] Kernel kernel(std::size_t index = 0) const {
    return kernel_of(program_, routine_, index);
  }
  [[nodiscard]] double mean_over_busiest(std::size_t index = 0) const {
    return lockstep::mean_over_busiest(program_, routine_.operations[index]);
  }

 private:
  Program program_;
  Routine routine_;
};

std::vector<Extent> activation(std::int64_t hidden, Dim dim = Dim::hidden) {
  return {{Dim::batch, 3}, {Dim::sequence, 100}, {dim, hidden}};
}

}  // namespace

TEST_CASE("a linear layer: tokens are rows, features columns, what both share is the depth") {
  Bed bed;
  const Ref x = bed.tensor(activation(64));
  const Ref w = bed.tensor({{Dim::hidden, 64}, {Dim::ffn, 256, {kTp}}});
  const Ref y = bed.tensor({{Dim::batch, 3}, {Dim::sequence, 100}, {Dim::ffn, 256, {kTp}}});
  SUBCASE("activations first") {
    bed.operation(OperationKind::matmul, {x, w}, {y});
  }
  SUBCASE("weights first") {
    bed.operation(OperationKind::matmul, {w, x}, {y});
  }
  const Kernel kernel = bed.kernel();
  CHECK(kernel.m == 300);
  CHECK(kernel.n == 128);  // 256 cut in two
  CHECK(kernel.k == 64);
  CHECK(kernel.batches == 1);
  CHECK(kernel.flops == 2.0 * 300 * 128 * 64);
  CHECK(kernel.moved_bytes == 2.0 * (300 * 64 + 64 * 128 + 300 * 128));
  CHECK(kernel.math == Dtype::bf16);
  CHECK_FALSE(kernel.bias);
}

TEST_CASE("a bias is read too") {
  Bed bed;
  const Ref x = bed.tensor(activation(64));
  const Ref w = bed.tensor({{Dim::hidden, 64}, {Dim::ffn, 32}});
  const Ref b = bed.tensor({{Dim::ffn, 32}});
  const Ref y = bed.tensor(activation(32, Dim::ffn));
  bed.operation(OperationKind::matmul, {x, w, b}, {y});
  CHECK(bed.kernel().bias);
  CHECK(bed.kernel().moved_bytes == 2.0 * (300 * 64 + 64 * 32 + 32 + 300 * 32));
}

TEST_CASE("the gradient of a weight is summed over tokens and added to what was there") {
  Bed bed;
  const Ref x = bed.tensor(activation(64));
  const Ref g_y = bed.tensor(activation(32, Dim::ffn));
  const Ref g_w = bed.tensor({{Dim::hidden, 64}, {Dim::ffn, 32}}, Dtype::fp32, Category::gradient);
  bed.operation(OperationKind::matmul, {x, g_y}, {g_w});
  const Kernel kernel = bed.kernel();
  CHECK(kernel.m == 64);
  CHECK(kernel.n == 32);
  CHECK(kernel.k == 300);
  CHECK(kernel.moved_bytes == 2.0 * (300 * 64 + 300 * 32) + 2 * 4.0 * 64 * 32);
}

TEST_CASE("projections of queries, keys and values that are fused are one wide GEMM") {
  Bed bed;
  const Ref x = bed.tensor(activation(64));
  const Ref w_q = bed.tensor({{Dim::hidden, 64}, {Dim::heads, 8}, {Dim::head_size, 16}});
  const Ref w_k = bed.tensor({{Dim::hidden, 64}, {Dim::kv_heads, 2}, {Dim::head_size, 16}});
  const Ref q =
      bed.tensor({{Dim::batch, 3}, {Dim::sequence, 100}, {Dim::heads, 8}, {Dim::head_size, 16}});
  const Ref k =
      bed.tensor({{Dim::batch, 3}, {Dim::sequence, 100}, {Dim::kv_heads, 2}, {Dim::head_size, 16}});
  bed.operation(OperationKind::matmul, {x, w_q}, {q}).fused = 1;
  bed.operation(OperationKind::matmul, {x, w_k}, {k}).fused = 1;
  const Kernel first = bed.kernel(0);
  CHECK(first.m == 300);
  CHECK(first.n == 8 * 16 + 2 * 16);
  CHECK(first.k == 64);
  CHECK(first.flops == 2.0 * 300 * 160 * 64);
  // x is read once for both.
  CHECK(first.moved_bytes == 2.0 * (300 * 64 + 64 * 160 + 300 * 160));
  const Kernel second = bed.kernel(1);
  CHECK(second.fused_away);
  CHECK(second.flops == 0);
  CHECK(second.moved_bytes == 0);
}

TEST_CASE("widths of fused GEMMs add up to a whole number") {
  Bed bed;  // 28 heads and 2 * 4 of 128: 9/7 of the first GEMM is no exact double
  const Ref x = bed.tensor({{Dim::sequence, 100}, {Dim::hidden, 64}});
  for (const auto& [dim, heads] :
       {std::pair{Dim::heads, 28}, {Dim::kv_heads, 4}, {Dim::kv_heads, 4}}) {
    const Ref w = bed.tensor({{Dim::hidden, 64}, {dim, heads}, {Dim::head_size, 128}});
    const Ref y = bed.tensor({{Dim::sequence, 100}, {dim, heads}, {Dim::head_size, 128}});
    bed.operation(OperationKind::matmul, {x, w}, {y}).fused = 1;
  }
  CHECK(bed.kernel().n == 36 * 128);
}

TEST_CASE("fused GEMMs that add up to one gradient are one deep GEMM") {
  Bed bed;
  const Ref w_q = bed.tensor({{Dim::hidden, 64}, {Dim::heads, 8}});
  const Ref w_k = bed.tensor({{Dim::hidden, 64}, {Dim::kv_heads, 2}});
  const Ref g_q = bed.tensor({{Dim::sequence, 100}, {Dim::heads, 8}});
  const Ref g_k = bed.tensor({{Dim::sequence, 100}, {Dim::kv_heads, 2}});
  const Ref g_x = bed.tensor({{Dim::sequence, 100}, {Dim::hidden, 64}});
  bed.operation(OperationKind::matmul, {g_q, w_q}, {g_x}).fused = 1;
  Operation& second = bed.operation(OperationKind::matmul, {g_k, w_k}, {g_x});
  second.fused = 1;
  second.accumulate = true;  // within the kernel: moves nothing
  const Kernel kernel = bed.kernel();
  CHECK(kernel.m == 100);
  CHECK(kernel.n == 64);
  CHECK(kernel.k == 10);
  CHECK(kernel.moved_bytes == 2.0 * (100 * 8 + 64 * 8 + 100 * 2 + 64 * 2 + 100 * 64));
}

TEST_CASE("experts are batches, slots their rows") {
  Bed bed;
  const Ref x = bed.tensor({{Dim::expert, 4, {kEp}}, {Dim::slot, 150}, {Dim::hidden, 64}});
  const Ref w = bed.tensor({{Dim::expert, 4, {kEp}}, {Dim::hidden, 64}, {Dim::ffn, 32}});
  const Ref y = bed.tensor({{Dim::expert, 4, {kEp}}, {Dim::slot, 150}, {Dim::ffn, 32}});
  // The load over the mean rank's is for whoever counts the work of all ranks: slots have it here.
  bed.operation(OperationKind::matmul, {x, w}, {y}).factor = 1.5;
  const Kernel kernel = bed.kernel();
  CHECK(kernel.batches == 2);
  CHECK(kernel.m == 150);
  CHECK(kernel.n == 32);
  CHECK(kernel.k == 64);
  CHECK(kernel.flops == 2.0 * 2 * 150 * 32 * 64);
  CHECK(kernel.moved_bytes == 2.0 * 2 * (150 * 64 + 64 * 32 + 150 * 32));
}

TEST_CASE("a weight gradient of experts is as deep as their slots") {
  Bed bed;
  const Ref x = bed.tensor({{Dim::expert, 2}, {Dim::slot, 125}, {Dim::hidden, 64}});
  const Ref g_y = bed.tensor({{Dim::expert, 2}, {Dim::slot, 125}, {Dim::ffn, 32}});
  const Ref g_w = bed.tensor({{Dim::expert, 2}, {Dim::hidden, 64}, {Dim::ffn, 32}});
  bed.operation(OperationKind::matmul, {x, g_y}, {g_w});
  CHECK(bed.kernel().m == 64);
  CHECK(bed.kernel().k == 125);
  CHECK(bed.kernel().over_tokens);
}

TEST_CASE("a GEMM casts the operands that are not cast yet, those of joined GEMMs together") {
  Bed bed;
  const Ref x = bed.tensor({{Dim::sequence, 100}, {Dim::hidden, 64}});
  const Ref w_q = bed.tensor({{Dim::hidden, 64}, {Dim::heads, 8}});
  const Ref w_k = bed.tensor({{Dim::hidden, 64}, {Dim::kv_heads, 2}});
  const Ref q = bed.tensor({{Dim::sequence, 100}, {Dim::heads, 8}});
  const Ref k = bed.tensor({{Dim::sequence, 100}, {Dim::kv_heads, 2}});
  Operation& first = bed.operation(OperationKind::matmul, {x, w_q}, {q});
  first.fused = 1;
  first.math = Dtype::fp8;
  Operation& second = bed.operation(OperationKind::matmul, {x, w_k}, {k});
  second.fused = 1;
  second.math = Dtype::fp8;
  bed.program().casts = {1, 3};
  CHECK(bed.kernel().cast_kernels == 2);
  CHECK(bed.kernel().cast_bytes == 3 * (100 * 64 + 64 * 8 + 64 * 2));
  second.at_hand = {false, true};  // x is cast for the first of both, once
  CHECK(bed.kernel().cast_kernels == 2);
  CHECK(bed.kernel().cast_bytes == 3 * (100 * 64 + 64 * 8));
}

TEST_CASE("operands that are tensors in 8 bits or fewer are not cast, and move as many bytes") {
  Bed bed;
  const Ref x = bed.tensor({{Dim::sequence, 96}, {Dim::hidden, 64}}, Dtype::nvfp4);
  const Ref w = bed.tensor({{Dim::hidden, 64}, {Dim::heads, 8}});
  const Ref y = bed.tensor({{Dim::sequence, 96}, {Dim::heads, 8}});
  bed.program().casts = {1, 3};
  bed.operation(OperationKind::matmul, {x, w}, {y}).math = Dtype::nvfp4;
  CHECK(bed.kernel().cast_kernels == 1);
  CHECK(bed.kernel().cast_bytes == 3 * 64 * 8);
  // 4 bits, and 8 per 16 numbers.
  CHECK(bed.kernel().moved_bytes == 96 * 64 * 9 / 16 + 2 * (64 * 8 + 96 * 8));
  bed.operation(OperationKind::cast, {y}, {x}).math = Dtype::nvfp4;
  CHECK(bed.kernel(1).cast_bytes == 3 * 96 * 64);
}

TEST_CASE("a cast that writes nothing is of its weights alone") {
  Bed bed;
  const Ref w = bed.tensor({{Dim::hidden, 64}, {Dim::heads, 8}}, Dtype::bf16, Category::weight);
  const Ref x = bed.tensor({{Dim::sequence, 100}, {Dim::hidden, 64}});
  bed.operation(OperationKind::cast, {w, x}, {}).math = Dtype::fp8;
  bed.program().casts = {1, 1};
  const Kernel kernel = bed.kernel();
  CHECK(kernel.math == Dtype::fp8);
  CHECK(kernel.cast_kernels == 1);
  CHECK(kernel.cast_bytes == 64 * 8);
}

namespace {

/// Queries of 2 sequences, 8 heads of 16; keys and values of 2 heads. `shards` cut the tokens.
class AttentionBed : public Bed {
 public:
  explicit AttentionBed(MeshSubAxes shards = {}, bool zigzag = false, std::int64_t keys = 0)
      : q{heads(Dim::heads, 8, {Dim::sequence, 256, shards, zigzag})},
        k{heads(Dim::kv_heads, 2,
                keys > 0 ? Extent{Dim::keys, keys} : Extent{Dim::sequence, 256, shards, zigzag})},
        v{heads(Dim::kv_heads, 2,
                keys > 0 ? Extent{Dim::keys, keys} : Extent{Dim::sequence, 256, shards, zigzag})},
        o{heads(Dim::heads, 8, {Dim::sequence, 256, shards, zigzag})} {}

  Ref heads(Dim dim, std::int64_t count, const Extent& tokens) {
    return tensor({{Dim::batch, 2}, tokens, {dim, count}, {Dim::head_size, 16}});
  }

  Ref q, k, v, o;
};

}  // namespace

TEST_CASE("fused attention: q k^T and p v of every head, half of it under a causal mask") {
  AttentionBed bed;
  Operation& operation = bed.operation(OperationKind::attention, {bed.q, bed.k, bed.v}, {bed.o});
  CHECK(bed.kernel().batches == 16);
  CHECK(bed.kernel().m == 256);
  CHECK(bed.kernel().n == 256);
  CHECK(bed.kernel().k == 16);
  CHECK(bed.kernel().flops == 4.0 * 16 * 256 * 256 * 16);
  // q and o of 8 heads, k and v of 2.
  CHECK(bed.kernel().moved_bytes == 2.0 * 2 * 256 * 16 * (8 + 2 + 2 + 8));
  operation.causal = true;
  CHECK(bed.kernel().flops == 2.0 * 16 * 256 * 256 * 16);
  CHECK(bed.kernel().causal);
}

TEST_CASE("the backward pass of fused attention is five GEMMs, forward two") {
  AttentionBed bed;
  Operation& operation = bed.operation(OperationKind::attention_backward,
                                       {bed.q, bed.k, bed.v, bed.o}, {bed.q, bed.k, bed.v});
  operation.purpose = Purpose::backward;
  CHECK(bed.kernel().flops == 2.5 * 4.0 * 16 * 256 * 256 * 16);
  CHECK(bed.kernel().backward);
}

TEST_CASE("parts of ring attention on the busiest rank") {
  const double whole = 4.0 * 16 * 64 * 64 * 16;  // 256 tokens cut in four
  SUBCASE("a plain cut: the diagonal is half, parts before it are whole") {
    AttentionBed bed{{kCp}};
    Operation& operation = bed.operation(OperationKind::attention, {bed.q, bed.k, bed.v}, {bed.o});
    operation.causal = true;
    CHECK(bed.kernel().flops == whole / 2);
    operation.ring_offset = 3;
    CHECK(bed.kernel().flops == whole);
    CHECK_FALSE(bed.kernel().causal);
  }
  SUBCASE("a zigzag cut: half of every part") {
    AttentionBed bed{{kCp}, true};
    Operation& operation = bed.operation(OperationKind::attention, {bed.q, bed.k, bed.v}, {bed.o});
    operation.causal = true;
    CHECK(bed.kernel().flops == whole / 2);
    CHECK(bed.kernel().causal);
    operation.ring_offset = 1;
    CHECK(bed.kernel().flops == whole / 2);
    CHECK(bed.kernel().n == 32);  // no mask, half the keys
    CHECK_FALSE(bed.kernel().causal);
  }
  SUBCASE("all keys gathered: the last rank sees all but the half of its own") {
    AttentionBed bed{{kCp}, false, 256};
    Operation& operation = bed.operation(OperationKind::attention, {bed.q, bed.k, bed.v}, {bed.o});
    operation.causal = true;
    // 64 queries: 192 keys before them and, in the mean, 32 of their own.
    CHECK(bed.kernel().flops == doctest::Approx(4.0 * 16 * 64 * 224 * 16));
  }
  SUBCASE("all keys gathered, a zigzag cut: every rank sees half of them") {
    AttentionBed bed{{kCp}, true, 256};
    Operation& operation = bed.operation(OperationKind::attention, {bed.q, bed.k, bed.v}, {bed.o});
    operation.causal = true;
    CHECK(bed.kernel().flops == 4.0 * 16 * 64 * 128 * 16);
    CHECK(bed.kernel().zigzag);
    CHECK(bed.kernel().n == 256);
  }
}

TEST_CASE("attention through a window to gathered keys: the pairs of the busiest rank, counted") {
  for (const std::int64_t window : {1, 20, 64, 100, 255}) {
    for (const bool chunked : {false, true}) {
      for (const bool zigzag : {false, true}) {
        CAPTURE(window);
        CAPTURE(chunked);
        CAPTURE(zigzag);
        AttentionBed bed{{kCp}, zigzag, 256};
        Operation& operation =
            bed.operation(OperationKind::attention, {bed.q, bed.k, bed.v}, {bed.o});
        operation.causal = true;
        operation.visible = {.window = window, .chunked = chunked};
        if (window == 64) operation.visible.documents = {90, 40};
        // Rank r of 4 has quarter r, or eighths r and 7 - r.
        std::vector<double> pairs(4);
        for (std::int64_t query = 0; query < 256; ++query) {
          const std::int64_t eighth = query / 32;
          const std::int64_t rank = zigzag ? std::min(eighth, 7 - eighth) : query / 64;
          for (std::int64_t key = 0; key < 256; ++key)
            pairs[static_cast<std::size_t>(rank)] += operation.visible.sees(query, key) ? 1 : 0;
        }
        const double most = *std::max_element(pairs.begin(), pairs.end());
        const double all = std::accumulate(pairs.begin(), pairs.end(), 0.0);
        CHECK(bed.kernel().flops == 4.0 * 16 * 16 * most);
        CHECK(bed.mean_over_busiest() == doctest::Approx(all / 4 / most));
      }
    }
  }
}

TEST_CASE("attention through a window or over documents computes the pairs that see each other") {
  AttentionBed bed;
  Operation& operation = bed.operation(OperationKind::attention, {bed.q, bed.k, bed.v}, {bed.o});
  operation.causal = true;
  operation.visible = {.window = 64};
  // 256 queries: the first 64 see 1 .. 64 keys, 64 * 65 / 2; the other 192 see 64 each.
  CHECK(bed.kernel().flops == 4.0 * 16 * 16 * (64 * 65 / 2 + 192 * 64));
  operation.visible.chunked = true;  // four times 1 .. 64
  CHECK(bed.kernel().flops == 4.0 * 16 * 16 * (4 * 64 * 65 / 2));
  operation.visible = {.window = 100, .chunked = true};  // two chunks and 56 tokens
  CHECK(bed.kernel().flops == 4.0 * 16 * 16 * (2 * 100 * 101 / 2 + 56 * 57 / 2));
  // As long as the sequence it hides nothing; one key less never counts more than all.
  operation.visible = {.window = 256};
  CHECK(bed.kernel().flops == 2.0 * 16 * 256 * 256 * 16);
  operation.visible = {.window = 255};
  CHECK(bed.kernel().flops <= 2.0 * 16 * 256 * 256 * 16);
  operation.visible = {.documents = {100, 28}};  // twice 100 and 28 of 256 tokens
  CHECK(bed.kernel().flops == 4.0 * 16 * 16 * (2 * 100 * 101 / 2 + 2 * 28 * 29 / 2));
}

TEST_CASE("causal attention is the same work however it is cut, in the mean over the ranks") {
  // 256 tokens: half of 256 * 256 pairs, two GEMMs of 2 * 16 each, for 16 heads of 2 sequences.
  const double all = 4.0 * 16 * 256 * 256 / 2 * 16;
  const auto total = [](AttentionBed& bed, int parts) {
    Operation& operation = bed.operation(OperationKind::attention, {bed.q, bed.k, bed.v}, {bed.o});
    operation.causal = true;
    double sum = 0;
    for (operation.ring_offset = 0; operation.ring_offset < parts; ++operation.ring_offset)
      sum += bed.kernel().flops * bed.mean_over_busiest();
    return 4 * sum;  // ranks
  };
  AttentionBed plain{{kCp}};
  CHECK(total(plain, 4) == doctest::Approx(all));
  AttentionBed zigzag{{kCp}, true};
  CHECK(total(zigzag, 4) == doctest::Approx(all));
  AttentionBed gathered{{kCp}, false, 256};
  CHECK(total(gathered, 1) == doctest::Approx(all));
}

TEST_CASE("unfused attention computes all scores, mask or not") {
  AttentionBed bed;
  const Ref scores =
      bed.tensor({{Dim::batch, 2}, {Dim::heads, 8}, {Dim::sequence, 256}, {Dim::keys, 256}});
  const double one = 2.0 * 16 * 256 * 256 * 16;
  bed.operation(OperationKind::attention_scores, {bed.q, bed.k}, {scores}).causal = true;
  bed.operation(OperationKind::softmax, {scores}, {scores});
  bed.operation(OperationKind::attention_context, {scores, bed.v}, {bed.o});
  bed.operation(OperationKind::attention_scores_backward, {bed.q, bed.k, scores}, {bed.q, bed.k});
  bed.operation(OperationKind::attention_context_backward, {scores, bed.v, bed.o}, {scores, bed.v});
  CHECK(bed.kernel(0).flops == one);
  CHECK(bed.kernel(0).m == 256);
  CHECK(bed.kernel(0).k == 16);
  CHECK(bed.kernel(1).flops == 0);
  CHECK(bed.kernel(1).moved_bytes == 2 * 2.0 * 16 * 256 * 256);
  CHECK(bed.kernel(2).flops == one);
  CHECK(bed.kernel(3).flops == 2 * one);
  CHECK(bed.kernel(4).flops == 2 * one);
}

TEST_CASE("a convolution is the GEMM over its windows") {
  Bed bed;
  // 3 * 3 windows of 64 channels to 128, stride 2: 56 * 56 become 28 * 28.
  const Ref x =
      bed.tensor({{Dim::batch, 4}, {Dim::height, 56}, {Dim::width, 56}, {Dim::channels, 64}});
  const Ref w = bed.tensor({{Dim::channels, 128}, {Dim::window, 9 * 64}});
  const Ref y =
      bed.tensor({{Dim::batch, 4}, {Dim::height, 28}, {Dim::width, 28}, {Dim::channels, 128}});
  bed.operation(OperationKind::convolution, {x, w}, {y});
  bed.operation(OperationKind::convolution_input_grad, {y, w}, {x});
  bed.operation(OperationKind::convolution_weight_grad, {x, y}, {w});
  const double flops = 2.0 * (4 * 28 * 28) * 128 * (9 * 64);
  for (std::size_t i = 0; i < 3; ++i) CHECK(bed.kernel(i).flops == flops);
  CHECK(bed.kernel(0).m == 4 * 28 * 28);
  CHECK(bed.kernel(0).n == 128);
  CHECK(bed.kernel(0).k == 9 * 64);
  CHECK(bed.kernel(1).k == 128);
  CHECK(bed.kernel(2).k == 4 * 28 * 28);
}

TEST_CASE("an embedding moves the rows of its tokens, not its table") {
  Bed bed;
  const Ref tokens = bed.tensor({{Dim::batch, 3}, {Dim::sequence, 100}}, Dtype::int32);
  const Ref table = bed.tensor({{Dim::vocabulary, 50000}, {Dim::hidden, 64}});
  const Ref y = bed.tensor(activation(64));
  bed.operation(OperationKind::embedding, {tokens, table}, {y});
  CHECK(bed.kernel().moved_bytes == 4.0 * 300 + 2 * 2.0 * 300 * 64);
  CHECK(bed.kernel().math == Dtype::bf16);
}

TEST_CASE("the gradient of a table gathers rows, a new one is all zeros first") {
  Bed bed;
  const Ref tokens = bed.tensor({{Dim::sequence, 100}}, Dtype::int32);
  const Ref g_y = bed.tensor({{Dim::sequence, 100}, {Dim::hidden, 64}});
  const Ref kept =
      bed.tensor({{Dim::vocabulary, 1000}, {Dim::hidden, 64}}, Dtype::fp32, Category::gradient);
  const Ref made = bed.tensor({{Dim::vocabulary, 1000}, {Dim::hidden, 64}}, Dtype::fp32);
  bed.operation(OperationKind::embedding_backward, {tokens, g_y}, {kept});
  bed.operation(OperationKind::embedding_backward, {tokens, g_y}, {made});
  const double rows = 4.0 * 100 + 2.0 * 6400 + 2 * 4.0 * 6400;
  CHECK(bed.kernel(0).moved_bytes == rows);
  CHECK(bed.kernel(1).moved_bytes == rows + 4.0 * 64000);
}

TEST_CASE("what memory bounds moves each tensor once") {
  Bed bed;
  const Ref x = bed.tensor(activation(64));
  const Ref mask = bed.tensor(activation(64), Dtype::uint8);
  const Ref y = bed.tensor(activation(64));
  bed.operation(OperationKind::dropout, {x}, {y, mask});
  bed.operation(OperationKind::add, {x, x}, {y});  // the same twice
  bed.operation(OperationKind::fill, {}, {x});
  bed.operation(OperationKind::scale, {x}, {y}).factor = 0.5;
  CHECK(bed.kernel(0).moved_bytes == (2 + 2 + 1) * 19200.0);
  CHECK(bed.kernel(1).moved_bytes == (2 + 2) * 19200.0);
  CHECK(bed.kernel(2).moved_bytes == 2 * 19200.0);
  CHECK(bed.kernel(3).moved_bytes == (2 + 2) * 19200.0);  // a number, not a load
  for (std::size_t i = 0; i < 4; ++i) CHECK(bed.kernel(i).flops == 0);
}

TEST_CASE("Adam reads a gradient and reads and writes weights, moments and the master copy") {
  Bed bed;
  const std::vector<Extent> shape{{Dim::hidden, 1000}};
  const Ref g = bed.tensor(shape, Dtype::fp32, Category::gradient);
  const Ref w = bed.tensor(shape, Dtype::bf16, Category::weight);
  const Ref master = bed.tensor(shape, Dtype::fp32, Category::optimizer_state);
  const Ref m = bed.tensor(shape, Dtype::fp32, Category::optimizer_state);
  const Ref v = bed.tensor(shape, Dtype::fp32, Category::optimizer_state);
  bed.operation(OperationKind::update, {g, w, master, m, v}, {w, master, m, v});
  CHECK(bed.kernel().of == OperationClass::optimizer);
  CHECK(bed.kernel().moved_bytes == 1000.0 * (4 + 2 * (2 + 4 + 4 + 4)));
}

TEST_CASE("communication and slices are no kernels") {
  Bed bed;
  const Ref x = bed.tensor(activation(64));
  for (const OperationKind kind : {OperationKind::collective, OperationKind::slice,
                                   OperationKind::host_copy, OperationKind::send}) {
    bed.operation(kind, {x}, {x});
  }
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(bed.kernel(i).flops == 0);
    CHECK(bed.kernel(i).moved_bytes == 0);
    CHECK(bed.kernel(i).m == 0);
  }
  CHECK(bed.kernel(1).of == OperationClass::copy);
  CHECK(bed.kernel(3).of == OperationClass::communication);
}
