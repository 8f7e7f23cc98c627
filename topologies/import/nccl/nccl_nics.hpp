#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "topologies/import/machine/machine.hpp"
#include "topologies/import/nccl/nccl_xml.hpp"

/// Combines several elements of an NCCL topology that are one NIC.
namespace lockstep {

/// Location of an element with network devices.
struct NicPlace {
  std::size_t host = 0;
  std::string bus_id;     // empty: not reported
  std::size_t above = 0;  // vertex
  SourcedLink link;       // to that vertex
  bool on_pci = true;
};

struct FoundNic {
  NicPlace place;
  std::string source;
  std::int64_t dev = 0;  // of its first port; 0 if not reported
  NicSpeed speed;
};

/// Collects the elements. Functions of one PCI device, and ports with one guid, are one NIC at the
/// first one's location, with the combined speed of its ports; a system network interface (eth0) is
/// not a separate port if its device (mlx5_0) is present. Devices without a PCI location are NICs
/// only on hosts without PCI NICs, and never if their name is that of a virtual device.
class NicCollector {
 public:
  void add(NicPlace place, const std::vector<NcclNet>& nets);
  /// Adds notes on omissions.
  [[nodiscard]] std::vector<FoundNic> take(std::vector<std::string>& notes);

 private:
  struct Device {
    NicPlace place;
    std::vector<NcclNet> nets;
    bool dropped = false;
  };

  void merge_guids(std::vector<std::string>& notes);
  void drop_virtual(std::vector<std::string>& notes);

  std::vector<Device> devices_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> by_key_;  // host, bus id and device
};

}  // namespace lockstep
