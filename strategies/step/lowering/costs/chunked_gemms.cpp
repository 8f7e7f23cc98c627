#include "strategies/step/lowering/costs/chunked_gemms.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace lockstep {

namespace {

using Kind = OperationKind;

[[nodiscard]] bool shares_any(const std::vector<Ref>& a, const std::vector<Ref>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const Ref& ref) {
    return std::find(b.begin(), b.end(), ref) != b.end();
  });
}

[[nodiscard]] bool overlaps(const Operation& operation) {
  return operation.kind == Kind::collective && operation.stream != kComputeStream &&
         operation.communication->group == "tp";
}

/// The GEMM whose kernel has the time of those that are fused with it.
[[nodiscard]] std::size_t kernel_of_group(const Routine& routine, std::size_t gemm) {
  const int fused = routine.operations[gemm].fused;
  if (fused <= 0) return gemm;
  const auto found = std::find_if(
      routine.operations.begin(), routine.operations.end(),
      [fused](const Operation& one) { return one.kind == Kind::matmul && one.fused == fused; });
  return static_cast<std::size_t>(found - routine.operations.begin());
}

/// The GEMM that goes chunk by chunk with a collective.
class Partner {
 public:
  Partner(const Program& program, const Routine& routine) : program_{program}, routine_{routine} {}

  [[nodiscard]] std::optional<std::size_t> of(std::size_t collective) const {
    const Operation& operation = routine_.operations[collective];
    switch (operation.communication->collective) {
      case Collective::all_gather:
        return after(collective);
      case Collective::reduce_scatter:
        return before(collective);
      default:
        return std::nullopt;
    }
  }

 private:
  [[nodiscard]] std::optional<std::size_t> after(std::size_t collective) const {
    const auto& all = routine_.operations;
    for (std::size_t i = collective + 1; i < all.size(); ++i) {
      if (all[i].kind != Kind::matmul || !shares_any(all[i].reads, all[collective].writes))
        continue;
      const bool of_weight =
          program_.tensors[write_of(all[i], Operand::y).tensor].category == Category::gradient;
      return of_weight ? std::nullopt : std::optional{kernel_of_group(routine_, i)};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> before(std::size_t collective) const {
    const auto& all = routine_.operations;
    for (std::size_t i = collective; i-- > 0;) {
      if (all[i].kind != Kind::matmul || !shares_any(all[i].writes, all[collective].reads))
        continue;
      const bool backward = all[i].purpose == Purpose::backward;
      return backward ? std::nullopt : std::optional{kernel_of_group(routine_, i)};
    }
    return std::nullopt;
  }

  const Program& program_;
  const Routine& routine_;
};

/// Seconds that all chunks but one travel.
[[nodiscard]] double seconds_beside(const Program& program, const Operation& collective,
                                    Rate links) {
  const auto bytes = [&program](const std::vector<Ref>& refs) {
    double sum = 0;
    for (const Ref& ref : refs) {
      sum += static_cast<double>(local_bytes(program.mesh, program.tensors[ref.tensor]).count());
    }
    return sum;
  };
  const auto ranks = static_cast<double>(program.mesh.size(collective.communication->over));
  const double travels = std::max(bytes(collective.reads), bytes(collective.writes)) / ranks;
  return (ranks - 1) * travels / links.bytes_per_second() * (ranks - 1) / ranks;
}

}  // namespace

void chunk_gemms(const Program& program, const Routine& routine, const CostModel& cost,
                 std::vector<Duration>& times) {
  const std::optional<Rate> links = cost.peer_rate();
  if (!links) return;
  const Partner partner{program, routine};
  for (std::size_t i = 0; i < routine.operations.size(); ++i) {
    const Operation& operation = routine.operations[i];
    if (!overlaps(operation)) continue;
    const auto gemm = partner.of(i);
    if (!gemm) continue;
    const double ranks = program.mesh.size(operation.communication->over);
    const double whole = times[*gemm].seconds();
    const double beside =
        seconds_beside(program, operation, *links) / cost.slowdown_while_communicating();
    const double left = std::max(whole / ranks, whole - beside);
    times[*gemm] = Duration::picoseconds(std::llround(left * 1e12));
  }
}

}  // namespace lockstep
