#include "strategies/box/compare_box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/cuda/plan/schedule_plan.hpp"
#include "strategies/box/simulate_box.hpp"
#include "strategies/box/small_programs.hpp"
#include "strategies/box/time_operation.hpp"
#include "strategies/collectives/registry.hpp"

namespace lockstep {

namespace {

class Comparing {
 public:
  Comparing(Backend& backend, const Box& box, const CompareOptions& options)
      : backend_{backend}, box_{box}, options_{options}, host_{box.backend == "host"} {}

  std::vector<BoxComparison> run() {
    collectives();
    layers();
    steps();
    return std::move(out_);
  }

 private:
  void add(std::string group, std::string what, double measured, Duration simulated) {
    out_.push_back({std::move(group), std::move(what), measured, simulated.seconds()});
  }
  void tell(const std::string& what) const {
    if (options_.before) options_.before(what);
  }

  // Logical ranks on one device; on several GPUs also dealt out to them.

  [[nodiscard]] int devices() const {
    const std::vector<BoxLink>& links = box_.fit.links.pairs;
    const auto all = static_cast<std::size_t>(backend_.count());
    return links.size() >= all * (all - 1) ? backend_.count() : 1;
  }

  void collectives() {
    struct Case {
      Collective collective;
      const char* algorithm;
      int ranks;
      std::int64_t bytes;
    };
    const std::int64_t large = host_ ? 6 << 20 : 96 << 20;
    const std::vector<Case> cases{
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
    for (const Case& each : cases) {
      if (options_.quick && (each.ranks > 4 || each.bytes < large)) continue;
      const std::int64_t bytes = options_.quick ? each.bytes / 8 : each.bytes;
      collective(each.collective, each.algorithm, each.ranks, bytes, 1);
      if (devices() == 1) continue;
      collective(each.collective, each.algorithm, each.ranks, bytes,
                 std::min(each.ranks, devices()));
    }
  }

  void collective(Collective of, const char* algorithm, int ranks, std::int64_t bytes,
                  int devices) {
    const CollectiveAlgorithm* row = find_algorithm(of, algorithm);
    if (row == nullptr) return;
    AlgorithmInput input;
    input.n = ranks;
    if (!validate(*row, input).empty()) return;
    const SchedulePtr schedule = make_schedule(*row, complete(*row, input));
    const NumberType type = NumberType::fp32;
    const std::string where = devices > 1 ? fmt::format(" on {} GPUs", devices) : "";
    const std::string what = fmt::format("{} {}, {} ranks{}, {} KiB {}", to_string(of), algorithm,
                                         ranks, where, bytes >> 10, to_string(type));
    tell(what);
    SchedulePlanOptions options;
    options.block = std::max<std::int64_t>(1, bytes / bytes_of(type) / schedule->blocks());
    options.type = type;
    options.devices = devices;
    const Plan plan = plan_schedule(*schedule, options).plan;
    const auto loaded = backend_.load(plan);
    for (BufferId i = 0; i < plan.buffers.size(); ++i) loaded->scatter_numbers(i, i + 1);
    add("collective", what, median(loaded->seconds(2, options_.repeats)),
        simulate_plan(plan, box_.fit));
  }

  // Programs of one rank.

  [[nodiscard]] Dtype dtype() const { return host_ ? Dtype::fp32 : Dtype::bf16; }
  [[nodiscard]] static std::string text(const TransformerShape& of) {
    return fmt::format("{} of {} x {}, {} tokens", of.llama ? "Llama" : "GPT", of.layers, of.hidden,
                       of.sequence * of.micro_batch);
  }

  void program(std::string group, std::string what, const Program& program) {
    tell(what);
    TimingOptions timing;
    timing.repeats = options_.repeats;
    const double measured = time_program(backend_, program, timing);
    add(std::move(group), std::move(what), measured, simulate_program(program, box_.fit));
  }

  void layers() {
    for (const bool llama : {false, true}) {
      for (const std::int64_t hidden : host_ ? std::vector<std::int64_t>{128, 256}
                                             : std::vector<std::int64_t>{1024, 1536, 5120}) {
        TransformerShape shape;
        shape.llama = llama;
        shape.hidden = hidden;
        shape.heads = hidden / (host_ ? 32 : 64);
        shape.sequence = host_ ? 64 : 2048;
        shape.vocabulary = 256;
        const Program whole = transformer_program(shape, dtype());
        for (const char* routine : {"layer.forward", "layer.backward"}) {
          program("layer", fmt::format("{}, {}", text(shape), routine),
                  only_routine(whole, routine));
        }
        if (options_.quick) break;
      }
    }
  }

  void steps() {
    struct Size {
      std::int64_t layers;
      std::int64_t hidden;
    };
    // Of GPUs: GPT-3 125M, 350M, 760M and 1.3B (Brown et al. 2020, table 2.1).
    const std::vector<Size> gpu{{12, 768}, {24, 1024}, {24, 1536}, {16, 2048}};
    const std::vector<Size> host{{2, 64}, {2, 128}, {4, 96}};
    for (const Size& size : host_ ? host : gpu) {
      for (const bool llama : {false, true}) {
        TransformerShape shape;
        shape.llama = llama;
        shape.layers = size.layers;
        shape.hidden = size.hidden;
        shape.heads = size.hidden / (host_ ? 32 : 64);
        shape.sequence = host_ ? 64 : 1024;
        shape.vocabulary = host_ ? 1024 : 50304;
        program("step", text(shape), transformer_program(shape, dtype()));
      }
      if (options_.quick) break;
    }
  }

  Backend& backend_;
  const Box& box_;
  const CompareOptions& options_;
  bool host_;
  std::vector<BoxComparison> out_{};
};

}  // namespace

std::vector<BoxComparison> compare_box(Backend& backend, const Box& box,
                                       const CompareOptions& options) {
  return Comparing{backend, box, options}.run();
}

double mean_error(const std::vector<BoxComparison>& rows, std::string_view group) {
  double sum = 0;
  std::int64_t count = 0;
  for (const BoxComparison& row : rows) {
    if (!group.empty() && row.group != group) continue;
    sum += std::abs(row.error());
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace lockstep
