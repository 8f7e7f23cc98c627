#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/program/program.hpp"

/// Which elements of a tensor a rank's shard contains, and in which order.
namespace lockstep {

/// One dimension of a shard.
struct PartAxis {
  static constexpr std::int64_t kPadding = -1;

  Dim dim = Dim::batch;
  std::int64_t size = 1;           // of the whole tensor
  std::vector<std::int64_t> at{};  // global index per local index, or kPadding

  [[nodiscard]] std::int64_t length() const { return static_cast<std::int64_t>(at.size()); }
  friend bool operator==(const PartAxis&, const PartAxis&) = default;
};

/// Row-major over `axes`; a flat shard contains elements first_flat .. first_flat + flat - 1 of
/// that.
struct PartLayout {
  std::vector<PartAxis> axes{};
  bool is_flat = false;
  std::int64_t first_flat = 0;
  std::int64_t flat = 0;

  [[nodiscard]] std::int64_t unflattened() const;
  [[nodiscard]] std::int64_t elements() const { return is_flat ? flat : unflattened(); }
  /// Number of elements without padding.
  [[nodiscard]] std::int64_t filled() const;
  /// Global row-major index per local element; kPadding for padding.
  [[nodiscard]] std::vector<std::int64_t> global_indices() const;
  [[nodiscard]] const PartAxis* find(Dim dim) const;
};

/// Cached layouts of a program's tensors on its ranks.
class LayoutTable {
 public:
  /// `slots`: tokens per expert instead of Dim::slot; 0: Dim::slot. The program must outlive this
  /// object.
  LayoutTable(const Program& program, std::int64_t slots) : program_{program}, slots_{slots} {}

  /// Layouts of hosts (ranks beyond the mesh) are unsharded, as on rank 0.
  [[nodiscard]] const PartLayout& of(TensorId tensor, int rank);

 private:
  [[nodiscard]] PartLayout make(const Tensor& tensor, int rank) const;
  [[nodiscard]] PartAxis axis(const Extent& extent, int rank) const;

  const Program& program_;
  std::int64_t slots_;
  std::vector<std::vector<std::unique_ptr<PartLayout>>> known_{};  // by tensor and rank
};

/// Element offsets along some dimensions of a shard, the last one fastest. A missing dimension has
/// stride 0.
[[nodiscard]] std::vector<std::int64_t> places_along(const PartLayout& layout,
                                                     const std::vector<PartAxis>& over);

/// Copies, or adds, the elements common to two shards of one tensor; returns their number. Throws
/// ExecutionError for flat shards of different tensors or different dimensions.
template <class Real>  // float, double
std::int64_t copy_common(const PartLayout& from, const std::vector<Real>& values,
                         const PartLayout& to, std::vector<Real>& into, bool add);

}  // namespace lockstep
