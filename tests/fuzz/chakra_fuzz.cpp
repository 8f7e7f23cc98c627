#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strategies/interop/chakra/chakra_workload.hpp"
#include "tests/fuzz/told.hpp"

using namespace lockstep;

namespace {

std::shared_ptr<const Schedule> none(Collective, std::span<const int>, Bytes) {
  return nullptr;
}

/// Two ranks that do the same.
void convert(const ChakraRank& rank) {
  const std::vector<EndpointId> members{0, 1};
  (void)to_workload(ChakraTrace{{rank, rank}}, members, none);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  fuzz::told([bytes] { convert(parse_chakra_et(bytes, "fuzz", 2)); });
  fuzz::told([bytes] { convert(parse_chakra_json(bytes, "fuzz", 2)); });
  return 0;
}
