#include <algorithm>
#include <memory>
#include <utility>

#include "strategies/collectives/registry/spec.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/crossover.hpp"
#include "tools/app/collective/run_collective.hpp"
#include "tools/app/complexity/complexity.hpp"
#include "tools/app/teach/collective_film.hpp"
#include "tools/lockstep/explain/cost_json.hpp"
#include "tools/lockstep/explain/explain_cost_words.hpp"
#include "tools/lockstep/teach/answers.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::cli {

namespace {

using namespace app;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::size_t kMostDrawnLinks = 4000;

/// A shipped cluster by name, or the contents of a cluster file.
ClusterRequest read_cluster(const ValueReader& given) {
  ClusterRequest out;
  if (given.is_object()) {
    out.document = JsonDocument{"cluster", *given.value()};
  } else {
    out.cluster = given.string();
  }
  return out;
}

ClusterRequest read_cluster_request(ObjectReader& in) {
  ClusterRequest out = read_cluster(in.required("cluster"));
  if (const auto nodes = in.optional_integer("nodes", 1, kMostFilmRanks))
    out.nodes = static_cast<int>(*nodes);
  return out;
}

NetworkRequest read_network(ObjectReader& in) {
  NetworkRequest out;
  out.model = in.one_of("network", "network model", {"fluid", "alpha-beta", "queue"}, "fluid");
  return out;
}

std::string read_collective(ObjectReader& in) {
  std::vector<std::string_view> names;
  for (const Collective each : collectives()) names.push_back(to_string(each));
  return in.one_of("collective", "collective", names);
}

std::optional<int> read_ranks(ObjectReader& in) {
  const auto given = in.optional_integer("ranks", 1, kMostFilmRanks);
  return given ? std::optional{static_cast<int>(*given)} : std::nullopt;
}

int read_root(ObjectReader& in) {
  return static_cast<int>(in.integer("root", 0, kMostFilmRanks - 1, 0));
}

Bytes read_size(ObjectReader& in, std::string_view key) {
  return Bytes{in.integer(key, 0, kMostBytes)};
}

/// Throws RequestError for an unknown algorithm.
AlgorithmSpec spec_of(Collective collective, const std::string& text) {
  ParsedSpecs parsed = parse_specs(text, collective);
  if (!parsed.errors.empty()) throw RequestError("algorithm", parsed.errors.front().message);
  if (parsed.specs.size() != 1)
    throw RequestError("algorithm", "expected one algorithm, got \"" + text + "\"");
  return std::move(parsed.specs.front());
}

// ---- Film.

Json runs_json(const std::vector<ColumnRun>& runs) {
  Json out = Json::array();
  for (const ColumnRun& run : runs) out.push_back(Json{run.first, run.count});
  return out;
}

Json contents_json(const CollectiveFilm& film) {
  Json out = Json::array();
  for (const FilmContent& content : film.contents)
    out.push_back({{"ranks", content.ranks}, {"origin", content.origin}, {"text", content.text}});
  return out;
}

Json transfers_json(const CollectiveFilm& film) {
  Json out = Json::array();
  for (const FilmTransfer& each : film.transfers) {
    const Duration taken = each.end - each.start;
    const Duration moving = taken - film.routes[each.route].latency;
    out.push_back(
        {{"from", each.from},
         {"to", each.to},
         {"round", each.round},
         {"channel", each.channel},
         {"bytes", each.size.count()},
         {"start_ps", each.start.since_start().ps()},
         {"end_ps", each.end.since_start().ps()},
         {"rate_bytes_per_s", moving > Duration{}
                                  ? Json(static_cast<double>(each.size.count()) / moving.seconds())
                                  : Json(nullptr)},
         {"combine", each.combine == Combine::reduce ? "reduce" : "copy"},
         {"sent", runs_json(each.sent)},
         {"received", runs_json(each.received)},
         {"route", each.route}});
  }
  return out;
}

Json states_json(const CollectiveFilm& film) {
  Json out;
  Json names = Json::array();
  for (const ChunkColumn& column : film.columns) names.push_back(column.name());
  out["columns"] = std::move(names);
  Json initial = Json::array();
  for (const auto& row : film.initial) initial.push_back(Json(row));
  out["initial"] = std::move(initial);
  Json writes = Json::array();
  for (const FilmWrite& each : film.writes)
    writes.push_back(Json{each.at.since_start().ps(), each.rank, each.column, each.content});
  out["writes"] = std::move(writes);
  out["contents"] = contents_json(film);
  return out;
}

/// The graph of the cluster; empty if it is too large to draw.
Json graph_json(const CollectiveFilm& film) {
  const Cluster& cluster = film.stage.setup->cluster();
  Json vertices = Json::array();
  Json links = Json::array();
  std::vector<std::size_t> vertex_at(cluster.vertex_count());  // absent ones have no place
  std::vector<std::size_t> link_at(cluster.link_count());
  std::size_t present = 0;
  for (std::size_t i = 0; i < vertex_at.size(); ++i) {
    vertex_at[i] = present;
    if (!is_absent(cluster, static_cast<VertexId>(i))) ++present;
  }
  present = 0;
  for (std::size_t i = 0; i < link_at.size(); ++i) {
    link_at[i] = present;
    if (!is_absent_link(cluster, static_cast<LinkId>(i))) ++present;
  }
  if (cluster.link_count() <= kMostDrawnLinks) {
    for (std::size_t i = 0; i < cluster.vertex_count(); ++i) {
      const auto id = static_cast<VertexId>(i);
      if (is_absent(cluster, id)) continue;
      const Vertex vertex = cluster.vertex(id);
      vertices.push_back({{"name", cluster.vertex_name(id)},
                          {"kind", to_string(vertex.kind)},
                          {"node", vertex.node}});
    }
    for (std::size_t i = 0; i < cluster.link_count(); ++i) {
      if (is_absent_link(cluster, static_cast<LinkId>(i))) continue;
      const ClusterLink link = cluster.link(static_cast<LinkId>(i));
      const Link& usable = film.stage.setup->network().links[i];
      links.push_back(Json{vertex_at[link.from], vertex_at[link.to],
                           usable.bandwidth.bytes_per_second(), usable.latency.ps()});
    }
  }
  Json members = Json::array();
  for (const EndpointId member : film.stage.members) {
    const bool on_graph = member < static_cast<EndpointId>(cluster.endpoints());
    members.push_back(on_graph ? Json(vertex_at[cluster.vertex_of(member)]) : Json(nullptr));
  }
  Json routes = Json::array();
  for (const FilmRoute& route : film.routes) {
    Json crossed = Json::array();
    for (const LinkId link : route.links) crossed.push_back(link_at[link]);
    routes.push_back({{"from", route.from},
                      {"to", route.to},
                      {"links", crossed},
                      {"latency_ps", route.latency.ps()},
                      {"paths", route.paths}});
  }
  return {{"vertices", vertices},
          {"links", links},
          {"members", members},
          {"dimensions", cluster.dimensions()},
          {"routes", routes}};
}

Json cost_json(const CollectiveFilm& film) {
  const ExplainedCost& cost = film.cost;
  Json out;
  out["formula"] = film.algorithm->time;
  out["terms"] = terms_json(cost);
  const auto time = [](const auto& value) { return value ? Json(value->seconds()) : Json(); };
  out["formula_s"] = time(cost.formula);
  out["formula_is_estimate"] = cost.near;
  out["simulated_s"] = cost.simulated->time.seconds();
  out["busiest_link"] = cost.simulated->busiest_link;
  out["busy_fraction"] = cost.simulated->busy;
  out["comparison"] = comparison_lines(cost);
  out["bounds"] = bounds_json(cost);
  const auto most =
      std::max_element(cost.bounds.begin(), cost.bounds.end(),
                       [](const BoundTerm& a, const BoundTerm& b) { return a.time < b.time; });
  out["bound_s"] = most == cost.bounds.end() ? Json() : Json(most->time.seconds());
  out["model"] = model_lines(cost);
  add_traffic(cost, film.stage.layout.block, out);
  return out;
}

Json film_json(const CollectiveFilm& film) {
  const Stage& stage = film.stage;
  Json out;
  out["collective"] = to_string(film.algorithm->collective);
  out["algorithm"] = film.algorithm->name;
  out["summary"] = film.algorithm->summary;
  Json parameters = Json::object();
  for (const auto& [name, value] : complete(*film.algorithm, stage.input).arguments) {
    const auto* number = std::get_if<std::int64_t>(&value);
    parameters[name] = number != nullptr ? Json(*number) : Json(to_string(value));
  }
  out["parameters"] = std::move(parameters);
  out["cluster"] = stage.setup->loaded().name;
  out["ranks"] = stage.input.n;
  out["members"] = stage.members.size();
  out["size_bytes"] = stage.layout.size.count();
  out["chunk_bytes"] = stage.layout.block.count();
  out["time_s"] = film.time.seconds();
  out["time_ps"] = film.time.ps();
  out["rounds"] = film.rounds;
  out["verified"] = true;  // else make_film() throws
  out["cost"] = cost_json(film);
  out["states"] = states_json(film);
  out["transfers"] = transfers_json(film);
  out["graph"] = graph_json(film);
  return out;
}

// ---- Sizes.

Json row_json(const CollectiveRow& row) {
  return {{"time_s", row.result.time.seconds()},
          {"bound_s", row.bound.time().seconds()},
          {"busiest_link", row.result.busiest_link},
          {"fastest", row.fastest}};
}

Json candidate_rows(const CollectiveReport& report, std::size_t candidate) {
  Json rows = Json::array();
  for (std::size_t s = 0; s < report.sizes.size(); ++s)
    rows.push_back(row_json(report.row(candidate, s)));
  return rows;
}

Json crossovers_json(const CrossoverReport& report) {
  Json out = Json::array();
  for (const CollectiveCrossovers& collective : report.collectives)
    for (const Crossover& change : collective.changes)
      out.push_back({{"size_bytes", change.size.count()},
                     {"from", report.candidates[change.from].text()},
                     {"to", report.candidates[change.to].text()},
                     {"from_s", change.from_time.seconds()},
                     {"to_s", change.to_time.seconds()}});
  return out;
}

Json left_out_json(const std::vector<RequestProblem>& problems) {
  Json out = Json::array();
  for (const RequestProblem& each : problems)
    out.push_back({{"place", each.place}, {"message", each.message}});
  return out;
}

Json sizes_json(const CollectiveRequest& request) {
  const CollectiveReport report = run_collective(request);
  Json out;
  Json sizes = Json::array();
  for (const Bytes size : report.sizes) sizes.push_back(size.count());
  out["sizes_bytes"] = std::move(sizes);
  out["algorithms"] = Json::array();
  for (std::size_t c = 0; c < report.candidates.size(); ++c)
    out["algorithms"].push_back(
        {{"algorithm", report.candidates[c].text()}, {"rows", candidate_rows(report, c)}});
  out["left_out"] = left_out_json(report.left_out);
  out["crossovers"] = Json::array();
  if (report.candidates.size() > 1 && report.sizes.size() > 1)
    out["crossovers"] = crossovers_json(find_crossovers(request));
  return out;
}

// ---- Growth.

Json growth_of(const std::optional<GrowthFit>& fit) {
  return fit ? Json{{"class", to_string(fit->growth)}, {"exponent", fit->exponent}} : Json();
}

Json point_json(const ComplexityPoint& point) {
  const auto time = [](const auto& value) { return value ? Json(value->seconds()) : Json(); };
  return {{"ranks", point.ranks},
          {"rounds", point.rounds ? Json(*point.rounds) : Json()},
          {"messages", point.messages},
          {"busiest_bytes", point.busiest.count()},
          {"total_bytes", point.total.count()},
          {"small_time_s", time(point.small_time)},
          {"large_time_s", time(point.large_time)}};
}

Json growth_json(const ComplexityRequest& request) {
  const ComplexityResult result = measure_complexity(request);
  Json out;
  out["algorithms"] = Json::array();
  for (const ComplexityOutcome& outcome : result.outcomes) {
    Json points = Json::array();
    for (const ComplexityPoint& point : outcome.points) points.push_back(point_json(point));
    out["algorithms"].push_back(
        {{"algorithm", outcome.spec.text()},
         {"points", points},
         {"rounds", growth_of(outcome.rounds)},
         {"busiest_bytes", growth_of(outcome.busiest)},
         {"total_bytes", growth_of(outcome.total)},
         {"small_time", growth_of(outcome.small_time)},
         {"large_time", growth_of(outcome.large_time)},
         {"asymptotic_time",
          outcome.asymptotic_time ? Json(to_string(*outcome.asymptotic_time)) : Json()}});
  }
  out["left_out"] = Json::array();
  for (const UnmeasuredRanks& each : result.unmeasured)
    out["left_out"].push_back({{"algorithm", each.spec.text()},
                               {"all", each.all},
                               {"first", each.first},
                               {"message", each.problem.message}});
  return out;
}

Json algorithms_json(Collective collective) {
  Json out = Json::array();
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (row.collective != collective) continue;
    Json parameters = Json::array();
    for (const AlgorithmParameter& each : row.parameters)
      parameters.push_back({{"name", each.name}, {"meaning", each.meaning}});
    out.push_back({{"name", row.name},
                   {"summary", row.summary},
                   {"rounds", row.rounds},
                   {"sent_per_rank", row.sent_per_rank},
                   {"time", row.time},
                   {"limits", row.limits},
                   {"source", row.source},
                   {"parameters", parameters}});
  }
  return out;
}

}  // namespace

