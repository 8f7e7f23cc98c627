#include "sim/cost/roofline.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>

#include "tests/sim/cost/plain_device.hpp"

using namespace lockstep;

namespace {

Kernel moving_kernel(OperationKind kind, double bytes) {
  Kernel out;
  out.kind = kind;
  out.of = class_of(kind);
  out.moved_bytes = bytes;
  return out;
}

/// 1 TFLOP/s of one multiprocessor: a tile of 128 * 128, 64 k deep.
double tile_seconds(double depth) {
  return 2.0 * 128 * 128 * depth / 1e12;
}

}  // namespace

TEST_CASE("133 tiles take 132 multiprocessors as long as 264 do") {
  const Roofline device{plain_device()};
  const auto seconds = [&device](std::int64_t tiles) {
    return device.time(gemm_kernel(128, 128, 65536, tiles)).seconds();
  };
  CHECK(seconds(1) == doctest::Approx(tile_seconds(65536)));
  CHECK(seconds(132) == doctest::Approx(tile_seconds(65536)));
  CHECK(seconds(133) == doctest::Approx(2 * tile_seconds(65536)));
  CHECK(seconds(264) == doctest::Approx(2 * tile_seconds(65536)));
  CHECK(seconds(265) == doctest::Approx(3 * tile_seconds(65536)));
}

TEST_CASE("a result is cut into whole tiles, a depth into whole steps") {
  const Roofline device{plain_device()};
  const Kernel whole = gemm_kernel(128 * 12, 128 * 11, 4096);  // 132 tiles
  CHECK(device.time(whole).seconds() == doctest::Approx(tile_seconds(4096)));
  // One row more: 13 * 11 = 143 tiles, so a second wave.
  CHECK(device.time(gemm_kernel(128 * 12 + 1, 128 * 11, 4096)).seconds() ==
        doctest::Approx(2 * tile_seconds(4096)));
  // 8 more in depth: one more step of 64.
  CHECK(device.time(gemm_kernel(128 * 12, 128 * 11, 4104)).seconds() ==
        doctest::Approx(tile_seconds(4160)));
}

TEST_CASE("the library picks the tile that is fastest, either way round") {
  DeviceModel model = plain_device();
  auto& gemms = *model.gemms[static_cast<std::size_t>(Dtype::bf16)];
  gemms.tiles = {{256, 128, 1.0}, {128, 128, 0.75}};
  const Roofline device{model};
  // 132 tiles of 256 * 128: one wave of twice the work; small ones: two waves at 0.75.
  CHECK(device.time(gemm_kernel(256 * 12, 128 * 11, 8192)).seconds() ==
        doctest::Approx(2 * tile_seconds(8192)));
  CHECK(device.time(gemm_kernel(128 * 11, 256 * 12, 8192)).seconds() ==
        doctest::Approx(2 * tile_seconds(8192)));
  // 132 small tiles: one wave at 0.75, where 66 large ones would take twice a tile's time.
  CHECK(device.time(gemm_kernel(128 * 12, 128 * 11, 8192)).seconds() ==
        doctest::Approx(tile_seconds(8192) / 0.75));
}

TEST_CASE("a deep GEMM with few tiles is split along k") {
  DeviceModel model = plain_device(1000_GBps);
  model.gemms[static_cast<std::size_t>(Dtype::bf16)]->max_split_k = 4;
  const Roofline device{model};
  // 32 tiles; 4 parts make 128. Each part is written and read once in fp32.
  const double adding = 4.0 * (128 * 8) * (128 * 4) * 8 / 1e12;
  CHECK(device.time(gemm_kernel(128 * 8, 128 * 4, 65536)).seconds() ==
        doctest::Approx(tile_seconds(16384) + adding));
  // No part is shorter than 256.
  CHECK(device.time(gemm_kernel(128, 128, 511)).seconds() >= tile_seconds(511) * 0.999);
}

