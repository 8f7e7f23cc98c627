#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/config_error.hpp"
#include "topologies/import/machine/link_constants.hpp"

/// An NCCL topology file (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE), version 1 or RCCL's version 2 with
/// xGMI. Absent fields are empty.
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
  int compute_capability = 0;  // sm; 0: not reported
  std::string architecture;    // RCCL's gcn, such as "gfx942"
  std::vector<NcclNvlink> links;
  std::optional<Rate> c2c;  // to its CPU
};

struct NcclNet {
  std::string name;
  std::optional<std::int64_t> dev;
  std::optional<std::int64_t> megabits;  // speed; NCCL assumes 10000 unless it is positive
  std::string port;
  std::string guid;  // of the device, lower case
};
inline constexpr std::int64_t kMostMegabits = 100'000'000;

enum class PciKind : std::uint8_t { gpu, nic, bridge, nvswitch, other };

struct NcclPci {
  std::string bus_id;  // lower case
  PciKind kind = PciKind::other;
  std::string pci_id;  // "10de:20b0"; empty if not reported
  std::string link_speed;
  std::optional<std::int64_t> link_width;
  std::optional<NcclGpu> gpu;
  std::vector<NcclNet> nets;
  std::vector<std::string> links_to;  // pcilink: bus ids of other bridges
  std::vector<NcclPci> below;
  Position at;
};

struct NcclCpuElement {
  std::string host;  // CPUs of the same host are connected
  std::optional<std::int64_t> numa;
  CpuModel model;
  std::vector<NcclPci> below;
  std::vector<NcclNet> nets;  // without a PCI location
};

struct NcclTopology {
  std::vector<NcclCpuElement> cpus;
  std::vector<std::string> notes;  // on what was ignored
};

/// Parses the file without interpretation. Ignores irrelevant attributes silently and unknown
/// elements with a note, also impossible NIC speeds if `nic_speed` overrides them. Throws
/// ConfigError with every problem.
[[nodiscard]] NcclTopology read_nccl_xml(std::string_view text, const std::string& file,
                                         bool nic_speed_given = false);

}  // namespace lockstep
