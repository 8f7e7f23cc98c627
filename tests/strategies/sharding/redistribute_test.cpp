#include "strategies/sharding/redistribute.hpp"

#include <doctest/doctest.h>

#include "strategies/sharding/placement.hpp"

/// From one placement to another: which communication, in which order.

namespace lockstep {
namespace {

using Kinds = std::vector<std::string>;

constexpr AtomId kTp = 0;
constexpr AtomId kCp = 1;
constexpr AtomId kDp = 2;

/// [sequence 64, heads 16, head_size 4] in bf16 on tp 2, cp 4, dp 2.
class Bed {
 public:
  Bed() : mesh_{{{"tp", 2}, {"cp", 4}, {"dp", 2}}} {}

  /// Brings the tensor from one placement to another; what is done, in order.
  Kinds redistribute(const Placement& from, const Placement& to,
                     OperationKind because = OperationKind::matmul) {
    tensors_.clear();
    body_.clear();
    Tensor tensor;
    tensor.name = "x";
    tensor.extents = {{Dim::sequence, 64}, {Dim::heads, 16}, {Dim::head_size, 4}};
    place(tensor, from);
    tensors_.push_back(tensor);
    Operation reason;
    reason.kind = because;
    reason.name = "reason";
    result_ = lockstep::redistribute(mesh_, tensors_, body_, {.tensor = 0}, to, reason);
    Kinds out;
    for (const Operation& operation : body_) {
      out.emplace_back(operation.communication ? to_string(operation.communication->collective)
                                               : to_string(operation.kind));
    }
    CHECK(placement_of(tensors_[result_.tensor]) == to);
    return out;
  }

  [[nodiscard]] const Operation& operation(std::size_t index) const { return body_.at(index); }
  [[nodiscard]] std::int64_t elements(const Ref& ref) const {
    return local_elements(mesh_, tensors_[ref.tensor]);
  }

 private:
  Mesh mesh_;
  std::vector<Tensor> tensors_;
  std::vector<Operation> body_;
  Ref result_;
};

[[nodiscard]] Placement lies(MeshSubAxes sequence, MeshSubAxes heads, MeshSubAxes partial = {}) {
  return {{std::move(sequence), std::move(heads), {}}, std::move(partial)};
}

}  // namespace

TEST_CASE("where a tensor lies already nothing is done") {
  Bed bed;
  CHECK(bed.redistribute(lies({kCp}, {kTp}), lies({kCp}, {kTp})).empty());
}

TEST_CASE("a sum that everybody wants is all-reduced, one that is cut reduce-scattered") {
  Bed bed;
  CHECK(bed.redistribute(lies({}, {}, {kTp}), lies({}, {})) == Kinds{"all_reduce"});
  CHECK(bed.operation(0).communication->reduction == Reduction::sum);
  CHECK(bed.redistribute(lies({}, {}, {kTp}), lies({kTp}, {})) == Kinds{"reduce_scatter"});
  CHECK(bed.operation(0).communication->cut == Dim::sequence);
  CHECK(bed.elements(bed.operation(0).writes[0]) == 64 * 16 * 4 / 2);
  CHECK(bed.redistribute(lies({}, {}, {kTp, kDp}), lies({kTp}, {})) ==
        Kinds{"reduce_scatter", "all_reduce"});
}

TEST_CASE("a maximum over a cut vocabulary is reduced as one") {
  Bed bed;
  (void)bed.redistribute(lies({}, {}, {kTp}), lies({}, {}), OperationKind::loss_maximum);
  CHECK(bed.operation(0).communication->reduction == Reduction::maximum);
}

TEST_CASE("what is cut and wanted whole is gathered, what is whole and wanted cut is sliced") {
  Bed bed;
  CHECK(bed.redistribute(lies({kCp}, {}), lies({}, {})) == Kinds{"all_gather"});
  CHECK(bed.operation(0).communication->cut == Dim::sequence);
  CHECK(bed.redistribute(lies({}, {}), lies({kCp}, {})) == Kinds{"slice"});
  CHECK(bed.elements(bed.operation(0).writes[0]) == 64 * 16 * 4 / 4);
  // Inner cuts are gathered alone.
  CHECK(bed.redistribute(lies({kCp, kTp}, {}), lies({kCp}, {})) == Kinds{"all_gather"});
  CHECK(bed.operation(0).communication->over == MeshSubAxes{kTp});
}

TEST_CASE("a cut that moves to another dimension is an all-to-all, which changes no size") {
  Bed bed;
  CHECK(bed.redistribute(lies({kCp}, {kTp}), lies({}, {kTp, kCp})) == Kinds{"all_to_all"});
  const Communication& how = *bed.operation(0).communication;
  CHECK(how.over == MeshSubAxes{kCp});
  CHECK(how.joined == Dim::sequence);
  CHECK(how.cut == Dim::heads);
  CHECK(bed.elements(bed.operation(0).reads[0]) == bed.elements(bed.operation(0).writes[0]));
}

TEST_CASE("keys that several ranks share: gathered among these, then exchanged") {
  // The sequence is cut by dp, then tp; heads are to be cut by dp alone.
  Bed bed;
  CHECK(bed.redistribute(lies({kDp, kTp}, {}), lies({}, {kDp})) ==
        Kinds{"all_gather", "all_to_all"});
  CHECK(bed.operation(0).communication->over == MeshSubAxes{kTp});
  CHECK(bed.operation(1).communication->over == MeshSubAxes{kDp});
}

TEST_CASE("their gradients come back in the order in which the sequence is cut") {
  // Summands on tp: the outer cut, by dp, comes by all-to-all first; tp cuts within it.
  Bed bed;
  CHECK(bed.redistribute(lies({}, {kDp}, {kTp}), lies({kDp, kTp}, {})) ==
        Kinds{"all_to_all", "reduce_scatter"});
}

TEST_CASE("groups are called as users know them") {
  const Mesh mesh{{{"tp", 2}, {"cp", 4}, {"dp", 2}}, {{"ep", {1, 2}}}};
  CHECK(group_of(mesh, {kTp}) == "tp");
  CHECK(group_of(mesh, {kCp}) == "cp");
  CHECK(group_of(mesh, {kDp}) == "dp");
  CHECK(group_of(mesh, {kDp, kCp}) == "dp");
}

}  // namespace lockstep
