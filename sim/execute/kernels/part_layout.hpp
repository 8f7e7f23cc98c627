#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/program/program.hpp"

/// Which elements of a whole tensor lie where in a rank's part of it.
namespace lockstep {

/// One dimension of a part.
struct PartAxis {
  static constexpr std::int64_t kPadding = -1;

  Dim dim = Dim::batch;
  std::int64_t size = 1;           // of the whole tensor
  std::vector<std::int64_t> at{};  // per local index the global one, or kPadding

  [[nodiscard]] std::int64_t length() const { return static_cast<std::int64_t>(at.size()); }
  friend bool operator==(const PartAxis&, const PartAxis&) = default;
};

/// Row-major over `axes`; where the part is cut flat, elements first_flat .. first_flat + flat - 1
/// of that.
struct PartLayout {
  std::vector<PartAxis> axes{};
  bool is_flat = false;
  std::int64_t first_flat = 0;
  std::int64_t flat = 0;

  [[nodiscard]] std::int64_t unflattened() const;
  [[nodiscard]] std::int64_t elements() const { return is_flat ? flat : unflattened(); }
  /// Elements that are no padding.
  [[nodiscard]] std::int64_t filled() const;
  /// Local index -> index in the whole tensor, row-major; kPadding for padding.
  [[nodiscard]] std::vector<std::int64_t> global_indices() const;
  [[nodiscard]] const PartAxis* find(Dim dim) const;
};

/// The layouts of a program's tensors on its ranks, each made once.
class LayoutTable {
 public:
  /// `slots`: how many tokens an expert has room for, in place of what Dim::slot says; 0: as it
  /// says. The program must outlive it.
  LayoutTable(const Program& program, std::int64_t slots) : program_{program}, slots_{slots} {}

  /// Hosts (ranks beyond the mesh's) hold whole tensors: they lie as on rank 0.
  [[nodiscard]] const PartLayout& of(TensorId tensor, int rank);

 private:
  [[nodiscard]] PartLayout make(const Tensor& tensor, int rank) const;
  [[nodiscard]] PartAxis axis(const Extent& extent, int rank) const;

  const Program& program_;
  std::int64_t slots_;
  std::map<std::pair<TensorId, int>, std::unique_ptr<PartLayout>> known_{};
};

/// Where the elements of a part stand along some of its dimensions, the last of them fastest, from
/// where they begin. A part without a dimension is the same all along it.
[[nodiscard]] std::vector<std::int64_t> places_along(const PartLayout& layout,
                                                     const std::vector<PartAxis>& over);

/// Copies, or adds, what both parts have of the same whole tensor, and says how many elements that
/// are. Errors: ExecutionError for flat parts of different things, or other dimensions.
template <class Real>  // float, double
std::int64_t copy_common(const PartLayout& from, const std::vector<Real>& values,
                         const PartLayout& to, std::vector<Real>& into, bool add);

}  // namespace lockstep
