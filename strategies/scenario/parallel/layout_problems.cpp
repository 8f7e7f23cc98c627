#include "strategies/scenario/parallel/layout_problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/layers.hpp"
#include "strategies/pipeline/pipeline_order.hpp"
#include "strategies/scenario/parallel/parallel_fields.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

namespace {

[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t of) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 1; i <= of && out.size() < 12; ++i) {
    if (of % i == 0) out.push_back(i);
  }
  return out;
}

class LayoutProblemCheck {
 public:
  LayoutProblemCheck(const ModelConfig& model, const ParallelConfig& parallel, int cluster_ranks,
                     int gpus_per_node)
      : model_{model}, parallel_{parallel}, ranks_{cluster_ranks}, gpus_per_node_{gpus_per_node} {}

  [[nodiscard]] std::vector<LayoutProblem> problems() {
    check_degrees();
    if (!out_.empty()) return std::move(out_);  // the rest divides by them
    check_ranks();
    if (product() > kMostRanks) return std::move(out_);  // and multiplies them
    check_batch();
    check_mesh();
    check_pipeline();
    check_exchange();
    check_optimizer();
    if (const TransformerConfig* transformer = model_.transformer()) {
      check_class_token(*transformer);
      check_tensor(*transformer);
      check_context(*transformer);
      check_experts(*transformer);
    } else {
      check_other_model();
    }
    return std::move(out_);
  }

 private:
  template <class... Args>
  void note(std::string key, fmt::format_string<Args...> text, Args&&... args) {
    out_.push_back({"parallel." + std::move(key), fmt::format(text, std::forward<Args>(args)...)});
  }

  void divides(const char* key, std::int64_t degree, std::int64_t what, const char* name) {
    if (what % degree == 0) return;
    note(key, "{} = {} does not divide {} = {}; it may be {}", key, degree, name, what,
         fmt::join(divisors(what), ", "));
  }

  void check_degrees() {
    const std::array<std::pair<const char*, std::int64_t>, 9> least{
        {{"dp", parallel_.dp},
         {"tp", parallel_.tp},
         {"pp", parallel_.pp},
         {"cp", parallel_.cp},
         {"ep", parallel_.ep},
         {"vpp", parallel_.vpp},
         {"micro_batch", parallel_.micro_batch},
         {"global_batch", parallel_.global_batch},
         {"servers", parallel_.servers}}};
    for (const auto& [key, value] : least) {
      if (value < 1) note(key, "{} = {}, but there must be at least 1", key, value);
    }
    const std::set<std::string> axes{parallel_.order.begin(), parallel_.order.end()};
    if (parallel_.order.size() != 4 || axes != std::set<std::string>{"tp", "cp", "dp", "pp"}) {
      note("order", "order must name tp, cp, dp and pp, each once, fastest first");
    }
  }

  /// In 128 bits: each degree fits 31.
  [[nodiscard]] Int128 product() const {
    return Int128{parallel_.dp} * parallel_.pp * parallel_.cp * parallel_.tp;
  }

  void check_ranks() {
    if (product() == ranks_) return;
    const Int128 others = product() / parallel_.dp;
    note("dp", "dp * pp * cp * tp = {} * {} * {} * {} = {}, but the cluster has {} GPUs{}",
         parallel_.dp, parallel_.pp, parallel_.cp, parallel_.tp, product(), ranks_,
         others <= ranks_ && ranks_ % others == 0 ? filled_by(static_cast<int>(ranks_ / others))
                                                  : admissible_degrees(parallel_, ranks_));
  }

