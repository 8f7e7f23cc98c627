#include "tests/strategies/models/graph_rules.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <tuple>

namespace lockstep::testing {

namespace {

using Key = std::pair<TensorId, int>;

[[nodiscard]] Key key(const Ref& ref) {
  return {ref.tensor, ref.further};
}

/// Looks through the operations of one block.
class BlockRules {
 public:
  BlockRules(const ModelGraph& graph, const Block& block, std::vector<std::string>& problems)
      : graph_{graph}, block_{block}, problems_{problems} {
    for (const Block& each : graph.blocks) {
      for (const auto* operations : {&each.forward, &each.backward}) {
        for (const Operation& operation : *operations) {
          add_elsewhere(operation.reads);
          add_elsewhere(operation.writes);
        }
      }
    }
  }

  void check() {
    if (block_.input) known_.insert({*block_.input, 0});
    if (block_.output_gradient) known_.insert({*block_.output_gradient, 1});
    follow(block_.forward, Purpose::forward);
    follow(block_.backward, Purpose::backward);
    check_weights();
    check_boundaries();
    check_unread();
  }

 private:
  [[nodiscard]] const Tensor& tensor(const Ref& ref) const { return graph_.tensors.at(ref.tensor); }
  void say(const std::string& what) { problems_.push_back(block_.name + ": " + what); }

  /// What blocks read and write at other positions than their own.
  void add_elsewhere(const std::vector<Ref>& refs) {
    for (const Ref& ref : refs)
      if (ref.position) elsewhere_.insert(ref.tensor);
  }

  void follow(const std::vector<Operation>& operations, Purpose purpose) {
    for (const Operation& operation : operations) {
      if (operation.purpose != purpose) say(operation.name + " has another purpose");
      for (const Ref& read : operation.reads) {
        if (!tensor(read).resident && !known_.contains(key(read)) &&
            !elsewhere_.contains(read.tensor)) {
          say(operation.name + " reads " + tensor(read).name + ", which nobody has written");
        }
        read_.insert(key(read));
      }
      if (operation.kind == OperationKind::matmul) check_gemm(operation);
      for (const Ref& written : operation.writes) {
        const bool fresh = known_.insert(key(written)).second;
        // Gradients of weights add up, whoever writes them.
        const bool adds = operation.accumulate || tensor(written).category == Category::gradient;
        if (!fresh && !adds && !elsewhere_.contains(written.tensor))
          say(operation.name + " overwrites");
        if (fresh && operation.accumulate && !tensor(written).resident) {
          say(operation.name + " adds to what nobody has written");
        }
      }
    }
  }

  /// Every dimension of the result is in an operand, with the same size; every dimension that only
  /// one operand has is in the result.
  void check_gemm(const Operation& gemm) {
    const Tensor& a = tensor(gemm.reads.at(0));
    const Tensor& b = tensor(gemm.reads.at(1));
    const Tensor& y = tensor(gemm.writes.at(0));
    std::set<Dim> dims;
    for (const Tensor* one : {&a, &b, &y}) {
      for (const Extent& extent : one->extents) dims.insert(extent.dim);
    }
    for (const Dim dim : dims) {
      int having = 0;
      std::set<std::int64_t> sizes;
      for (const Tensor* one : {&a, &b, &y}) {
        const Extent* extent = find_extent(*one, dim);
        if (extent == nullptr) continue;
        ++having;
        sizes.insert(extent->size);
      }
      if (having < 2 || sizes.size() != 1) {
        say(gemm.name + " does not fit along " + std::string{to_string(dim)});
      }
    }
  }

  void check_weights() {
    if (block_.weights.size() != block_.gradients.size()) return say("weights without gradients");
    for (std::size_t i = 0; i < block_.weights.size(); ++i) {
      const Tensor& weight = graph_.tensors.at(block_.weights[i]);
      const Tensor& gradient = graph_.tensors.at(block_.gradients[i]);
      if (weight.extents != gradient.extents) say(weight.name + "'s gradient is of another shape");
      if (weight.category != Category::weight || gradient.category != Category::gradient ||
          !weight.resident || !gradient.resident || weight.scope != Scope::layer ||
          gradient.scope != Scope::layer) {
        say(weight.name + " is not kept as a weight");
      }
      if (!read_.contains({block_.weights[i], 0})) say(weight.name + " is never read");
      if (!known_.contains({block_.gradients[i], 0})) say(weight.name + " gets no gradient");
    }
  }

