#include "tools/app/sensitivity/layout_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

namespace lockstep::app {

namespace {

class LayoutSteps {
 public:
  explicit LayoutSteps(const ParallelConfig& plan) : plan_{plan} {}

  std::vector<LayoutChange> collect() {
    move_ranks("tp", plan_.tp);
    move_ranks("pp", plan_.pp);
    move_ranks("cp", plan_.cp);
    if (plan_.ep > 1) resize("ep", plan_.ep);
    resize("micro_batch", plan_.micro_batch);
    if (plan_.schedule == PipelineOrder::interleaved) resize("vpp", plan_.vpp);
    if (plan_.dp * plan_.cp * plan_.stage_copies() > 1) {
      if (plan_.zero > 0) add({set("zero", plan_.zero - 1)});
      if (plan_.zero < 3) add({set("zero", plan_.zero + 1)});
    }
    return std::move(out_);
  }

 private:
  static std::string set(const std::string& key, std::int64_t value) {
    return fmt::format("parallel.{}={}", key, value);
  }
  void add(LayoutChange change) { out_.push_back(std::move(change)); }

  void resize(const std::string& key, std::int64_t value) {
    if (value % 2 == 0) add({set(key, value / 2)});
    add({set(key, 2 * value)});
  }

  void move_ranks(const std::string& key, std::int64_t degree) {
    if (degree % 2 == 0) {
      LayoutChange change{set(key, degree / 2), set("dp", std::int64_t{2} * plan_.dp)};
      if (key == "tp" && degree == 2 && plan_.sequence_parallel)
        change.emplace_back("parallel.sequence_parallel=false");
      if (key == "pp" && degree == 2) {
        change.emplace_back("parallel.schedule=none");
        if (plan_.vpp > 1) change.push_back(set("vpp", 1));
      }
      add(std::move(change));
    }
    if (plan_.dp % 2 != 0) return;
    LayoutChange change{set(key, 2 * degree), set("dp", plan_.dp / 2)};
    if (key == "pp" && plan_.schedule == PipelineOrder::none)
      change.emplace_back("parallel.schedule=1f1b");
    add(std::move(change));
  }

  const ParallelConfig& plan_;
  std::vector<LayoutChange> out_{};
};

}  // namespace

std::vector<LayoutChange> layout_steps(const TrainingStepResult& result) {
  return LayoutSteps{result.scenario.parallel}.collect();
}

LayoutStep simulated(TrainingStepRequest request, const LayoutChange& change) {
  request.overrides.insert(request.overrides.end(), change.begin(), change.end());
  LayoutStep out{change};
  try {
    const TrainingStepResult result = run_step(request);
    out.step = result.throughput.step;
    out.fit = result.memory.fit();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    out.problem = error.message();
  }
  return out;
}

void sort_by_time(std::vector<LayoutStep>& steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const LayoutStep& a, const LayoutStep& b) {
    if (!a.step || !b.step) return a.step.has_value();
    return *a.step < *b.step;
  });
}

}  // namespace lockstep::app
