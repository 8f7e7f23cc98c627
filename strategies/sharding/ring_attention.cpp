#include "strategies/sharding/ring_attention.hpp"

#include <fmt/format.h>

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
      if (hop + 1 < members_) next = pass_on(attention, keys, hop, out);
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

  void backward(const Operation& attention, std::vector<Operation>& out) {
    std::vector<Ref> keys{read_of(attention, Operand::k), read_of(attention, Operand::v)};
    std::vector<Ref> gradients;
    for (int hop = 0; hop < members_; ++hop) {
      std::vector<Ref> next;
      if (hop + 1 < members_) next = pass_on(attention, keys, hop, out);
      gradients = hop == 0 ? copies(own_gradients(attention), fmt::format(".ring{}", hop))
                           : pass_on(attention, gradients, hop, out);
      Operation part = attention;
      part.name += fmt::format(".part{}", hop);
      part.ring_offset = hop;
      part.accumulate = hop > 0;
      read_of(part, Operand::k) = keys[0];
      read_of(part, Operand::v) = keys[1];
      part.writes = {write_of(attention, gradient_of(Operand::q)), gradients[0], gradients[1]};
      out.push_back(std::move(part));
      keys = std::move(next);
    }
    const std::vector<Ref> home = own_gradients(attention);
    (void)pass_on(attention, gradients, members_, out, &home);
  }

 private:
  [[nodiscard]] static std::vector<Ref> own_gradients(const Operation& attention) {
    return {write_of(attention, gradient_of(Operand::k)),
            write_of(attention, gradient_of(Operand::v))};
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
                                         int hop, std::vector<Operation>& out,
                                         const std::vector<Ref>* into = nullptr) {
    Operation pass;
    pass.kind = Kind::collective;
    pass.name = fmt::format("{}.ring{}", attention.name, hop);
    pass.purpose = Purpose::communication;
    pass.reads = what;
    pass.writes = into != nullptr ? *into : copies(what, fmt::format(".hop{}", hop));
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
};

}  // namespace

void ring_attention(ModelGraph& graph, const Mesh& mesh, bool zigzag) {
  const MeshSubAxes atoms = mesh.axis("ring");
  if (atoms.empty()) return;
  Ring ring{graph, mesh};
  const auto rewrite = [&](std::vector<Operation>& body) {
    std::vector<Operation> out;
    for (const Operation& operation : body) {
      if (operation.kind == Kind::attention) {
        ring.forward(operation, out);
      } else if (operation.kind == Kind::attention_backward) {
        ring.backward(operation, out);
      } else {
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
