#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/config_error.hpp"

/// Output of `nvidia-smi topo -m`.
namespace lockstep {

/// The farthest element on the path between two devices.
enum class SmiPath : std::uint8_t {
  self,    // X
  nvlink,  // NV#: the PCIe path is not reported
  pix,     // one PCIe bridge
  pxb,     // several PCIe bridges
  phb,     // a PCIe host bridge (CPU)
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
  std::string numa;    // NUMA affinity, else CPU affinity; empty if neither is reported
};

struct SmiMatrix {
  std::vector<SmiDevice> devices;
  std::vector<SmiCell> cells;      // row by row
  std::vector<std::string> notes;  // on skipped text

  [[nodiscard]] const SmiCell& cell(std::size_t row, std::size_t column) const {
    return cells[row * devices.size() + column];
  }
};

/// Whether the text contains the matrix's heading.
[[nodiscard]] bool looks_like_smi(std::string_view text);

/// Reads the matrix, with tabs or as copied from a screen, without underlining codes. Other pasted
/// text, such as tables of `nvidia-smi topo -p2p` or nvidia-smi, and repetitions of the matrix are
/// skipped with a note. Throws ConfigError with every problem.
[[nodiscard]] SmiMatrix read_smi_matrix(std::string_view text, const std::string& file);

}  // namespace lockstep
