#include <algorithm>

#include "sim/trace/memory/instance_bytes.hpp"
#include "sim/trace/memory/memory.hpp"

/// What of the memory account needs no timeline.
namespace lockstep {

namespace {

[[nodiscard]] bool is_call_of(const RoleOperation& operation, const LiveQuery& query,
                              const std::vector<RoutineId>& routines) {
  return operation.call.position == query.position &&
         operation.call.microbatch == query.microbatch &&
         std::find(routines.begin(), routines.end(), operation.call.routine) != routines.end();
}

/// One past the last operation of forward; 0 if there is none.
[[nodiscard]] std::size_t end_of_forward(const RoleProgram& role, const LiveQuery& query) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    if (is_call_of(role.operations[i], query, query.forward)) end = i + 1;
  }
  return end;
}

[[nodiscard]] std::vector<bool> written_before(const RoleProgram& role, std::size_t end) {
  std::vector<bool> written(role.instances.size());
  for (std::size_t i = 0; i < end; ++i) {
    for (const std::uint32_t instance : role.operations[i].writes) written[instance] = true;
  }
  return written;
}

/// Instances that backward reads before it writes them.
[[nodiscard]] std::vector<bool> needed_by_backward(const RoleProgram& role, const LiveQuery& query,
                                                   std::size_t from) {
  std::vector<bool> needed(role.instances.size());
  std::vector<bool> written(role.instances.size());
  for (std::size_t i = from; i < role.operations.size(); ++i) {
    const RoleOperation& operation = role.operations[i];
    if (!is_call_of(operation, query, query.backward)) continue;
    for (const std::uint32_t instance : operation.reads) {
      if (!written[instance]) needed[instance] = true;
    }
    for (const std::uint32_t instance : operation.writes) written[instance] = true;
  }
  return needed;
}

[[nodiscard]] bool is_activation_on_device(const RoleProgram& role, std::uint32_t instance) {
  const Tensor& tensor = role.tensor(instance);
  return tensor.category == Category::activation && !tensor.resident &&
         !held_by_host(role, instance);
}

}  // namespace

CategoryBytes resident_bytes(const RoleProgram& role, bool on_host) {
  const std::vector<Bytes> sizes = instance_bytes(role);
  CategoryBytes out;
  for (std::uint32_t i = 0; i < role.instances.size(); ++i) {
    const Tensor& tensor = role.tensor(i);
    if (tensor.resident && held_by_host(role, i) == on_host) out[tensor.category] += sizes[i];
  }
  return out;
}

Bytes model_state_bytes(const CategoryBytes& resident) {
  return resident[Category::weight] + resident[Category::gradient] +
         resident[Category::optimizer_state];
}

std::vector<HeldInstance> live_between(const RoleProgram& role, const LiveQuery& query) {
  const std::size_t end = end_of_forward(role, query);
  const std::vector<bool> written = written_before(role, end);
  const std::vector<bool> needed = needed_by_backward(role, query, end);
  const std::vector<Bytes> sizes = instance_bytes(role);
  std::vector<HeldInstance> out;
  for (std::uint32_t i = 0; i < role.instances.size(); ++i) {
    if (written[i] && needed[i] && is_activation_on_device(role, i)) out.push_back({i, sizes[i]});
  }
  sort_largest_first(out);
  return out;
}

Bytes total_bytes(std::span<const HeldInstance> instances) {
  Bytes sum;
  for (const HeldInstance& each : instances) sum += each.bytes;
  return sum;
}

}  // namespace lockstep
