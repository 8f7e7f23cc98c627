#include "strategies/sharding/ring_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "strategies/layout/passes.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

class Ring {
 public:
  Ring(ModelGraph& graph, const Mesh& mesh) : graph_{graph}, atoms_{mesh.axis("ring")} {
    members_ = mesh.size(atoms_);
  }

  void forward(const Operation& attention, std::vector<Operation>& out) {
    std::vector<Ref> keys{read_of(attention, Operand::k), read_of(attention, Operand::v)};
    for (int hop = 0; hop < members_; ++hop) {
      std::vector<Ref> next;
      if (hop + 1 < members_) next = pass_on(attention, keys, fmt::format("hop{}", hop), out);
      if (hop == 0) keep_for_backward(attention, keys, next);
      Operation part = attention;
      part.name += fmt::format(".part{}", hop);
      part.ring_offset = hop;
      part.reads = {read_of(attention, Operand::q), keys[0], keys[1]};
      if (hop > 0) {
        part.accumulate = true;
        part.reads.insert(part.reads.end(), attention.writes.begin(), attention.writes.end());
      }
      out.push_back(std::move(part));
      keys = std::move(next);
    }
  }

  /// Of stored scores, a part writes those of its keys, or adds what its values give. Ring
  /// self-attention (Li et al., arXiv 2105.13120, section 3.2) of Colossal-AI (RingQK and RingAV,
  /// colossalai/legacy/nn/layer/parallel_sequence/_operation.py). `operand`: what travels.
  void forward_part(const Operation& whole, Operand operand, std::vector<Operation>& out) {
    std::vector<Ref> keys{read_of(whole, operand)};
    for (int hop = 0; hop < members_; ++hop) {
      std::vector<Ref> next;
      if (hop + 1 < members_) next = pass_on(whole, keys, fmt::format("hop{}", hop), out);
      Operation part = part_of(whole, hop, hop);
      read_of(part, operand) = keys[0];
      out.push_back(std::move(part));
      keys = std::move(next);
    }
  }

  /// Keys or values travel again, and the sum so far of their gradient after them, to which each
  /// part adds its own; the rank's own come last.
  void backward_part(const Operation& whole, Operand operand, std::vector<Operation>& out) {
    std::vector<Ref> keys{read_of(whole, operand)};
    keys = pass_on(whole, keys, "hop0", out);
    const Ref gradient = write_of(whole, gradient_of(operand));
    std::vector<Ref> sum = copies({gradient}, ".part0");
    for (int hop = 0; hop < members_; ++hop) {
      const bool last = hop + 1 == members_;
      std::vector<Ref> next;
      if (hop + 2 < members_) next = pass_on(whole, keys, fmt::format("hop{}", hop + 1), out);
      if (hop + 2 == members_) next = {read_of(whole, operand)};
      if (hop > 0) {
        sum = pass_on(whole, sum, fmt::format("sums{}", hop - 1), out);
        if (last) sum = out.back().writes = {gradient};
      }
      Operation part = part_of(whole, hop, (hop + 1) % members_);
      read_of(part, operand) = keys[0];
      write_of(part, gradient_of(operand)) = sum[0];
      out.push_back(std::move(part));
      keys = std::move(next);
    }
  }

  /// From the first keys that came in forward to the rank's own, which come last.
  void backward(const Operation& attention, std::vector<Operation>& out) {
    for (const Operand own : {Operand::k, Operand::v}) drop(read_of(attention, own), out);
    std::vector<Ref> keys = kept_.at(read_of(attention, Operand::statistics).tensor);
    std::vector<Ref> sums;  // of the gradients of `keys`
    for (int hop = 0; hop < members_; ++hop) {
      const bool last = hop + 1 == members_;
      std::vector<Ref> next;
      if (!last) next = pass_on(attention, keys, fmt::format("hop{}", hop), out);
      if (hop == 0) out.back().ahead = -1;  // the first is sent when its turn has come
      std::vector<Ref> come;
      if (hop > 0) come = pass_on(attention, sums, fmt::format("sums{}", hop - 1), out);
      Operation part = attention;
      part.name += fmt::format(".part{}", hop);
      part.ring_offset = (hop + 1) % members_;
      read_of(part, Operand::k) = keys[0];
      read_of(part, Operand::v) = keys[1];
      if (hop > 0) part.writes = copies(gradients_of(attention), fmt::format(".part{}", hop));
      if (hop == 0) part.writes = with_copied_keys(attention);
      sums = {part.writes[1], part.writes[2]};
      const std::vector<Ref> parts = part.writes;
      out.push_back(std::move(part));
      if (hop > 0) sums = add_up(attention, parts, come, last, out);
      keys = std::move(next);
    }
  }

 private:
  [[nodiscard]] static Operation part_of(const Operation& whole, int hop, int offset) {
    Operation out = whole;
    out.name += fmt::format(".part{}", hop);
    out.ring_offset = offset;
    out.accumulate = hop > 0;
    return out;
  }

  [[nodiscard]] static std::vector<Ref> gradients_of(const Operation& attention) {
    return {write_of(attention, gradient_of(Operand::q)),
            write_of(attention, gradient_of(Operand::k)),
            write_of(attention, gradient_of(Operand::v))};
  }

  [[nodiscard]] std::vector<Ref> with_copied_keys(const Operation& attention) {
    std::vector<Ref> out = gradients_of(attention);
    const std::vector<Ref> sums = copies({out[1], out[2]}, ".part0");
    return {out[0], sums[0], sums[1]};
  }

