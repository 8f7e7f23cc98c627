#include "topologies/devices/device.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "sim/config/json/json_schema.hpp"
#include "sim/config/reader.hpp"
#include "topologies/devices/device_figure.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kMostMultiprocessors = 10'000;
constexpr std::int64_t kMostPeerLinks = 1'000;
constexpr std::int64_t kLatestPcie = 8;
constexpr std::int64_t kMostWatts = 100'000;

constexpr Key kPeerLinks{"peer_links",
                         "Direct links to other devices or to their switch; the bandwidth is one "
                         "link's in one direction"};
constexpr Key kKernels{"kernels",
                       "Kernel efficiencies: a file of configs/kernels, without .json; computation "
                       "cannot be timed without one"};

/// A whole number of watts with its unit ("700 W"), 1 to kMostWatts.
std::optional<Watts> parse_watts(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = text.substr(digits);
  if (digits == 0 || digits > 6 || (unit != " W" && unit != "W")) return std::nullopt;
  const std::int64_t count = std::stoll(std::string{text.substr(0, digits)});
  if (count < 1 || count > kMostWatts) return std::nullopt;
  return Watts{count};
}

/// Reads a device's figures and remembers where they come from.
class DeviceReader {
 public:
  Device read(ObjectReader& in, std::string id) {
    device_.id = std::move(id);
    device_.name = in.string("name");
    const auto kind = in.kind("kind", "kind of device", {"gpu", "host"});
    device_.kind = kind == "gpu" ? DeviceKind::kGpu : DeviceKind::kHost;
    read_message_costs(in);
    if (device_.kind == DeviceKind::kGpu) {
      read_gpu(in);
    } else {
      read_host(in);
    }
    return std::move(device_);
  }

 private:
  template <class Value>
  auto figure(ObjectReader& in, const Key& key, Value value_of) {
    return FigureReader{device_.sources}.figure(in, key, value_of);
  }

  template <class Value>
  auto optional_figure(ObjectReader& in, const Key& key, Value value_of) {
    return FigureReader{device_.sources}.optional_figure(in, key, value_of);
  }

  Rate rate(ObjectReader& in, const Key& key) {
    return figure(in, key, [](const ValueReader& value) { return value.rate(); });
  }

  std::int64_t count(ObjectReader& in, const Key& key, std::int64_t most) {
    return figure(in, key, [most](const ValueReader& value) { return value.integer(1, most); });
  }

  void read_message_costs(ObjectReader& in) {
    const auto overhead = optional_figure(
        in, "message_overhead", [](const ValueReader& value) { return value.duration(); });
    device_.message_overhead = overhead.value_or(Duration{});
    device_.reduce_rate =
        optional_figure(in, "reduce_rate", [](const ValueReader& value) { return value.rate(); });
    if (device_.kind != DeviceKind::kGpu) return;
    (void)in.required("message_overhead");
    (void)in.required("reduce_rate");
  }

  DeviceMemory read_memory(ObjectReader& memory) {
    return DeviceMemory{
        figure(memory, "size", [](const ValueReader& value) { return value.positive_bytes(); }),
        rate(memory, {"bandwidth", "Reads and writes together"})};
  }

  void read_host(ObjectReader& in) {
    device_.memory =
        in.optional_object("memory", [this](ObjectReader& memory) { return read_memory(memory); });
  }

  void read_gpu(ObjectReader& in) {
    device_.memory =
        in.object("memory", [this](ObjectReader& memory) { return read_memory(memory); });
    read_peaks(in);
    device_.multiprocessors = count(in, "multiprocessors", kMostMultiprocessors);
    device_.peer_links = in.optional_object(kPeerLinks, [this](ObjectReader& links) {
      return PeerLinks{links.one_of("kind", "kind of link", {"nvlink", "xgmi"}),
                       count(links, "count", kMostPeerLinks), rate(links, "bandwidth")};
    });
    device_.pcie_generation = optional_figure(in, "pcie_generation", [](const ValueReader& value) {
      return value.integer(1, kLatestPcie);
    });
    device_.max_power = figure(in, "max_power", read_watts);
    device_.usd_per_hour =
        optional_figure(in, {"price", "Price of an hour ($)"},
                        [](const ValueReader& value) { return value.number(0, 1e9); });
    device_.kernels = in.optional_string(kKernels).value_or("");
  }

  static Watts read_watts(const ValueReader& value) {
    if (value.describes())
      value.allow(text_schema("^(?=0*[1-9])([0-9]{1,5}|100000) ?W$",
                              "Whole watts up to 100000, such as \"700 W\""));
    const auto* text = value.value() == nullptr ? nullptr : value.value()->get_if<std::string>();
    if (const auto watts = text == nullptr ? std::nullopt : parse_watts(*text)) return *watts;
    value.refuse("whole watts such as \"700 W\"");
    return Watts{1};
  }

  void read_peaks(ObjectReader& in) {
    in.object({"peak", "Dense peak of matrix multiplications by precision"},
              [this](ObjectReader& peak) {
                for (std::size_t i = 0; i < kPrecisionNames.size(); ++i) {
                  device_.peaks.at(i) =
                      optional_figure(peak, kPrecisionNames.at(i),
                                      [](const ValueReader& value) { return value.flop_rate(); });
                }
                peak.refine("minProperties", "1");
                const auto given = [](const auto& rate) { return rate.has_value(); };
                if (std::none_of(device_.peaks.begin(), device_.peaks.end(), given)) {
                  peak.note("expected the peak of one precision at least");
                }
              });
  }

  Device device_;
};

}  // namespace

Device read_device(const JsonDocument& document, std::string id) {
  Device device = read_document(
      document, [&id](ObjectReader& in) { return DeviceReader{}.read(in, std::move(id)); });
  device.configs =
      ("." / std::filesystem::path{document.file}.parent_path() / "..").lexically_normal();
  return device;
}

JsonValue device_schema() {
  return schema_of("device",
                   "A device: a GPU by its datasheet, or a host. Every value has its own source.",
                   [](ObjectReader& in) { return DeviceReader{}.read(in, {}); });
}

const FigureSource* find_source(const std::vector<FigureSource>& sources,
                                std::string_view pointer) {
  const auto found = std::find_if(sources.rbegin(), sources.rend(), [&](const FigureSource& each) {
    return each.pointer == pointer;
  });
  return found == sources.rend() ? nullptr : &*found;
}

std::array<std::int64_t, kProvenances> count_provenance(const std::vector<FigureSource>& sources) {
  std::array<std::int64_t, kProvenances> out{};
  for (const FigureSource& each : sources)
    ++out[static_cast<std::size_t>(each.provenance.value_or(Provenance::assumed))];
  return out;
}

Device load_device(const std::filesystem::path& path) {
  return read_device(read_json(path), path.stem().string());
}

std::vector<std::string> device_ids(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::string> ids;
  std::filesystem::directory_iterator at{folder, error};
  while (!error && at != std::filesystem::directory_iterator{}) {
    if (at->path().extension() == ".json") ids.push_back(at->path().stem().string());
    at.increment(error);
  }
  if (error) {
    throw ConfigError{Problem{folder.string(), {}, "", "cannot be read: " + error.message()}};
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace lockstep
