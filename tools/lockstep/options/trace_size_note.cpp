#include "tools/lockstep/options/trace_size_note.hpp"

#include <fmt/format.h>

#include "tools/lockstep/host/host.hpp"

namespace lockstep::cli {

OnTraceSize trace_size_note(const std::string& file, const std::string& smaller) {
  return [file, smaller](Bytes size) {
    // ui.perfetto.dev opens less without a noticeable wait.
    constexpr std::int64_t kLarge = 32'000'000;
    if (size.count() < kLarge) return;
    const bool compressed = file.ends_with(".gz");
    print_note(fmt::format("lockstep: note: {}: {} MB of JSON{}; {}{}", file,
                           size.count() / 1'000'000, compressed ? " before compression" : "",
                           smaller, compressed ? "" : "; a name ending in .json.gz compresses it"));
  };
}

}  // namespace lockstep::cli