  void check_boundaries() {
    if (block_.output && !known_.contains({*block_.output, 1})) say("does not write its output");
    if (block_.input_gradient && !known_.contains({*block_.input_gradient, 0})) {
      say("does not write its input's gradient");
    }
    if (block_.input && !read_.contains({*block_.input, 0})) say("does not read its input");
  }

  void check_unread() {
    for (const Key& one : known_) {
      const Tensor& what = graph_.tensors.at(one.first);
      const bool leaves = (block_.output && one == Key{*block_.output, 1}) ||
                          (block_.input_gradient && one == Key{*block_.input_gradient, 0}) ||
                          (block_.output_gradient && one == Key{*block_.output_gradient, 1});
      if (!leaves && !what.resident && !read_.contains(one) && !elsewhere_.contains(one.first))
        say(what.name + " is never read");
    }
  }

  const ModelGraph& graph_;
  const Block& block_;
  std::vector<std::string>& problems_;
  std::set<Key> known_{};
  std::set<Key> read_{};
  std::set<TensorId> elsewhere_{};
};

void check_chain(const ModelGraph& graph, std::vector<std::string>& problems) {
  for (std::size_t i = 0; i + 1 < graph.chain.size(); ++i) {
    const Block& one = graph.blocks.at(static_cast<std::size_t>(graph.chain[i]));
    const Block& next = graph.blocks.at(static_cast<std::size_t>(graph.chain[i + 1]));
    if (!one.output || one.output != next.input) {
      problems.push_back(one.name + " and " + next.name + " do not agree about the stream");
    }
    if (next.input_gradient && one.output_gradient != next.input_gradient) {
      problems.push_back(one.name + " and " + next.name + " do not agree about its gradient");
    }
  }
}

}  // namespace

std::vector<std::string> graph_problems(const ModelGraph& graph) {
  std::vector<std::string> problems;
  for (const Block& block : graph.blocks) BlockRules{graph, block, problems}.check();
  check_chain(graph, problems);
  return problems;
}

std::vector<Kept> kept_for_backward(const ModelGraph& graph, const Block& block) {
  std::set<Key> there;
  if (block.input) there.insert({*block.input, 0});
  for (const Operation& operation : block.forward) {
    for (const Ref& written : operation.writes) there.insert(key(written));
  }
  std::set<Key> kept;
  for (const Operation& operation : block.backward) {
    for (const Ref& read : operation.reads) {
      if (there.contains(key(read)) && !graph.tensors.at(read.tensor).resident) {
        kept.insert(key(read));
      }
    }
  }
  std::vector<Kept> out;
  for (const Key& one : kept) {
    const Tensor& tensor = graph.tensors.at(one.first);
    out.push_back({tensor.name, global_elements(tensor) * bytes_per_element(tensor.dtype)});
  }
  return out;
}

const Block& block_named(const ModelGraph& graph, const std::string& name) {
  const auto found = std::find_if(graph.blocks.begin(), graph.blocks.end(),
                                  [&](const Block& block) { return block.name == name; });
  if (found == graph.blocks.end()) throw std::runtime_error{"no block " + name};
  return *found;
}

std::int64_t weight_elements(const ModelGraph& graph, const Block& block) {
  std::int64_t sum = 0;
  for (const TensorId weight : block.weights) sum += global_elements(graph.tensors.at(weight));
  return sum;
}

std::int64_t weight_elements(const ModelGraph& graph) {
  std::int64_t sum = 0;
  for (const int kind : graph.chain) {
    sum += weight_elements(graph, graph.blocks.at(static_cast<std::size_t>(kind)));
  }
  return sum;
}

}  // namespace lockstep::testing
