#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "strategies/collectives/registry.hpp"
#include "tests/tools/bounds/random_cluster.hpp"
#include "tests/tools/new_file.hpp"
#include "tools/lockstep/collective/collective_run.hpp"
#include "tools/lockstep/errors.hpp"
#include "topologies/config/config_error.hpp"

/// No schedule is faster than the bound that is printed beside it, on whatever cluster: the promise
/// of the columns `bound` and `%bound`, and of what `explain` says no schedule can beat.
namespace lockstep {
namespace {

using cli::CollectiveQuestion;
using test::Draw;

/// The cell of a row below a key.
const cli::Cell& cell(const cli::Report& report, const std::vector<cli::Cell>& row,
                      std::string_view key) {
  const auto column = std::ranges::find(report.columns, key, &cli::Column::key);
  REQUIRE(column != report.columns.end());
  return row[static_cast<std::size_t>(column - report.columns.begin())];
}

double number(const cli::Report& report, const std::vector<cli::Cell>& row, std::string_view key) {
  return std::get<double>(cell(report, row, key).value);
}

std::int64_t picoseconds(double seconds) {
  return std::llround(seconds * 1e12);
}

/// How many rows there are.
std::size_t check(const cli::Report& report) {
  std::size_t rows = 0;
  for (const cli::Section& section : report.sections) {
    for (const auto& row : section.rows) {
      CAPTURE(std::get<std::string>(cell(report, row, "algorithm").value));
      CAPTURE(std::get<std::string>(cell(report, row, "collective").value));
      CAPTURE(std::get<std::int64_t>(cell(report, row, "size_bytes").value));
      CAPTURE(std::get<std::string>(cell(report, row, "bound_by").value));
      CHECK(picoseconds(number(report, row, "bound_s")) <=
            picoseconds(number(report, row, "time_s")));
      CHECK(number(report, row, "bound_percent") <= 100);
      CHECK(number(report, row, "busiest_link_percent") <= 100);
    }
    rows += section.rows.size();
  }
  return rows;
}

std::string text_of(const cli::ClusterOptions& cluster) {
  std::string text = cluster.path() + " routes " + cluster.routes;
  for (const auto& [link, settings] : cluster.set_links)
    text += " --set-link \"" + link + "\" \"" + settings + "\"";
  for (const std::string& link : cluster.failed) text += " --fail \"" + link + "\"";
  return text;
}

std::vector<cli::RankSetting> random_settings(int ranks, Draw& draw) {
  std::vector<cli::RankSetting> out;
  if (!draw.one_in(4)) return out;
  cli::RankSetting one;
  one.rank = static_cast<int>(draw.number(0, ranks - 1));
  if (draw.one_in(2)) one.start = 3_us;
  if (draw.one_in(2)) one.message_overhead = 700_ns;
  if (draw.one_in(2)) one.reduce_rate = 5000_GBps;
  out.push_back(one);
  return out;
}

CollectiveQuestion random_question(const cli::ClusterOptions& cluster, int ranks, bool with_choices,
                                   Draw& draw) {
  CollectiveQuestion out;
  out.cluster = cluster;
  out.network.model = draw.of(std::array{"fluid", "alpha-beta", "queue"});
  if (out.network.model == "queue" && out.cluster.routes == "auto") out.cluster.routes = "ecmp";
  out.every_row = true;
  const Collective collective = draw.of(collectives());
  for (const CollectiveAlgorithm& row : collective_algorithms())
    if (row.collective == collective)
      out.contestants.push_back(
          {cli::Contestant::Kind::algorithm, collective, {&row, {}}, nullptr});
  if (with_choices) {
    out.contestants.push_back({cli::Contestant::Kind::nccl, collective, {}, nullptr});
    out.contestants.push_back({cli::Contestant::Kind::replayed, collective, {}, nullptr});
    out.network.protocol = draw.of(std::array{"", "", "ll", "ll128", "simple"});
  }
  for (const Bytes size : {0_B, 1_B, 737_B, 4096_B, 1_MiB, Bytes{3'000'001}})
    if (draw.one_in(3)) out.sizes.push_back(size);
  if (out.sizes.empty()) out.sizes.push_back(64_KiB);
  out.type = find_element_type(draw.of(std::array{"uint8", "half", "float", "double"}));
  out.root = static_cast<int>(draw.number(0, ranks - 1));
  out.ranks = random_settings(ranks, draw);
  return out;
}

/// What cannot be built, or leaves ranks without a route, is no case.
std::size_t check_on(cli::ClusterOptions cluster, std::uint64_t seed, bool with_choices) {
  Draw draw(seed);
  std::size_t rows = 0;
  try {
    const cli::LoadedCluster loaded = cluster.load();
    if (draw.one_in(2)) test::damage(loaded.cluster, draw, cluster);
    for (int round = 0; round < 4; ++round) {
      const CollectiveQuestion question =
          random_question(cluster, loaded.cluster.ranks(), with_choices, draw);
      CAPTURE(text_of(cluster));
      CAPTURE(question.network.model);
      CAPTURE(question.root);
      CAPTURE(question.ranks.size());
      CAPTURE(seed);
      rows += check(run_collective(question));
    }
  } catch (const cli::UsageError&) {
  } catch (const cli::Refusal&) {
  } catch (const ConfigError&) {
  }
  return rows;
}

}  // namespace

TEST_CASE("no time is below its bound on shipped clusters, damaged or not") {
  std::size_t rows = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Draw draw(seed);
    rows += check_on(test::random_shipped(draw), seed, seed % 3 == 0);
  }
  CHECK(rows > 3000);
}

TEST_CASE("no time is below its bound on random graphs of unequal nodes, damaged or not") {
  std::size_t rows = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Draw draw(1000 + seed);
    const NewFile file;
    const std::string path = file.path() + ".json";
    std::ofstream(path) << test::random_graph(draw);
    cli::ClusterOptions cluster;
    cluster.cluster = path;
    rows += check_on(cluster, seed, false);
    std::filesystem::remove(path);
  }
  CHECK(rows > 6000);
}

}  // namespace lockstep
