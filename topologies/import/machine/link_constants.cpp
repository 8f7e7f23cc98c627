#include "topologies/import/machine/link_constants.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace lockstep {
namespace {

constexpr std::string_view kTopo = "NCCL 2.30.7 src/graph/topo.h";
constexpr std::string_view kTuning = "NCCL 2.30.7 src/graph/tuning.cc";

Rate mb_per_second(double megabytes) {
  return Rate::bytes_per_second(static_cast<std::uint64_t>(std::llround(megabytes * 1e6)));
}

/// What NCCL counts with of what the maker says, to four digits as a file would have it.
double share(double usable, double nominal) {
  return std::round(usable / nominal * 1e4) / 1e4;
}

struct Generation {
  int compute_capability;
  double nominal_gb;  // per link and direction
  double usable_gb;   // SM60_NVLINK_BW and so on
  std::string_view maker;
};

/// The first whose capability is not above the GPU's, but for 86, which has a row of its own.
constexpr std::array<Generation, 6> kNvlinks{
    {{100, 50, 40.1, "NVLink 5, GB200 NVL72 datasheet, 2024"},
     {90, 25, 20.6, "NVLink 4, H100 whitepaper, 2022"},
     {86, 14.0625, 12,
      "NVLink 3 at 112.5 GB/s for four links both ways, RTX A6000 datasheet, 2021"},
     {80, 25, 20, "NVLink 3, A100 whitepaper, 2020"},
     {70, 25, 20, "NVLink 2, Tesla V100 whitepaper WP-08608-001"},
     {60, 20, 18, "NVLink 1, Tesla P100 whitepaper WP-08019-001"}}};

/// NCCL takes GPUs older than NVLink, and what it does not know, for 8.0.
const Generation& generation_of(int compute_capability) {
  for (const Generation& row : kNvlinks) {
    if (row.compute_capability == 86 && compute_capability != 86) continue;
    if (compute_capability >= row.compute_capability) return row;
  }
  return kNvlinks[3];
}

struct XgmiRow {
  std::string_view prefix;
  double nominal_gb;
  double usable_gb;
  std::string_view constant;
};

/// RCCL, src/graph/topo.h. The last is for all that are older.
constexpr std::array<XgmiRow, 3> kXgmi{{{"gfx94", 64, 48, "GFX94X_XGMI_WIDTH"},
                                        {"gfx90a", 50, 36, "MI200_XGMI_WIDTH"},
                                        {"", 46, 24, "VEGA_XGMI_WIDTH"}}};

struct PcieRow {
  double transfers;  // GT/s per lane
  int nccl_speed;    // kvDictPciGen: hundreds of Mb/s per lane
};
constexpr std::array<PcieRow, 6> kPcie{
    {{2.5, 15}, {5, 30}, {8, 60}, {16, 120}, {32, 240}, {64, 480}}};

/// With bandwidths that makers state, in datasheets or as constants of their libraries.
SourcedLink stated_link(Rate bandwidth, Duration latency, Provenance of_latency) {
  SourcedLink link;
  link.figures.bandwidth = bandwidth;
  link.figures.latency = latency;
  link.figures.provenance = Provenance::datasheet;
  link.figures.latency_provenance = of_latency;
  return link;
}

}  // namespace

SourcedLink nvlink_of(int compute_capability, int count, NvlinkEnd end) {
  const Generation& row = generation_of(compute_capability);
  const bool through_switch = end == NvlinkEnd::nvswitch;
  SourcedLink link =
      stated_link(mb_per_second(row.nominal_gb * 1e3 * count),
                  Duration::picoseconds(through_switch ? 300'000 : 600'000), Provenance::datasheet);
  link.figures.efficiency = share(row.usable_gb, row.nominal_gb);
  link.source = fmt::format(
      "bandwidth: {} x {:.6g} GB/s in one direction, {}; efficiency {:.6g}/{:.6g}: {}, sm{}; "
      "latency: {}{}, "
      "LL ring hop over NVLink{}",
      count, row.nominal_gb, row.maker, row.usable_gb, row.nominal_gb, kTopo,
      row.compute_capability, through_switch ? "half of the 0.6 us of " : "", kTuning,
      through_switch ? ", as two links are passed" : ", 0.6 us");
  return link;
}

