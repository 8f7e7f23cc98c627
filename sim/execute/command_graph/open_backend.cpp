#include "sim/execute/command_graph/open_backend.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/execute/command_graph/host_backend.hpp"

namespace lockstep {

namespace {

constexpr const char* kLibrary = "liblockstep_cuda.so";

/// Next to the running program, where an installed one has its libraries, where it was built.
[[nodiscard]] std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> out;
  if (const char* given = std::getenv("LOCKSTEP_CUDA_LIBRARY")) out.emplace_back(given);
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    out.push_back(program.parent_path() / kLibrary);
#ifdef LOCKSTEP_CUDA_INSTALLED
    out.push_back(program.parent_path().parent_path() / LOCKSTEP_CUDA_INSTALLED / kLibrary);
#endif
  }
#ifdef LOCKSTEP_CUDA_LIBRARY
  out.emplace_back(LOCKSTEP_CUDA_LIBRARY);
#endif
  return out;
}

/// The library stays loaded: what it makes lives in it.
[[nodiscard]] void* loaded() {
  for (const std::filesystem::path& place : places()) {
    if (!std::filesystem::exists(place)) continue;
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    throw NoDevice{std::string{"no CUDA: "} + dlerror()};
  }
  throw NoDevice{"no CUDA: this lockstep was built without the CUDA toolkit"};
}

}  // namespace

std::span<const std::string_view> backend_names() {
  static constexpr std::array<std::string_view, 2> kNames{"host", "cuda"};
  return kNames;
}

std::unique_ptr<Backend> open_backend(std::string_view name) {
  if (name == "host") return host_backend();
  LOCKSTEP_CHECK(name == "cuda");
  void* made = dlsym(loaded(), "lockstep_cuda_backend");
  if (made == nullptr) throw NoDevice{std::string{"no CUDA: "} + dlerror()};
  return std::unique_ptr<Backend>{reinterpret_cast<Backend* (*)()>(made)()};
}

}  // namespace lockstep
