#include "topologies/devices/device_kernels.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/extends.hpp"
#include "sim/config/reader.hpp"
#include "topologies/devices/device_figure.hpp"
#include "topologies/devices/kernel_values.hpp"

namespace lockstep {

namespace {

constexpr double kSmallestShare = 0.001;

constexpr std::array kGemmDtypes{Dtype::fp64, Dtype::fp32, Dtype::bf16,
                                 Dtype::fp16, Dtype::fp8,  Dtype::nvfp4};
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
    if (extends_) read_inherited(in);
    read_parameters(in, reader_, figures_, extends_);
    part(in,
         {"products",
          "Dense matrix products by precision; those of 16 bits also serve precisions that are not "
          "here"},
         [this](ObjectReader& gemms) { read_gemms(gemms); });
    part(in, {"attention", "Fused attention kernels by implementation"},
         [this](ObjectReader& attention) { read_attention(attention); });
    part(in, {"memory_efficiency", "Achieved over nominal memory bandwidth, by class of operation"},
         [this](ObjectReader& classes) { read_memory_efficiency(classes); });
  }

 private:
  /// Values for another generation of devices are less sure than for their own.
  void read_inherited(ObjectReader& in) {
    const auto least = optional_provenance(
        in, {"inherited",
             "Provenance, at best, of the values of the extended file, for example assumed for "
             "another generation of devices (default: as there)"});
    if (!least) return;
    for (FigureSource& each : figures_.sources)
      each.provenance = std::max(each.provenance.value_or(Provenance::assumed), *least);
  }

  /// A part of the file: required in a file of its own.
  template <class Read>
  void part(ObjectReader& in, const Key& key, Read read) {
    if (!extends_) return in.object(key, read);
    if (const auto found = in.optional(key)) found->object(read);
  }

  /// At least one of the keys, in a file of its own.
  void need(ObjectReader& in, bool any, std::string message) {
    if (extends_) return;
    in.refine("minProperties", "1");
    if (!any) in.note(std::move(message));
  }

  void read_gemms(ObjectReader& gemms) {
    bool any = false;
    for (const Dtype dtype : kGemmDtypes) {
      const auto found = gemms.optional_object(
          to_string(dtype), [this](ObjectReader& one) { return read_values<GemmParameters>(one); });
      any |= found.has_value();
      if (found) figures_.gemms[static_cast<std::size_t>(dtype)] = *found;
    }
    need(gemms, any, "expected the products of one precision at least");
  }

  void read_attention(ObjectReader& attention) {
    bool any = false;
    for (const std::string_view name : kImplementations) {
      const auto found = attention.optional_object(
          name, [this](ObjectReader& one) { return read_values<AttentionFigures>(one); });
      any |= found.has_value();
      if (found) figures_.attention[std::string{name}] = *found;
    }
    need(attention, any, "expected one implementation of attention at least");
  }

  /// The values of one precision or implementation.
  template <class Of>
  Of read_values(ObjectReader& in) {
    Of out;
    read_parameters(in, reader_, out);
    return out;
  }

  void read_memory_efficiency(ObjectReader& classes) {
    if (const auto all = extends_ ? reader_.optional_figure(classes, "all", share)
                                  : std::optional{reader_.figure(classes, "all", share)})
      figures_.memory_efficiency.fill(*all);
    for (std::size_t i = 0; i < kOperationClasses; ++i) {
      const auto of = static_cast<OperationClass>(i);
      if (of == OperationClass::copy || of == OperationClass::communication) continue;
      reader_.take(classes, to_string(of), false, figures_.memory_efficiency[i], share);
    }
  }

  KernelFigures& figures_;
  bool extends_;
  FigureReader reader_;
};

KernelFigures read_figures(ObjectReader& in, const std::filesystem::path& file) {
  return read_extending<KernelFigures>(in, file,
                                       [](ObjectReader& of, KernelFigures& out, bool extends) {
                                         KernelReader{out, extends}.read(of);
                                       });
}

}  // namespace

KernelFigures read_kernel_figures(const JsonDocument& document, std::string id,
                                  const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / (id + ".json");
  KernelFigures out =
      read_document(document, [&file](ObjectReader& in) { return read_figures(in, file); });
  out.id = std::move(id);
  return out;
}

JsonValue kernel_schema() {
  return schema_of(
      "kernels",
      "How well the kernels of one generation of devices use what the datasheets promise. Every "
      "figure has its own source.",
      [](ObjectReader& in) { return read_figures(in, {}); });
}

KernelFigures load_kernel_figures(const std::filesystem::path& path) {
  return read_kernel_figures(read_json(path), path.stem().string(), path.parent_path());
}

std::vector<std::string> kernel_figure_ids(const std::filesystem::path& folder) {
  return device_ids(folder);  // ids are names of .json files there as well
}

}  // namespace lockstep
