#include "topologies/devices/device_kernels.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/reader.hpp"
#include "topologies/devices/device_figure.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kLongest = 1'000'000;  // of a tile, a block or an overhead
constexpr double kSmallestShare = 0.001;
constexpr double kMost = 1'000'000;
constexpr std::int64_t kMostParts = 1024;
constexpr double kMostLoss = 0.99;
constexpr double kMostSpread = 1;

constexpr std::array kGemmDtypes{Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp8};
const std::vector<std::string_view> kImplementations{"flash-2", "flash-3", "cudnn", "cutlass",
                                                     "flash-1"};

Share share(const ValueReader& value) {
  return value.number(kSmallestShare, 1);
}

std::int64_t length(const ValueReader& value) {
  return value.integer(1, kLongest);
}

double share_of(ObjectReader& in, std::string_view key) {
  return in.number(key, kSmallestShare, 1);
}

Duration duration(const ValueReader& value) {
  return value.duration();
}

TileShape read_tile(ObjectReader& in) {
  TileShape tile;
  tile.rows = in.integer("rows", 1, kLongest);
  tile.columns = in.integer("columns", 1, kLongest);
  tile.efficiency = share_of(in, "efficiency");
  return tile;
}

void read_alignment(ObjectReader& in, GemmParameters& out) {
  out.alignment = in.integer("elements", 1, kLongest);
  out.unaligned = share_of(in, "unaligned");
  out.unaligned_batches = share_of(in, "unaligned_batches");
}

void read_parts(ObjectReader& in, GemmParameters& out) {
  out.max_split_k = in.integer("most", 1, kMostParts);
  out.min_k_per_split = in.integer("shortest", 1, kLongest);
  out.split_k_traffic = in.number("traffic", 0, kMost);
}

void read_load(ObjectReader& in, GemmParameters& out) {
  out.throttling_loss = in.number("loss", 0, kMostLoss);
  out.throttling_half_time = in.duration("half_after");
}

AttentionFigures::OfHeadSize read_head_size(ObjectReader& in) {
  AttentionFigures::OfHeadSize out;
  out.head_size = in.integer("head_size", 1, kLongest);
  out.forward = share_of(in, "forward");
  out.backward = share_of(in, "backward");
  return out;
}

std::vector<AttentionFigures::OfHeadSize> read_head_sizes(const ValueReader& value) {
  std::vector<AttentionFigures::OfHeadSize> out;
  value.array([&out](const ValueReader& one) { out.push_back(one.object(read_head_size)); }, 1);
  const auto not_larger = [](const auto& a, const auto& b) { return a.head_size >= b.head_size; };
  if (std::adjacent_find(out.begin(), out.end(), not_larger) != out.end()) {
    value.note("head sizes stand in ascending order, each once");
  }
  return out;
}

AttentionFigures::Overhead read_overhead(ObjectReader& in) {
  AttentionFigures::Overhead out;
  out.full = in.number("full", 0, kMost);
  out.causal = in.number("causal", 0, kMost);
  return out;
}

class KernelReader {
 public:
  KernelReader(KernelFigures& figures, bool extends)
      : figures_{figures}, extends_{extends}, reader_{figures.sources} {}

  void read(ObjectReader& in) {
    figures_.name = in.string("name");
    if (wanted(in, "launch")) figures_.launch = reader_.figure(in, "launch", duration);
    if (wanted(in, "products")) read_gemms(in);
    if (wanted(in, "attention")) read_attention(in);
    if (wanted(in, "memory_efficiency")) read_memory_efficiency(in);
    if (wanted(in, "convolution_efficiency")) {
      figures_.convolution_efficiency = reader_.figure(in, "convolution_efficiency", share);
    }
    if (wanted(in, "slowdown_while_communicating")) {
      figures_.slowdown_while_communicating =
          reader_.figure(in, "slowdown_while_communicating",
                         [](const ValueReader& value) { return value.number(1, 100); });
    }
    const auto spread = reader_.optional_figure(
        in, "spread", [](const ValueReader& value) { return value.number(0, kMostSpread); });
    if (spread) figures_.spread = *spread;
  }

 private:
  /// Whether a key is to be read: always in a file of its own.
  bool wanted(ObjectReader& in, std::string_view key) {
    return !extends_ || in.optional(key).has_value();
  }

  void read_gemms(ObjectReader& in) {
    in.object("products", [this](ObjectReader& gemms) {
      bool any = extends_;
      for (const Dtype dtype : kGemmDtypes) {
        const std::string_view name = to_string(dtype);
        if (!gemms.optional(name)) continue;
        any = true;
        figures_.gemms[static_cast<std::size_t>(dtype)] =
            gemms.object(name, [this](ObjectReader& one) { return read_gemm(one); });
      }
      if (!any) gemms.note("expected the products of one precision at least");
    });
  }

