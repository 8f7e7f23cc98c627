#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/shown/shown_scenario.hpp"

/// Models that are no decoders alone: what their tensor parallelism sends.
namespace lockstep::test {
namespace {

/// `each` messages of this size in each of some layers.
[[nodiscard]] Sent messages(std::int64_t layers, std::int64_t each, std::int64_t bytes) {
  return {layers * each, layers * each * bytes};
}

}  // namespace

TEST_CASE("vision-transformer: layers all-reduce 257 tokens of every image, the head one") {
  const Shown shown("vision-transformer",
                    {"parallel.tp=8", "parallel.dp=8", "parallel.micro_batch=64"});
  constexpr std::int64_t kBytes = 2LL * 64 * 257 * 1280;  // bf16, 64 images
  CHECK(shown.scenario().model.transformer()->sequence == 16 * 16 + 1);
  CHECK(shown.sent("tp", "layer.forward") == messages(32 * 8, 2, kBytes));
  CHECK(shown.sent("tp", "layer.backward") == messages(32 * 8, 2, kBytes));
  // Classes are cut as a vocabulary is: largest logit, sum and target in fp32 of every image, and
  // backward the gradient of the class token.
  CHECK(shown.sent("tp", "head.forward").bytes == 8 * 3LL * 64 * 4);
  CHECK(shown.sent("tp", "head.backward") == messages(8, 1, 2LL * 64 * 1280));
  // Patches are embedded on every rank.
  CHECK(shown.sent("tp", "embedding.forward") == Sent{});
}

TEST_CASE("vision-transformer: samples are images") {
  const Shown shown("vision-transformer");
  CHECK(sample_name(shown.scenario().model) == "image");
  CHECK(within(shown.samples_per_s(), 4096 / shown.step_s(), 1e-12));
  CHECK_FALSE(shown.scenario().model.reads_text());
}

TEST_CASE(
    "encoder-decoder: the decoder's layers all-reduce once more, and the encoder's gradient") {
  const Shown shown("encoder-decoder",
                    {"parallel.tp=8", "parallel.dp=8", "parallel.micro_batch=16"});
  constexpr std::int64_t kInput = 2LL * 16 * 512 * 1024;  // bf16, 16 sequences
  constexpr std::int64_t kTargets = 2LL * 16 * 114 * 1024;
  CHECK(shown.sent("tp", "encoder_layer.forward") == messages(23, 2, kInput));
  CHECK(shown.sent("tp", "encoder_first_layer.forward") == messages(1, 2, kInput));
  CHECK(shown.sent("tp", "encoder_layer.backward") == messages(23, 2, kInput));
  // Attention, attention to the encoder, MLP.
  CHECK(shown.sent("tp", "decoder_layer.forward") == messages(23, 3, kTargets));
  // And what keys and values give to the gradient of the encoder's result.
  const Sent own = messages(23, 3, kTargets);
  const Sent encoders = messages(23, 1, kInput);
  CHECK(shown.sent("tp", "decoder_layer.backward") ==
        Sent{own.count + encoders.count, own.bytes + encoders.bytes});
}

TEST_CASE("encoder-decoder: stages of the decoder send the encoder's result on") {
  const Shown shown("encoder-decoder",
                    {"parallel.pp=4", "parallel.schedule=1f1b", "parallel.dp=16"});
  constexpr std::int64_t kInput = 2LL * 2 * 512 * 1024;  // bf16, 2 sequences
  constexpr std::int64_t kTargets = 2LL * 2 * 114 * 1024;
  // 4 microbatches over three boundaries, of which the last lies in the decoder.
  const std::vector<Sent> forward{messages(4, 1, kInput), messages(4, 1, kInput),
                                  messages(4, 1, kTargets), Sent{}};
  for (std::size_t i = 0; i < shown.simulated_ranks(); ++i) {
    const std::size_t stage = shown.timeline().ranks[i].role;
    CAPTURE(stage);
    CHECK(shown.sent("pp", "send.forward", i) == forward[stage]);
    CHECK(shown.sent("pp", "send.shared.forward", i) ==
          (stage == 2 ? messages(4, 1, kInput) : Sent{}));
    CHECK(shown.sent("pp", "send.shared.backward", i) ==
          (stage == 3 ? messages(4, 1, kInput) : Sent{}));
  }
}

TEST_CASE("encoder-decoder: all-to-alls before and after attention, of both stacks' tokens") {
  const Shown shown("encoder-decoder",
                    {"model.seq=128", "parallel.cp=4", "parallel.cp_kind=ulysses", "parallel.dp=16",
                     "parallel.micro_batch=8"});
  // T5-3B: 32 heads of 128, so queries, keys, values and contexts have 4h a token.
  constexpr std::int64_t kInput = 2LL * 8 * 512 * 4 * 1024 / 4;
  constexpr std::int64_t kTargets = 2LL * 8 * 128 * 4 * 1024 / 4;
  CHECK(shown.sent("cp", "encoder_layer.forward") == messages(23, 4, kInput));
  // Four for its own tokens; queries and contexts of these, keys and values of the encoder's.
  CHECK(shown.sent("cp", "decoder_layer.forward") ==
        Sent{23 * 8, 23 * (6 * kTargets + 2 * kInput)});
}

TEST_CASE("encoder-decoder: keys pass along a ring, and values after them") {
  const Shown shown("encoder-decoder", {"model.seq=128", "parallel.cp=4", "parallel.cp_kind=ring",
                                        "parallel.dp=16", "parallel.micro_batch=8"});
  constexpr std::int64_t kInput = 2LL * 8 * 512 * 4 * 1024 / 4;
  constexpr std::int64_t kTargets = 2LL * 8 * 128 * 4 * 1024 / 4;
  // Three hops of each, of the decoder's own tokens and of the encoder's.
  CHECK(shown.sent("cp", "encoder_layer.forward") == messages(23, 2 * 3, kInput));
  CHECK(shown.sent("cp", "decoder_layer.forward") ==
        Sent{23 * 4 * 3, 23 * 2 * 3 * (kTargets + kInput)});
}

TEST_CASE("diffusion-transformer: what scales tokens is summed where ranks have different ones") {
  constexpr std::int64_t kTokens = 2LL * 32 * 256 * 1152;  // bf16, 32 images
  constexpr std::int64_t kVector = 2LL * 32 * 1152;
  const Shown alike("diffusion-transformer", {"parallel.tp=2", "parallel.dp=4"});
  CHECK(alike.scenario().model.transformer()->sequence == 16 * 16);
  CHECK(sample_name(alike.scenario().model) == "image");
  CHECK(alike.sent("tp", "layer.forward") == messages(28 * 2, 2, kTokens));
  CHECK(alike.sent("tp", "layer.backward") == messages(28 * 2, 2, kTokens));
  CHECK(alike.sent("tp", "head.backward") == Sent{});
  const Shown apart("diffusion-transformer",
                    {"parallel.tp=2", "parallel.dp=4", "parallel.sequence_parallel=true"});
  // Of each half what it reads is gathered, also for gradients of its weights, and so is the
  // gradient of its result; that of what it reads is scattered.
  constexpr std::int64_t kBack = 2 * 3;
  // Shift, scale and gate of both halves of a layer, shift and scale of the head.
  const Sent tokens = apart.sent("tp", "layer.forward");
  const Sent back = apart.sent("tp", "layer.backward");
  CHECK(tokens == messages(28 * 2, 4, kTokens));
  CHECK(back.count == 28 * 2 * (kBack + 6));
  CHECK(back.bytes == 28 * 2 * (kBack * kTokens + 6 * kVector));
  CHECK(apart.sent("tp", "head.backward") == messages(2, 2, kVector));
}

TEST_CASE("diffusion-transformer: stages send a row per image with the residual stream") {
  const Shown shown("diffusion-transformer", {"parallel.pp=4", "parallel.schedule=1f1b",
                                              "parallel.dp=2", "parallel.micro_batch=16"});
  constexpr std::int64_t kRow = 2LL * 1152;  // bf16
  CHECK(shown.sent("pp", "send.forward") == messages(8, 1, 16 * 256 * kRow));
  CHECK(shown.sent("pp", "send.shared.forward") == messages(8, 1, 16 * kRow));
}

}  // namespace lockstep::test
