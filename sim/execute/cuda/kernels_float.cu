#include <algorithm>

#include "sim/execute/cuda/launch.cuh"

namespace lockstep::cuda {

void launch_floats(const KernelLaunch& launch, const kernels::Arguments& arguments,
                   cudaStream_t stream) {
  launch_kernel<float>(launch, arguments, stream);
}

namespace {

template <class Element>
struct Plain {
  using Compute = Element;
  [[nodiscard]] __device__ static Element load(Element value) { return value; }
  [[nodiscard]] __device__ static Element store(Element value) { return value; }
};
struct Bf16 {
  using Compute = float;
  [[nodiscard]] __device__ static float load(std::uint16_t bits) {
    return kernels::from_bf16(bits);
  }
  [[nodiscard]] __device__ static std::uint16_t store(float value) {
    return kernels::to_bf16(value);
  }
};
struct Fp16 {
  using Compute = float;
  [[nodiscard]] __device__ static float load(std::uint16_t bits) {
    return __half2float(__ushort_as_half(bits));
  }
  [[nodiscard]] __device__ static std::uint16_t store(float value) {
    return __half_as_ushort(__float2half(value));
  }
};

/// 16 bytes at a time from the first place on that is such a multiple, where both operands have the
/// same: a reduction is bound by memory. `head`: elements before it; all where they do not.
template <class Element, class Form>
__global__ void combine_all(const Element* from, Element* to, std::int64_t count, bool adds,
                            std::int64_t head) {
  constexpr int kTogether = 16 / sizeof(Element);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto combined = [adds](Element a, Element b) {
    const typename Form::Compute x = Form::load(a);
    const typename Form::Compute y = Form::load(b);
    return Form::store(adds ? x + y : (x > y ? x : y));
  };
  for (std::int64_t i = first; i < head; i += step) to[i] = combined(from[i], to[i]);
  from += head;
  to += head;
  count -= head;
  const std::int64_t together = count / kTogether;
  for (std::int64_t i = first; i < together; i += step) {
    uint4 x = reinterpret_cast<const uint4*>(from)[i];
    uint4 y = reinterpret_cast<uint4*>(to)[i];
    auto* a = reinterpret_cast<Element*>(&x);
    auto* b = reinterpret_cast<Element*>(&y);
    for (int k = 0; k < kTogether; ++k) b[k] = combined(a[k], b[k]);
    reinterpret_cast<uint4*>(to)[i] = y;
  }
  for (std::int64_t i = together * kTogether + first; i < count; i += step) {
    to[i] = combined(from[i], to[i]);
  }
}

template <class Element, class Form>
void combine_as(bool adds, std::int64_t count, const kernels::Values& from,
                const kernels::Values& to, cudaStream_t stream) {
  const auto* x = static_cast<const Element*>(from.data);
  auto* y = static_cast<Element*>(to.data);
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Element));
  const auto beyond = [](const void* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % 16);
  };
  const bool wide = beyond(x) == beyond(y);
  const std::int64_t head = wide ? std::min(count, (16 - beyond(x)) % 16 / kSize) : count;
  const std::int64_t work = wide ? count / (16 / kSize) + 1 : count;
  const std::int64_t blocks = std::min((work + kThreads - 1) / kThreads, kMostBlocks);
  combine_all<Element, Form>
      <<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(x, y, count, adds, head);
}

struct Nan {
  kernels::Values to;
  __device__ void operator()(std::int64_t i) const {
    kernels::store(to, i, static_cast<float>(NAN));
  }
};
struct Scattered {
  kernels::Values to;
  NumberRange range;
  std::uint64_t seed;
  __device__ void operator()(std::int64_t i) const {
    kernels::store(to, i, kernels::scattered(range, seed, static_cast<std::uint64_t>(i)));
  }
};

template <class Function>
void fill(const Function& function, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  const std::int64_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
  each_index<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(function, count);
  check(cudaGetLastError(), doing("launching a kernel that fills a buffer"));
}

}  // namespace

void combine(bool adds, std::int64_t count, const kernels::Values& from, const kernels::Values& to,
             cudaStream_t stream) {
  if (count == 0) return;
  switch (to.type) {
    case NumberType::fp64:
      combine_as<double, Plain<double>>(adds, count, from, to, stream);
      break;
    case NumberType::fp32:
      combine_as<float, Plain<float>>(adds, count, from, to, stream);
      break;
    case NumberType::bf16:
      combine_as<std::uint16_t, Bf16>(adds, count, from, to, stream);
      break;
    case NumberType::fp16:
      combine_as<std::uint16_t, Fp16>(adds, count, from, to, stream);
      break;
  }
  check(cudaGetLastError(), doing("launching a reduction"));
}

void fill_nan(const kernels::Values& to, std::int64_t count, cudaStream_t stream) {
  fill(Nan{to}, count, stream);
}

void fill_scattered(const kernels::Values& to, std::int64_t count, const NumberRange& range,
                    std::uint64_t seed, cudaStream_t stream) {
  fill(Scattered{to, range, seed}, count, stream);
}

}  // namespace lockstep::cuda
