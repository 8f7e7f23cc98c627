#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "sim/config/json/config_error.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "tests/tools/bounds/random_cluster.hpp"
#include "tests/tools/new_file.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/app/errors.hpp"

/// No schedule is faster than the bound that is printed beside it, on whatever cluster: the promise
/// of the columns `bound` and `%bound`, and of what `explain` says no schedule can beat.
namespace lockstep {
namespace {

using app::CollectiveRequest;
using test::Draw;

/// How many rows there are.
std::size_t check(const app::CollectiveReport& report) {
  for (std::size_t c = 0; c < report.candidates.size(); ++c) {
    CAPTURE(report.candidates[c].text());
    CAPTURE(to_string(report.candidates[c].collective));
    for (std::size_t s = 0; s < report.sizes.size(); ++s) {
      const app::CollectiveRow& row = report.row(c, s);
      CAPTURE(report.sizes[s].count());
      CAPTURE(row.bound.tightest_cut);
      CHECK(row.bound.time() <= row.result.time);
      CHECK(row.result.busy <= 1);
    }
  }
  return report.rows.size();
}

std::string text_of(const app::ClusterRequest& cluster) {
  std::string text = cluster.path() + " routes " + cluster.routes;
  for (const auto& [link, settings] : cluster.set_links)
    text += " --set-link \"" + link + "\" \"" + settings + "\"";
  for (const std::string& link : cluster.failed) text += " --fail \"" + link + "\"";
  return text;
}

std::vector<app::RankSettingRange> random_settings(int ranks, Draw& draw) {
  std::vector<app::RankSettingRange> out;
  if (!draw.one_in(4)) return out;
  app::RankSettingRange one;
  const auto rank = static_cast<int>(draw.number(0, ranks - 1));
  one.ranks.intervals.emplace_back(rank, rank);
  if (draw.one_in(2)) one.start = app::StartDraw{3_us};
  if (draw.one_in(2)) one.message_overhead = 700_ns;
  if (draw.one_in(2)) one.reduce_rate = 5000_GBps;
  out.push_back(one);
  return out;
}

CollectiveRequest random_request(const app::ClusterRequest& cluster, int ranks, bool with_choices,
                                 Draw& draw) {
  CollectiveRequest out;
  out.cluster = cluster;
  out.network.model = draw.of(std::array{"fluid", "alpha-beta", "queue"});
  if (out.network.model == "queue" && out.cluster.routes == "auto") out.cluster.routes = "ecmp";
  out.every_row = true;
  const Collective collective = draw.of(collectives());
  for (const CollectiveAlgorithm& row : collective_algorithms())
    if (row.collective == collective)
      out.candidates.push_back({app::Candidate::Kind::algorithm, collective, {&row, {}}, nullptr});
  if (with_choices) {
    out.candidates.push_back({app::Candidate::Kind::nccl, collective, {}, nullptr});
    out.candidates.push_back({app::Candidate::Kind::replayed, collective, {}, nullptr});
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
std::size_t check_on(app::ClusterRequest cluster, std::uint64_t seed, bool with_choices) {
  Draw draw(seed);
  std::size_t rows = 0;
  try {
    const app::LoadedCluster loaded = cluster.load();
    if (draw.one_in(2)) test::fail_links(loaded.cluster, draw, cluster);
    for (int round = 0; round < 4; ++round) {
      const CollectiveRequest request =
          random_request(cluster, loaded.cluster.ranks(), with_choices, draw);
      CAPTURE(text_of(cluster));
      CAPTURE(request.network.model);
      CAPTURE(request.root);
      CAPTURE(request.ranks.size());
      CAPTURE(seed);
      rows += check(run_collective(request));
    }
  } catch (const app::RequestError&) {
  } catch (const app::Refusal&) {
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
    app::ClusterRequest cluster;
    cluster.cluster = path;
    rows += check_on(cluster, seed, false);
    std::filesystem::remove(path);
  }
  CHECK(rows > 6000);
}

}  // namespace lockstep
