#include "strategies/stacks/software_stack.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/complaint.hpp"
#include "sim/config/extends.hpp"
#include "sim/config/reader.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "topologies/devices/device_figure.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep {

namespace {

constexpr double kMost = 1'000;
const std::vector<std::string_view> kImplementations{"flash-2", "torch-flash-2", "flash-3",
                                                     "cudnn",   "cutlass",       "flash-1"};

constexpr Key kKernelsKey{"kernels", "Kernels launched; 0: within another kernel"};
constexpr Key kTrafficKey{"traffic", "Bytes moved, over moving each tensor once"};

KindFigures read_kind(const ValueReader& value) {
  return value.object([](ObjectReader& in) {
    KindFigures out;
    out.kernels = in.number(kKernelsKey, 0, kMost);
    out.traffic = in.number(kTrafficKey, 0, kMost);
    out.multiprocessor_rate = in.optional_rate(
        {"multiprocessor_rate",
         "Bytes per second that one multiprocessor moves with these kernels, if that limits them "
         "instead of the memory (default: no limit)"});
    return out;
  });
}

std::vector<std::string> read_attention(const ValueReader& value) {
  std::vector<std::string> out;
  value.array(
      [&out](const ValueReader& one) {
        out.push_back(one.one_of("implementation of attention", kImplementations));
      },
      1);
  return out;
}

/// Reads the name of an enumerator.
template <class T>
auto read_choice(std::string_view noun, const Names<T>& names) {
  return [noun, &names](const ValueReader& value) {
    return named(names, value.one_of(noun, keys_of(names))).value();
  };
}

bool read_flag(const ValueReader& value) {
  return value.boolean();
}

const Names<HostWait> kWaits{{"nothing", HostWait::nothing},
                             {"messages", HostWait::messages},
                             {"passes", HostWait::passes},
                             {"kernels", HostWait::kernels}};
const Names<RouterWeights> kRouterWeights{{"results", RouterWeights::results},
                                          {"activation", RouterWeights::activation}};
const Names<LossForm> kLossForms{{"logits", LossForm::logits},
                                 {"wide_logits", LossForm::wide_logits},
                                 {"wide_steps", LossForm::wide_steps}};
const Names<std::optional<Dtype>> kShards{{"as_used", std::nullopt}, {"fp32", Dtype::fp32}};
const Names<Dtype> kGradients{{"fp32", Dtype::fp32}, {"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}};

const Names<GradientPass> kPasses{
    {"zero", GradientPass::zero}, {"scale", GradientPass::scale}, {"check", GradientPass::check}};
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

/// One precision, or one by that of the weights.
std::map<Dtype, Dtype> read_gradients(const ValueReader& value) {
  std::map<Dtype, Dtype> out;
  const auto take = [&out](Dtype weights, const std::string& name) {
    if (const auto gradients = named(kGradients, name)) out[weights] = *gradients;
  };
  if (value.describes() || value.is_object()) {
    value.object([&take](ObjectReader& in) {
      for (const Dtype weights : {Dtype::bf16, Dtype::fp16}) {
        const Key key{to_string(weights), "Of weights in this precision"};
        if (const auto name = in.optional_one_of(key, "precision", keys_of(kGradients)))
          take(weights, *name);
      }
    });
  }
  if (!value.describes() && value.is_object()) return out;
  const std::string name = value.one_of("precision", keys_of(kGradients));
  take(Dtype::bf16, name);
  take(Dtype::fp16, name);
  return out;
}

std::optional<Dtype> read_shards(const ValueReader& value) {
  return named(kShards, value.one_of("precision of shards", keys_of(kShards)))
      .value_or(std::nullopt);
}

std::set<GradientPass> read_passes(const ValueReader& value) {
  std::set<GradientPass> out;
  value.array([&out](const ValueReader& one) {
    if (const auto pass = named(kPasses, one.one_of("pass over gradients", keys_of(kPasses))))
      out.insert(*pass);
  });
  return out;
}

std::optional<Bytes> optional_size(ObjectReader& in, const Key& key) {
  const auto at = in.optional(key);
  return at ? std::optional{at->positive_bytes()} : std::nullopt;
}

std::optional<BucketDefaults> read_bucket(const ValueReader& value) {
  return value.object([](ObjectReader& in) {
    BucketDefaults out;
    out.size = optional_size(in, {"size", "In bytes, such as \"25 MiB\""});
    const auto elements =
        in.optional_integer({"elements", "Instead: in elements"}, 1, kMostElements);
    out.elements = elements.value_or(0);
    out.elements_per_replica = in.integer(
        {"elements_per_replica", "Elements for each replica, if that is more (default: 0)"}, 0,
        kMostElements, 0);
    out.first = optional_size(in, {"first", "Of the first bucket (default: as others)"});
    out.whole_without_overlap =
        in.boolean({"whole_without_overlap",
                    "One bucket where gradients do not overlap with computation (default: false)"},
                   false);
    out.whole_chunks = in.boolean({"whole_chunks",
                                   "With a pipeline one bucket per model chunk, except for the "
                                   "first; those of several chunks "
                                   "per stage at the same time on all stages (default: false)"},
                                  false);
    if (!in.describes() && out.size.has_value() == elements.has_value())
      in.note("expected either \"size\" or \"elements\"");
    return std::optional{out};
  });
}

std::optional<GradientReduction> read_reduction(ObjectReader& in, std::string_view key) {
  std::vector<std::string_view> names = keys_of(reduction_names());
  names.push_back("refused");
  return named(reduction_names(), in.required(key).one_of("time to reduce gradients", names));
}

struct Reductions {
  std::optional<GradientReduction> without_pipeline{};
  std::optional<GradientReduction> with_pipeline{};
};

Reductions read_reductions(const ValueReader& value) {
  return value.object([](ObjectReader& when) {
    return Reductions{read_reduction(when, "without_pipeline"),
                      read_reduction(when, "with_pipeline")};
  });
}

std::set<Overlap> read_traffic(ObjectReader& in, const Key& key) {
  std::set<Overlap> out;
  in.optional_array(key, [&out](const ValueReader& value) {
    const std::string name = value.one_of("kind of traffic", keys_of(overlap_names()));
    if (const auto kind = named(overlap_names(), name)) out.insert(*kind);
  });
  return out;
}

OverlapDefaults read_overlap(const ValueReader& value) {
  return value.object([](ObjectReader& in) {
    OverlapDefaults out;
    out.always = read_traffic(in, {"always", "In every layout"});
    out.sharded = read_traffic(in, {"sharded", "With ZeRO-1, -2 or -3"});
    out.interleaved = read_traffic(in, {"interleaved", "With several chunks per pipeline stage"});
    out.ring = read_traffic(in, {"ring", "With ring attention"});
    return out;
  });
}

const Names<Collective> kCountExchanges{{"all_gather", Collective::all_gather},
                                        {"all_to_all", Collective::all_to_all}};

TokenCounts read_token_counts(const ValueReader& value) {
  return value.object([](ObjectReader& in) {
    TokenCounts out;
    out.exchange =
        named(kCountExchanges, in.required({"exchange", "How ranks tell each other their counts"})
                                   .one_of("collective", keys_of(kCountExchanges)));
    out.host_waits = in.boolean(
        {"host_waits", "The host waits for them before it launches the all-to-all of tokens"});
    return out;
  });
}

/// Reads one stack; with `extends` every key is optional.
class StackReader {
 public:
  StackReader(SoftwareStack& stack, bool extends)
      : stack_{stack}, needed_{!extends}, reader_{stack.sources} {}

  void read(ObjectReader& in) {
    stack_.name = in.string("name");
    stack_.use = in.optional_string({"use", "Which runs it is for"}).value_or("");
    read_host(in);
    read_kernels(in);
    read_form(in);
    read_layout(in);
  }

 private:
  void read_host(ObjectReader& in) {
    take(in, {"attention", "Implementations of fused attention in order of preference"},
         stack_.attention, read_attention);
    take(in, {"host_time", "Kernel launch overhead: host time per kernel"}, stack_.host_time,
         [](const ValueReader& value) { return value.duration(); });
    take_default(
        in, {"nccl", "NCCL version of its collectives: a file of configs/nccl (default: 2.30)"},
        stack_.nccl, [](const ValueReader& value) { return value.string(); });
    take(in,
         {"host_waits_for",
          "What the host waits for before it launches more: nothing, exposed sends and receives, "
          "those and the end of each forward and backward pass of a microbatch, or those and every "
          "kernel"},
         stack_.host_waits_for, read_choice("thing to wait for", kWaits));
  }

  void read_kernels(ObjectReader& in) {
    take(
        in,
        {"bias", "Kernels of the bias of a GEMM; traffic: ratio to reading and writing the result"},
        stack_.bias, read_kind);
    const auto joined = [](const ValueReader& value) { return std::optional{read_kind(value)}; };
    take_default(in,
                 {"joined_bias",
                  "The same for a GEMM whose result goes into an activation function, or into "
                  "dropout or addition to the residual stream (default: as bias)"},
                 stack_.joined_bias, joined);
    take_default(in,
                 {"joined_dropout",
                  "Kernels of dropout whose result is added to the residual stream; traffic: ratio "
                  "to reading and writing each tensor once (default: as dropout in kinds)"},
                 stack_.joined_dropout, joined);
    take(in,
         {"gradient_sum",
          "Kernels that accumulate a GEMM into a weight gradient; traffic: ratio to the bytes of "
          "the gradient"},
         stack_.gradient_sum, read_kind);
    const Key kinds{"kinds",
                    "Kernels per operation (default: 1; 0: fused into another kernel) and their "
                    "memory traffic as a ratio to reading and writing each tensor once"};
    const auto read = [this](ObjectReader& of) { read_kinds(of); };
    if (needed_) return in.object(kinds, read);
    if (const auto found = in.optional(kinds)) found->object(read);
  }

  void read_kinds(ObjectReader& in) {
    for (std::size_t i = 0; i < kOperationKinds; ++i) {
      const auto kind = static_cast<OperationKind>(i);
      const OperationClass of = class_of(kind);
      if (of == OperationClass::communication || of == OperationClass::copy) continue;
      if (row_of(kind).work == WorkRule::gemm_series) continue;  // kernels are its GEMMs
      take_default(in, to_string(kind), stack_.kinds[i], read_kind);
    }
  }

  void read_form(ObjectReader& in) {
    take(in,
         {"loss_keeps",
          "Copies of the logits kept for the backward pass: the logits; a copy in 32 bits; or that "
          "and a tensor per backward step"},
         stack_.form.loss, read_choice("form of the logits", kLossForms));
    take(in,
         {"joined_products",
          "GEMMs with the same input are one kernel: queries, keys and values; gate and up"},
         stack_.form.joined_gemms, read_flag);
    take(in,
         {"recomputation_stops_early",
          "Recomputation of a layer stops at the last tensor that the backward pass reads"},
         stack_.form.stops_early, read_flag);
    take_default(
        in,
        {"distributed_tensors",
         "Tensor parallelism moves tensors as PyTorch's DTensor does: what is gathered for "
         "a GEMM is kept for the gradient of its weight; what is gathered or scattered "
         "along another dimension than the first is copied (default: false)"},
        stack_.form.distributed_tensors, read_flag);
    take_default(in,
                 {"router_weights",
                  "Where the router's weights are multiplied: into the experts' results, which are "
                  "kept for that, or into what their activation function returns; then they travel "
                  "to the experts like the tokens (default: results)"},
                 stack_.form.router_weights,
                 read_choice("place of the router's weights", kRouterWeights));
    take_default(
        in,
        {"fp8", "Precision recipe of fp8, a file of configs/precisions (default: fp8-tensorwise)"},
        stack_.fp8, [](const ValueReader& value) { return value.string(); });
  }

  void read_layout(ObjectReader& in) {
    take_default(in,
                 {"gradients",
                  "Precision of stored and exchanged gradients unless the scenario specifies it, "
                  "or one by that of the weights (default: that of the weights)"},
                 stack_.gradients, read_gradients);
    take_default(
        in,
        {"shards",
         "ZeRO-3: precision in which shards of weights and gradients are kept, and "
         "gradients reduced unless the scenario specifies that: weights are cast before "
         "they are gathered, gradients before they are reduced; as_used: those of weights and "
         "gradients, in addition to the optimizer's own copy (default: as_used)"},
        stack_.shards, read_shards);
    take_default(in,
                 {"gradient_passes",
                  "ZeRO-0 and -1: passes over whole gradients besides their sum: zeroes before the "
                  "step; a factor, and a check for which the host waits, before each reduction "
                  "(default: none)"},
                 stack_.gradient_passes, read_passes);
    take_default(in,
                 {"bucket",
                  "ZeRO-0 and -1: size of gradient buckets unless the scenario specifies it "
                  "(default: 25 MB)"},
                 stack_.bucket, read_bucket);
    take_default(in,
                 {"scatter_gradients",
                  "ZeRO-1: reduce-scatter of gradients instead of all-reduce unless the scenario "
                  "specifies it (default: true)"},
                 stack_.scatter_gradients, read_flag);
    take_default(
        in,
        {"gradient_messages_in_parts",
         "tp above 1 without sequence parallelism: each rank sends a part of the gradient "
         "that all have to the stage before, which gathers it, as with activations; false: "
         "each sends all of it (default: true)"},
        stack_.gradient_messages_in_parts, read_flag);
    take_default(in,
                 {"pairs_recompute_experts",
                  "Overlap ep_pairs goes with recomputation of experts: all kinds but selective "
                  "without module moe (default: true)"},
                 stack_.pairs_recompute_experts, read_flag);
    take_default(in,
                 {"token_counts",
                  "Experts without a capacity, ep above 1: what goes with the all-to-all of tokens "
                  "(default: nothing, as if all ranks knew how many each gets)"},
                 stack_.token_counts, read_token_counts);
    Reductions reductions{stack_.reduction_without_pipeline, stack_.reduction_with_pipeline};
    take_default(in,
                 {"reduces_gradients",
                  "ZeRO-2 and -3: microbatches after which gradients are reduced unless the "
                  "scenario specifies it (default of files that neither say nor extend it: "
                  "every_microbatch without, last_microbatch with a pipeline)"},
                 reductions, read_reductions);
    take_default(in,
                 {"reduces_replicas",
                  "Hybrid sharding whose gradients are reduced in every microbatch: those after "
                  "which shards are summed over their replicas, unless the scenario specifies it "
                  "(default: last_microbatch)"},
                 stack_.replicas_reduction, read_choice("time to sum replicas", reduction_names()));
    stack_.reduction_without_pipeline = reductions.without_pipeline;
    stack_.reduction_with_pipeline = reductions.with_pipeline;
    take_default(in,
                 {"overlap",
                  "Communication that overlaps with computation unless the scenario specifies it, "
                  "by layout (default: none)"},
                 stack_.overlap, read_overlap);
  }

  template <class T, class Value>
  void take(ObjectReader& in, const Key& key, T& out, Value value_of) {
    reader_.take(in, key, needed_, out, value_of);
  }
  /// A parameter with a default.
  template <class T, class Value>
  void take_default(ObjectReader& in, const Key& key, T& out, Value value_of) {
    reader_.take(in, key, false, out, value_of);
  }

  SoftwareStack& stack_;
  bool needed_;
  FigureReader reader_;
};

SoftwareStack read_stack(ObjectReader& in, const std::filesystem::path& file,
                         const std::filesystem::path& configs) {
  return read_extending<SoftwareStack>(
      in, file,
      [](ObjectReader& of, SoftwareStack& out, bool extends) {
        StackReader{out, extends}.read(of);
      },
      extended_or_shipped(configs, "stacks"));
}

}  // namespace

SoftwareStack read_software_stack(const JsonDocument& document, std::string id,
                                  const std::filesystem::path& configs) {
  SoftwareStack out = read_document(document, [&](ObjectReader& in) {
    return read_stack(in, std::filesystem::path{document.file}, configs);
  });
  out.id = std::move(id);
  return out;
}

JsonValue stack_schema() {
  return schema_of(
      "software stack",
      "A software stack: attention implementation, kernel fusion and host costs. Every "
      "value has its own source.",
      [](ObjectReader& in) { return read_stack(in, {}, {}); });
}

SoftwareStack load_software_stack(const std::filesystem::path& path,
                                  const std::filesystem::path& configs) {
  return read_software_stack(read_json(path), path.stem().string(), configs);
}

std::vector<std::string> software_stack_ids(const std::filesystem::path& folder) {
  return device_ids(folder);  // ids are names of .json files there as well
}

std::filesystem::path software_stack_file(const std::filesystem::path& folder,
                                          const std::string& stack) {
  return is_file_path(stack) ? std::filesystem::path{stack} : folder / (stack + ".json");
}

SoftwareStack find_software_stack(const std::filesystem::path& folder, const std::string& id) {
  if (is_file_path(id)) return load_software_stack(id, folder.parent_path());
  const std::vector<std::string> ids = software_stack_ids(folder);
  if (std::find(ids.begin(), ids.end(), id) != ids.end()) {
    return load_software_stack(folder / (id + ".json"));
  }
  const std::vector<std::string_view> names(ids.begin(), ids.end());
  throw ConfigError{
      Problem{folder.string(), {}, "", complain_of_name("software stack", id, names)}};
}

}  // namespace lockstep
