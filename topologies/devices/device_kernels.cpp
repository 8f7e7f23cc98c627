#include "topologies/devices/device_kernels.hpp"

#include <string_view>
#include <utility>

#include "sim/config/reader.hpp"
#include "topologies/devices/device_figure.hpp"
#include "topologies/devices/kernel_values.hpp"

namespace lockstep {

namespace {

constexpr double kSmallestShare = 0.001;

constexpr std::array kGemmDtypes{Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp8};
const std::vector<std::string_view> kImplementations{"flash-2", "torch-flash-2", "flash-3",
                                                     "cudnn",   "cutlass",       "flash-1"};

Share share(const ValueReader& value) {
  return value.number(kSmallestShare, 1);
}

class KernelReader {
 public:
  KernelReader(KernelFigures& figures, bool extends)
      : figures_{figures}, extends_{extends}, reader_{figures.sources} {}

  void read(ObjectReader& in) {
    figures_.name = in.string("name");
    read_parameters(in, reader_, figures_, extends_);
    if (wanted(in, "products")) read_gemms(in);
    if (wanted(in, "attention")) read_attention(in);
    if (wanted(in, "memory_efficiency")) read_memory_efficiency(in);
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
        figures_.gemms[static_cast<std::size_t>(dtype)] = gemms.object(
            name, [this](ObjectReader& one) { return read_values<GemmParameters>(one); });
      }
      if (!any) gemms.note("expected the products of one precision at least");
    });
  }

  void read_attention(ObjectReader& in) {
    in.object("attention", [this](ObjectReader& attention) {
      bool any = extends_;
      for (const std::string_view name : kImplementations) {
        if (!attention.optional(name)) continue;
        any = true;
        figures_.attention[std::string{name}] = attention.object(
            name, [this](ObjectReader& one) { return read_values<AttentionFigures>(one); });
      }
      if (!any) attention.note("expected one implementation of attention at least");
    });
  }

  /// The values of one precision or implementation.
  template <class Of>
  Of read_values(ObjectReader& in) {
    Of out;
    read_parameters(in, reader_, out);
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