SourcedLink xgmi_of(std::string_view architecture, int count) {
  const XgmiRow* row = &kXgmi.back();
  for (const XgmiRow& candidate : kXgmi) {
    if (architecture.substr(0, candidate.prefix.size()) != candidate.prefix) continue;
    row = &candidate;
    break;
  }
  SourcedLink link = stated_link(mb_per_second(row->nominal_gb * 1e3 * count),
                                 Duration::picoseconds(600'000), Provenance::assumed);
  link.figures.efficiency = share(row->usable_gb, row->nominal_gb);
  link.source = fmt::format(
      "bandwidth: {} x {:.6g} GB/s of xGMI in one direction; efficiency {:.6g}/{:.6g}: RCCL "
      "src/graph/topo.h, {}; latency: that of a hop over NVLink, {}, 0.6 us",
      count, row->nominal_gb, row->usable_gb, row->nominal_gb, row->constant, kTuning);
  return link;
}

SourcedLink pcie_of(int generation, int lanes) {
  const PcieRow& row = kPcie.at(static_cast<std::size_t>(generation - 1));
  SourcedLink link = stated_link(mb_per_second(row.transfers / 8 * 1e3 * lanes),
                                 Duration::picoseconds(500'000), Provenance::datasheet);
  link.figures.efficiency = share(row.nccl_speed / 80.0, row.transfers / 8);
  link.source = fmt::format(
      "bandwidth: PCIe {}.0, {} lane{}; efficiency {}: {} (width * speed / 80); latency: half of "
      "the 1 us "
      "of {}, LL ring hop over PCI, as two links are passed",
      generation, lanes, lanes == 1 ? "" : "s", link.figures.efficiency, kTopo, kTuning);
  return link;
}

std::optional<int> pcie_generation(std::string_view speed) {
  constexpr std::array<std::string_view, 6> kTexts{"2.5", "5", "8", "16", "32", "64"};
  const auto end = speed.find(" GT/s");
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view number = speed.substr(0, end);
  if (number.size() > 2 && number.substr(number.size() - 2) == ".0") number.remove_suffix(2);
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    if (number == kTexts.at(i)) return static_cast<int>(i) + 1;
  }
  return std::nullopt;
}

NicSpeed nic_speed_for(const LinkFigures& slot) {
  constexpr std::array<std::uint64_t, 8> kGigabits{800, 400, 200, 100, 50, 40, 25, 10};
  for (const std::uint64_t speed : kGigabits) {
    const Rate rate = Rate::bytes_per_second(speed * 125'000'000);
    if (rate > slot.bandwidth && speed != kGigabits.back()) continue;
    return {rate, fmt::format("{} Gb/s, as fast as their slot can carry", speed), true};
  }
  return {};
}

SourcedLink local_link(Duration latency) {
  SourcedLink link = stated_link(mb_per_second(5e6), latency, Provenance::assumed);
  link.source = fmt::format("usable bandwidth: {}, LOC_BW, inside a chip; latency: assumed", kTopo);
  return link;
}

SourcedLink c2c_of(Rate bandwidth) {
  SourcedLink link = stated_link(bandwidth, Duration::picoseconds(500'000), Provenance::assumed);
  link.source = "bandwidth of NVLink-C2C: as the file says; latency: assumed, as of a PCIe link";
  return link;
}

namespace {

struct CpuLink {
  double gb;
  std::string_view what;
};

CpuLink intel_link(const CpuModel& cpu) {
  if (cpu.family == 6 && cpu.model >= 0xCF) return {40, "Intel Emerald Rapids"};
  if (cpu.family == 6 && cpu.model >= 0x8F) return {22, "Intel Sapphire Rapids"};
  if (cpu.family == 6 && cpu.model >= 0x55) return {10, "Intel Skylake"};
  return {6, "Intel Broadwell"};
}

CpuLink cpu_link_of(const CpuModel& cpu) {
  if (cpu.arch == "ppc64") return {32, "POWER9"};
  if (cpu.arch == "arm64") return {6, "Arm"};
  if (cpu.vendor == "GenuineIntel") return intel_link(cpu);
  if (cpu.vendor == "AuthenticAMD") return {16, "AMD"};
  if (cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ")
    return cpu.family == 7 && cpu.model == 0x5B ? CpuLink{9, "Zhaoxin Yongfeng"}
                                                : CpuLink{6, "Zhaoxin"};
  return {5000, "any other"};
}

SourcedLink cpu_link(const CpuLink& row, std::string_view remark) {
  SourcedLink link =
      stated_link(mb_per_second(row.gb * 1e3), Duration::picoseconds(500'000), Provenance::assumed);
  link.source = fmt::format("usable bandwidth: {}, {}{}; latency: assumed, as of a PCIe link",
                            kTopo, row.what, remark);
  return link;
}

}  // namespace

SourcedLink link_between(const CpuModel& cpu) {
  return cpu_link(cpu_link_of(cpu), "");
}

SourcedLink link_between_unknown_cpus() {
  SourcedLink link = cpu_link({16, "AMD"}, ", which is assumed");
  link.figures.provenance = Provenance::assumed;
  return link;
}

SourcedLink network_link(Rate speed, const std::string& speed_source) {
  SourcedLink link = stated_link(speed, Duration::picoseconds(350'000), Provenance::datasheet);
  link.source = fmt::format(
      "bandwidth: {}, taken in full as NCCL does; latency: half of what is left of the 2.7 us of "
      "{}, LL ring "
      "hop over the network after four PCIe links of 0.5 us, as two cables are passed",
      speed_source, kTuning);
  return link;
}

}  // namespace lockstep