TEST_CASE("rows that begin anywhere make a GEMM slow") {
  const Roofline device{plain_device()};
  const double aligned = device.time(gemm_kernel(1280, 1280, 1280)).seconds();
  // 1276 is no multiple of 8 and pads to the same tiles; a quarter of the rate is left.
  CHECK(device.time(gemm_kernel(1280, 1276, 1280)).seconds() == doctest::Approx(4 * aligned));
  CHECK(device.time(gemm_kernel(1276, 1280, 1280)).seconds() == doctest::Approx(aligned));
  // Over tokens it is the features of both operands that lie side by side, not their tokens.
  Kernel tokens = gemm_kernel(1280, 1280, 1276);
  CHECK(device.time(tokens).seconds() == doctest::Approx(4 * aligned));
  tokens.over_tokens = true;
  CHECK(device.time(tokens).seconds() == doctest::Approx(aligned));
  tokens.n = 1276;
  CHECK(device.time(tokens).seconds() == doctest::Approx(4 * aligned));
  // An eighth of it where one kernel makes several GEMMs: 66 * 2 tiles in one wave.
  CHECK(device.time(gemm_kernel(128, 256, 4, 66)).seconds() ==
        doctest::Approx(8 * tile_seconds(64)));
}

TEST_CASE("GEMMs lose part of their rate under load, half of it at half_after") {
  DeviceModel model = plain_device();
  auto& gemms = *model.gemms[static_cast<std::size_t>(Dtype::bf16)];
  gemms.throttling_loss = 0.2;
  const Kernel kernel = gemm_kernel(128 * 12, 128 * 11, 65536);
  const double at_peak = tile_seconds(65536);  // exactly one wave
  gemms.throttling_half_time = Duration::picoseconds(static_cast<std::int64_t>(at_peak * 1e12));
  CHECK(Roofline{model}.time(kernel).seconds() == doctest::Approx(at_peak / 0.9));
}

TEST_CASE("GEMMs of backward passes may have a rate of their own") {
  DeviceModel model = plain_device();
  model.gemms[static_cast<std::size_t>(Dtype::bf16)]->backward_rate = 0.8;
  Kernel kernel = gemm_kernel(128 * 12, 128 * 11, 65536);
  CHECK(Roofline{model}.time(kernel).seconds() == doctest::Approx(tile_seconds(65536)));
  kernel.backward = true;
  CHECK(Roofline{model}.time(kernel).seconds() == doctest::Approx(tile_seconds(65536) / 0.8));
}

// NVIDIA TransformerEngine, general_gemm with accumulate: the sum is read and written.
TEST_CASE("a GEMM that adds to a gradient reads it, and writes all of its bytes") {
  DeviceModel model = plain_device(1000_GBps);
  model.gemms[static_cast<std::size_t>(Dtype::bf16)]->exposed_results = 0.5;
  Kernel kernel = gemm_kernel(128 * 12, 128 * 11, 65536);
  const double results = 128.0 * 12 * 128 * 11;
  const double alone = tile_seconds(65536);
  CHECK(Roofline{model}.time(kernel).seconds() == doctest::Approx(alone));
  kernel.gradient_bytes = 2 * results;  // in 16 bits: as many bytes again
  CHECK(Roofline{model}.time(kernel).seconds() ==
        doctest::Approx(alone + 0.5 * 2 * results / 1e12));
  kernel.gradient_bytes = 4 * results;  // in 32 bits: 8 bytes instead of 2
  CHECK(Roofline{model}.time(kernel).seconds() ==
        doctest::Approx(alone + 0.5 * 6 * results / 1e12));
  model.gradient_sum = {1, 0};  // a kernel of its own
  CHECK(Roofline{model}.time(kernel).seconds() == doctest::Approx(alone));
}

TEST_CASE("a GEMM of one row waits for its weights") {
  const Roofline device{plain_device(500_GBps)};
  const Kernel kernel = gemm_kernel(1, 128 * 132, 8192);  // one tile on every multiprocessor
  CHECK(device.time(kernel).seconds() == doctest::Approx(kernel.moved_bytes / 0.5e12));
}

TEST_CASE("what memory bounds takes its launch and its bytes at the efficiency of its class") {
  DeviceModel model = plain_device(1000_GBps);
  model.launch = 3_us;
  model.memory_efficiency[static_cast<std::size_t>(OperationClass::normalization)] = 0.5;
  model.kinds[static_cast<std::size_t>(OperationKind::normalization_backward)] = {2, 1.5};
  const Roofline device{model};
  // 1 MB at 0.5 TB/s: 2 us.
  CHECK(device.time(moving_kernel(OperationKind::normalization, 1e6)) == 5_us);
  // Two launches; 1.5 MB at 0.5 TB/s.
  CHECK(device.time(moving_kernel(OperationKind::normalization_backward, 1e6)) == 9_us);
  CHECK(device.time(moving_kernel(OperationKind::update, 1e6)) == 4_us);
}

