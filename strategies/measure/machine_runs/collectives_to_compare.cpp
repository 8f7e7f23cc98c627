#include "strategies/measure/machine_runs/collectives_to_compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/command_graph/schedule_commands.hpp"
#include "strategies/collectives/registry/registry.hpp"

namespace lockstep {

std::vector<CollectiveToCompare> collectives_to_compare(bool is_host, bool quick) {
  const std::int64_t large = is_host ? 6 << 20 : 96 << 20;
  std::vector<CollectiveToCompare> out{
      {Collective::all_reduce, "ring", 2, large},
      {Collective::all_reduce, "ring", 4, large},
      {Collective::all_reduce, "ring", 8, large},
      {Collective::all_reduce, "ring", 8, 96 << 10},
      {Collective::all_reduce, "halving_doubling", 4, large},
      {Collective::all_reduce, "halving_doubling", 8, large},
      {Collective::all_reduce, "recursive_doubling", 8, 3 << 19},
      {Collective::all_reduce, "direct", 4, large},
      {Collective::all_reduce, "naive", 5, 3 << 19},
      {Collective::reduce_scatter, "ring", 4, large},
      {Collective::reduce_scatter, "ring", 7, large},
      {Collective::all_gather, "ring", 4, large},
      {Collective::all_gather, "ring", 6, large},
      {Collective::all_gather, "recursive_doubling", 8, 3 << 19},
      {Collective::broadcast, "binomial", 8, large},
      {Collective::all_to_all, "pairwise", 4, large},
      {Collective::all_to_all, "pairwise", 8, 3 << 19},
  };
  if (!quick) return out;
  std::erase_if(out, [large](const CollectiveToCompare& each) {
    return each.ranks > 4 || each.bytes < large;
  });
  for (CollectiveToCompare& each : out) each.bytes /= 8;
  return out;
}

std::string text(const CollectiveToCompare& of, int devices) {
  return fmt::format("{} {}, {} ranks{}, {} KiB fp32", to_string(of.collective), of.algorithm,
                     of.ranks, devices > 1 ? fmt::format(" on {} GPUs", devices) : "",
                     of.bytes >> 10);
}

std::optional<CommandGraph> commands_to_compare(const CollectiveToCompare& of, int devices) {
  const CollectiveAlgorithm* row = find_algorithm(of.collective, of.algorithm);
  if (row == nullptr) return std::nullopt;
  AlgorithmInput input;
  input.n = of.ranks;
  if (!validate(*row, input).empty()) return std::nullopt;
  const SchedulePtr schedule = make_schedule(*row, complete(*row, input));
  ScheduleCommandOptions options;
  options.type = NumberType::fp32;
  options.block = std::max<std::int64_t>(1, of.bytes / bytes_of(options.type) / schedule->blocks());
  options.devices = devices;
  return commands_of(*schedule, options).graph;
}

}  // namespace lockstep
