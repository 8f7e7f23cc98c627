#include "strategies/measure/machine_runs/machine_programs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/measure/machine_runs/time_operation.hpp"

namespace lockstep {

namespace {

using Sizes = std::vector<std::int64_t>;

/// What steps are trained in.
[[nodiscard]] Dtype usual(bool is_host) {
  return is_host ? Dtype::fp32 : Dtype::bf16;
}

/// Squares, and what is flat or deep in one direction.
[[nodiscard]] std::vector<Program> gemms(bool is_host, bool quick) {
  Sizes sizes = is_host ? Sizes{32, 64, 128, 256, 512} : Sizes{128, 512, 1024, 2048, 4096, 8192};
  if (quick) sizes.resize(2);
  std::vector<Dtype> precisions{Dtype::fp32};
  if (!is_host) precisions = {Dtype::bf16, Dtype::fp16, Dtype::fp32};
  std::vector<Program> out;
  for (const Dtype dtype : precisions) {
    for (const std::int64_t m : sizes) {
      for (const std::int64_t n : sizes) {
        for (const std::int64_t k : sizes) {
          const bool square = m == n || n == k || m == k;
          if (square && m >= n / 16) out.push_back(gemm_program(m, n, k, dtype));
        }
      }
    }
  }
  return out;
}

[[nodiscard]] std::vector<Program> attentions(bool is_host, bool quick) {
  Sizes lengths = is_host ? Sizes{64, 128, 256} : Sizes{512, 1024, 2048, 4096};
  if (quick) lengths.resize(1);
  std::vector<Program> out;
  for (const std::int64_t sequence : lengths) {
    for (const std::int64_t head_size : {64, 128}) {
      for (const bool causal : {false, true}) {
        AttentionShape shape;
        shape.batch = is_host ? 1 : std::max<std::int64_t>(1, 4096 / sequence);
        shape.heads = is_host ? 2 : 16;
        shape.sequence = sequence;
        shape.head_size = head_size;
        shape.causal = causal;
        out.push_back(attention_program(shape, usual(is_host)));
        if (is_host || quick) continue;
        shape.batch = 1;  // too little to fill the device
        shape.heads = sequence < 2048 ? 16 : 8;
        out.push_back(attention_program(shape, usual(is_host)));
      }
    }
  }
  return out;
}

[[nodiscard]] TransformerShape shape_of(bool is_host, bool llama, std::int64_t layers,
                                        std::int64_t hidden) {
  TransformerShape out;
  out.llama = llama;
  out.layers = layers;
  out.hidden = hidden;
  out.heads = hidden / (is_host ? 32 : 64);
  return out;
}

/// GPT with experts and stored scores.
[[nodiscard]] TransformerShape with_experts(bool is_host, std::int64_t hidden) {
  TransformerShape out = shape_of(is_host, false, 1, hidden);
  out.sequence = is_host ? 96 : 1024;
  out.vocabulary = is_host ? 512 : 32000;
  out.experts = 8;
  out.unfused = true;
  out.dropout = 0.1;
  return out;
}

[[nodiscard]] ImageShape images(bool is_host, std::int64_t batch) {
  ImageShape out;
  out.micro_batch = batch;
  if (is_host) return out;
  out.image = 224;
  out.width = 64;
  out.classes = 1000;
  return out;
}

[[nodiscard]] std::vector<Program> steps_to_measure(bool is_host, bool quick) {
  Sizes widths = is_host ? Sizes{64, 192} : Sizes{768, 2048, 4096};
  if (quick) widths.resize(1);
  std::vector<Program> out;
  for (const std::int64_t hidden : widths) {
    for (const bool llama : {false, true}) {
      TransformerShape shape = shape_of(is_host, llama, 1, hidden);
      shape.sequence = is_host ? 96 : 1024;
      shape.vocabulary = is_host ? 512 : 32000;
      shape.micro_batch = is_host ? 1 : 2;
      out.push_back(transformer_program(shape, usual(is_host)));
    }
  }
  out.push_back(transformer_program(with_experts(is_host, is_host ? 64 : 2048), usual(is_host)));
  if (!quick) out.push_back(image_program(images(is_host, is_host ? 2 : 16), usual(is_host)));
  return out;
}

[[nodiscard]] std::string text(const TransformerShape& of) {
  return fmt::format("{} of {} x {}, {} tokens", of.llama ? "Llama" : "GPT", of.layers, of.hidden,
                     of.sequence * of.micro_batch);
}

void add_layers(bool is_host, bool quick, std::vector<ProgramToCompare>& out) {
  Sizes widths = is_host ? Sizes{128, 256} : Sizes{1024, 1536, 5120};
  if (quick) widths.resize(1);
  for (const bool llama : {false, true}) {
    for (const std::int64_t hidden : widths) {
      TransformerShape shape = shape_of(is_host, llama, 1, hidden);
      shape.sequence = is_host ? 64 : 2048;
      shape.vocabulary = 256;
      const Program whole = transformer_program(shape, usual(is_host));
      for (const char* routine : {"layer.forward", "layer.backward"}) {
        out.push_back(
            {"layer", fmt::format("{}, {}", text(shape), routine), only_routine(whole, routine)});
      }
    }
  }
}

void add_steps(bool is_host, bool quick, std::vector<ProgramToCompare>& out) {
  struct Size {
    std::int64_t layers;
    std::int64_t hidden;
  };
  std::vector<Size> sizes{{12, 768}, {24, 1024}, {24, 1536}, {16, 2048}};
  if (is_host) sizes = {{2, 64}, {2, 128}, {4, 96}};
  if (quick) sizes.resize(1);
  for (const Size& size : sizes) {
    for (const bool llama : {false, true}) {
      TransformerShape shape = shape_of(is_host, llama, size.layers, size.hidden);
      shape.sequence = is_host ? 64 : 1024;
      shape.vocabulary = is_host ? 1024 : 50304;
      out.push_back({"step", text(shape), transformer_program(shape, usual(is_host))});
    }
  }
}

void add_other_steps(bool is_host, std::vector<ProgramToCompare>& out) {
  const TransformerShape shape = with_experts(is_host, is_host ? 96 : 1024);
  out.push_back({"step", fmt::format("{}, {} experts, stored scores", text(shape), shape.experts),
                 transformer_program(shape, usual(is_host))});
  const ImageShape clips = images(is_host, is_host ? 3 : 8);
  out.push_back({"step",
                 fmt::format("ResNet-50, {} clips of 2 x {} x {}", clips.micro_batch, clips.image,
                             clips.image),
                 image_program(clips, usual(is_host))});
}

}  // namespace

ProgramsToMeasure programs_to_measure(bool is_host, bool quick) {
  return {gemms(is_host, quick), attentions(is_host, quick), steps_to_measure(is_host, quick)};
}

std::vector<ProgramToCompare> programs_to_compare(bool is_host, bool quick) {
  std::vector<ProgramToCompare> out;
  add_layers(is_host, quick, out);
  add_steps(is_host, quick, out);
  if (!quick) add_other_steps(is_host, out);
  return out;
}

}  // namespace lockstep
