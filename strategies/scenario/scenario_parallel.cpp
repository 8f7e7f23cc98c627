#include "strategies/scenario/scenario_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/config/complaint.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/scenario/scenario_json.hpp"

namespace lockstep {
namespace {

constexpr int kMostRanks = 1 << 24;
constexpr std::int64_t kMostSequences = 1'000'000'000;
constexpr int kMostLayers = 100'000;

int count(ObjectReader& in, std::string_view key, int least, int most, int fallback) {
  return static_cast<int>(in.integer(key, least, most, fallback));
}

template <class T>
T choice(ObjectReader& in, std::string_view key, std::string_view noun, const Names<T>& names,
         T fallback) {
  const auto name = in.optional_one_of(key, noun, keys_of(names));
  return name ? named(names, *name).value_or(fallback) : fallback;
}

/// Which axis varies fastest: each of tp, cp, dp and pp once.
std::vector<std::string> read_order(ObjectReader& in, std::vector<std::string> fallback) {
  const auto given = in.optional("order");
  if (!given) return fallback;
  std::vector<std::string> order;
  given->array([&order](const ValueReader& axis) {
    const std::string name = axis.one_of("axis", {"tp", "cp", "dp", "pp"});
    if (std::find(order.begin(), order.end(), name) != order.end() && axis.is_string()) {
      axis.note("the axis " + in_quotes(name) + " is there already");
    }
    order.push_back(name);
  });
  if (given->is_array() && order.size() != 4) {
    given->note(R"(expected all four axes, such as ["tp", "cp", "dp", "pp"])");
    return fallback;
  }
  return given->is_array() ? order : fallback;
}

std::set<Overlap> read_overlap(ObjectReader& in) {
  std::set<Overlap> overlap;
  in.optional_array("overlap", [&overlap](const ValueReader& value) {
    const auto* text = value.value()->get_if<std::string>();
    if (text != nullptr && *text == "dp") {
      value.note(
          "\"dp\" is two kinds of traffic: write \"dp_gradients\", \"dp_parameters\" or both");
      return;
    }
    const std::string name = value.one_of("kind of traffic", keys_of(overlap_names()));
    overlap.insert(named(overlap_names(), name).value_or(Overlap::cp));
  });
  return overlap;
}

std::vector<int> read_stages(ObjectReader& in) {
  std::vector<int> stages;
  in.optional_array("stages", [&stages](const ValueReader& layers) {
    stages.push_back(static_cast<int>(layers.integer(0, kMostLayers)));
  });
  return stages;
}

StateConfig read_state(ObjectReader& in, Dtype precision) {
  StateConfig state;
  state.weights = precision == Dtype::fp8 ? Dtype::bf16 : precision;
  state.weights = choice(in, "weights", "precision", precision_names(), state.weights);
  state.gradients = choice(in, "gradients", "precision", precision_names(),
                           state.weights == Dtype::fp8 ? Dtype::bf16 : state.weights);
  state.master = in.boolean("master", state.weights != Dtype::fp32);
  if (state.master && state.weights == Dtype::fp32) {
    in.note("master", "weights in fp32 are their own master copy: say false");
  }
  state.optimizer = choice(in, "optimizer", "optimizer", optimizer_names(), state.optimizer);
  state.moments = choice(in, "moments", "precision", precision_names(), state.moments);
  state.offload = in.boolean("offload", state.offload);
  return state;
}

/// `cp_kind` may be null where there is no context parallelism.
ContextKind read_context_kind(ObjectReader& in, int cp) {
  const auto given = in.optional("cp_kind");
  if (!given || given->value()->get_if<std::nullptr_t>() != nullptr) {
    if (given && cp > 1) given->note(R"(expected "ring", "ulysses" or "2d" where cp is above 1)");
    return ContextKind::ring;
  }
  const std::string name = given->one_of("kind of context parallelism", keys_of(context_names()));
  return named(context_names(), name).value_or(ContextKind::ring);
}

/// Why this is no algorithm of any collective; empty where it is one.
std::string complain_of_algorithm(const std::string& spec) {
  const std::string name = spec.substr(0, spec.find(':'));
  std::vector<std::string_view> names;
  std::string mistake;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    names.push_back(row.name);
    if (row.name != name) continue;
    const ParsedSpecs parsed = parse_specs(spec, row.collective);
    if (parsed.errors.empty() && parsed.specs.size() == 1) return {};
    mistake = parsed.errors.empty() ? "expected one algorithm" : parsed.errors.front().message;
  }
  return mistake.empty() ? complain_of_name("algorithm", name, names) : mistake;
}

void read_algorithms(ObjectReader& in, std::map<std::string, std::string>& algorithms) {
  in.object("algorithms", [&algorithms](ObjectReader& groups) {
    for (const std::string_view group : {"tp", "cp", "ep", "dp", "hsdp", "embedding"}) {
      const auto spec = groups.optional_string(group);
      if (!spec) continue;
      algorithms[std::string{group}] = *spec;
      const std::string mistake = spec->empty() ? "" : complain_of_algorithm(*spec);
      if (!mistake.empty()) groups.note(group, mistake);
    }
  });
}

/// dp from what the other axes leave of the cluster, or a note of why they leave nothing whole.
int left_for_dp(ObjectReader& in, const ParallelConfig& parallel, int cluster_ranks) {
  const Int128 others = Int128{parallel.tp} * parallel.pp * parallel.cp;  // of 24 bits each
  if (cluster_ranks == 0) return 1;
  if (others <= cluster_ranks && cluster_ranks % others == 0) {
    return static_cast<int>(cluster_ranks / others);
  }
  in.note(fmt::format("tp * pp * cp = {} * {} * {} = {} does not divide the cluster's {} ranks",
                      parallel.tp, parallel.pp, parallel.cp, others, cluster_ranks));
  return 1;
}

void read_degrees(ObjectReader& in, ParallelConfig& parallel, int cluster_ranks) {
  parallel.tp = count(in, "tp", 1, kMostRanks, 1);
  parallel.pp = count(in, "pp", 1, kMostRanks, 1);
  parallel.cp = count(in, "cp", 1, kMostRanks, 1);
  parallel.ep = count(in, "ep", 1, kMostRanks, 1);
  parallel.vpp = count(in, "vpp", 1, kMostLayers, 1);
  if (const auto dp = in.optional_integer("dp", 1, kMostRanks)) {
    parallel.dp = static_cast<int>(*dp);
  } else {
    parallel.dp = left_for_dp(in, parallel, cluster_ranks);
  }
  parallel.order = read_order(in, parallel.order);
}

void read_batch(ObjectReader& in, ParallelConfig& parallel) {
  parallel.micro_batch = in.integer("micro_batch", 1, kMostSequences, 1);
  parallel.global_batch =
      in.integer("global_batch", 1, kMostSequences, parallel.micro_batch * parallel.dp);
}

void read_pipeline(ObjectReader& in, ParallelConfig& parallel) {
  const PipelineOrder several =
      parallel.vpp > 1 ? PipelineOrder::interleaved : PipelineOrder::one_f_one_b;
  parallel.schedule = choice(in, "schedule", "pipeline schedule", pipeline_names(),
                             parallel.pp > 1 ? several : PipelineOrder::none);
  parallel.short_edges = in.boolean("short_edges", false);
  parallel.stages = read_stages(in);
  if (parallel.short_edges && !parallel.stages.empty()) {
    in.note("short_edges", "\"stages\" says how many layers each chunk has: leave out one of both");
  }
}

void read_sharding(ObjectReader& in, ParallelConfig& parallel) {
  parallel.zero = count(in, "zero", 0, 3, 0);
  parallel.shard_ranks = count(in, "shard_ranks", 0, kMostRanks, 0);
  parallel.scatter_gradients = in.boolean("scatter_gradients", true);
  if (!parallel.scatter_gradients && parallel.zero != 1)
    in.note("scatter_gradients",
            fmt::format("only ZeRO-1 may sum whole gradients and keep shards of them: zero is {}",
                        parallel.zero));
  const bool once = parallel.zero < 2 || parallel.pp > 1;
  parallel.reduce_gradients =
      choice(in, "reduce_gradients", "time to reduce gradients", reduction_names(),
             once ? GradientReduction::last_microbatch : GradientReduction::every_microbatch);
  if (parallel.zero < 2 && parallel.reduce_gradients == GradientReduction::every_microbatch)
    in.note("reduce_gradients",
            fmt::format("only ZeRO-2 and -3 may reduce gradients in every microbatch: zero is {}",
                        parallel.zero));
  parallel.reshard_after_forward = in.boolean("reshard_after_forward", true);
  parallel.prefetch = in.boolean("prefetch", true);
}

void read_context(ObjectReader& in, ParallelConfig& parallel) {
  parallel.cp_kind = read_context_kind(in, parallel.cp);
  parallel.ulysses = count(in, "ulysses", 0, kMostRanks, 0);
  parallel.zigzag = in.boolean("zigzag", true);
}

void read_exchange(ObjectReader& in, ParallelConfig& parallel) {
  parallel.exchange = choice(in, "exchange", "way to exchange gradients", exchange_names(),
                             GradientExchange::all_reduce);
  parallel.update =
      choice(in, "update", "start of the update", update_names(), UpdateStart::after_all);
  if (parallel.updates_by_bucket() && parallel.exchange == GradientExchange::parameter_server)
    in.note("update", "parameter servers update each bucket as it comes: leave out \"update\"");
  parallel.servers = count(in, "servers", 1, kMostRanks, 1);
  parallel.average_every = count(in, "average_every", 1, 1'000'000, 1);
  if (const auto bucket = in.optional("bucket")) parallel.bucket = bucket->positive_bytes();
  if (in.optional("algorithms")) read_algorithms(in, parallel.algorithms);
}

JsonValue state_json(const StateConfig& state) {
  return json_object({{"weights", json_of(name_of(precision_names(), state.weights))},
                      {"gradients", json_of(name_of(precision_names(), state.gradients))},
                      {"master", json_of(state.master)},
                      {"optimizer", json_of(name_of(optimizer_names(), state.optimizer))},
                      {"moments", json_of(name_of(precision_names(), state.moments))},
                      {"offload", json_of(state.offload)}});
}

template <class Range, class Each>
JsonValue json_array(const Range& range, Each each) {
  std::vector<JsonValue> values;
  for (const auto& element : range) values.push_back(each(element));
  return json_of(std::move(values));
}

JsonValue texts_json(const std::map<std::string, std::string>& texts) {
  JsonObject object;
  for (const auto& [key, text] : texts) object.push_back({key, {}, json_of(text)});
  return {{}, std::move(object)};
}

}  // namespace