  /// The dp that fills the cluster as overrides to paste; with a batch of as many microbatches per
  /// replica as now, where the present batch cannot be divided among so many replicas.
  [[nodiscard]] std::string filled_by(int dp) const {
    std::string out = fmt::format("; dp = {} would fill it: --set parallel.dp={}", dp, dp);
    ParallelConfig with = parallel_;
    with.dp = dp;
    const auto possible = [this, &with] {
      return layout_problems(model_, with, ranks_, gpus_per_node_).empty();
    };
    if (possible()) return out;
    const std::int64_t together = std::int64_t{parallel_.micro_batch} * parallel_.dp;
    if (parallel_.global_batch % together != 0) return out;
    with.global_batch = parallel_.global_batch / parallel_.dp * dp;
    if (possible()) out += fmt::format(" --set parallel.global_batch={}", with.global_batch);
    return out;
  }

  void check_batch() {
    const std::int64_t together = parallel_.micro_batch * parallel_.dp;
    if (parallel_.global_batch % together == 0) return;
    const std::int64_t below = parallel_.global_batch / together * together;
    note("global_batch",
         "global_batch = {} is not a multiple of micro_batch * dp = {} * {} = {}; {}{} would be",
         parallel_.global_batch, parallel_.micro_batch, parallel_.dp, together,
         below > 0 ? fmt::format("{} or ", below) : std::string{}, below + together);
  }

  void check_mesh() {
    if (const auto problem = mesh_problem(parallel_, kv_heads(), gpus_per_node_)) {
      const std::string key = problem->substr(0, problem->find(' '));
      note(key == "ulysses" ? "cp" : key, "{}", *problem);
    }
  }

  /// 0: no attention.
  [[nodiscard]] std::int64_t kv_heads() const {
    const TransformerConfig* transformer = model_.transformer();
    return transformer == nullptr ? 0 : transformer->kv_heads;
  }

  [[nodiscard]] std::int64_t layers() const { return layers_of(model_); }

  void check_pipeline() {
    const std::int64_t chunks = std::int64_t{parallel_.pp} * parallel_.vpp;
    if (parallel_.pp == 1) {
      if (parallel_.vpp > 1) {
        note("vpp", "vpp = {} chunks need pp above 1", parallel_.vpp);
      } else if (parallel_.schedule == PipelineOrder::interleaved) {
        note("schedule", "interleaved needs pp and vpp above 1");
      } else if (is_v(parallel_.schedule)) {
        note("schedule", "two chunks in a V need pp above 1");
      } else if (is_bidirectional(parallel_.schedule)) {
        note("schedule", "dualpipe pairs stages from both ends: it needs an even pp");
      }
    } else if (parallel_.schedule == PipelineOrder::none) {
      note("schedule", "pp = {} needs a schedule such as 1f1b", parallel_.pp);
    } else if (parallel_.global_batch % (parallel_.micro_batch * parallel_.dp) == 0) {
      if (const auto problem = pipeline_problem(pipeline_shape(parallel_))) {
        const std::string batch = batch_for_schedule();
        const bool two = !batch.empty() && problem->ends_with(" would");
        note("schedule", "{}{}{}", *problem,
             two             ? ", and so would "
             : batch.empty() ? ""
                             : ": ",
             batch);
      }
    }
    if (!parallel_.stages.empty()) {
      check_stages(chunks);
      return;
    }
    const std::int64_t edges = parallel_.short_edges ? 2 : 0;
    const bool fits = (layers() + edges) % chunks == 0 && (layers() + edges) / chunks >= 1;
    if (fits || chunks == 1) return;
    const bool short_edges_fit = edges == 0 && chunks > 1 && (layers() + 2) % chunks == 0;
    note("pp",
         "{} layers{} cannot be cut into pp * vpp = {} * {} equal parts; {}give `stages` (layers "
         "of every part{}), or a pp * vpp that divides {}",
         layers(), parallel_.short_edges ? ", one less in the first and the last part," : "",
         parallel_.pp, parallel_.vpp, short_edges_fit ? "set short_edges = true, " : "",
         even_stages(chunks), layers() + edges);
  }