LaterAnswer read_catalog(ObjectReader& in) {
  (void)in;
  return [] {
    Json out;
    out["collectives"] = Json::array();
    for (const Collective collective : collectives())
      out["collectives"].push_back({{"name", to_string(collective)},
                                    {"has_root", has_root(collective)},
                                    {"reduces", reduces(collective)},
                                    {"algorithms", algorithms_json(collective)}});
    out["schedules"] = Json::array();
    for (const auto& [name, value] : pipeline_names()) out["schedules"].push_back(name);
    return out;
  };
}

LaterAnswer read_film(ObjectReader& in) {
  StageRequest request;
  request.cluster = read_cluster_request(in);
  request.cluster.ranks = read_ranks(in);
  request.network = read_network(in);
  request.root = read_root(in);
  request.size = read_size(in, "size_bytes");
  request.type = find_element_type("float");
  const std::string collective = read_collective(in);
  const std::string algorithm = in.string("algorithm");
  return [=]() mutable {
    request.spec = spec_of(*parse_collective(collective), algorithm);
    return film_json(make_film(request));
  };
}

LaterAnswer read_sizes(ObjectReader& in) {
  CollectiveRequest request;
  request.cluster = read_cluster_request(in);
  request.cluster.ranks = read_ranks(in);
  request.network = read_network(in);
  request.root = read_root(in);
  in.array(
      "sizes_bytes",
      [&](const ValueReader& each) { request.sizes.emplace_back(each.integer(0, kMostBytes)); }, 1,
      64);
  const std::string collective = read_collective(in);
  const std::string algorithms = in.string("algorithms");
  return [=]() mutable {
    CandidateNames names;
    names.collectives = collective;
    names.algorithms = algorithms;
    add_candidates(names, request);
    return sizes_json(request);
  };
}

