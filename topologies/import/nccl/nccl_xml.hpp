#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.hpp"
#include "topologies/import/machine/link_constants.hpp"

/// An NCCL topology file (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE) as it was written: version 1, or
/// RCCL's version 2 with xGMI. What is absent is empty.
namespace lockstep {

struct NcclNvlink {
  std::string target;  // bus id, lower case
  std::int64_t count = 0;
  std::string target_class;  // such as "0x068000"; may be empty
  bool xgmi = false;
  Position at;
};

struct NcclGpu {
  std::optional<std::int64_t> dev;
  int compute_capability = 0;  // sm; 0: not told
  std::string architecture;    // RCCL's gcn, such as "gfx942"
  std::vector<NcclNvlink> links;
  std::optional<Rate> c2c;  // to its CPU
};

struct NcclNet {
  std::string name;
  std::optional<std::int64_t> dev;
  std::optional<std::int64_t> megabits;  // speed; NCCL takes 10000 where it is not above zero
  std::string port;
  std::string guid;  // of the device, lower case
};
inline constexpr std::int64_t kMostMegabits = 100'000'000;

enum class PciKind : std::uint8_t { gpu, nic, bridge, nvswitch, other };

struct NcclPci {
  std::string bus_id;  // lower case
  PciKind kind = PciKind::other;
  std::string pci_id;  // "10de:20b0"; empty where the file does not tell
  std::string link_speed;
  std::optional<std::int64_t> link_width;
  std::optional<NcclGpu> gpu;
  std::vector<NcclNet> nets;
  std::vector<std::string> links_to;  // pcilink: bus ids of other bridges
  std::vector<NcclPci> below;
  Position at;
};

struct NcclCpuElement {
  std::string host;  // cpus of the same host are joined
  std::optional<std::int64_t> numa;
  CpuModel model;
  std::vector<NcclPci> below;
  std::vector<NcclNet> nets;  // without a place on PCI
};

struct NcclTopology {
  std::vector<NcclCpuElement> cpus;
  std::vector<std::string> notes;  // what was passed over
};

/// Reads what `text` says, no more. Attributes without meaning for a cluster are ignored; so are
/// elements, with a note, and speeds of NICs that cannot be, where these are given anyway. Throws
/// ConfigError with everything that is wrong.
[[nodiscard]] NcclTopology read_nccl_xml(std::string_view text, const std::string& file,
                                         bool nic_speed_given = false);

}  // namespace lockstep