  /// As an override to paste, the first parts one layer longer; empty if there are too many parts.
  [[nodiscard]] std::string even_stages(std::int64_t chunks) const {
    constexpr std::int64_t kMostWritten = 64;
    if (chunks > kMostWritten || chunks > layers()) return {};
    std::vector<std::int64_t> stages;
    for (std::int64_t i = 0; i < chunks; ++i)
      stages.push_back(layers() / chunks + (i < layers() % chunks ? 1 : 0));
    return fmt::format(": --set parallel.stages={}", fmt::join(stages, ","));
  }

  /// The smallest larger batch whose microbatches the schedule takes, as an override to paste;
  /// empty if it is not a matter of their number.
  [[nodiscard]] std::string batch_for_schedule() const {
    const std::int64_t now = parallel_.microbatches();
    for (std::int64_t count = now + 1; count <= now + 2 * std::int64_t{parallel_.pp}; ++count)
      if (!pipeline_problem(with_microbatches(count)))
        return fmt::format("--set parallel.global_batch={}",
                           count * parallel_.micro_batch * parallel_.dp);
    return {};
  }

  [[nodiscard]] PipelineShape with_microbatches(std::int64_t count) const {
    PipelineShape out = pipeline_shape(parallel_);
    out.microbatches = static_cast<int>(count);
    return out;
  }

  /// GEMMs read weights in at most 8 bits as they are, or not at all.
  void check_weights() {
    const Dtype weights = parallel_.state.weights;
    const Dtype gemms = parallel_.precision;
    const bool gathers = parallel_.recipe.gathers_weights;
    if (!is_narrow(weights) || (weights == gemms && gathers)) return;
    const std::string_view own = gathers && is_narrow(gemms) ? to_string(gemms) : "";
    const std::string possible = fmt::format(
        "they may be {}{}bf16, fp16 or fp32; {} needs a recipe whose GEMMs and gathers take it",
        own, own.empty() ? "" : ", ", to_string(weights));
    if (weights != gemms)
      note("state.weights", "GEMMs of precision {} do not take weights in {}: {}",
           precision_text(parallel_), to_string(weights), possible);
    else
      note("state.weights", "software of {} gathers weights in bf16, and every rank casts all: {}",
           parallel_.recipe.id, possible);
  }

  void check_stages(std::int64_t chunks) {
    const std::int64_t sum =
        std::accumulate(parallel_.stages.begin(), parallel_.stages.end(), std::int64_t{0});
    if (static_cast<std::int64_t>(parallel_.stages.size()) != chunks) {
      note("stages", "stages has {} entries, but pp * vpp = {}", parallel_.stages.size(), chunks);
    } else if (sum != layers()) {
      note("stages", "stages add up to {} layers, but the model has {}", sum, layers());
    } else if (std::any_of(parallel_.stages.begin(), parallel_.stages.end(),
                           [](int stage) { return stage < 0; })) {
      note("stages", "a stage cannot have fewer than 0 layers");
    }
  }

  void check_exchange() {
    if (parallel_.zero < 0 || parallel_.zero > 3)
      note("zero", "zero = {}; it may be 0, 1, 2 or 3", parallel_.zero);
    check_weights();
    for (const ParallelField& field : parallel_fields()) {
      if (!field.problem) continue;
      if (const auto why = field.problem(parallel_)) note(std::string{field.key}, "{}", *why);
    }
    if (parallel_.exchange == GradientExchange::all_reduce) return;
    const std::string_view name = name_of(exchange_names(), parallel_.exchange);
    if (parallel_.has_outer_loop()) {
      if (parallel_.state.offload) note("state.offload", "{} has no offloaded optimizer", name);
      return;
    }
    if (parallel_.tp * parallel_.pp * parallel_.cp * parallel_.ep > 1) {
      note("exchange", "{} is for data parallelism alone: tp, pp, cp and ep must be 1", name);
    }
    if (parallel_.zero > 0)
      note("zero", "zero = {} requires exchange all_reduce, not {}", parallel_.zero, name);
    if (parallel_.state.offload && parallel_.exchange != GradientExchange::parameter_averaging) {
      note("state.offload", "{} has no offloaded optimizer", name);
    }
  }

