#include <doctest/doctest.h>

#include <string_view>

#include "tests/strategies/step/shown/shown_scenario.hpp"

/// Layers over two GPUs: Shoeybi et al., Megatron-LM, arXiv 1909.08053, section 3.
namespace lockstep::test {
namespace {

[[nodiscard]] std::int64_t local_size_of(const Shown& shown, std::string_view name, Dim dim) {
  for (const Tensor& tensor : shown.program().tensors) {
    const Extent* extent = find_extent(tensor, dim);
    if (tensor.name == name && extent != nullptr) return local_size(shown.program().mesh, *extent);
  }
  return 0;
}

}  // namespace

TEST_CASE("mlp-two-gpus: the first matrix by columns, the second by rows") {
  const Shown shown("mlp-two-gpus");
  CHECK(local_size_of(shown, "mlp.up.weight", Dim::ffn) == 16384 / 2);
  CHECK(local_size_of(shown, "mlp.down.weight", Dim::ffn) == 16384 / 2);
  CHECK(local_size_of(shown, "mlp.up.weight", Dim::hidden) == 4096);
}

TEST_CASE("mlp-two-gpus: one all-reduce of 2bh bytes forward, none backward") {
  const Shown shown("mlp-two-gpus");
  constexpr std::int64_t kBytes = 2 * 2048 * 4096;  // bf16, 2048 rows of 4096
  CHECK(shown.sent("tp", "forward") == Sent{1, kBytes});
  // The gradient of the data is nobody's.
  CHECK(shown.sent("tp", "backward") == Sent{});
  CHECK(shown.traffic("tp").operations == 1);
  // Two ranks: each sends 2 (n-1)/n = 1 times the message.
  CHECK(shown.link_bytes("node0/gpu0 -> node0/nvswitch0") == kBytes);
}

TEST_CASE("mlp-two-gpus: with a layer before it, one all-reduce backward") {
  const Shown shown("mlp-two-gpus", {"model.layers=2"});
  constexpr std::int64_t kBytes = 2 * 2048 * 4096;
  CHECK(shown.sent("tp", "forward") == Sent{2, 2 * kBytes});
  CHECK(shown.sent("tp", "backward") == Sent{1, kBytes});
}

TEST_CASE("attention-two-gpus: 16 of 32 heads on each") {
  const Shown shown("attention-two-gpus");
  CHECK(local_size_of(shown, "attention.q.weight", Dim::heads) == 16);
  CHECK(local_size_of(shown, "attention.out.weight", Dim::heads) == 16);
}

TEST_CASE(
    "attention-two-gpus: attention one all-reduce forward and one backward, the MLP likewise") {
  const Shown shown("attention-two-gpus");
  constexpr std::int64_t kBytes = 2 * 2048 * 4096;  // bf16, 2048 tokens of 4096
  CHECK(shown.sent("tp", "layer.forward") == Sent{2, 2 * kBytes});
  CHECK(shown.sent("tp", "layer.backward") == Sent{2, 2 * kBytes});
}

}  // namespace lockstep::test
