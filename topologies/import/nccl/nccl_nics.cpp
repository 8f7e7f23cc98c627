#include "topologies/import/nccl/nccl_nics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "topologies/import/machine/link_constants.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kDefaultMegabits = 10'000;  // NCCL's, where a NIC's speed is not told

template <std::size_t kCount>
bool begins_with_any(std::string_view name, const std::array<std::string_view, kCount>& words) {
  return std::ranges::any_of(words,
                             [name](std::string_view word) { return name.starts_with(word); });
}

/// What no cable is behind: containers' ends, bridges, tunnels, the loop to itself. Names are those
/// that Linux, Docker and the network plugins of Kubernetes give.
bool is_virtual(std::string_view name) {
  constexpr std::array<std::string_view, 25> kNames{
      "veth",  "docker", "br-",          "bridge", "virbr",  "vmbr",   "cni",   "cali", "flannel",
      "vxlan", "geneve", "tun",          "tap",    "gre",    "ip6tnl", "sit",   "wg",   "tailscale",
      "dummy", "kube-",  "nodelocaldns", "lxc",    "cilium", "ovs",    "podman"};
  return name == "lo" || name == "br0" || begins_with_any(name, kNames);
}

/// A network interface of the system: of an RDMA device there is one in addition to its own name.
bool is_interface(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames{"eth", "en", "ib", "bond", "team", "hsn"};
  return begins_with_any(name, kNames) || is_virtual(name);
}

/// "0000:18:00.1" without its function; as it is where it is no such address.
std::string device_of(const std::string& bus_id) {
  const auto dot = bus_id.rfind('.');
  return dot == bus_id.npos || bus_id.find(':') == bus_id.npos ? bus_id : bus_id.substr(0, dot);
}

/// A guid that distinguishes devices.
bool is_guid(const std::string& guid) {
  return guid.find_first_not_of("0x") != guid.npos;
}

std::string name_of(const NicPlace& place, const std::vector<NcclNet>& nets) {
  std::string out = place.bus_id;
  for (const NcclNet& net : nets) {
    if (!net.name.empty()) out += (out.empty() ? "" : ", ") + net.name;
  }
  return out;
}

/// The ports among what a device names: each once, and interfaces of the system only where there is
/// nothing else.
std::vector<NcclNet> ports_of(const std::vector<NcclNet>& nets) {
  const bool all_interfaces =
      std::ranges::all_of(nets, [](const NcclNet& net) { return is_interface(net.name); });
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<NcclNet> out;
  for (const NcclNet& net : nets) {
    if (!all_interfaces && is_interface(net.name)) continue;
    if (net.name.empty() || seen.emplace(net.name, net.port).second) out.push_back(net);
  }
  return out;
}

Rate rate_of(std::int64_t megabits) {
  return Rate::bytes_per_second(static_cast<std::uint64_t>(megabits) * 125'000);
}

/// All ports that give their speed together. A net that gives none, or nonsense, has what NCCL then
/// takes; a card of which only the slot is given, what fits there.
NicSpeed speed_of(const std::vector<NcclNet>& ports, const LinkFigures& slot) {
  std::int64_t sum = 0;
  std::int64_t told = 0;
  for (const NcclNet& port : ports) {
    if (!port.megabits || *port.megabits <= 0) continue;
    ++told;
    sum = std::min(kMostMegabits, sum + *port.megabits);
  }
  if (told == 1) return {rate_of(sum), fmt::format("{} Mb/s, as the file says", sum), false};
  if (told > 1)
    return {rate_of(sum), fmt::format("{} Mb/s, that of {} ports in the file", sum, told), false};
  const bool named =
      std::ranges::any_of(ports, [](const NcclNet& net) { return !net.name.empty(); });
  if (!named) return nic_speed_for(slot);
  return {rate_of(kDefaultMegabits), fmt::format("{} Mb/s, NCCL's default", kDefaultMegabits),
          true};
}

}  // namespace

void NicCollector::add(NicPlace place, const std::vector<NcclNet>& nets) {
  const std::string key = device_of(place.bus_id);
  const auto [known, is_new] = by_key_.try_emplace({place.host, key}, devices_.size());
  if (is_new || key.empty()) {
    devices_.push_back({std::move(place), nets});
  } else {
    std::vector<NcclNet>& all = devices_[known->second].nets;
    all.insert(all.end(), nets.begin(), nets.end());
  }
}

/// Another way to a chip that has been met, such as that of the second socket.
void NicCollector::merge_guids(std::vector<std::string>& notes) {
  std::map<std::pair<std::size_t, std::string>, std::size_t> first;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    Device& device = devices_[i];
    for (const NcclNet& net : device.nets) {
      if (!is_guid(net.guid)) continue;
      const std::size_t owner = first.try_emplace({device.place.host, net.guid}, i).first->second;
      if (owner == i || device.dropped) continue;
      device.dropped = true;
      notes.push_back(fmt::format("left out: {} (the same device as {}: guid {})",
                                  name_of(device.place, device.nets),
                                  name_of(devices_[owner].place, devices_[owner].nets), net.guid));
    }
  }
}

void NicCollector::drop_virtual(std::vector<std::string>& notes) {
  std::set<std::size_t> with_pci;  // hosts
  for (const Device& device : devices_) {
    if (device.place.on_pci) with_pci.insert(device.place.host);
  }
  std::vector<std::string> names;
  for (Device& device : devices_) {
    if (device.dropped || device.place.on_pci) continue;
    const bool is_named_so =
        std::ranges::any_of(device.nets, [](const NcclNet& net) { return is_virtual(net.name); });
    device.dropped = is_named_so || with_pci.count(device.place.host) != 0;
    if (device.dropped) names.push_back(name_of(device.place, device.nets));
  }
  if (!names.empty())
    notes.push_back(fmt::format("left out: {} ({} without a place on PCI)", fmt::join(names, "; "),
                                names.size() == 1 ? "a network interface" : "network interfaces"));
}

std::vector<FoundNic> NicCollector::take(std::vector<std::string>& notes) {
  merge_guids(notes);
  drop_virtual(notes);
  std::vector<FoundNic> out;
  for (Device& device : devices_) {
    if (device.dropped) continue;
    const std::vector<NcclNet> ports = ports_of(device.nets);
    FoundNic nic{device.place, name_of(device.place, ports), 0,
                 speed_of(ports, device.place.on_pci ? device.place.link.figures : LinkFigures{})};
    if (!ports.empty()) nic.dev = ports.front().dev.value_or(0);
    if (ports.size() > 1)
      notes.push_back(
          fmt::format("{} ports of one device are one NIC: {}", ports.size(), nic.source));
    if (ports.size() < device.nets.size())
      notes.push_back(
          fmt::format("left out: {} of the network devices of {} (other names of its ports)",
                      device.nets.size() - ports.size(), nic.source));
    out.push_back(std::move(nic));
  }
  return out;
}

}  // namespace lockstep