  /// An optimizer of matrices takes what ranks hold of them, when all is there.
  void check_optimizer() {
    const StateConfig& state = parallel_.state;
    if (!state.takes_matrices()) return;
    const std::string_view name = name_of(optimizer_names(), state.optimizer);
    if (std::holds_alternative<ResNetConfig>(model_.shape))
      note("state.optimizer",
           "{} is for matrices, and convolutions have none; it may be sgd, "
           "momentum or adam",
           name);
    if (state.offload)
      note("state.offload", "{} takes whole matrices on the device; it may be false", name);
    if (parallel_.updates_by_bucket())
      note("update",
           "{} takes matrices of one size together, not bucket by bucket; it may be "
           "after_all",
           name);
    if (parallel_.exchange != GradientExchange::all_reduce && !parallel_.has_outer_loop())
      note("exchange", "{} requires exchange all_reduce or diloco, not {}", name,
           name_of(exchange_names(), parallel_.exchange));
  }

  /// What tensor parallelism cuts, in words and as a test of a degree.
  struct Cut {
    std::string what;
    std::function<bool(std::int64_t)> fits;
  };

  [[nodiscard]] static Cut whole(std::string name, std::int64_t size) {
    return {fmt::format("{} = {}", name, size), [size](std::int64_t tp) { return size % tp == 0; }};
  }

  /// Runs of tokens between the parts that are cut by heads: in a zigzag every rank has two.
  [[nodiscard]] Cut sequence_cut(const TransformerConfig& model) const {
    const std::int64_t run = runs_of(model);
    const std::int64_t tokens = model.sequence;
    return {fmt::format("the {} tokens of seq / {} (sequence_parallel)", tokens / run,
                        run > parallel_.cp ? "(2 * cp)" : "cp"),
            [=](std::int64_t tp) { return tokens % (run * tp) == 0; }};
  }

  /// Into which all ranks together have a sequence cut.
  [[nodiscard]] std::int64_t runs_of(const TransformerConfig& model) const {
    const int ring = parallel_.cp / std::max(1, ulysses_degree(parallel_, gpus_per_node_));
    const bool zigzag = ring > 1 && parallel_.zigzag && model.causal;
    return std::int64_t{parallel_.cp} * (zigzag ? 2 : 1);
  }

  [[nodiscard]] std::vector<Cut> tensor_cuts(const TransformerConfig& model) const {
    std::vector<Cut> out{whole("heads", model.heads), whole("ffn", model.ffn)};
    const std::int64_t kv = model.kv_heads;
    out.push_back({fmt::format("kv_heads = {} (nor is it a multiple of that)", kv),
                   [kv](std::int64_t tp) { return kv % tp == 0 || tp % kv == 0; }});
    const bool whole_sequence = model.sequence % parallel_.cp != 0;  // told as such
    if (parallel_.sequence_parallel && !whole_sequence && !has_class_token(model))
      out.push_back(sequence_cut(model));
    if (parallel_.sequence_parallel && model.encoder &&
        model.encoder->sequence % runs_of(model) == 0) {
      const std::int64_t run = runs_of(model);
      const char* name = run == 1              ? "encoder_seq"
                         : run == parallel_.cp ? "encoder_seq / cp"
                                               : "encoder_seq / (2 * cp)";
      out.push_back(whole(name, model.encoder->sequence / run));
    }
    if (model.experts) {
      out.push_back(whole("the experts' ffn", model.experts->ffn));
      const std::int64_t shared = model.experts->shared * model.experts->shared_ffn;
      if (shared > 0) out.push_back(whole("the shared experts' ffn", shared));
    }
    return out;
  }