  /// An object as the value of a figure; `read` takes its members.
  template <class Read>
  void object_figure(ObjectReader& in, std::string_view key, Read read) {
    reader_.figure(in, key, [&read](const ValueReader& value) {
      value.object(read);
      return true;
    });
  }

  GemmParameters read_gemm(ObjectReader& in) {
    GemmParameters out;
    out.launch = reader_.figure(in, "launch", duration);
    out.tile_start = reader_.figure(in, "tile_start", duration);
    out.k_granularity = reader_.figure(in, "depth_grain", length);
    reader_.figure(in, "tiles", [&out](const ValueReader& value) {
      value.array([&out](const ValueReader& one) { out.tiles.push_back(one.object(read_tile)); },
                  1);
      return true;
    });
    object_figure(in, "alignment", [&out](ObjectReader& one) { read_alignment(one, out); });
    object_figure(in, "parts", [&out](ObjectReader& one) { read_parts(one, out); });
    object_figure(in, "load", [&out](ObjectReader& one) { read_load(one, out); });
    return out;
  }

  void read_attention(ObjectReader& in) {
    in.object("attention", [this](ObjectReader& attention) {
      bool any = extends_;
      for (const std::string_view name : kImplementations) {
        if (!attention.optional(name)) continue;
        any = true;
        figures_.attention[std::string{name}] =
            attention.object(name, [this](ObjectReader& one) { return read_implementation(one); });
      }
      if (!any) attention.note("expected one implementation of attention at least");
    });
  }

  AttentionFigures read_implementation(ObjectReader& in) {
    AttentionFigures out;
    out.launch = reader_.figure(in, "launch", duration);
    out.block = reader_.figure(in, "block", length);
    out.head_grain = reader_.figure(in, "head_grain", length);
    reader_.figure(in, "head_sizes", [&out](const ValueReader& value) {
      out.head_sizes = read_head_sizes(value);
      return true;
    });
    object_figure(in, "overhead_keys", [&out](ObjectReader& one) {
      out.forward = one.object("forward", read_overhead);
      out.backward = one.object("backward", read_overhead);
    });
    return out;
  }

  void read_memory_efficiency(ObjectReader& in) {
    in.object("memory_efficiency", [this](ObjectReader& classes) {
      if (wanted(classes, "all")) {
        figures_.memory_efficiency.fill(reader_.figure(classes, "all", share));
      }
      for (std::size_t i = 0; i < kOperationClasses; ++i) {
        const auto of = static_cast<OperationClass>(i);
        if (of == OperationClass::copy || of == OperationClass::communication) continue;
        const auto own = reader_.optional_figure(classes, to_string(of), share);
        if (own) figures_.memory_efficiency[i] = *own;
      }
    });
  }

  KernelFigures& figures_;
  bool extends_;
  FigureReader reader_;
};

KernelFigures read_over(const JsonDocument& document, std::string id,
                        const std::filesystem::path& folder, bool may_extend);

/// The file that this one extends; it must be whole itself.
KernelFigures extended(ObjectReader& in, std::string_view name,
                       const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / (std::string{name} + ".json");
  try {
    return read_over(read_json(path), std::string{name}, folder, false);
  } catch (const ConfigError& error) {
    in.note("extends", "the file it extends cannot be used: " + path.string());
    in.self().problems().add(error);
  }
  return {};
}

KernelFigures read_over(const JsonDocument& document, std::string id,
                        const std::filesystem::path& folder, bool may_extend) {
  return read_document(document, [&](ObjectReader& in) {
    KernelFigures figures;
    const auto name = in.optional_string("extends");
    if (name && !may_extend) {
      in.note("extends", "a file that another one extends must be whole itself");
    } else if (name && !name->empty()) {
      figures = extended(in, *name, folder);
    }
    figures.id = std::move(id);
    KernelReader{figures, name.has_value()}.read(in);
    return figures;
  });
}

}  // namespace

KernelFigures read_kernel_figures(const JsonDocument& document, std::string id,
                                  const std::filesystem::path& folder) {
  return read_over(document, std::move(id), folder, true);
}

KernelFigures load_kernel_figures(const std::filesystem::path& path) {
  return read_kernel_figures(read_json(path), path.stem().string(), path.parent_path());
}

std::vector<std::string> kernel_figure_ids(const std::filesystem::path& folder) {
  return device_ids(folder);  // ids are names of .json files there as well
}

}  // namespace lockstep