TEST_CASE("the multiprocessors limit some kernels of a stack, not the memory") {
  DeviceModel model = plain_device(1000_GBps);
  model.launch = 3_us;
  model.memory_efficiency[static_cast<std::size_t>(OperationClass::normalization)] = 0.5;
  model.kinds[static_cast<std::size_t>(OperationKind::normalization)] = {1, 1, 1_GBps};
  model.gradient_sum = {1, 2, 5_GBps};
  model.kinds[static_cast<std::size_t>(OperationKind::update)] = {1, 1, 100_GBps};
  const Roofline device{model};
  // 132 multiprocessors, 1.32 MB at 0.132 TB/s, less than half of 1 TB/s: 10 us.
  CHECK(device.time(moving_kernel(OperationKind::normalization, 1.32e6)) == 13_us);
  // Memory limits: 13.2 TB/s of all multiprocessors.
  CHECK(device.time(moving_kernel(OperationKind::update, 1e6)) == 4_us);
  Kernel kernel = gemm_kernel(1280, 1280, 1280);
  const Duration without = device.time(kernel);
  kernel.gradient_bytes = 1.32e6;
  // 2.64 MB at 0.66 TB/s: 4 us.
  CHECK(device.time(kernel) - without == 7_us);
}

TEST_CASE("small kernels reach less of the bandwidth than large ones") {
  DeviceModel model = plain_device(1000_GBps);
  model.launch = 2_us;
  const Roofline device{model};
  double before = 0;
  for (double bytes = 1e3; bytes <= 1e9; bytes *= 10) {
    const double rate = bytes / device.time(moving_kernel(OperationKind::add, bytes)).seconds();
    CHECK(rate > before);
    CHECK(rate < 1e12);
    before = rate;
  }
}

TEST_CASE("a bias may be a kernel of its own, over the result") {
  DeviceModel model = plain_device(1000_GBps);
  model.launch = 3_us;
  model.bias = {1, 1};
  Kernel kernel = gemm_kernel(1280, 1280, 1280);
  const Duration without = Roofline{model}.time(kernel);
  kernel.bias = true;
  // 1280 * 1280 numbers of 2 bytes, read and written at 1 TB/s: 6.5536 us.
  CHECK(Roofline{model}.time(kernel) - without == 3_us + Duration::picoseconds(6'553'600));
  model.bias = {0, 0};
  CHECK(Roofline{model}.time(kernel) == without);
}

// Megatron-LM: the bias of a GEMM is added by the kernel of what follows it, GeLU or dropout and
// residual addition; that of queries, keys and values is not (arXiv 2104.04473, section 4.2).
TEST_CASE("a bias may be part of the elementwise kernel that reads the result") {
  DeviceModel model = plain_device(1000_GBps);
  model.launch = 3_us;
  model.host_time = 7_us;
  model.bias = {1, 1};
  model.joined_bias = KindFigures{0, 0};
  Kernel kernel = gemm_kernel(1280, 1280, 1280);
  const Duration without = Roofline{model}.time(kernel);
  kernel.bias = true;
  CHECK(Roofline{model}.time(kernel) > without);
  CHECK(Roofline{model}.host_time(kernel) == 14_us);
  kernel.read_elementwise = true;
  CHECK(Roofline{model}.time(kernel) == without);
  CHECK(Roofline{model}.host_time(kernel) == 7_us);
  model.joined_bias.reset();
  CHECK(Roofline{model}.time(kernel) > without);
}

TEST_CASE("dropout may be part of the addition that reads its result") {
  DeviceModel model = plain_device(1000_GBps);
  model.launch = 3_us;
  model.joined_dropout = KindFigures{0, 0.2};
  Kernel kernel = moving_kernel(OperationKind::dropout, 5e6);
  CHECK(Roofline{model}.time(kernel) == 8_us);
  kernel.read_elementwise = true;
  CHECK(Roofline{model}.time(kernel) == 1_us);  // of 2 + 2 + 1 bytes the mask's
  model.joined_dropout.reset();
  CHECK(Roofline{model}.time(kernel) == 8_us);
}

