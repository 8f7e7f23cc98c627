#include "topologies/import/nccl/nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/config/did_you_mean.hpp"
#include "topologies/import/machine/placed_xml.hpp"

namespace lockstep {
namespace {

constexpr int kDeepest = 64;  // <pci> in one another

std::string lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  return out;
}

/// Decimal or, behind 0x, hexadecimal.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hex) text.remove_prefix(2);
  if (hex && text.front() == '-') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "0x17db", "0501": four digits in lower case; empty where it is something else.
std::string pci_number(std::string_view text) {
  std::string digits = lower(text);
  if (digits.substr(0, 2) == "0x") digits.erase(0, 2);
  const bool four =
      digits.size() == 4 && digits.find_first_not_of("0123456789abcdef") == digits.npos;
  return four ? digits : "";
}

struct Range {
  std::int64_t least;
  std::int64_t most;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, bool nic_speed_given)
      : xml_{text, file}, problems_{file}, nic_speed_given_{nic_speed_given} {}

  NcclTopology read() {
    for (const pugi::xml_node node : xml_.top().children()) {
      if (node.type() != pugi::node_element) continue;
      if (is(node, "system")) {
        read_system(node);
      } else {
        refuse_root(node);
      }
    }
    if (out_.cpus.empty() && !problems_.any())
      problems_.note({1, 1}, "", "there is no <cpu> and no <pci> in a <system>");
    note_passed_over();
    problems_.throw_if_any();
    return std::move(out_);
  }

 private:
  static bool is(pugi::xml_node node, std::string_view name) { return name == node.name(); }

  void refuse_root(pugi::xml_node node) {
    const std::string hint = is(node, "graphs") ? ": this is a file of NCCL_GRAPH_DUMP_FILE" : "";
    problems_.note(xml_.at(node), "",
                   fmt::format("expected <system>, the root of an NCCL topology, got <{}>{}",
                               node.name(), hint));
  }

  // --- elements

  void read_system(pugi::xml_node system) {
    (void)integer(system, "version", {1, 2});
    ++systems_;
    std::optional<std::size_t> implied;  // a cpu for what stands outside any
    for (const pugi::xml_node node : system.children()) {
      if (node.type() != pugi::node_element) continue;
      if (is(node, "cpu")) {
        read_cpu(node);
      } else if (is(node, "pci") || is(node, "nic")) {
        if (!implied) implied = add_implied_cpu();
        read_below(node, out_.cpus[*implied].below, out_.cpus[*implied].nets, 0);
      } else {
        pass_over(node);
      }
    }
  }

  /// Outside any <cpu> there is nothing that distinguishes hosts.
  std::size_t add_implied_cpu() {
    out_.cpus.emplace_back();
    out_.cpus.back().host = fmt::format("{}/", systems_);
    return out_.cpus.size() - 1;
  }

  void read_cpu(pugi::xml_node node) {
    NcclCpuElement cpu;
    cpu.host = fmt::format("{}/{}", systems_, text(node, "host_hash"));
    cpu.numa = integer(node, "numaid", {-1, 1'000'000});
    cpu.model.arch = text(node, "arch");
    cpu.model.vendor = text(node, "vendor");
    cpu.model.family = static_cast<int>(integer(node, "familyid", {-1, 1'000'000}).value_or(0));
    cpu.model.model = static_cast<int>(integer(node, "modelid", {-1, 1'000'000}).value_or(0));
    for (const pugi::xml_node below : node.children()) {
      if (below.type() == pugi::node_element) read_below(below, cpu.below, cpu.nets, 0);
    }
    out_.cpus.push_back(std::move(cpu));
  }

  void read_below(pugi::xml_node node, std::vector<NcclPci>& devices, std::vector<NcclNet>& nets,
                  int depth) {
    if (is(node, "pci")) {
      read_pci(node, devices, depth);
    } else if (is(node, "nic")) {
      read_nic(node, nets);
    } else {
      pass_over(node);
    }
  }

