#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "strategies/layout/passes.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kWords = 2;  // of 4 bytes: counts are integers of 8

class TokenCountExchange {
 public:
  explicit TokenCountExchange(TrainingStepAssembly& step)
      : step_{step}, how_{step.parallel.token_counts} {}

  void run() {
    for (Block& block : step_.graph.blocks) rewrite(block.forward);
  }

 private:
  void rewrite(std::vector<Operation>& body) {
    std::vector<Operation> out;
    for (Operation& operation : body) {
      if (carries_tokens(operation)) append_counts(operation, out);
      out.push_back(std::move(operation));
    }
    body = std::move(out);
  }

  /// Whether it carries tokens to their experts; their router's weights go to the same places.
  [[nodiscard]] bool carries_tokens(const Operation& operation) const {
    return operation.communication && operation.communication->group == "ep" &&
           operation.communication->collective == Collective::all_to_all &&
           operation.communication->cut == Dim::expert &&
           find_extent(step_.graph.tensors[operation.reads.front().tensor], Dim::hidden) != nullptr;
  }

  [[nodiscard]] Ref add(Tensor tensor, std::string name) {
    tensor.name = std::move(name);
    tensor.category = Category::buffer;
    const Ref out{.tensor = static_cast<TensorId>(step_.graph.tensors.size())};
    step_.graph.tensors.push_back(std::move(tensor));
    return out;
  }

  /// What is counted, from nowhere: the kernel that does it.
  void append_source(const Operation& tokens, const Ref& counts,
                     std::vector<Operation>& out) const {
    Operation made;
    made.kind = OperationKind::fill;
    made.name = tokens.name + ".count";
    made.purpose = tokens.purpose;
    made.writes = {counts};
    out.push_back(std::move(made));
  }

  /// Every rank's number of tokens for every expert.
  void append_counts(const Operation& tokens, std::vector<Operation>& out) {
    const MeshSubAxes& over = tokens.communication->over;
    const std::int64_t experts = step_.model.transformer()->experts->experts;
    const std::int64_t ranks = step_.program.mesh.size(over);
    const bool gathers = *how_.exchange == Collective::all_gather;
    Tensor counts;
    counts.dtype = Dtype::int32;
    counts.extents = {{Dim::expert, experts}, {Dim::statistic, ranks * kWords}};
    Tensor result = counts;
    counts.extents[1].shards = over;
    if (!gathers) result.extents[0].shards = over;
    const Ref own = add(std::move(counts), tokens.name + ".counts");
    const Ref all = add(std::move(result), tokens.name + ".all_counts");
    append_source(tokens, own, out);
    Operation exchange = tokens;
    exchange.name = tokens.name + ".counts";
    exchange.factor = 1;  // ranks send each other as many
    exchange.reads = {own};
    exchange.writes = {all};
    exchange.host_waits = how_.host_waits;
    Communication& how = *exchange.communication;
    how.collective = *how_.exchange;
    how.copies.reset();
    how.cut = gathers ? Dim::statistic : Dim::expert;
    how.joined = gathers ? std::nullopt : std::optional{Dim::statistic};
    out.push_back(std::move(exchange));
  }

  TrainingStepAssembly& step_;
  const TokenCounts& how_;
};

}  // namespace

void exchange_token_counts(TrainingStepAssembly& step) {
  TokenCountExchange{step}.run();
}

}  // namespace lockstep
