#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.hpp"

/// What `nvidia-smi topo -m` prints.
namespace lockstep {

/// The worst that the way between two devices crosses.
enum class SmiPath : std::uint8_t {
  self,    // X
  nvlink,  // NV#: what PCIe does between them is not told
  pix,     // one PCIe bridge
  pxb,     // several PCIe bridges
  phb,     // a PCIe host bridge, which is a CPU
  node,    // several host bridges of one NUMA node
  sys,     // the link between NUMA nodes (SOC in old drivers)
};

struct SmiCell {
  SmiPath path = SmiPath::self;
  int links = 0;  // NVLinks
  friend bool operator==(const SmiCell&, const SmiCell&) = default;
};

struct SmiDevice {
  std::string name;  // "GPU0", "NIC3"
  bool is_gpu = false;
  std::string legend;  // of a NIC, such as "mlx5_3"
  std::string numa;    // NUMA affinity, else CPU affinity; empty where neither is told
};

struct SmiMatrix {
  std::vector<SmiDevice> devices;
  std::vector<SmiCell> cells;      // row by row
  std::vector<std::string> notes;  // what of the text was skipped

  [[nodiscard]] const SmiCell& cell(std::size_t row, std::size_t column) const {
    return cells[row * devices.size() + column];
  }
};

/// Whether the text has the matrix's heading.
[[nodiscard]] bool looks_like_smi(std::string_view text);

/// Reads the matrix, with tabs as it is printed or with the blanks of a copied screen, the codes
/// for underlining taken off. What people paste with it, such as tables of `nvidia-smi topo -p2p`
/// or of nvidia-smi itself, is skipped, with a note; so is the same matrix once more. Throws
/// ConfigError with everything that is wrong.
[[nodiscard]] SmiMatrix read_smi_matrix(std::string_view text, const std::string& file);

}  // namespace lockstep