LaterAnswer read_growth(ObjectReader& in) {
  ComplexityRequest request;
  in.optional_array(
      "clusters", [&](const ValueReader& each) { request.clusters.push_back(read_cluster(each)); });
  if (request.clusters.empty()) request.cluster = read_cluster_request(in);
  request.network = read_network(in);
  request.root = read_root(in);
  request.small = read_size(in, "small_bytes");
  request.large = read_size(in, "large_bytes");
  in.array(
      "ranks",
      [&](const ValueReader& each) {
        request.ranks.push_back(static_cast<int>(each.integer(2, 1024)));
      },
      1, 32);
  const std::string collective = read_collective(in);
  const std::string algorithms = in.string("algorithms");
  return [=]() mutable {
    if (!request.clusters.empty() && request.clusters.size() != request.ranks.size())
      throw RequestError("clusters", "expected one for each of ranks, of which there are " +
                                         std::to_string(request.ranks.size()) + ", got " +
                                         std::to_string(request.clusters.size()));
    request.collective = *parse_collective(collective);
    CollectiveRequest named;
    CandidateNames names;
    names.collectives = collective;
    names.algorithms = algorithms;
    add_candidates(names, named);
    for (const Candidate& each : named.candidates) {
      if (each.kind != Candidate::Kind::algorithm)
        throw RequestError("algorithms",
                           "expected names of algorithms, got \"" + algorithms + "\"");
      request.algorithms.push_back(each.spec);
    }
    request.every_row = true;
    return growth_json(request);
  };
}

}  // namespace lockstep::cli
