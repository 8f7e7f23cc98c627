#include "sim/trace/memory/instance_bytes.hpp"

#include <algorithm>

namespace lockstep {

std::vector<Bytes> instance_bytes(const RoleProgram& role) {
  std::vector<Bytes> by_tensor;
  for (const Tensor& tensor : role.program->tensors) {
    by_tensor.push_back(local_bytes(role.program->mesh, tensor));
  }
  std::vector<Bytes> out;
  for (const TensorInstance& instance : role.instances) out.push_back(by_tensor[instance.tensor]);
  return out;
}

bool held_by_host(const RoleProgram& role, std::uint32_t instance) {
  return role.tensor(instance).on_host || role.program->roles[role.role].host;
}

void sort_largest_first(std::vector<HeldInstance>& instances) {
  std::sort(instances.begin(), instances.end(), [](const HeldInstance& a, const HeldInstance& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.instance < b.instance;
  });
}

}  // namespace lockstep
