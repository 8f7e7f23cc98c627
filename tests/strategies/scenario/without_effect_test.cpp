#include "strategies/scenario/without_effect/without_effect.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "sim/config/json/json_values.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/scenario/scenario_parallel.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Values that change nothing are told, and only those.
namespace lockstep::test {

namespace {

// A program as a text, so that two can be compared.

[[nodiscard]] std::string text_of(const MeshSubAxes& atoms) {
  std::string out;
  for (const AtomId atom : atoms) out += fmt::format("{},", atom);
  return out + "/";
}

[[nodiscard]] std::string text_of(const std::vector<Ref>& refs) {
  std::string out;
  for (const Ref& ref : refs)
    out += fmt::format("{}:{}:{}:{} ", ref.tensor, ref.further, ref.position.value_or(-1),
                       ref.microbatch.value_or(-1));
  return out + "/";
}

[[nodiscard]] std::string text_of(const Communication& how) {
  std::string out =
      fmt::format("{} {}{} {} {} {} {}", static_cast<int>(how.collective), text_of(how.over),
                  how.host.value_or(-1), how.root, static_cast<int>(how.cut.value_or(Dim::batch)),
                  how.group, how.offset);
  for (const int each : how.participants) out += fmt::format(" {}", each);
  return out;
}

[[nodiscard]] std::string text_of(const Operation& of) {
  std::string out = fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(of.kind), of.name,
                                of.stream, static_cast<int>(of.purpose), of.accumulate, of.fused,
                                static_cast<int>(of.math.value_or(Dtype::uint8)), of.factor);
  out += fmt::format("{} {} {} {} {}", of.causal, static_cast<int>(of.optimizer), of.dropout,
                     of.ring_offset, of.ahead.value_or(-1));
  out += fmt::format(" {} ", of.after_all);
  out += text_of(of.reads) + text_of(of.writes);
  return of.communication ? out + text_of(*of.communication) : out;
}

[[nodiscard]] std::string text_of(const Tensor& of) {
  std::string out =
      fmt::format("{} {} {} {} {}{}{} {} {}", of.name, static_cast<int>(of.scope),
                  static_cast<int>(of.category), static_cast<int>(of.dtype), text_of(of.partial),
                  text_of(of.flat), of.resident, of.on_host, of.copy_of.value_or(0));
  for (const Extent& extent : of.extents)
    out += fmt::format(" {} {} {}{}", static_cast<int>(extent.dim), extent.size,
                       text_of(extent.shards), extent.zigzag);
  return out;
}

[[nodiscard]] std::string text_of(const Program& program) {
  std::string out;
  for (const Mesh::Atom& atom : program.mesh.atoms())
    out += fmt::format("{} {}\n", atom.name, atom.size);
  for (const Tensor& tensor : program.tensors) out += text_of(tensor) + "\n";
  std::vector<std::size_t> routines;  // by what they do, not by their numbers
  for (const Routine& routine : program.routines) {
    std::string text;
    for (const Operation& operation : routine.operations) text += text_of(operation) + "\n";
    routines.push_back(std::hash<std::string>{}(text));
  }
  for (const std::string& stream : program.streams) out += stream + "\n";
  for (const Role& role : program.roles)
    for (const Call& call : role.calls)
      out += fmt::format("{} {} {}\n", routines[call.routine], call.position, call.microbatch);
  return out;
}

constexpr int kPerNode = 8;

[[nodiscard]] std::string text_of(const ModelConfig& model, const ParallelConfig& parallel) {
  return text_of(build_program(model, parallel, kPerNode));
}

/// A value back to its default: its key, for one of several what it is called, and how.
struct Reset {
  std::string key;
  std::string part;
  std::function<void(ParallelConfig&)> apply;
};

[[nodiscard]] std::vector<Reset> resets() {
  const ParallelConfig usual;
  std::vector<Reset> out{
      {"order", "", [=](ParallelConfig& p) { p.order = usual.order; }},
      {"recompute", "", [=](ParallelConfig& p) { p.recompute = usual.recompute; }},
      {"sequence_parallel", "", [](ParallelConfig& p) { p.sequence_parallel = false; }},
      {"zero", "",
       [](ParallelConfig& p) {
         p.zero = 0;
         p.scatter_gradients = true;
       }},
      {"shard_ranks", "", [](ParallelConfig& p) { p.shard_ranks = 0; }},
      {"scatter_gradients", "", [](ParallelConfig& p) { p.scatter_gradients = true; }},
      {"reduce_gradients", "",
       [](ParallelConfig& p) {
         if (p.zero < 2) return;  // a scenario is refused that says it then
         const bool last = p.reduce_gradients == GradientReduction::last_microbatch;
         p.reduce_gradients =
             last ? GradientReduction::every_microbatch : GradientReduction::last_microbatch;
       }},
      {"reduce_replicas", "",
       [](ParallelConfig& p) {
         if (p.zero < 2) return;  // the same
         const bool last = p.reduce_replicas == GradientReduction::last_microbatch;
         p.reduce_replicas =
             last ? GradientReduction::every_microbatch : GradientReduction::last_microbatch;
       }},
      {"reshard_after_forward", "", [](ParallelConfig& p) { p.reshard_after_forward = true; }},
      {"prefetch", "", [](ParallelConfig& p) { p.prefetch = true; }},
      {"schedule", "", [](ParallelConfig& p) { p.schedule = PipelineOrder::none; }},
      {"cp_kind", "", [](ParallelConfig& p) { p.cp_kind = ContextKind::ring; }},
      {"ulysses", "", [](ParallelConfig& p) { p.ulysses = 0; }},
      {"zigzag", "", [](ParallelConfig& p) { p.zigzag = true; }},
      {"exchange", "", [](ParallelConfig& p) { p.exchange = GradientExchange::all_reduce; }},
  };
  for (const auto& [name, value] : module_names())
    out.push_back(
        {"recompute_modules", fmt::format("{} ", name), [what = value](ParallelConfig& p) {
           if (p.recompute_modules.size() > 1) p.recompute_modules.erase(what);
         }});
  for (const auto& [name, value] : overlap_names())
    out.push_back({"overlap", fmt::format("\"{}\"", name),
                   [what = value](ParallelConfig& p) { p.overlap.erase(what); }});
  return out;
}

[[nodiscard]] std::string written(const ParallelConfig& parallel) {
  return json_text(json_of(parallel));
}

/// Whether a value says what is so by default in this layout: all ranks as shards, as many ranks in
/// an all-to-all as share a node, a ring of all that is cut. Shards without ZeRO, which a scenario
/// is refused for, still divide the mesh.
[[nodiscard]] bool says_default(const ParallelConfig& of, const ParallelConfig& usual,
                                const std::string& key) {
  if (key == "shard_ranks")
    return of.shard_ranks == of.dp * of.cp / of.outer_degree() || of.zero == 0;
  const bool context = key == "cp_kind" || key == "ulysses";
  return context && of.cp > 1 && ulysses_degree(of, kPerNode) == ulysses_degree(usual, kPerNode);
}

[[nodiscard]] bool is_told(const std::vector<WithoutEffect>& found, const Reset& reset) {
  return std::any_of(found.begin(), found.end(), [&](const WithoutEffect& each) {
    return each.key == "parallel." + reset.key &&
           (reset.part.empty() || each.message.find(reset.part) == 0);
  });
}

/// Random layouts, with what they leave at its default drawn too.
[[nodiscard]] std::vector<RandomLayout> varied_layouts() {
  std::vector<RandomLayout> out = random_layouts(17, 300);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ParallelConfig& parallel = out[i].parallel;
    parallel.prefetch = i % 3 != 0;
    if (parallel.pp == 1 && i % 2 == 0)
      parallel.schedule = i % 4 == 0 ? PipelineOrder::one_f_one_b : PipelineOrder::gpipe;
    const bool alone = parallel.tp * parallel.pp * parallel.cp * parallel.ep == 1;
    if (alone && parallel.zero == 0 && !parallel.state.offload)
      parallel.exchange = GradientExchange::parameter_averaging;
    if (i % 5 == 1 && !parallel.state.offload) {
      parallel.exchange = GradientExchange::diloco;
      parallel.outer_replicas = i % 2 == 0 ? 0 : std::gcd(parallel.dp, 2);
      if (i % 3 == 0) parallel.overlap.insert(Overlap::outer);
    }
  }
  std::erase_if(out, [](const RandomLayout& layout) { return !possible(layout); });
  return out;
}

}  // namespace

