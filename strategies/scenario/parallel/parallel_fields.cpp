#include "strategies/scenario/parallel/parallel_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/config/complaint.hpp"
#include "sim/config/json/json_values.hpp"
#include "strategies/collectives/registry/automatic_choice.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/layout/expert_problems.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/pipeline/pipeline_order.hpp"
#include "strategies/scenario/parallel/pipeline_layout.hpp"
#include "strategies/scenario/parallel/state_field.hpp"

namespace lockstep {
namespace {

using Config = ParallelConfig;
using Text = ParallelField::Text;

constexpr std::int64_t kMostDegree = 1 << 24;
constexpr std::int64_t kMostSequences = 1'000'000'000;
constexpr std::int64_t kMostOfStage = 100'000;
constexpr double kMostRatio = 1e6;

template <class T>
ParallelField count(std::string_view key, T Config::*member, std::int64_t min, std::int64_t max,
                    std::string_view help) {
  return {key, help,
          [=](const ValueReader& in, Config& out) {
            out.*member = static_cast<T>(in.integer(min, max));
          },
          [=](const Config& of) { return json_of(of.*member); }};
}

ParallelField number(std::string_view key, double Config::*member, double min, double max,
                     std::string_view help) {
  return {key, help, [=](const ValueReader& in, Config& out) { out.*member = in.number(min, max); },
          [=](const Config& of) { return json_of(of.*member); }};
}

ParallelField flag(std::string_view key, bool Config::*member, std::string_view help) {
  return {key, help, [=](const ValueReader& in, Config& out) { out.*member = in.boolean(); },
          [=](const Config& of) { return json_of(of.*member); }};
}

/// `noun` is used in errors.
template <class T>
ParallelField choice(std::string_view key, T Config::*member, std::string_view noun,
                     const Names<T>& names, std::string_view help) {
  return {key, help,
          [=](const ValueReader& in, Config& out) {
            out.*member = named(names, in.one_of(noun, keys_of(names))).value_or(out.*member);
          },
          [=](const Config& of) { return json_of(name_of(names, of.*member)); }};
}

template <class Range, class Each>
JsonValue json_array(const Range& range, Each each) {
  std::vector<JsonValue> values;
  for (const auto& element : range) values.push_back(each(element));
  return json_of(std::move(values));
}

/// Which axis varies fastest: each of tp, cp, dp and pp once.
ParallelField order_field() {
  static const std::vector<std::string_view> axes{"tp", "cp", "dp", "pp"};
  return {"order", "Axes of the device mesh, fastest-varying first (default: tp, cp, dp, pp)",
          [](const ValueReader& given, Config& out) {
            std::vector<std::string> order;
            given.array([&order](const ValueReader& axis) {
              const std::string name = axis.one_of("axis", axes);
              if (std::find(order.begin(), order.end(), name) != order.end() && axis.is_string()) {
                axis.note("the axis " + in_quotes(name) + " is there already");
              }
              order.push_back(name);
            });
            for (const char* keyword : {"minItems", "maxItems"}) given.refine(keyword, "4");
            given.refine("uniqueItems", "true");
            if (!given.is_array()) return;
            if (order.size() == 4) {
              out.order = order;
            } else {
              given.note(R"(expected all four axes, such as ["tp", "cp", "dp", "pp"])");
            }
          },
          [](const Config& of) {
            return json_array(of.order, [](const std::string& axis) { return json_of(axis); });
          }};
}

ParallelField overlap_field() {
  return {"overlap",
          "Communication that may overlap with computation (default: what the software stack "
          "overlaps in this layout)",
          [](const ValueReader& given, Config& out) {
            given.array([&out](const ValueReader& value) {
              const auto* text = value.describes() ? nullptr : value.value()->get_if<std::string>();
              if (text != nullptr && *text == "dp") {
                value.note(
                    "\"dp\" is two kinds of traffic: write \"dp_gradients\", \"dp_parameters\" "
                    "or both");
                return;
              }
              if (text != nullptr && *text == "none") {
                value.note("\"none\" is no kind of traffic: an empty list, [], overlaps nothing");
                return;
              }
              const std::string name = value.one_of("kind of traffic", keys_of(overlap_names()));
              out.overlap.insert(named(overlap_names(), name).value_or(Overlap::cp));
            });
          },
          [](const Config& of) {
            return json_array(of.overlap,
                              [](Overlap what) { return json_of(name_of(overlap_names(), what)); });
          }};
}

/// A list replaces the default, which is not empty.
ParallelField modules_field() {
  return {"recompute_modules",
          "recompute selective: parts of layers that are done again, as Megatron-Core's "
          "--recompute-modules (default: core_attn)",
          [](const ValueReader& given, Config& out) {
            std::set<RecomputeModule> modules;
            given.array([&modules](const ValueReader& value) {
              const std::string name = value.one_of("module", keys_of(module_names()));
              const auto module = named(module_names(), name);
              if (module && !modules.insert(*module).second && value.is_string())
                value.note("the module " + in_quotes(name) + " is there already");
            });
            given.refine("minItems", "1");
            given.refine("uniqueItems", "true");
            if (!given.is_array()) return;
            if (!modules.empty()) out.recompute_modules = modules;
            if (given.value()->get_if<JsonArray>()->empty())
              given.note("no modules are no recomputation: recompute none");
          },
          [](const Config& of) -> std::optional<JsonValue> {
            if (of.recompute != Recompute::selective) return std::nullopt;
            return json_array(of.recompute_modules, [](RecomputeModule module) {
              return json_of(name_of(module_names(), module));
            });
          }};
}

ParallelField stages_field() {
  return {"stages",
          "Layers of each model chunk, in order, or Megatron-Core's layout, such as "
          "\"Ett|(ttt|)*2,tL\" (default: equal)",
          [](const ValueReader& given, Config& out) {
            if (given.is_string()) {
              const auto layout = read_pipeline_layout(given.string());
              if (const auto* problem = std::get_if<std::string>(&layout)) given.note(*problem);
              if (const auto* found = std::get_if<PipelineLayout>(&layout))
                out.stages = found->layers;
              return;
            }
            if (given.describes()) (void)given.string();
            given.array([&out](const ValueReader& layers) {
              out.stages.push_back(static_cast<int>(layers.integer(0, kMostOfStage)));
            });
          },
          [](const Config& of) {
            return json_array(of.stages, [](int layers) { return json_of(layers); });
          }};
}

/// May be null without context parallelism.
ParallelField context_kind_field() {
  return {
      "cp_kind",
      "Context parallelism: ring attention, Ulysses all-to-all, both, or all-gathered keys and "
      "values (default: ring)",
      [](const ValueReader& given, Config& out) {
        if (!given.describes() && given.value()->get_if<std::nullptr_t>() != nullptr) {
          if (out.cp > 1)
            given.note(R"(expected "ring", "ulysses", "2d" or "all_gather" where cp is above 1)");
          return;
        }
        const std::string name =
            given.one_of("kind of context parallelism", keys_of(context_names()));
        out.cp_kind = named(context_names(), name).value_or(ContextKind::ring);
        given.allow_null();
      },
      [](const Config& of) { return json_of(name_of(context_names(), of.cp_kind)); }};
}

ParallelField bucket_field() {
  return {
      "bucket",
      "Size of a gradient bucket, such as \"25 MB\" (default: the software stack's, else 25 MB)",
      [](const ValueReader& given, Config& out) { out.bucket = given.positive_bytes(); },
      [](const Config& of) { return json_of(fmt::format("{} B", of.bucket.count())); }};
}

ParallelField skew_field() {
  return {
      "expert_skew",
      "Load of the busiest expert over the mean, bounded by the capacity (default: balanced, "
      "or full capacity)",
      [](const ValueReader& given, Config& out) { out.expert_skew = given.number(1, kMostRatio); },
      [](const Config& of) -> std::optional<JsonValue> {
        if (!of.expert_skew) return std::nullopt;
        return json_of(*of.expert_skew);
      }};
}

/// Of GEMMs; a name that is none of a type is that of a recipe, which comes with the stack.
ParallelField precision_field() {
  return {
      "precision",
      "Precision of matrix multiplications: fp32, fp16, bf16, fp8 (the software stack's recipe) "
      "or a file of configs/precisions, such as mxfp8 (default: bf16)",
      [](const ValueReader& given, Config& out) {
        const std::string name = given.string();
        const auto type = named(precision_names(), name);
        out.precision = type.value_or(Dtype::fp8);
        out.recipe = {};
        out.recipe.of_stack = type == Dtype::fp8;
        if (!type) out.recipe.id = name;
      },
      [](const Config& of) { return json_of(precision_text(of)); }};
}

/// Why this is no algorithm of any collective, nor a choice; empty where it is one.
std::string complain_of_algorithm(const std::string& spec) {
  if (spec == "auto") return "a group takes one choice, auto:by=nccl or auto:by=replay; got auto";
  if (is_automatic(spec)) return parse_automatic_choice(spec).problem;
  const std::string name = spec.substr(0, spec.find(':'));
  std::vector<std::string_view> names;
  std::string mistake;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (std::find(names.begin(), names.end(), row.name) == names.end()) names.push_back(row.name);
    if (row.name != name) continue;
    const ParsedSpecs parsed = parse_specs(spec, row.collective);
    if (parsed.errors.empty() && parsed.specs.size() == 1) return {};
    mistake = parsed.errors.empty() ? "expected one algorithm" : parsed.errors.front().message;
  }
  return mistake.empty() ? complain_of_name("algorithm", name, names) : mistake;
}

constexpr std::array<std::string_view, 7> kGroups{"tp",   "cp",    "ep",       "dp",
                                                  "hsdp", "outer", "embedding"};

ParallelField algorithms_field() {
  return {
      "algorithms",
      "Collective algorithm by group, as for `collective --algorithm`; auto:by=replay: the "
      "fastest in a replay of the collective alone; auto:by=nccl,windows=symmetric: NCCL's choice "
      "with buffers in symmetric windows, with cta_policy=zero by copy engines where it can; "
      "auto:by=nccl,collnet=enable: NCCL's choice with reductions in the network (SHARP) (default: "
      "auto:by=nccl, NCCL's choice)",
      [](const ValueReader& given, Config& out) {
        given.object([&out](ObjectReader& in) {
          for (const std::string_view group : kGroups) {
            const auto spec = in.optional_string(group);
            if (!spec) continue;
            out.algorithms[std::string{group}] = *spec;
            const std::string mistake = spec->empty() ? "" : complain_of_algorithm(*spec);
            if (!mistake.empty()) in.note(group, mistake);
          }
        });
      },
      [](const Config& of) {
        JsonObject object;
        for (const auto& [key, text] : of.algorithms) object.push_back({key, {}, json_of(text)});
        return JsonValue{{}, std::move(object)};
      }};
}

constexpr std::array<std::string_view, 8> kWeightedGroups{"tp", "cp",   "ep",    "dp",
                                                          "pp", "hsdp", "outer", "embedding"};

ParallelField traffic_weights_field() {
  return {"traffic_weights",
          "Relative share of a link by group, where several use it at the same time (default: 1)",
          [](const ValueReader& given, Config& out) {
            given.object([&out](ObjectReader& in) {
              for (const std::string_view group : kWeightedGroups)
                if (const auto weight = in.optional(group))
                  out.traffic_weights[std::string{group}] =
                      static_cast<TrafficWeight>(weight->integer(1, kMostTrafficWeight));
            });
          },
          [](const Config& of) -> std::optional<JsonValue> {
            if (of.traffic_weights.empty()) return std::nullopt;
            JsonObject object;
            for (const auto& [group, weight] : of.traffic_weights)
              object.push_back({group, {}, json_of(std::int64_t{weight})});
            return JsonValue{{}, std::move(object)};
          }};
}

template <class... Args>
std::string text(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

}  // namespace

const std::vector<ParallelField>& parallel_fields() {
  static const std::vector<ParallelField> rows{
      count("dp", &Config::dp, 1, kMostDegree,
            "Data-parallel degree (default: ranks / (tp * pp * cp))"),
      count("tp", &Config::tp, 1, kMostDegree, "Tensor-parallel degree (default: 1)"),
      count("pp", &Config::pp, 1, kMostDegree, "Pipeline-parallel degree (default: 1)"),
      count("cp", &Config::cp, 1, kMostDegree, "Context-parallel degree (default: 1)"),
      count("ep", &Config::ep, 1, kMostDegree,
            "Expert-parallel degree; etp * ep divides tp * cp * dp (default: 1)"),
      count(
          "etp", &Config::etp, 0, kMostDegree,
          "Tensor-parallel degree of experts, a divisor of tp, less than tp with sequence_parallel "
          "only; 0: tp (default: 0)"),
      count(
          "vpp", &Config::vpp, 1, kMostOfStage,
          "Model chunks per pipeline stage, for interleaved and V schedules (default: 1; 2 of "
          "zb-v, v-half, v-min and dualpipe-v; 1 of dualpipe, of each of two copies of the model)")
          .completed([](Config& of) { of.vpp = of.pp > 1 && is_v(of.schedule) ? 2 : 1; }),
      count("microbatch_group", &Config::microbatch_group, 0, kMostOfStage,
            "Interleaved: microbatches that pass one chunk before the next chunk, from pp to all; "
            "0: pp (default: 0)")
          .impossible([](const Config& of) -> Text {
            if (of.microbatch_group == 0 || of.schedule == PipelineOrder::interleaved) return {};
            return text("microbatch_group = {} is for the interleaved schedule; schedule is {}",
                        of.microbatch_group, name_of(pipeline_names(), of.schedule));
          }),
      order_field(),
      count("micro_batch", &Config::micro_batch, 1, kMostSequences,
            "Samples per microbatch and data-parallel rank: sequences, images or clips (default: "
            "1)"),
      count("global_batch", &Config::global_batch, 1, kMostSequences,
            "Samples per step over all data-parallel ranks (default: one microbatch per rank)")
          .completed([](Config& of) { of.global_batch = of.micro_batch * of.dp; }),
      precision_field(),
      choice("recompute", &Config::recompute, "recomputation", recompute_names(),
             "Activation recomputation (default: none)"),
      modules_field(),
      flag("sequence_parallel", &Config::sequence_parallel,
           "Megatron sequence parallelism: norms and dropout sharded along the sequence over the "
           "tp ranks (default: false)"),
      count("zero", &Config::zero, 0, 3, "ZeRO stage (default: 0)"),
      count("shard_ranks", &Config::shard_ranks, 0, kMostDegree,
            "Ranks over which ZeRO shards; 0: all data-parallel ranks, of dualpipe those of both "
            "copies of a stage (default: 0)")
          .without_effect([](const Config& of) -> Text {
            if (of.shard_ranks == 0 || of.zero > 0) return {};
            return text("shard_ranks = {}, but nothing is sharded: zero is 0", of.shard_ranks);
          }),
      flag("scatter_gradients", &Config::scatter_gradients,
           "ZeRO-1: reduce-scatter gradients into shards; false: all-reduce them and keep a shard "
           "(default: the software stack's, else true)"),
      choice("reduce_gradients", &Config::reduce_gradients, "time to reduce gradients",
             reduction_names(),
             "ZeRO-2 and -3: microbatches after which gradients are reduced into shards; whole "
             "gradients are kept until then (default: the software stack's)")
          .completed([](Config& of) {
            of.reduce_gradients = of.zero < 2 || of.pp > 1 ? GradientReduction::last_microbatch
                                                           : GradientReduction::every_microbatch;
          }),
      choice("reduce_replicas", &Config::reduce_replicas, "time to sum replicas", reduction_names(),
             "Hybrid sharding (shard_ranks) whose gradients are reduced in every microbatch: those "
             "after which shards are summed over their replicas (default: the software stack's)")
          .completed([](Config& of) { of.reduce_replicas = GradientReduction::last_microbatch; }),
      flag("reshard_after_forward", &Config::reshard_after_forward,
           "ZeRO-3: free gathered weights after the forward pass (default: true)")
          .without_effect([](const Config& of) -> Text {
            if (of.reshard_after_forward || of.zero == 3) return {};
            return text("only ZeRO-3 shards weights that are computed with: zero is {}", of.zero);
          }),
      flag("prefetch", &Config::prefetch,
           "ZeRO-3: gather the weights of the next layer during the current one (default: true)")
          .without_effect([](const Config& of) -> Text {
            if (of.prefetch || of.zero == 3) return {};
            return text("only ZeRO-3 gathers weights before they are computed with: zero is {}",
                        of.zero);
          }),
      choice("schedule", &Config::schedule, "pipeline schedule", pipeline_names(),
             "Pipeline schedule (default: 1f1b, or interleaved with vpp > 1)")
          .completed([](Config& of) {
            const PipelineOrder several =
                of.vpp > 1 ? PipelineOrder::interleaved : PipelineOrder::one_f_one_b;
            of.schedule = of.pp > 1 ? several : PipelineOrder::none;
          })
          .impossible([](const Config& of) -> Text {
            if (of.stage_copies() == 1 || of.exchange == GradientExchange::all_reduce) return {};
            return text("dualpipe sums the gradients of two copies of each stage: exchange is {}",
                        name_of(exchange_names(), of.exchange));
          }),
      flag("short_edges", &Config::short_edges,
           "First and last model chunk have one layer fewer (default: false)")
          .without_effect([](const Config& of) -> Text {
            if (!of.short_edges || of.pp > 1) return {};
            return text(
                "short_edges makes the first and the last of several chunks shorter: pp is 1");
          }),
      stages_field(),
      context_kind_field().without_effect([](const Config& of) -> Text {
        if (of.cp > 1 || of.cp_kind == ContextKind::ring) return {};
        return text("cp_kind = {}, but no sequence is cut: cp is 1",
                    name_of(context_names(), of.cp_kind));
      }),
      count("ulysses", &Config::ulysses, 0, kMostDegree,
            "cp_kind 2d: ranks per all-to-all; 0: those of a node (default: 0)")
          .without_effect([](const Config& of) -> Text {
            const bool used = of.cp > 1 && of.cp_kind == ContextKind::both;
            if (of.ulysses == 0 || used) return {};
            return text("ulysses = {} requires cp_kind 2d and cp above 1", of.ulysses);
          }),
      flag("zigzag", &Config::zigzag,
           "Ring attention: zigzag split that balances causal attention (default: true)"),
      overlap_field().impossible(pairs_problem),
      flag("delay_wgrad_compute", &Config::delay_wgrad_compute,
           "overlap ep_pairs: compute gradients of weights of experts and attention after the "
           "launch of the all-to-all that follows them (default: false)")
          .impossible(delay_problem)
          .without_effect(idle_delay),
      choice("update", &Config::update, "start of the update", update_names(),
             "Start of the optimizer: when all gradients of its rank are reduced, or bucket by "
             "bucket (default: after_all)"),
      choice("exchange", &Config::exchange, "way to exchange gradients", exchange_names(),
             "Method that combines gradients (default: all_reduce)"),
      count("servers", &Config::servers, 1, kMostDegree, "Number of parameter servers (default: 1)")
          .impossible([](const Config& of) -> Text {
            if (of.servers <= 1 || of.exchange == GradientExchange::parameter_server) return {};
            return text("servers = {} requires exchange parameter_server", of.servers);
          }),
      count(
          "average_every", &Config::average_every, 1, 1'000'000,
          "Steps between averages of the parameters, or between outer steps of diloco (default: 1)")
          .impossible([](const Config& of) -> Text {
            if (of.average_every <= 1 || of.averages()) return {};
            return text("average_every = {} requires exchange parameter_averaging or diloco",
                        of.average_every);
          }),
      count(
          "outer_replicas", &Config::outer_replicas, 0, kMostDegree,
          "diloco: replicas that train apart between outer steps, the outermost part of dp; 0: dp "
          "(default: 0)")
          .impossible([](const Config& of) -> Text {
            if (of.outer_replicas == 0 || of.has_outer_loop()) return {};
            return text("outer_replicas = {} requires exchange diloco", of.outer_replicas);
          }),
      count(
          "fragments", &Config::fragments, 1, kMostOfStage,
          "diloco: parts of the layers, every fragments-th layer one, that take their outer steps "
          "in turn, average_every / fragments steps apart (default: 1)")
          .impossible([](const Config& of) -> Text {
            if (of.fragments <= 1) return {};
            if (!of.has_outer_loop())
              return text("fragments = {} requires exchange diloco", of.fragments);
            if (of.fragments <= of.average_every) return {};
            return text("fragments = {} is more than average_every = {}: one a step at most",
                        of.fragments, of.average_every);
          }),
      choice("outer_gradients", &Config::outer_gradients, "precision", stored_names(),
             "diloco: precision in which outer gradients are all-reduced; fp8_block and nvfp4 have "
             "scales per block (default: fp32)")
          .impossible([](const Config& of) -> Text {
            if (of.outer_gradients == Dtype::fp32 || of.has_outer_loop()) return {};
            return text("outer_gradients = {} requires exchange diloco",
                        name_of(stored_names(), of.outer_gradients));
          }),
      flag("outer_on_host", &Config::outer_on_host,
           "diloco: keep the weights of the last outer step on the host (default: false)")
          .impossible([](const Config& of) -> Text {
            if (!of.outer_on_host || of.has_outer_loop()) return {};
            return "outer_on_host = true requires exchange diloco";
          })
          .without_effect([](const Config& of) -> Text {
            if (!of.outer_on_host || of.outer_degree() > 1) return {};
            return "outer_on_host = true, but no replicas train apart";
          }),
      bucket_field(),
      state_field(),
      number("capacity_factor", &Config::capacity_factor, 0, kMostRatio,
             "Expert capacity: slots per expert and source rank, ceil(tokens * top_k / experts * "
             "capacity_factor); 0: dropless (default: 0)"),
      choice(
          "dispatcher", &Config::dispatcher, "dispatcher of tokens", dispatcher_names(),
          "Copies of tokens that travel to experts: alltoall (NCCL), one for each of them; deepep, "
          "one for each rank and between nodes for each node (default: alltoall)")
          .impossible(dispatcher_problem)
          .without_effect(idle_dispatcher),
      count("dispatch_sms", &Config::dispatch_sms, 1, 1'000,
            "deepep: multiprocessors taken from concurrent computation (default: 20)")
          .without_effect(idle_dispatch_sms),
      algorithms_field(),
      traffic_weights_field(),
      skew_field(),
  };
  return rows;
}

}  // namespace lockstep