TEST_CASE("operands of a GEMM in 8 bits are cast first") {
  DeviceModel model = plain_device(1000_GBps);
  model.peaks[static_cast<std::size_t>(Dtype::fp8)] = FlopRate{132e12};
  model.gemms[static_cast<std::size_t>(Dtype::fp8)] = plain_gemms();
  model.launch = 3_us;
  model.host_time = 7_us;
  Kernel kernel = gemm_kernel(1280, 1280, 1280);
  kernel.math = Dtype::fp8;
  const Duration without = Roofline{model}.time(kernel);
  kernel.cast_kernels = 2;
  kernel.cast_bytes = 4 * 2 * 1280 * 1280;
  // 4 bytes of each of 2 * 1280 * 1280 numbers at 1 TB/s: 13.1072 us.
  const Roofline device{model};
  CHECK(device.time(kernel) - without == 6_us + Duration::picoseconds(13'107'200));
  CHECK(device.host_time(kernel) == 21_us);
  // A cast of weights for a whole step is nothing else.
  Kernel weights;
  weights.kind = OperationKind::cast;
  weights.math = Dtype::fp8;
  weights.cast_kernels = 1;
  weights.cast_bytes = 4 * 1280 * 1280;
  CHECK(device.time(weights) == 3_us + Duration::picoseconds(6'553'600));
  CHECK(device.host_time(weights) == 7_us);
}

TEST_CASE("a GEMM may need a kernel of its own to accumulate a gradient") {
  DeviceModel model = plain_device(1000_GBps);
  model.launch = 3_us;
  model.host_time = 7_us;
  Kernel kernel = gemm_kernel(1280, 1280, 1280);
  kernel.gradient_bytes = 4e6;
  const Duration without = Roofline{model}.time(kernel);
  model.gradient_sum = {1, 3};
  // 3 * 4 MB at 1 TB/s, and a launch.
  CHECK(Roofline{model}.time(kernel) - without == 15_us);
  CHECK(Roofline{model}.host_time(kernel) == 14_us);
  kernel.gradient_bytes = 0;
  CHECK(Roofline{model}.time(kernel) == without);
  CHECK(Roofline{model}.host_time(kernel) == 7_us);
}

TEST_CASE("a host that waits for every kernel issues the next after it, not during it") {
  DeviceModel model = plain_device();
  model.host_time = 7_us;
  const Kernel kernel = gemm_kernel(1280, 1280, 1280);
  const Duration beside = Roofline{model}.time(kernel);
  CHECK_FALSE(Roofline{model}.host_waits_for_messages());
  model.host_waits_for = HostWait::messages;
  CHECK(Roofline{model}.host_waits_for_messages());
  CHECK(Roofline{model}.time(kernel) == beside);
  model.host_waits_for = HostWait::kernels;
  CHECK(Roofline{model}.host_waits_for_messages());
  CHECK(Roofline{model}.time(kernel) == beside + 7_us);
  CHECK(Roofline{model}.host_time(kernel) == Duration{});
  CHECK(Roofline{model}.host_time(moving_kernel(OperationKind::collective, 1)) == 7_us);
}

TEST_CASE("the host spends as much as there are kernels") {
  DeviceModel model = plain_device();
  model.host_time = 7_us;
  model.kinds[static_cast<std::size_t>(OperationKind::dropout)] = {0, 0.2};
  model.kinds[static_cast<std::size_t>(OperationKind::softmax)] = {2, 1};
  const Roofline device{model};
  CHECK(device.host_time(gemm_kernel(8, 8, 8)) == 7_us);
  CHECK(device.host_time(moving_kernel(OperationKind::dropout, 1)) == Duration{});
  CHECK(device.host_time(moving_kernel(OperationKind::softmax, 1)) == 14_us);
  CHECK(device.host_time(moving_kernel(OperationKind::collective, 1)) == 7_us);
  CHECK(device.host_time(moving_kernel(OperationKind::slice, 1)) == Duration{});
}

