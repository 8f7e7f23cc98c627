#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "strategies/interop/nccl_tests/nccl_tests.hpp"
#include "tests/fuzz/told.hpp"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  fuzz::told([text] {
    for (const NcclRun& run : parse_nccl_tests(text, "fuzz")) {
      if (run.rows.empty()) std::abort();
      for (const NcclRow& row : run.rows) (void)row.is_valid();
    }
  });
  return 0;
}
