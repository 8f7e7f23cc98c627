#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/config/json/config_error.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/measure/fit/descent.hpp"
#include "tools/app/calibrate/fits.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/validate/compare.hpp"
#include "topologies/devices/kernel_fields.hpp"

namespace lockstep::app {

namespace {

/// What tables measure with the same parameters: GEMMs of a precision, attention of an
/// implementation.
struct Subject {
  std::string gpu{};
  DeviceQuantity kind = DeviceQuantity::gemm;
  std::string name{};  // of the precision or implementation

  friend auto operator<=>(const Subject& a, const Subject& b) {
    return std::tie(a.gpu, a.kind, a.name) <=> std::tie(b.gpu, b.kind, b.name);
  }
};

std::optional<Subject> subject_of(const DeviceTable& table) {
  if (table.kind == DeviceQuantity::gemm)
    return Subject{table.gpu, table.kind, table.precision.empty() ? "bf16" : table.precision};
  if (table.kind == DeviceQuantity::attention && table.implementation != "unfused")
    return Subject{table.gpu, table.kind, table.implementation};
  return std::nullopt;
}

using Tables = std::vector<const DeviceTable*>;

/// The parameters of GEMMs that are fitted, as numbers: durations in seconds.
class FreeGemm {
 public:
  explicit FreeGemm(GemmParameters& parameters) : parameters_{parameters} {
    for (const KernelField<GemmParameters>& field : kernel_fields<GemmParameters>())
      if (field.fit) fields_.push_back(&field);
    std::sort(fields_.begin(), fields_.end(),
              [](const auto* a, const auto* b) { return a->fit->order < b->fit->order; });
    for (const auto* field : fields_)
      values_.push_back(std::visit(Value{parameters}, field->member));
  }

  [[nodiscard]] std::vector<FreeFigure> figures() {
    std::vector<FreeFigure> out;
    for (std::size_t i = 0; i < fields_.size(); ++i)
      out.push_back({&values_[i], fields_[i]->fit->low, fields_[i]->fit->high});
    for (TileShape& tile : parameters_.tiles) out.push_back({&tile.efficiency, 0.01, 1});
    return out;
  }

  void put_back() {
    for (std::size_t i = 0; i < fields_.size(); ++i)
      std::visit(PutBack{parameters_, values_[i]}, fields_[i]->member);
  }

 private:
  struct Value {
    const GemmParameters& of;
    double operator()(Duration GemmParameters::*member) const { return (of.*member).seconds(); }
    double operator()(double GemmParameters::*member) const { return of.*member; }
    template <class Other>
    double operator()(Other /*member*/) const {
      throw InternalError("only durations and ratios are fitted");
    }
  };
  struct PutBack {
    GemmParameters& of;
    double value;
    /// To the nanosecond.
    void operator()(Duration GemmParameters::*member) const {
      of.*member = Duration::picoseconds(std::llround(value * 1e9) * 1000);
    }
    void operator()(double GemmParameters::*member) const { of.*member = value; }
    template <class Other>
    void operator()(Other /*member*/) const {}
  };

  GemmParameters& parameters_;
  std::vector<const KernelField<GemmParameters>*> fields_{};
  std::vector<double> values_{};
};

std::vector<double> errors_of(const Tables& tables, const Device& device,
                              const Calibration& calibration) {
  std::vector<double> out;
  for (const DeviceTable* table : tables)
    for (const Comparison& row :
         compare_points(*table, table_model(*table, device, calibration)).rows)
      out.push_back(row.error());
  return out;
}

class DeviceFit {
 public:
  DeviceFit(const Subject& subject, const Tables& tables, CalibrateResult& result)
      : subject_{subject},
        tables_{tables},
        result_{result},
        device_{find_device(tables.front()->origin.id, subject.gpu)} {
    auto& kernels = result.calibration.kernels;
    if (!kernels.contains(device_.id))
      kernels[device_.id] =
          load_kernel_figures(config_folder() + "/kernels/" + device_.kernels + ".json");
  }

  void run() {
    const ErrorFigures before = figures();
    if (subject_.kind == DeviceQuantity::gemm) {
      fit_gemms();
    } else {
      fit_attention();
    }
    FittedFigures fitted{{}, before, figures()};
    if (subject_.kind == DeviceQuantity::gemm) {
      fitted.of = FittedGemms{device_.id, subject_.name, *kernels().gemms[precision()]};
    } else {
      fitted.of = FittedAttention{device_.id, subject_.name,
                                  kernels().attention.find(subject_.name)->second};
    }
    result_.fitted.push_back(std::move(fitted));
  }

 private:
  [[nodiscard]] ErrorFigures figures() const {
    return error_figures(errors_of(tables_, device_, result_.calibration));
  }
  [[nodiscard]] double error() const { return figures().mean; }
  [[nodiscard]] KernelFigures& kernels() { return result_.calibration.kernels[device_.id]; }

  [[nodiscard]] std::size_t precision() const {
    return static_cast<std::size_t>(named(precision_names(), subject_.name).value_or(Dtype::bf16));
  }

  void fit_gemms() {
    auto& gemms = kernels().gemms;
    auto& own = gemms[precision()];
    if (!own) own = gemms[static_cast<std::size_t>(Dtype::bf16)];
    if (!own) throw RequestError("no products to start from");
    FreeGemm free{*own};
    descend(free.figures(), [&] {
      free.put_back();
      return error();
    });
    free.put_back();
  }

  void fit_attention() {
    const auto found = kernels().attention.find(subject_.name);
    if (found == kernels().attention.end())
      throw RequestError(fmt::format("no values of attention by {}", subject_.name));
    AttentionFigures& own = found->second;
    std::vector<FreeFigure> figures;
    std::set<std::int64_t> measured;
    for (const DeviceTable* table : tables_) measured.insert(table->head_size);
    for (AttentionFigures::OfHeadSize& size : own.head_sizes) {
      if (!measured.contains(size.head_size)) continue;
      figures.push_back({&size.forward, 0.01, 1});
      figures.push_back({&size.backward, 0.01, 1});
    }
    for (auto* overhead : {&own.forward, &own.backward}) {
      figures.push_back({&overhead->full, 1, 1e5});
      figures.push_back({&overhead->causal, 1, 1e5});
    }
    descend(figures, [this] { return error(); });
  }

  const Subject& subject_;
  const Tables& tables_;
  CalibrateResult& result_;
  Device device_;
};

}  // namespace

void fit_devices(const std::vector<Measured>& rows, CalibrateResult& result) {
  std::map<Subject, Tables> subjects;
  for (const Measured& row : rows) {
    const auto* table = std::get_if<DeviceTable>(&row);
    if (table == nullptr) continue;
    if (const auto subject = subject_of(*table)) {
      subjects[*subject].push_back(table);
    } else {
      result.left_out.push_back(
          {table->origin.id, table->origin.id, UnmodeledReason::no_fitted_parameters});
    }
  }
  for (const auto& [subject, tables] : subjects) {
    const std::string& id = tables.front()->origin.id;
    try {
      DeviceFit{subject, tables, result}.run();
    } catch (const ConfigError& error) {
      result.left_out.push_back(unmodeled(id, id, error));
    } catch (const RequestError& error) {
      result.left_out.push_back(unmodeled(id, id, error));
    }
  }
}

}  // namespace lockstep::app
