#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/told.hpp"
#include "topologies/import/machine/import_error.hpp"
#include "topologies/import/machine/machine_rules.hpp"
#include "topologies/import/nccl/nccl_machine.hpp"
#include "topologies/import/smi/smi_machine.hpp"

using namespace lockstep;

namespace {

/// Every GPU has a rail, or it is said why not.
void settle(Machine machine) {
  try {
    const std::size_t gpus = machine.of_kind(VertexKind::gpu).size();
    if (settle_nics(machine, std::nullopt).size() != gpus) std::abort();
  } catch (const ImportError&) {
  } catch (const OutOfRange&) {
  }
}

/// What must hold of every machine: there is a GPU, and cables join two different things that are
/// there.
void check(const Machine& machine) {
  if (machine.of_kind(VertexKind::gpu).empty()) std::abort();
  for (const MachineCable& cable : machine.cables) {
    const std::size_t count = machine.vertices.size();
    if (cable.from >= count || cable.to >= count || cable.from == cable.to) std::abort();
    if (cable.link.source.empty()) std::abort();
  }
  for (const std::size_t nic : machine.of_kind(VertexKind::nic)) {
    if (!machine.vertices[nic].speed) std::abort();
  }
  settle(machine);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  fuzz::told([text] { check(machine_of(read_nccl_xml(text, "fuzz"), "fuzz")); });
  fuzz::told([text] { check(machine_of(read_nccl_xml(text, "fuzz", true), "fuzz")); });
  fuzz::told([text] { check(machine_of(read_smi_matrix(text, "fuzz"), std::nullopt)); });
  (void)looks_like_smi(text);
  return 0;
}
