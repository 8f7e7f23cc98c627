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
    for (Block& block : step_.graph.blocks) {
      rewrite(block.forward, true);
      rewrite(block.backward, false);
    }
  }

 private:
  void rewrite(std::vector<Operation>& body, bool forward) {
    std::vector<Operation> out;
    for (Operation& operation : body) {
      const bool there = carries_tokens(operation, Dim::expert);
      const bool back = carries_tokens(operation, Dim::slot);
      if (forward && there && how_.exchange) append_counts(operation, out);
      const bool weighs = how_.probabilities && (forward ? there : back);
      std::optional<Operation> tokens;
      if (weighs) tokens = operation;
      out.push_back(std::move(operation));
      if (tokens) append_probabilities(*tokens, out);
    }
    body = std::move(out);
  }

  [[nodiscard]] static bool carries_tokens(const Operation& operation, Dim cut) {
    return operation.communication && operation.communication->group == "ep" &&
           operation.communication->collective == Collective::all_to_all &&
           operation.communication->cut == cut;
  }

  [[nodiscard]] Ref add(Tensor tensor, std::string name) {
    tensor.name = std::move(name);
    tensor.category = Category::buffer;
    const Ref out{.tensor = static_cast<TensorId>(step_.graph.tensors.size())};
    step_.graph.tensors.push_back(std::move(tensor));
    return out;
  }

  /// What the exchange of `tokens` sends, from nowhere: the kernel that makes it.
  void append_source(const Operation& tokens, const Ref& what, const char* name,
                     std::vector<Operation>& out) const {
    Operation made;
    made.kind = OperationKind::fill;
    made.name = tokens.name + name;
    made.purpose = tokens.purpose;
    made.writes = {what};
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
    append_source(tokens, own, ".count", out);
    Operation exchange = tokens;
    exchange.name = tokens.name + ".counts";
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

  /// One number of 4 bytes a slot, or its gradient.
  void append_probabilities(const Operation& tokens, std::vector<Operation>& out) {
    const auto of_slots = [&](const Ref& ref) {
      Tensor tensor = step_.graph.tensors[ref.tensor];
      tensor.dtype = Dtype::fp32;
      tensor.resident = false;
      std::erase_if(tensor.extents, [](const Extent& extent) {
        return extent.dim != Dim::expert && extent.dim != Dim::slot;
      });
      return tensor;
    };
    const Ref own = add(of_slots(tokens.reads.front()), tokens.name + ".own_weights");
    const Ref all = add(of_slots(tokens.writes.front()), tokens.name + ".weights");
    append_source(tokens, own, ".weigh", out);
    Operation exchange = tokens;
    exchange.name = tokens.name + ".weights";
    exchange.reads = {own};
    exchange.writes = {all};
    exchange.communication->copies.reset();
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