  void read_pci(pugi::xml_node node, std::vector<NcclPci>& devices, int depth) {
    if (depth == kDeepest) {
      problems_.note(xml_.at(node), "", fmt::format("more than {} <pci> in one another", kDeepest));
      return;
    }
    NcclPci pci;
    pci.at = xml_.at(node);
    pci.bus_id = lower(text(node, "busid"));
    const std::string vendor = pci_number(text(node, "vendor"));
    const std::string device = pci_number(text(node, "device"));
    if (!vendor.empty() && !device.empty()) pci.pci_id = vendor + ":" + device;
    pci.link_speed = text(node, "link_speed");
    pci.link_width = integer(node, "link_width", {0, 1024});
    for (const pugi::xml_node below : node.children()) {
      if (below.type() == pugi::node_element) read_part(below, pci, depth);
    }
    pci.kind = kind_of(node, pci);
    devices.push_back(std::move(pci));
  }

  void read_part(pugi::xml_node node, NcclPci& pci, int depth) {
    if (is(node, "gpu")) {
      pci.gpu = read_gpu(node);
    } else if (is(node, "pcilink")) {
      pci.links_to.push_back(lower(text(node, "target")));
    } else {
      read_below(node, pci.below, pci.nets, depth + 1);
    }
  }

  /// Class and subclass, without the interface behind them; hexadecimal with or without 0x.
  static std::optional<int> subclass_of(std::string_view text) {
    if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") text.remove_prefix(2);
    if (text.size() != 4 && text.size() != 6) return std::nullopt;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
    return text.size() == 6 ? number / 256 : number;
  }

  /// Classes as NCCL distinguishes them (src/graph/topo.cc, kvDictPciClass); 0x12 is what AMD's
  /// accelerators have. What is inside says the same where there is no class.
  PciKind kind_of(pugi::xml_node node, const NcclPci& pci) {
    if (pci.gpu) return PciKind::gpu;
    if (node.child("nic")) return PciKind::nic;
    const pugi::xml_attribute attribute = node.attribute("class");
    const auto subclass = subclass_of(attribute.value());
    if (!subclass) {
      refuse_class(node, attribute);
      return PciKind::other;
    }
    if (*subclass / 256 == 0x03 || *subclass / 256 == 0x12) return PciKind::gpu;
    if (*subclass / 256 == 0x02) return PciKind::nic;
    if (*subclass == 0x0604) return PciKind::bridge;
    if (*subclass == 0x0680) return PciKind::nvswitch;
    return pci.below.empty() ? PciKind::other : PciKind::bridge;
  }

  void refuse_class(pugi::xml_node node, pugi::xml_attribute attribute) {
    const std::string got = attribute ? in_quotes(attribute.value()) : "none";
    problems_.note(attribute ? xml_.at(attribute) : xml_.at(node), "",
                   "class: expected a PCI class such as 0x030200 (GPU), 0x020700 (NIC) or 0x060400 "
                   "(bridge), got " +
                       got);
  }

