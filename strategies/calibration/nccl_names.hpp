#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// Names of NCCL's tuning model in files and specs, and tables indexed by them.
namespace lockstep {

/// In NCCL's order, which breaks ties.
enum class NcclAlgorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
};
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
/// Compute capability 7.0, 8.0, 9.0 or 10.0, and later minor versions.
enum class NcclArchitecture : std::uint8_t { volta, ampere, hopper, blackwell };
enum class NcclHop : std::uint8_t { nvlink, pci, net };
/// CPU vendor; mixed: Intel and AMD in different nodes.
enum class NcclCpu : std::uint8_t { intel, amd, mixed, other };
/// Columns of NCCL's tables.
enum class NcclSpan : std::uint8_t { one_node, two_nodes, more_nodes };
/// Path type between two devices, nearest first: same device, one or two NVLinks, NVLink-C2C, one
/// or several PCIe switches, PCIe through a C2C link, another GPU's NIC over NVLink, one CPU, two
/// CPUs.
enum class NcclPath : std::uint8_t { loc, nvl, nvb, c2c, pix, pxb, p2c, pxn, phb, sys };

template <class Enum>
struct NcclNames;
template <>
struct NcclNames<NcclAlgorithm> {
  static constexpr std::array<std::string_view, 7> all{
      "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
};
template <>
struct NcclNames<NcclProtocol> {
  static constexpr std::array<std::string_view, 3> all{"ll", "ll128", "simple"};
};
template <>
struct NcclNames<NcclArchitecture> {
  static constexpr std::array<std::string_view, 4> all{"volta", "ampere", "hopper", "blackwell"};
};
template <>
struct NcclNames<NcclHop> {
  static constexpr std::array<std::string_view, 3> all{"nvlink", "pci", "net"};
};
template <>
struct NcclNames<NcclCpu> {
  static constexpr std::array<std::string_view, 4> all{"intel", "amd", "mixed", "other"};
};
template <>
struct NcclNames<NcclSpan> {
  static constexpr std::array<std::string_view, 3> all{"one_node", "two_nodes", "more_nodes"};
};
template <>
struct NcclNames<NcclPath> {
  static constexpr std::array<std::string_view, 10> all{"loc", "nvl", "nvb", "c2c", "pix",
                                                        "pxb", "p2c", "pxn", "phb", "sys"};
};

template <class Enum>
inline constexpr std::size_t kNcclCount = NcclNames<Enum>::all.size();

template <class Enum>
[[nodiscard]] constexpr std::string_view nccl_name(Enum value) {
  return NcclNames<Enum>::all[static_cast<std::size_t>(value)];
}

template <class Enum>
[[nodiscard]] constexpr std::optional<Enum> parse_nccl_name(std::string_view text) {
  for (std::size_t i = 0; i < kNcclCount<Enum>; ++i) {
    if (NcclNames<Enum>::all[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

/// All enumerators, in order.
template <class Enum>
[[nodiscard]] constexpr std::array<Enum, kNcclCount<Enum>> nccl_values() {
  std::array<Enum, kNcclCount<Enum>> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Enum>(i);
  return values;
}

/// A table with one entry per enumerator.
template <class Enum, class T>
class NcclTable {
 public:
  [[nodiscard]] constexpr T& operator[](Enum key) {
    return entries_[static_cast<std::size_t>(key)];
  }
  [[nodiscard]] constexpr const T& operator[](Enum key) const {
    return entries_[static_cast<std::size_t>(key)];
  }

 private:
  std::array<T, kNcclCount<Enum>> entries_{};
};

/// Whether the algorithm only supports the Simple protocol.
[[nodiscard]] constexpr bool is_simple_only(NcclAlgorithm algorithm) {
  return algorithm != NcclAlgorithm::tree && algorithm != NcclAlgorithm::ring;
}

}  // namespace lockstep