  [[nodiscard]] static bool has_class_token(const TransformerConfig& model) {
    return model.image && model.image->class_token;
  }

  /// The class token stands before the patches, so that no cut leaves equal runs of these.
  void check_class_token(const TransformerConfig& model) {
    if (!has_class_token(model)) return;
    constexpr const char* kWhy =
        "the class token and its patches are not cut; model.pooling \"mean\" has no such token";
    if (parallel_.sequence_parallel) note("sequence_parallel", "{}", kWhy);
    if (parallel_.cp > 1) note("cp", "cp = {}: {}", parallel_.cp, kWhy);
  }

  void check_tensor(const TransformerConfig& model) {
    const std::vector<Cut> cuts = tensor_cuts(model);
    std::vector<std::string> failing;
    for (const Cut& cut : cuts) {
      if (!cut.fits(parallel_.tp)) failing.push_back(cut.what);
    }
    if (failing.empty()) return;
    std::vector<std::int64_t> possible;
    for (const std::int64_t tp : divisors(model.heads)) {
      const auto fits = [tp](const Cut& cut) { return cut.fits(tp); };
      if (std::all_of(cuts.begin(), cuts.end(), fits)) possible.push_back(tp);
    }
    note("tp", "tp = {} does not divide {}; it may be {}", parallel_.tp, fmt::join(failing, ", "),
         fmt::join(possible, ", "));
  }

  void check_context(const TransformerConfig& model) {
    if (parallel_.cp == 1 || has_class_token(model)) return;
    const int ulysses = ulysses_degree(parallel_, gpus_per_node_);
    const int ring = parallel_.cp / std::max(1, ulysses);
    const std::int64_t heads = model.heads / parallel_.tp;
    if (heads % ulysses != 0) {
      note("cp",
           "an all-to-all over {} ranks needs heads to divide among them on each tensor-parallel "
           "rank: heads / tp = {} / {}; at most {}, or cp_kind ring or 2d",
           ulysses, model.heads, parallel_.tp, heads);
    }
    const std::int64_t kv = std::max<std::int64_t>(1, model.kv_heads / parallel_.tp);
    if (kv % ulysses != 0 && ulysses % kv != 0) {
      note("cp",
           "an all-to-all over {} ranks neither divides the {} heads of keys and values nor is "
           "a multiple of them",
           ulysses, kv);
    }
    if (model.encoder) {
      check_sequence(model, ring, model.encoder->sequence, "encoder_seq");
      check_sequence(model, ring, model.sequence, "seq");
      return;
    }
    if (ring > 1 && model.attention == AttentionKind::unfused) {
      note("cp_kind", "{}: it needs attention flash",
           parallel_.cp_kind == ContextKind::all_gather
               ? "context parallelism by all_gather gathers the operands of one attention kernel"
               : "ring attention adds up parts with a running softmax");
    }
    check_windows(model, ring);
    check_sequence(model, ring, model.sequence, "seq");
  }

  /// Equal runs of tokens for all ranks.
  void check_sequence(const TransformerConfig& model, int ring, std::int64_t tokens,
                      const char* key) {
    const bool zigzag = ring > 1 && parallel_.zigzag && model.causal;
    if (zigzag && tokens % (2 * std::int64_t{parallel_.cp}) != 0) {
      const bool plain = tokens % parallel_.cp == 0;
      note("cp", "cp = {}: a zigzag cuts {} = {} into 2 * cp = {} equal runs{}", parallel_.cp, key,
           tokens, 2 * parallel_.cp, plain ? "; zigzag = false would cut it into cp" : "");
    } else {
      divides("cp", parallel_.cp, tokens, key);
    }
  }