  NcclGpu read_gpu(pugi::xml_node node) {
    NcclGpu gpu;
    gpu.dev = integer(node, "dev", {-1, 1'000'000});
    gpu.compute_capability = static_cast<int>(integer(node, "sm", {0, 10'000}).value_or(0));
    gpu.architecture = architecture(text(node, "gcn"));
    for (const pugi::xml_node below : node.children()) {
      if (below.type() != pugi::node_element) continue;
      if (is(below, "nvlink") || is(below, "xgmi")) {
        read_link(below, gpu);
      } else if (is(below, "c2c")) {
        read_c2c(below, gpu);
      } else {
        pass_over(below);
      }
    }
    return gpu;
  }

  /// RCCL has written "gfx942", and before that 942, or 910 for gfx90a.
  static std::string architecture(std::string gcn) {
    gcn = lower(gcn.substr(0, gcn.find(':')));
    if (gcn.empty() || gcn.substr(0, 3) == "gfx") return gcn;
    return gcn == "910" ? "gfx90a" : "gfx" + gcn;
  }

  void read_link(pugi::xml_node node, NcclGpu& gpu) {
    NcclNvlink link;
    link.at = xml_.at(node);
    link.xgmi = is(node, "xgmi");
    link.target = lower(text(node, "target"));
    link.target_class = lower(text(node, "tclass"));
    if (link.target.empty())
      problems_.note(link.at, "",
                     fmt::format("<{}> without a target: expected the bus id of what it leads to",
                                 node.name()));
    const auto count = required_integer(node, "count", {1, 1024});
    if (!count || link.target.empty()) return;
    link.count = *count;
    gpu.links.push_back(std::move(link));
  }

  /// MB/s per link, as NCCL has it.
  void read_c2c(pugi::xml_node node, NcclGpu& gpu) {
    const auto bandwidth = required_integer(node, "bw", {1, 100'000'000});
    const auto count = integer(node, "count", {1, 1024});
    if (!bandwidth) return;
    const std::int64_t megabytes = *bandwidth * count.value_or(1);
    constexpr std::int64_t kMost = 100'000'000;  // 100 TB/s
    if (megabytes > kMost) {
      problems_.note(
          xml_.at(node), "",
          fmt::format("bw times count: expected at most {} MB/s, got {}", kMost, megabytes));
      return;
    }
    gpu.c2c = Rate::bytes_per_second(static_cast<std::uint64_t>(megabytes) * 1'000'000);
  }

  void read_nic(pugi::xml_node node, std::vector<NcclNet>& nets) {
    for (const pugi::xml_node below : node.children()) {
      if (below.type() != pugi::node_element) continue;
      if (!is(below, "net")) {
        pass_over(below);
        continue;
      }
      nets.push_back({text(below, "name"), integer(below, "dev", {-1, 1'000'000}), speed(below),
                      text(below, "port"), lower(text(below, "guid"))});
    }
  }

  /// Mb/s. Drivers tell -1, and that without its sign, where they do not know.
  std::optional<std::int64_t> speed(pugi::xml_node net) {
    const pugi::xml_attribute attribute = net.attribute("speed");
    if (!attribute || *attribute.value() == '\0') return std::nullopt;
    const auto value = parse_integer(attribute.value());
    if (value && *value <= kMostMegabits) return value;
    if (nic_speed_given_) {
      ++ignored_speeds_;
    } else {
      problems_.note(xml_.at(attribute), "",
                     fmt::format("speed: expected an integer number of Mb/s up to {}, got {}; "
                                 "--nic-speed specifies that of every NIC",
                                 kMostMegabits, in_quotes(attribute.value())));
    }
    return std::nullopt;
  }

  // --- attributes

  static std::string text(pugi::xml_node node, const char* name) {
    return node.attribute(name).value();
  }

  /// Nothing where it is absent or empty.
  std::optional<std::int64_t> integer(pugi::xml_node node, const char* name, Range range) {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute || *attribute.value() == '\0') return std::nullopt;
    const auto value = parse_integer(attribute.value());
    if (value && *value >= range.least && *value <= range.most) return value;
    problems_.note(xml_.at(attribute), "",
                   fmt::format("{}: expected an integer from {} to {}, got {}", name, range.least,
                               range.most, in_quotes(attribute.value())));
    return std::nullopt;
  }

  std::optional<std::int64_t> required_integer(pugi::xml_node node, const char* name, Range range) {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (attribute && *attribute.value() != '\0') return integer(node, name, range);
    problems_.note(xml_.at(node), "",
                   fmt::format("<{}> without {}: expected an integer from {} to {}", node.name(),
                               name, range.least, range.most));
    return std::nullopt;
  }

  // --- what means nothing here

  void pass_over(pugi::xml_node node) {
    constexpr std::size_t kMostKept = 5;
    if (passed_over_++ >= kMostKept) return;
    const Position at = xml_.at(node);
    const auto meant = did_you_mean(
        node.name(), {"cpu", "pci", "gpu", "nic", "net", "nvlink", "c2c", "pcilink", "xgmi"});
    out_.notes.push_back(fmt::format("{}:{}: <{}> is unsupported and was ignored{}", at.line,
                                     at.column, node.name(),
                                     meant ? fmt::format("; did you mean <{}>?", *meant) : ""));
  }

  void note_passed_over() {
    const std::size_t more = passed_over_ - std::min<std::size_t>(passed_over_, out_.notes.size());
    if (more > 0) out_.notes.push_back(fmt::format("{} more elements were ignored", more));
    if (ignored_speeds_ == 1)
      out_.notes.emplace_back("the speed of a NIC that cannot be is ignored");
    if (ignored_speeds_ > 1)
      out_.notes.push_back(
          fmt::format("{} speeds of NICs that cannot be are ignored", ignored_speeds_));
  }

  PlacedXml xml_;
  Problems problems_;
  NcclTopology out_;
  int systems_ = 0;
  std::size_t passed_over_ = 0;
  bool nic_speed_given_ = false;
  std::size_t ignored_speeds_ = 0;
};

}  // namespace

NcclTopology read_nccl_xml(std::string_view text, const std::string& file, bool nic_speed_given) {
  return Reader{text, file, nic_speed_given}.read();
}

}  // namespace lockstep
