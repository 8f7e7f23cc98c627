#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "topologies/import/machine/machine.hpp"
#include "topologies/import/nccl/nccl_xml.hpp"

/// The NICs of an NCCL topology: what stands there as several elements and is one device.
namespace lockstep {

/// Where an element with network devices hangs.
struct NicPlace {
  std::size_t host = 0;
  std::string bus_id;     // empty: it tells none
  std::size_t above = 0;  // vertex
  SourcedLink link;       // to that
  bool on_pci = true;
};

struct FoundNic {
  NicPlace place;
  std::string source;
  std::int64_t dev = 0;  // of its first port; 0 where none is told
  NicSpeed speed;
};

/// Takes the elements one by one. Functions of one PCI device, and ports with one guid, are one NIC
/// at the place of the first, as fast as its ports together; a network interface of the system
/// (eth0) is no port of its own next to the device that it belongs to (mlx5_0). What has no place
/// on PCI is a NIC only on a host whose PCI has none, and never where its name is that of something
/// virtual.
class NicCollector {
 public:
  void add(NicPlace place, const std::vector<NcclNet>& nets);
  /// Notes what was left out.
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
