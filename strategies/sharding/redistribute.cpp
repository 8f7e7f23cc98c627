#include "strategies/sharding/redistribute.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// Takes a tensor from placement to placement, one communication after the other.
class Redistribution {
 public:
  Redistribution(const Mesh& mesh, std::vector<Tensor>& tensors, std::vector<Operation>& body,
                 const Operation& because, const Ref& from)
      : mesh_{mesh},
        tensors_{tensors},
        body_{body},
        before_{body.size()},
        because_{because},
        at_{from} {
    original_ = tensors_[from.tensor];
    now_ = placement_of(original_);
    wants_maximum_ = because.kind == OperationKind::loss_maximum;
  }

  void to(const Placement& target) {
    scatter(target);
    exchange(target);
    scatter(target);
    reduce(target);
    gather(target);
    slice(target);
  }

  [[nodiscard]] Ref finish(const Ref* into) {
    if (into != nullptr) {
      LOCKSTEP_CHECK(body_.size() > before_);
      body_.back().writes = {*into};
      return *into;
    }
    return at_;
  }

 private:
  [[nodiscard]] Dim dim(std::size_t i) const { return original_.extents[i].dim; }
  [[nodiscard]] std::size_t dims() const { return original_.extents.size(); }

  /// Sums become cuts; not yet where an all-to-all has to bring an outer cut first.
  void scatter(const Placement& target) {
    for (std::size_t i = 0; i < dims(); ++i) {
      const MeshSubAxes over =
          common(without(target.shardings[i], now_.shardings[i]), now_.partial);
      if (over.empty() || !comes_next(i, over, target)) continue;
      now_.shardings[i] = joined(now_.shardings[i], over);
      now_.partial = without(now_.partial, over);
      Communication how = communication(Collective::reduce_scatter, over, {dim(i)});
      how.cut = dim(i);
      add(std::move(how), ".scattered");
    }
  }

  [[nodiscard]] bool comes_next(std::size_t i, const MeshSubAxes& over,
                                const Placement& target) const {
    const MeshSubAxes before = joined(now_.shardings[i], over);
    const MeshSubAxes& wanted = target.shardings[i];
    if (dim(i) == Dim::slot) return true;
    return std::equal(
        before.begin(), before.end(), wanted.begin(),
        wanted.begin() + static_cast<std::ptrdiff_t>(std::min(before.size(), wanted.size())));
  }

  void reduce(const Placement& target) {
    const MeshSubAxes rest = without(now_.partial, target.partial);
    if (rest.empty()) return;
    now_.partial = without(now_.partial, rest);
    Communication how = communication(Collective::all_reduce, rest, {});
    if (wants_maximum_) how.reduction = Reduction::maximum;
    add(std::move(how), ".reduced");
  }

  /// A cut that goes from one dimension to another.
  void exchange(const Placement& target) {
    for (std::size_t whole = 0; whole < dims(); ++whole) {
      for (std::size_t sharding = 0; sharding < dims(); ++sharding) {
        const MeshSubAxes over =
            common(without(now_.shardings[whole], target.shardings[whole]),
                   without(target.shardings[sharding], now_.shardings[sharding]));
        if (over.empty() || whole == sharding) continue;
        gather_within(whole, over, target);
        check_suffix(whole, over);
        now_.shardings[whole] = without(now_.shardings[whole], over);
        now_.shardings[sharding] = joined(now_.shardings[sharding], over);
        Communication how =
            communication(Collective::all_to_all, over, {dim(sharding), dim(whole)});
        how.cut = dim(sharding);
        how.joined = dim(whole);
        add(std::move(how), ".exchanged");
      }
    }
  }

  /// Cuts inside those of `over` that are to go too: of keys with fewer heads than ranks, which
  /// some of the ranks share.
  void gather_within(std::size_t i, const MeshSubAxes& over, const Placement& target) {
    if (dim(i) == Dim::slot) return;
    const MeshSubAxes& sharding = now_.shardings[i];
    const auto outer = std::find_if(sharding.begin(), sharding.end(),
                                    [&](AtomId atom) { return contains(over, atom); });
    gather(i, without(without(MeshSubAxes(outer, sharding.end()), over), target.shardings[i]));
  }

