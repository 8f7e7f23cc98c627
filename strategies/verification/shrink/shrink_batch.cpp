#include "strategies/models/count/count.hpp"
#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

/// Fewer, the same or more than stages, as they were; enough to keep all of them busy for a while
/// if there were. Interleaved schedules want multiples of pp.
[[nodiscard]] std::int64_t fewer_microbatches(std::int64_t was, const ParallelConfig& whole,
                                              const ParallelConfig& small) {
  const std::int64_t pp = small.pp;
  if (small.schedule == PipelineOrder::dualpipe_v || small.schedule == PipelineOrder::dualpipe)
    return 2 * pp;
  if (small.microbatch_group > 0) return 2 * pp + 1;
  if (was <= 3) return small.schedule == PipelineOrder::interleaved ? std::max(was, pp) : was;
  if (pp == 1) return 3;
  if (was >= 2 * std::int64_t{whole.pp}) return 2 * pp;
  if (was == whole.pp || small.schedule == PipelineOrder::interleaved) return pp;
  return was > whole.pp ? pp + 1 : std::clamp<std::int64_t>(pp - 1, 2, was);
}

/// Of the gradients that one rank has summed with others', about.
[[nodiscard]] double gradient_bytes(const SizedLayout& layout) {
  const ParameterCount count = count_parameters(layout.model);
  const auto experts = static_cast<double>(count.experts) / layout.parallel.ep;
  const auto all = static_cast<double>(count.total() - count.experts) + experts;
  return all / layout.parallel.tp / layout.parallel.pp *
         static_cast<double>(bytes_per_element(layout.parallel.state.gradients));
}

/// Several buckets stay several, four at most.
[[nodiscard]] Bytes smaller_bucket(Bytes was, const SizedLayout& whole, const SizedLayout& small) {
  const double buckets = gradient_bytes(whole) / static_cast<double>(was.count());
  if (buckets <= 1) return was;
  const double bytes = gradient_bytes(small) / std::min(buckets, 4.0);
  return Bytes{std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes), 1, was.count())};
}

}  // namespace

void shrink_batch(SizedLayout& small, const SizedLayout& whole, const ShrinkLimits& limits) {
  ParallelConfig& layout = small.parallel;
  if (!stays(limits, "parallel.micro_batch")) {
    layout.micro_batch = std::min<std::int64_t>(layout.micro_batch, 2);
  }
  if (!stays(limits, "parallel.global_batch")) {
    // Groups larger than the stages, and a smaller last one, as any may be; or all as they were.
    const bool keeps = layout.microbatch_group > 0 && stays(limits, "parallel.microbatch_group");
    const std::int64_t was = whole.parallel.microbatches();
    if (layout.microbatch_group > 0 && !keeps) layout.microbatch_group = layout.pp + 1;
    const std::int64_t microbatches = keeps ? was : fewer_microbatches(was, whole.parallel, layout);
    layout.global_batch = layout.micro_batch * layout.dp * microbatches;
  }
  if (!stays(limits, "parallel.average_every")) {
    layout.average_every = std::min(layout.average_every, 2);
  }
  if (layout.fragments > 1) {
    if (!stays(limits, "parallel.fragments")) layout.fragments = 2;
    const bool has_others = whole.parallel.average_every > whole.parallel.fragments;
    if (!stays(limits, "parallel.average_every"))
      layout.average_every = layout.fragments + (has_others ? 1 : 0);
  }
  const bool buckets = layout.zero < 2 && layout.exchange == GradientExchange::all_reduce;
  if (buckets && layout.dp * layout.cp > 1 && !stays(limits, "parallel.bucket")) {
    layout.bucket = smaller_bucket(layout.bucket, whole, small);
  }
}

}  // namespace lockstep::shrinking