  /// As Transformer Engine has it for windows: with all-to-alls and all-gathers (TransformerEngine,
  /// dot_product_attention/context_parallel.py, attn_forward_func_with_cp), and sinks with
  /// all-to-alls alone, where a rank has the whole sequence of its heads.
  void check_windows(const TransformerConfig& model, int ring) {
    const bool windowed = model.window && model.window->size < model.sequence;
    if (ring > 1 && windowed && parallel_.cp_kind != ContextKind::all_gather) {
      note("cp_kind",
           "ring attention has no windows, and window.size = {} is less than seq = {}; "
           "cp_kind ulysses and all_gather have them",
           model.window->size, model.sequence);
    }
    if (ring > 1 && model.sinks)
      note("cp_kind", "{} context parallelism has no attention with sinks; cp_kind ulysses has",
           name_of(context_names(), parallel_.cp_kind));
  }

  void check_experts(const TransformerConfig& model) {
    if (!model.experts) {
      if (parallel_.ep > 1) note("ep", "ep = {}, but the model has no experts", parallel_.ep);
      if (parallel_.etp > 0) note("etp", "etp = {}, but the model has no experts", parallel_.etp);
      return;
    }
    if (parallel_.expert_tp() < parallel_.tp && !parallel_.sequence_parallel)
      note("etp",
           "etp = {} is less than tp = {}, but all ranks along tp have the same tokens; "
           "sequence_parallel = true gives each its own",
           parallel_.etp, parallel_.tp);
    if (parallel_.tp % parallel_.expert_tp() == 0)
      divides("etp", parallel_.expert_tp(), model.experts->ffn, "experts.ffn");
    divides("ep", parallel_.ep, model.experts->experts, "experts");
    const auto most =
        static_cast<double>(model.experts->experts) / static_cast<double>(model.experts->top_k);
    if (parallel_.expert_skew.value_or(1) > most) {
      note("expert_skew",
           "expert_skew = {}: no expert can have more than experts / top_k = {} times the mean",
           *parallel_.expert_skew, most);
    }
  }

  void check_other_model() {
    if (parallel_.cp > 1)
      note("cp", "cp = {}, but {} has no sequence to cut", parallel_.cp, model_.name);
    if (parallel_.ep > 1) note("ep", "ep = {}, but {} has no experts", parallel_.ep, model_.name);
    if (parallel_.etp > 0)
      note("etp", "etp = {}, but {} has no experts", parallel_.etp, model_.name);
    if (parallel_.sequence_parallel) {
      note("sequence_parallel", "{} has no sequence to cut", model_.name);
    }
    if (const auto* mlp = std::get_if<MlpConfig>(&model_.shape)) {
      divides("tp", parallel_.tp, mlp->ffn, "ffn");
    } else if (parallel_.tp > 1) {
      note("tp", "tp = {}, but convolutions are not cut", parallel_.tp);
    }
  }

  const ModelConfig& model_;
  const ParallelConfig& parallel_;
  int ranks_;
  int gpus_per_node_;
  std::vector<LayoutProblem> out_;
};

}  // namespace

std::string admissible_degrees(const ParallelConfig& parallel, int ranks) {
  const Int128 product = Int128{parallel.pp} * parallel.cp * parallel.tp;
  std::string out;
  for (const auto& [name, degree] :
       {std::pair{"cp", std::int64_t{parallel.cp}}, std::pair{"tp", std::int64_t{parallel.tp}},
        std::pair{"pp", std::int64_t{parallel.pp}}}) {
    const Int128 rest = product / degree;
    if (degree == 1 || rest > ranks || ranks % rest != 0) continue;
    out += fmt::format("{} {} may be {}", out.empty() ? ";" : ", or", name,
                       fmt::join(divisors(ranks / static_cast<std::int64_t>(rest)), ", "));
  }
  return out;
}

std::vector<LayoutProblem> layout_problems(const ModelConfig& model, const ParallelConfig& parallel,
                                           int cluster_ranks, int gpus_per_node) {
  return LayoutProblemCheck{model, parallel, cluster_ranks, gpus_per_node}.problems();
}

}  // namespace lockstep