  /// Of all keys and values these alone are kept for backward.
  void keep_for_backward(const Operation& attention, const std::vector<Ref>& own,
                         const std::vector<Ref>& first) {
    for (std::size_t i = 0; i < own.size(); ++i)
      graph_.tensors[first[i].tensor].category = graph_.tensors[own[i].tensor].category;
    kept_.emplace(write_of(attention, Operand::statistics).tensor, first);
  }

  /// Leaves out the messages, if any, that brought what is no longer read.
  static void drop(const Ref& unread, std::vector<Operation>& out) {
    const auto is_read = [&unread](const Operation& operation) {
      return std::find(operation.reads.begin(), operation.reads.end(), unread) !=
             operation.reads.end();
    };
    if (std::any_of(out.begin(), out.end(), is_read)) return;
    const auto from = std::find_if(out.begin(), out.end(), [&unread](const Operation& operation) {
      return operation.kind == Kind::collective && operation.writes == std::vector<Ref>{unread};
    });
    if (from == out.end()) return;
    const std::vector<Ref> brought = from->reads;
    out.erase(from);
    for (const Ref& ref : brought) drop(ref, out);
  }

  /// Adds a part's gradients to those of queries so far, and to what came of its keys; the result
  /// of the latter.
  [[nodiscard]] std::vector<Ref> add_up(const Operation& attention, const std::vector<Ref>& parts,
                                        const std::vector<Ref>& come, bool last,
                                        std::vector<Operation>& out) {
    const std::vector<Ref> whole = gradients_of(attention);
    add(attention, whole[0], parts[0], whole[0], out);
    std::vector<Ref> sums;
    for (std::size_t i = 0; i < come.size(); ++i) {
      const Ref sum = last ? whole[i + 1] : come[i];
      add(attention, come[i], parts[i + 1], sum, out);
      sums.push_back(sum);
    }
    return sums;
  }

  static void add(const Operation& attention, const Ref& a, const Ref& b, const Ref& sum,
                  std::vector<Operation>& out) {
    Operation add;
    add.kind = Kind::add;
    add.name = attention.name + ".add";
    add.purpose = attention.purpose;
    add.reads = {a, b};
    add.writes = {sum};
    out.push_back(std::move(add));
  }

  [[nodiscard]] std::vector<Ref> copies(const std::vector<Ref>& of, const std::string& suffix) {
    std::vector<Ref> out;
    for (Ref ref : of) {
      Tensor copy = graph_.tensors[ref.tensor];
      copy.name += suffix;
      copy.category = Category::buffer;
      copy.resident = false;
      ref.tensor = static_cast<TensorId>(graph_.tensors.size());
      graph_.tensors.push_back(std::move(copy));
      out.push_back(ref);
    }
    return out;
  }

  /// To the next member of the ring; what comes is what the one before had.
  [[nodiscard]] std::vector<Ref> pass_on(const Operation& attention, const std::vector<Ref>& what,
                                         const std::string& name, std::vector<Operation>& out) {
    Operation pass;
    pass.kind = Kind::collective;
    pass.name = fmt::format("{}.ring.{}", attention.name, name);
    pass.purpose = Purpose::communication;
    pass.reads = what;
    pass.writes = copies(what, "." + name);
    Communication how;
    how.collective = Collective::send_recv;
    how.over = atoms_;
    how.group = "cp";
    pass.communication = how;
    out.push_back(pass);
    return pass.writes;
  }

  ModelGraph& graph_;
  MeshSubAxes atoms_;
  int members_ = 1;
  /// By an attention's statistics: keys and values that came first in forward.
  std::map<TensorId, std::vector<Ref>> kept_;
};

}  // namespace

void ring_attention(ModelGraph& graph, const Mesh& mesh, bool zigzag) {
  const MeshSubAxes atoms = mesh.axis("ring");
  if (atoms.empty()) return;
  Ring ring{graph, mesh};
  const auto rewrite = [&](std::vector<Operation>& body) {
    std::vector<Operation> out;
    for (const Operation& operation : body) {
      switch (operation.kind) {
        case Kind::attention:
          ring.forward(operation, out);
          break;
        case Kind::attention_backward:
          ring.backward(operation, out);
          break;
        case Kind::attention_scores:
          ring.forward_part(operation, Operand::k, out);
          break;
        case Kind::attention_context:
          ring.forward_part(operation, Operand::v, out);
          break;
        case Kind::attention_scores_backward:
          ring.backward_part(operation, Operand::k, out);
          break;
        case Kind::attention_context_backward:
          ring.backward_part(operation, Operand::v, out);
          break;
        default:
          out.push_back(operation);
      }
    }
    body = std::move(out);
  };
  for (Block& block : graph.blocks) {
    rewrite(block.forward);
    rewrite(block.backward);
  }
  if (zigzag) cut_zigzag(graph, atoms);
}

void cut_zigzag(ModelGraph& graph, const MeshSubAxes& atoms) {
  for (Tensor& tensor : graph.tensors) {
    for (Extent& extent : tensor.extents) {
      if (extent.dim == Dim::sequence) extent.zigzag = !common(extent.shards, atoms).empty();
    }
  }
}

bool cuts_zigzag(const TrainingStepAssembly& step) {
  const TransformerConfig* model = step.model.transformer();
  return step.parallel.zigzag && model != nullptr && model->causal;
}

void circulate_keys(TrainingStepAssembly& step) {
  ring_attention(step.graph, step.program.mesh, cuts_zigzag(step));
}

}  // namespace lockstep