TEST_CASE(
    "a value is reported to be without effect where the program is the same without it, only "
    "there") {
  int same = 0;
  int other = 0;
  for (const RandomLayout& layout : varied_layouts()) {
    CAPTURE(to_string(layout));
    const auto found = values_without_effect(layout.model, layout.parallel, kPerNode);
    const std::string program = text_of(layout.model, layout.parallel);
    for (const Reset& reset : resets()) {
      RandomLayout usual = layout;
      reset.apply(usual.parallel);
      if (written(usual.parallel) == written(layout.parallel) || !possible(usual)) continue;
      if (says_default(layout.parallel, usual.parallel, reset.key)) continue;
      CAPTURE(reset.key);
      CAPTURE(reset.part);
      const bool changes = text_of(usual.model, usual.parallel) != program;
      const bool told = is_told(found, reset);
      CHECK(told != changes);
      ++(changes ? other : same);
    }
  }
  CHECK(same > 100);
  CHECK(other > 1000);
}

/// Of four ranks as 2 x 2 x 1: tp and dp send, cp does not.
TEST_CASE(
    "traffic weights are without effect where the group sends nothing, or all weigh the same") {
  const RandomLayout drawn = random_layouts(3, 1).front();
  ParallelConfig parallel;
  parallel.tp = parallel.dp = 2;
  parallel.global_batch = 2;
  const auto told = [&](std::map<std::string, TrafficWeight> weights) {
    parallel.traffic_weights = std::move(weights);
    std::vector<std::string> keys;
    const Program program = build_program(drawn.model, parallel, kPerNode);
    for (const WithoutEffect& each : traffic_weights_without_effect(program, parallel))
      keys.push_back(each.key);
    return keys;
  };
  using Keys = std::vector<std::string>;
  CHECK(told({{"dp", 3}}) == Keys{});
  CHECK(told({{"dp", 3}, {"cp", 2}}) == Keys{"parallel.traffic_weights.cp"});
  CHECK(told({{"dp", 1}}) == Keys{"parallel.traffic_weights"});
  CHECK(told({{"cp", 2}}) == Keys{"parallel.traffic_weights.cp"});
  CHECK(told({}) == Keys{});
}

}  // namespace lockstep::test