TEST_CASE("attention: blocks of queries over the multiprocessors, at the rate of its head size") {
  const Roofline device{plain_device()};
  // 132 blocks of 128 queries over 128 keys: one wave at 0.8 TFLOP/s each.
  const double block = 4.0 * 128 * 128 * 128;
  CHECK(device.time(attention_kernel(132, 128, 128)).seconds() ==
        doctest::Approx(block / 0.8e12).epsilon(1e-6));
  CHECK(device.time(attention_kernel(133, 128, 128)).seconds() ==
        doctest::Approx(2 * block / 0.8e12).epsilon(1e-6));
  // 96 lies half-way: 0.6. 80 is padded to 96.
  CHECK(device.time(attention_kernel(132, 128, 96)).seconds() ==
        doctest::Approx(block * 96 / 128 / 0.6e12).epsilon(1e-6));
  CHECK(device.time(attention_kernel(132, 128, 80)).seconds() ==
        doctest::Approx(block * 96 / 128 / 0.6e12).epsilon(1e-6));
  // Below the smallest in proportion: 0.2 of 32; beyond the largest as that.
  CHECK(device.time(attention_kernel(132, 128, 32)).seconds() ==
        doctest::Approx(block / 4 / 0.2e12).epsilon(1e-6));
  CHECK(device.time(attention_kernel(132, 128, 256)).seconds() ==
        doctest::Approx(block * 2 / 0.8e12).epsilon(1e-6));
}

TEST_CASE("backward attention has figures of its own") {
  DeviceModel model = plain_device();
  model.attention.backward.full = 128;  // keys: as long again at 128
  const Roofline device{model};
  const double block = 10.0 * 128 * 128 * 128;
  CHECK(device.time(attention_kernel(132, 128, 128, false, true)).seconds() ==
        doctest::Approx(2 * block / 0.5e12).epsilon(1e-6));
}

TEST_CASE("causal attention is half as long, but not shorter than its last block") {
  const Roofline device{plain_device()};
  const double row = 4.0 * 128 * 8192 * 128 / 0.8e12;  // one block over all 8192 keys
  // 64 blocks a head: 132 heads are 64 rows deep on each multiprocessor, on average half full.
  CHECK(device.time(attention_kernel(132, 8192, 128, true)).seconds() ==
        doctest::Approx(64 * row / 2).epsilon(1e-6));
  // One head: 64 blocks at once; the last one sees all keys.
  CHECK(device.time(attention_kernel(1, 8192, 128, true)).seconds() ==
        doctest::Approx(row).epsilon(1e-6));
}

TEST_CASE("unfused attention is its GEMMs, or the time to move its scores") {
  const Roofline device{plain_device(1000_GBps)};
  Kernel scores = attention_kernel(132, 128, 64);
  scores.kind = OperationKind::attention_scores;
  scores.moved_bytes = 0;
  CHECK(device.time(scores).seconds() == doctest::Approx(tile_seconds(64)));
  scores.kind = OperationKind::attention_context_backward;
  // g_p: 128 * 128, 64 deep; g_v: 128 * 64, 128 deep, in a tile twice as wide.
  CHECK(device.time(scores).seconds() == doctest::Approx(tile_seconds(64) + tile_seconds(128)));
  scores.moved_bytes = 1e9;
  CHECK(device.time(scores).seconds() == doctest::Approx(1e-3));
}

/// A mask, a factor or a copy runs after the GEMM and not next to it, also where the GEMM computes
/// for longer than all of the traffic takes.
TEST_CASE("kernels around unfused attention take their traffic in addition to its GEMMs") {
  DeviceModel model = plain_device(1000_GBps);
  model.kinds[static_cast<std::size_t>(OperationKind::attention_scores)].traffic = 1.5;
  Kernel scores = attention_kernel(132, 128, 64);
  scores.kind = OperationKind::attention_scores;
  scores.moved_bytes = tile_seconds(64) / 4 * 1e12;
  CHECK(Roofline{model}.time(scores).seconds() == doctest::Approx(tile_seconds(64) * 1.125));
  scores.moved_bytes = 1e9;  // takes longer than the GEMM
  CHECK(Roofline{model}.time(scores).seconds() == doctest::Approx(1.5e-3));
}

TEST_CASE("a convolution reaches its share of the equivalent GEMM") {
  DeviceModel model = plain_device();
  model.convolution_efficiency = 0.5;
  Kernel kernel = gemm_kernel(128 * 12, 128 * 11, 4096);
  kernel.kind = OperationKind::convolution;
  kernel.of = OperationClass::convolution;
  CHECK(Roofline{model}.time(kernel).seconds() == doctest::Approx(2 * tile_seconds(4096)));
}

