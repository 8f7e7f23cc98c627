#include "tools/lockstep/teach/page_file.hpp"

#include <cstddef>
#include <string_view>

#include "sim/base/check.hpp"

// The assembler includes the files as they are: the compiler would take seconds and gigabytes for
// arrays of their bytes. Both end with a byte of zero.
__asm__(
    ".section .rodata\n"
    "lockstep_teaching_page:\n"
    ".incbin \"" LOCKSTEP_PAGE_DIST
    "/teach.html\"\n"
    ".byte 0\n"
    "lockstep_teaching_engine:\n"
    ".incbin \"" LOCKSTEP_PAGE_DIST
    "/engine.b64\"\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char lockstep_teaching_page[] __attribute__((visibility("hidden")));
extern const char lockstep_teaching_engine[] __attribute__((visibility("hidden")));
}

namespace lockstep::cli {

std::string teaching_page() {
  constexpr std::string_view kMark = "@@LOCKSTEP_ENGINE@@";
  std::string out = lockstep_teaching_page;
  const std::size_t at = out.find(kMark);
  LOCKSTEP_CHECK(at != std::string::npos);
  out.replace(at, kMark.size(), lockstep_teaching_engine);
  return out;
}

}  // namespace lockstep::cli
