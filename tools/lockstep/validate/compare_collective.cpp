#include <fmt/format.h>

#include "strategies/training/scenario_cluster.hpp"
#include "tools/lockstep/arena.hpp"
#include "tools/lockstep/collective/contestant.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/validate/compare.hpp"
#include "topologies/config/config_error.hpp"

namespace lockstep::cli {

namespace {

/// What stated limits are simulated at: the largest message of nccl-tests' usual range.
constexpr Bytes kLargeMessage{std::int64_t{16} << 30U};

LoadedCluster cluster_of(const CollectiveTable& table) {
  Problems problems{table.origin.file};
  auto read = read_scenario_cluster(ValueReader{&table.cluster, "/cluster", problems}, 0,
                                    {"", config_folder()});
  problems.throw_if_any();
  ScenarioCluster& cluster = read.value().cluster;
  return {cluster.name, "", std::move(cluster.device), std::move(cluster.cluster), {}};
}

/// What NCCL would pick, from what the table says was pinned; reduction in the network's switches,
/// which needs a plugin, as the algorithm that it is.
struct Asked {
  Contestant contestant{};
  NcclOptions nccl{};
};

Asked asked_by(const CollectiveTable& table) {
  Asked out;
  out.contestant.collective = table.collective;
  out.contestant.kind = Contestant::Kind::nccl;
  if (table.algorithm == "sharp") {
    ParsedSpecs parsed = parse_specs(table.algorithm, table.collective);
    if (parsed.specs.size() != 1)
      throw UsageError(fmt::format("no {} by {}", to_string(table.collective), table.algorithm));
    out.contestant.kind = Contestant::Kind::algorithm;
    out.contestant.spec = std::move(parsed.specs.front());
  } else if (!table.algorithm.empty()) {
    out.nccl.algorithms = table.algorithm;
  }
  return out;
}

/// nccl-tests' doc/PERFORMANCE.md: 2(n-1)/n for all-reduce, (n-1)/n for the others that it gives.
double bus_factor(const CollectiveTable& table) {
  const double n = table.ranks;
  return (table.collective == Collective::all_reduce ? 2 : 1) * (n - 1) / n;
}

Comparison row_of(const CollectiveTable& table, const CollectivePoint& point, Duration time,
                  Bytes size) {
  Comparison row;
  row.group = table.origin.id;
  row.assumed = !table.origin.assumed.empty();
  const double bytes = static_cast<double>(size.count());
  if (point.time) {
    row.id = fmt::format("{}/{}", table.origin.id, size.count());
    row.quantity = ComparedQuantity::collective_time;
    row.measured = point.time->seconds();
    row.simulated = time.seconds();
  } else {
    row.id = table.origin.id;
    row.quantity = ComparedQuantity::bus_bandwidth;
    row.measured = point.bus_bandwidth.value().bytes_per_second();
    row.simulated = bytes / time.seconds() * bus_factor(table);
  }
  return row;
}

ValidateAnswer compared(const CollectiveTable& table) {
  LoadedCluster cluster = cluster_of(table);
  if (cluster.cluster.ranks() != table.ranks)
    throw UsageError(
        fmt::format("{} ranks on a cluster of {}", table.ranks, cluster.cluster.ranks()));
  const Asked asked = asked_by(table);
  const Arena arena(std::move(cluster), NetworkOptions{}, true);
  const Player player(arena, {find_element_type("float"), 0, Duration{}, 1, &asked.nccl});
  for (const std::string& problem : player.problems(asked.contestant)) throw UsageError(problem);
  ValidateAnswer out;
  for (const CollectivePoint& point : table.points) {
    const Bytes size = point.size.value_or(kLargeMessage);
    const Played played = player.play(asked.contestant, player.prepare(asked.contestant, size));
    if (!played.unfinished.empty()) throw Refusal(played.unfinished);
    out.rows.push_back(row_of(table, point, played.time, size));
  }
  return out;
}

}  // namespace

ValidateAnswer compare_collective(const CollectiveTable& table) {
  const auto left_out = [&table](const std::exception& error) {
    return ValidateAnswer{{}, {{table.origin.id, table.origin.id, reason_of(error)}}};
  };
  try {
    return compared(table);
  } catch (const ConfigError& error) {
    return left_out(error);
  } catch (const UsageError& error) {
    return left_out(error);
  } catch (const Refusal& error) {
    return left_out(error);
  }
}

}  // namespace lockstep::cli
