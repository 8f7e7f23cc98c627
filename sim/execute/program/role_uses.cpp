#include "sim/execute/program/role_uses.hpp"

namespace lockstep::execution {

namespace {

[[nodiscard]] std::vector<std::uint32_t> counts_of(const std::vector<std::uint32_t>& counts,
                                                   const IndexList& instances) {
  std::vector<std::uint32_t> out;
  out.reserve(instances.size());
  for (const std::uint32_t instance : instances) out.push_back(counts[instance]);
  return out;
}

}  // namespace

RoleUses uses_of(const RoleProgram& role) {
  RoleUses out;
  std::vector<std::uint32_t> written(role.instances.size(), 0);
  out.uses.assign(role.instances.size(), 0);
  for (const RoleOperation& operation : role.operations) {
    out.written_before.push_back(counts_of(written, operation.reads));
    out.used_before.push_back(counts_of(out.uses, operation.writes));
    for (const std::uint32_t instance : operation.reads) ++out.uses[instance];
    for (const std::uint32_t instance : operation.writes) {
      ++out.uses[instance];
      ++written[instance];
    }
  }
  return out;
}

}  // namespace lockstep::execution
