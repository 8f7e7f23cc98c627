#include <doctest/doctest.h>

#include <algorithm>

#include "tests/strategies/step/volumes/volumes.hpp"

/// How often pipelines communicate, and how much, against closed forms.
namespace lockstep::test::volumes {

TEST_CASE("pipeline: 2sbh over every boundary, forward and back") {
  ParallelConfig with = layout();
  with.pp = 4;
  with.schedule = PipelineOrder::one_f_one_b;
  with.global_batch = kB * 8;
  const TrainingStepUnderTest step{transformer(shape()), with};
  const Traffic all{8, 8 * kStream};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    const Traffic before = stage > 0 ? all : Traffic{};
    const Traffic behind = stage < 3 ? all : Traffic{};
    CHECK(step.traffic(OperationKind::send, "send.forward", stage) == behind);
    CHECK(step.traffic(OperationKind::receive, "receive.backward", stage) == behind);
    CHECK(step.traffic(OperationKind::receive, "receive.forward", stage) == before);
    CHECK(step.traffic(OperationKind::send, "send.backward", stage) == before);
  }
}

TEST_CASE("pipeline: sequence parallelism sends each rank's part of the boundary") {
  ParallelConfig with = layout();
  with.pp = 2;
  with.tp = 4;
  with.sequence_parallel = true;
  with.schedule = PipelineOrder::gpipe;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.traffic(OperationKind::send, "send.forward") == Traffic{kM, kM * kStream / 4});
}

TEST_CASE("pipeline: ranks along tensor that have the same boundary send a part of it each") {
  // Narayanan et al., arXiv 2104.04473, section 4.1: scatter before, all-gather behind.
  ParallelConfig with = layout();
  with.pp = 2;
  with.tp = 4;
  with.schedule = PipelineOrder::gpipe;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.traffic(OperationKind::send, "send.forward", 0) == Traffic{kM, kM * kStream / 4});
  CHECK(step.traffic("tp", Collective::all_gather, "receive.forward", 1) ==
        Traffic{kM, kM * kStream});
  CHECK(step.traffic("tp", Collective::all_gather, "receive.backward", 0) ==
        Traffic{kM, kM * kStream});
}

// DeepSpeed in bf16 (runtime/pipe/engine.py, is_grad_partitioned).
TEST_CASE("pipeline: ranks along tensor may send whole gradients, and parts of activations") {
  ParallelConfig with = layout();
  with.pp = 2;
  with.tp = 4;
  with.schedule = PipelineOrder::gpipe;
  with.gradient_messages_in_parts = false;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.traffic(OperationKind::send, "send.forward", 0) == Traffic{kM, kM * kStream / 4});
  CHECK(step.traffic(OperationKind::send, "send.backward", 1) == Traffic{kM, kM * kStream});
  CHECK(step.traffic("tp", Collective::all_gather, "receive.backward", 0) == Traffic{});
}

TEST_CASE("interleaving passes the boundary once for every chunk") {
  // Narayanan et al., arXiv 2104.04473, section 2.2: v times the communication.
  ParallelConfig with = layout();
  with.pp = 2;
  with.vpp = 2;
  with.schedule = PipelineOrder::interleaved;
  with.global_batch = kB * 4;
  const TrainingStepUnderTest step{transformer(shape()), with};
  CHECK(step.traffic(OperationKind::send, "send.forward", 0).count == 2 * 4);
  CHECK(step.traffic(OperationKind::send, "send.forward", 1).count == 4);  // the last chunk ends
  CHECK(step.traffic(OperationKind::receive, "receive.forward", 0).count == 4);
}

TEST_CASE("tied embeddings: their gradients are summed between the first and the last stage") {
  TransformerConfig tied = shape();
  tied.tied_embeddings = true;
  ParallelConfig with = layout();
  with.pp = 4;
  with.tp = 2;
  with.schedule = PipelineOrder::one_f_one_b;
  const TrainingStepUnderTest step{transformer(tied), with};
  const Traffic once{1, 2 * kV * kH / 2};  // 2Vh/t
  CHECK(step.traffic("embedding", 0) == once);
  CHECK(step.traffic("embedding", 1) == Traffic{});
  CHECK(step.traffic("embedding", 2) == Traffic{});
  CHECK(step.traffic("embedding", 3) == once);
  // On one stage there is one table.
  with.pp = 1;
  with.schedule = PipelineOrder::none;
  CHECK(TrainingStepUnderTest{transformer(tied), with}.traffic("embedding") == Traffic{});
}

namespace {

/// 8 layers of an encoder of 2s tokens, 4 of a decoder of s; 16 numbers per head by distance.
[[nodiscard]] TransformerConfig encoder_decoder() {
  TransformerConfig out = shape();
  out.attention = AttentionKind::unfused;
  out.positions = Positions::none;
  out.tied_embeddings = true;
  out.encoder = EncoderStack{.layers = 8, .sequence = 2 * kS, .buckets = 16};
  return out;
}

}  // namespace

// Stages of the encoder, then of the decoder (Megatron-LM, schedules.py, get_tensor_shapes of
// encoder_and_decoder): the first ones send 2s'bh, those of the decoder 2sbh and, in addition,
// 2s'bh of the encoder's result.
TEST_CASE("pipeline of an encoder and a decoder: 2s'bh, then 2sbh and 2s'bh, forward and back") {
  for (const int tp : {1, 2}) {
    CAPTURE(tp);
    ParallelConfig with = layout();
    with.pp = 6;
    with.tp = tp;
    with.schedule = PipelineOrder::one_f_one_b;
    const TrainingStepUnderTest step{transformer(encoder_decoder()), with};
    const Traffic input{kM, kM * 2 * kStream / tp};
    const Traffic targets{kM, kM * kStream / tp};
    for (std::size_t stage = 0; stage < 6; ++stage) {
      CAPTURE(stage);
      const Traffic none{};
      CHECK(step.traffic(OperationKind::send, "send.forward", stage) == (stage == 5   ? none
                                                                         : stage == 4 ? targets
                                                                                      : input));
      CHECK(step.traffic(OperationKind::send, "send.shared.forward", stage) ==
            (stage == 4 ? input : none));
      CHECK(step.traffic(OperationKind::send, "send.backward", stage) == (stage == 0   ? none
                                                                          : stage == 5 ? targets
                                                                                       : input));
      CHECK(step.traffic(OperationKind::send, "send.shared.backward", stage) ==
            (stage == 5 ? input : none));
      // 2Vh/t of the token table on the first stage, on the decoder's first and on the last; a
      // table of relative positions on all stages of its stack, 2 * 16a/t.
      const std::int64_t table = stage == 0 || stage >= 4 ? 2 * kV * kH / tp : 0;
      CHECK(step.traffic("embedding", stage) ==
            Traffic{table > 0 ? 2 : 1, table + 2 * 16 * 8 / tp});
    }
  }
}

}  // namespace lockstep::test::volumes
