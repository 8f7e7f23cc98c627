#include "strategies/scenario/scenario_parallel.hpp"

#include <fmt/format.h>

#include "sim/config/json/json_values.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/scenario/parallel/parallel_fields.hpp"

namespace lockstep {
namespace {

/// dp from what the other axes leave of the cluster, or a note of why they leave nothing whole.
int left_for_dp(ObjectReader& in, const ParallelConfig& parallel, int cluster_ranks) {
  const Int128 others = Int128{parallel.tp} * parallel.pp * parallel.cp;  // of 24 bits each
  if (cluster_ranks == 0) return 1;
  if (others <= cluster_ranks && cluster_ranks % others == 0) {
    return static_cast<int>(cluster_ranks / others);
  }
  in.note(fmt::format("tp * pp * cp = {} * {} * {} = {} does not divide the cluster's {} ranks{}",
                      parallel.tp, parallel.pp, parallel.cp, others, cluster_ranks,
                      admissible_degrees(parallel, cluster_ranks)));
  return 1;
}

/// Values that exclude each other whatever the model and the cluster.
void check_together(ObjectReader& in, const ParallelConfig& parallel) {
  if (parallel.short_edges && !parallel.stages.empty())
    in.note("short_edges", "\"stages\" says how many layers each chunk has: leave out one of both");
  if (!parallel.scatter_gradients && parallel.zero != 1)
    in.note("scatter_gradients",
            fmt::format("only ZeRO-1 may sum whole gradients and keep shards of them: zero is {}",
                        parallel.zero));
  if (parallel.zero < 2 && parallel.reduce_gradients == GradientReduction::every_microbatch)
    in.note("reduce_gradients",
            fmt::format("only ZeRO-2 and -3 may reduce gradients in every microbatch: zero is {}",
                        parallel.zero));
  if (parallel.zero < 2 && parallel.reduce_replicas == GradientReduction::every_microbatch)
    in.note("reduce_replicas",
            fmt::format("only ZeRO-2 and -3 may sum replicas of shards in every microbatch: zero "
                        "is {}",
                        parallel.zero));
  if (parallel.updates_by_bucket() && parallel.exchange == GradientExchange::parameter_server)
    in.note("update", "parameter servers update each bucket as it comes: leave out \"update\"");
}

}  // namespace

ParallelConfig read_parallel(ObjectReader& in, int cluster_ranks) {
  ParallelConfig parallel;
  for (const ParallelField& field : parallel_fields())
    if (const auto given = in.optional({field.key, field.help})) field.read(*given, parallel);
  if (in.describes()) return parallel;
  if (!in.optional("dp")) parallel.dp = left_for_dp(in, parallel, cluster_ranks);
  for (const ParallelField& field : parallel_fields())
    if (field.complete && !in.optional(field.key)) field.complete(parallel);
  check_together(in, parallel);
  return parallel;
}

JsonValue json_of(const ParallelConfig& parallel) {
  JsonObject out;
  for (const ParallelField& field : parallel_fields())
    if (auto value = field.write(parallel))
      out.push_back({std::string{field.key}, {}, *std::move(value)});
  return {{}, std::move(out)};
}

}  // namespace lockstep
