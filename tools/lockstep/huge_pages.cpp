#include <mimalloc.h>

#include <cstring>

/// Memory in pages of 2 MiB where the system has them for programs that ask (transparent huge pages
/// "madvise"): large simulations wait for memory, and most of that is for the addresses of pages.
/// Asked for before any library allocates, which is in time for the first 256 MiB as well; the
/// loader calls what is in .preinit_array first. MIMALLOC_LARGE_OS_PAGES in the environment decides
/// instead. 4 KiB pages stay where there are no others.
namespace {

void ask_for_huge_pages(int /*argc*/, char** /*argv*/, char** environment) {
  constexpr char kName[] = "MIMALLOC_LARGE_OS_PAGES=";
  for (char** each = environment; *each != nullptr; ++each)
    if (std::strncmp(*each, kName, sizeof kName - 1) == 0) return;
  mi_option_enable(mi_option_large_os_pages);
}

[[gnu::section(".preinit_array"), gnu::used]] auto* const kFirst = ask_for_huge_pages;

}  // namespace
