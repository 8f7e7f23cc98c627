#include "tests/bench/memory.hpp"

#include <malloc.h>

#include <fstream>
#include <string>

namespace lockstep {
namespace {

std::optional<Bytes> status(const std::string& key) {
  std::ifstream file{"/proc/self/status"};
  for (std::string word; file >> word;) {
    if (word != key) continue;
    std::int64_t kibibytes = 0;
    file >> kibibytes;
    return 1_KiB * kibibytes;
  }
  return std::nullopt;
}

/// Puts the high-water mark at what is held now: "5" in clear_refs (proc(5)).
bool forget_peak() {
  std::ofstream file{"/proc/self/clear_refs"};
  file << "5" << std::flush;
  return file.good();
}

}  // namespace

PeakMemory::PeakMemory() {
  malloc_trim(0);
  if (forget_peak()) before_ = status("VmRSS:");
}

std::optional<Bytes> PeakMemory::grown() const {
  const auto peak = status("VmHWM:");
  if (!before_ || !peak || *peak < *before_) return std::nullopt;
  return *peak - *before_;
}

}  // namespace lockstep