ParallelConfig read_parallel(ObjectReader& in, int cluster_ranks) {
  ParallelConfig parallel;
  read_degrees(in, parallel, cluster_ranks);
  read_batch(in, parallel);
  parallel.precision = choice(in, "precision", "precision", precision_names(), Dtype::bf16);
  parallel.recompute = choice(in, "recompute", "recomputation", recompute_names(), Recompute::none);
  parallel.sequence_parallel = in.boolean("sequence_parallel", false);
  read_sharding(in, parallel);
  read_pipeline(in, parallel);
  read_context(in, parallel);
  parallel.overlap = read_overlap(in);
  read_exchange(in, parallel);
  parallel.state.weights = parallel.state.gradients =
      parallel.precision == Dtype::fp8 ? Dtype::bf16 : parallel.precision;
  parallel.state.master = parallel.state.weights != Dtype::fp32;
  const auto state = in.optional_object(
      "state", [&](ObjectReader& members) { return read_state(members, parallel.precision); });
  parallel.state = state.value_or(parallel.state);
  parallel.capacity_factor = in.number("capacity_factor", 0, 1e6, 0);
  parallel.expert_skew = in.optional_number("expert_skew", 1, 1e6);
  return parallel;
}

JsonValue json_of(const ParallelConfig& parallel) {
  const auto text = [](std::string_view value) { return json_of(value); };
  JsonValue out = json_object({
      {"dp", json_of(parallel.dp)},
      {"tp", json_of(parallel.tp)},
      {"pp", json_of(parallel.pp)},
      {"cp", json_of(parallel.cp)},
      {"ep", json_of(parallel.ep)},
      {"vpp", json_of(parallel.vpp)},
      {"order", json_array(parallel.order, text)},
      {"micro_batch", json_of(parallel.micro_batch)},
      {"global_batch", json_of(parallel.global_batch)},
      {"precision", json_of(name_of(precision_names(), parallel.precision))},
      {"recompute", json_of(name_of(recompute_names(), parallel.recompute))},
      {"sequence_parallel", json_of(parallel.sequence_parallel)},
      {"zero", json_of(parallel.zero)},
      {"shard_ranks", json_of(parallel.shard_ranks)},
      {"scatter_gradients", json_of(parallel.scatter_gradients)},
      {"reduce_gradients", json_of(name_of(reduction_names(), parallel.reduce_gradients))},
      {"reshard_after_forward", json_of(parallel.reshard_after_forward)},
      {"prefetch", json_of(parallel.prefetch)},
      {"schedule", json_of(name_of(pipeline_names(), parallel.schedule))},
      {"short_edges", json_of(parallel.short_edges)},
      {"stages", json_array(parallel.stages, [](int layers) { return json_of(layers); })},
      {"cp_kind", json_of(name_of(context_names(), parallel.cp_kind))},
      {"ulysses", json_of(parallel.ulysses)},
      {"zigzag", json_of(parallel.zigzag)},
      {"overlap", json_array(parallel.overlap,
                             [](Overlap what) { return json_of(name_of(overlap_names(), what)); })},
      {"update", json_of(name_of(update_names(), parallel.update))},
      {"exchange", json_of(name_of(exchange_names(), parallel.exchange))},
      {"servers", json_of(parallel.servers)},
      {"average_every", json_of(parallel.average_every)},
      {"bucket", json_of(fmt::format("{} B", parallel.bucket.count()))},
      {"state", state_json(parallel.state)},
      {"capacity_factor", json_of(parallel.capacity_factor)},
      {"algorithms", texts_json(parallel.algorithms)},
  });
  if (parallel.expert_skew) {
    set_member(std::get<JsonObject>(out.data), "expert_skew", json_of(*parallel.expert_skew));
  }
  return out;
}

}  // namespace lockstep