TEST_CASE("no kernel beats the peak or the memory, and more work is never faster by waves alone") {
  const Roofline device{plain_device(1000_GBps)};
  for (const std::int64_t m : {1, 7, 64, 129, 1000, 4096}) {
    for (const std::int64_t n : {8, 128, 1000, 5120}) {
      for (const std::int64_t k : {8, 63, 640, 8192}) {
        const Kernel kernel = gemm_kernel(m, n, k);
        const double seconds = device.time(kernel).seconds();
        CHECK(seconds >= kernel.flops / 132e12 * (1 - 1e-9) - 1e-12);
        CHECK(seconds >= kernel.moved_bytes / 1e12 * (1 - 1e-9) - 1e-12);
        CHECK(device.time(gemm_kernel(2 * m, n, k)) >= device.time(kernel));
        CHECK(device.time(gemm_kernel(m, 8 * n, k)) >= device.time(kernel));
      }
    }
  }
  for (const std::int64_t length : {1, 100, 128, 1000, 16384}) {
    for (const bool causal : {false, true}) {
      const Kernel kernel = attention_kernel(12, length, 128, causal);
      CHECK(device.time(kernel).seconds() >= kernel.flops / 132e12);
      CHECK(device.time(attention_kernel(12, 2 * length, 128, causal)) > device.time(kernel));
    }
  }
}

TEST_CASE("a precision that a device has not is computed in the next wider one") {
  DeviceModel model = plain_device();
  model.peaks[static_cast<std::size_t>(Dtype::bf16)] = std::nullopt;
  model.gemms[static_cast<std::size_t>(Dtype::bf16)] = std::nullopt;
  model.peaks[static_cast<std::size_t>(Dtype::fp32)] = FlopRate{13.2e12};
  model.gemms[static_cast<std::size_t>(Dtype::fp32)] = plain_gemms();
  const Roofline device{model};
  Kernel kernel = gemm_kernel(128 * 12, 128 * 11, 65536);
  CHECK(device.time(kernel).seconds() == doctest::Approx(10 * tile_seconds(65536)));  // bf16: fp32
  kernel.math = Dtype::fp8;
  CHECK(device.time(kernel).seconds() == doctest::Approx(tile_seconds(65536)));  // fp16
}

TEST_CASE("a kernel rests on what takes longest of it") {
  DeviceModel model = plain_device(1000_GBps);
  model.launch = 1_us;
  DeviceBasis basis;
  const auto bf16 = static_cast<std::size_t>(Dtype::bf16);
  basis.peaks[bf16] = {Provenance::datasheet, "peak"};
  basis.gemms[bf16] = {Provenance::fitted, "tiles"};
  basis.memory.fill({Provenance::measured, "memory"});
  basis.kinds.fill({Provenance::source_code, "kinds"});
  basis.launch = {Provenance::assumed, "launch"};
  const auto value = [&](const Kernel& kernel) {
    DeviceModel with = model;
    with.basis = std::make_shared<const DeviceBasis>(basis);
    return Roofline{with}.basis(kernel).value;
  };
  // 132 tiles, 4096 deep: 134 us of computing; 25 MB, 25 us of memory.
  CHECK(value(gemm_kernel(128 * 12, 128 * 11, 4096)) == "tiles");
  // 64 deep: 2 us of computing; 4.6 MB, 4.6 us of memory.
  CHECK(value(gemm_kernel(128 * 12, 128 * 11, 64)) == "memory");
  // 1 MB takes 1 us, as long as the launch; a tenth of it a tenth.
  CHECK(value(moving_kernel(OperationKind::add, 2e6)) == "memory");
  CHECK(value(moving_kernel(OperationKind::add, 1e5)) == "launch");
  basis.peaks[bf16].provenance = Provenance::announced;  // less sure than a datasheet
  CHECK(value(gemm_kernel(128 * 12, 128 * 11, 4096)) == "peak");
  basis.kinds[static_cast<std::size_t>(OperationKind::add)] = {Provenance::assumed, "traffic"};
  CHECK(value(moving_kernel(OperationKind::add, 2e6)) == "traffic");
  CHECK(Roofline{model}.basis(gemm_kernel(128, 128, 64)).provenance == Provenance::assumed);
}

TEST_CASE("communication, slices and what is part of another kernel take no time") {
  DeviceModel model = plain_device();
  model.launch = 3_us;
  const Roofline device{model};
  CHECK(device.time(moving_kernel(OperationKind::collective, 1e9)) == Duration{});
  CHECK(device.time(moving_kernel(OperationKind::slice, 1e9)) == Duration{});
  Kernel away = gemm_kernel(128, 128, 128);
  away.fused_away = true;
  CHECK(device.time(away) == Duration{});
  CHECK(device.host_time(away) == Duration{});
}