  void gather(const Placement& target) {
    for (std::size_t i = 0; i < dims(); ++i)
      gather(i, without(now_.shardings[i], target.shardings[i]));
  }

  void gather(std::size_t i, const MeshSubAxes& over) {
    if (over.empty()) return;
    check_suffix(i, over);
    now_.shardings[i] = without(now_.shardings[i], over);
    Communication how = communication(Collective::all_gather, over, {dim(i)});
    how.cut = dim(i);
    add(std::move(how), ".gathered");
  }

  void slice(const Placement& target) {
    bool any = false;
    for (std::size_t i = 0; i < dims(); ++i) {
      const MeshSubAxes more = without(target.shardings[i], now_.shardings[i]);
      any = any || !more.empty();
      now_.shardings[i] = joined(now_.shardings[i], more);
    }
    if (!any) return;
    Operation operation;
    operation.kind = OperationKind::slice;
    operation.name = because_.name + ".slice";
    operation.purpose = because_.purpose;
    append(std::move(operation), ".slice");
  }

  /// Slots of experts are a bag, their order means nothing; all else is put together inner cuts
  /// first.
  void check_suffix(std::size_t i, const MeshSubAxes& over) const {
    if (dim(i) == Dim::slot) return;
    const MeshSubAxes& sharding = now_.shardings[i];
    LOCKSTEP_CHECK(sharding.size() >= over.size());
    for (std::size_t k = 0; k < over.size(); ++k) {
      LOCKSTEP_CHECK(contains(over, sharding[sharding.size() - 1 - k]));
    }
  }

  /// `cuts`: the dimensions whose cut it changes.
  [[nodiscard]] Communication communication(Collective collective, const MeshSubAxes& over,
                                            std::initializer_list<Dim> shardings) const {
    Communication out;
    out.collective = collective;
    out.over = over;
    const bool of_experts = std::any_of(shardings.begin(), shardings.end(), [](Dim of) {
      return of == Dim::expert || of == Dim::slot;
    });
    const bool within_ep = without(over, mesh_.axis("ep")).empty();
    out.group = of_experts && within_ep ? "ep" : group_of(mesh_, over);
    return out;
  }

  void add(Communication how, const char* suffix) {
    Operation operation;
    operation.kind = OperationKind::collective;
    operation.name = because_.name + "." + how.group + "." + std::string{to_string(how.collective)};
    operation.purpose = Purpose::communication;
    operation.communication = std::move(how);
    append(std::move(operation), suffix);
  }

  void append(Operation operation, const char* suffix) {
    Tensor result = original_;
    result.name += suffix;
    result.category = Category::buffer;
    result.resident = false;
    place(result, now_);
    operation.reads = {at_};
    at_.tensor = static_cast<TensorId>(tensors_.size());
    tensors_.push_back(std::move(result));
    operation.writes = {at_};
    body_.push_back(std::move(operation));
  }

  const Mesh& mesh_;
  std::vector<Tensor>& tensors_;
  std::vector<Operation>& body_;
  std::size_t before_;  // operations of the body that are not the relay's
  const Operation& because_;
  Ref at_;
  Tensor original_;
  Placement now_;
  bool wants_maximum_ = false;
};

}  // namespace

Ref redistribute(const Mesh& mesh, std::vector<Tensor>& tensors, std::vector<Operation>& body,
                 const Ref& from, const Placement& to, const Operation& because, const Ref* into) {
  Redistribution redistribute{mesh, tensors, body, because, from};
  redistribute.to(to);
  return redistribute.finish(into);
}

std::string group_of(const Mesh& mesh, const MeshSubAxes& atoms) {
  static constexpr std::array kAxes{"tp", "cp", "dp", "pp"};
  for (const char* axis : kAxes) {
    if (without(atoms, mesh.axis(axis)).empty()) return axis;
  }
  return "dp";
}

}  // namespace lockstep
