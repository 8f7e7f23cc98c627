#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/config/config_error.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/measure/fit/descent.hpp"
#include "tools/app/calibrate/fits.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/validate/compare.hpp"

namespace lockstep::app {

namespace {

/// Tables that the same figures tell: GEMMs of a precision, attention of an implementation.
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

/// Figures as numbers while they are fitted: durations in seconds.
struct FreeGemm {
  GemmParameters& figures;
  double launch = figures.launch.seconds();
  double tile_start = figures.tile_start.seconds();
  double throttling_half_time = figures.throttling_half_time.seconds();

  void put_back() const {
    const auto duration = [](double s) {
      return Duration::picoseconds(static_cast<std::int64_t>(s * 1e9 + 0.5) * 1000);
    };
    figures.launch = duration(launch);
    figures.tile_start = duration(tile_start);
    figures.throttling_half_time = duration(throttling_half_time);
  }
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
    result_.fitted.push_back({subject_.kind == DeviceQuantity::gemm ? "products" : "attention",
                              fmt::format("{} {}", device_.id, subject_.name), text_, before,
                              figures()});
  }

 private:
  [[nodiscard]] ErrorFigures figures() const {
    return error_figures(errors_of(tables_, device_, result_.calibration));
  }
  [[nodiscard]] double error() const { return figures().mean; }
  [[nodiscard]] KernelFigures& kernels() { return result_.calibration.kernels[device_.id]; }

  void fit_gemms() {
    const Dtype dtype = named(precision_names(), subject_.name).value_or(Dtype::bf16);
    auto& gemms = kernels().gemms;
    auto& own = gemms[static_cast<std::size_t>(dtype)];
    if (!own) own = gemms[static_cast<std::size_t>(Dtype::bf16)];
    if (!own) throw RequestError("no products to start from");
    FreeGemm free{*own};
    std::vector<FreeFigure> figures{{&free.launch, 1e-7, 1e-3},
                                    {&free.tile_start, 1e-8, 1e-4},
                                    {&free.throttling_half_time, 1e-5, 1},
                                    {&own->throttling_loss, 0, 0.5},
                                    {&own->split_k_traffic, 0.1, 10}};
    for (TileShape& tile : own->tiles) figures.push_back({&tile.efficiency, 0.01, 1});
    descend(figures, [&] {
      free.put_back();
      return error();
    });
    free.put_back();
    text_ = fmt::format("launch {:.3g} us, tile start {:.3g} us, tiles", free.launch * 1e6,
                        free.tile_start * 1e6);
    for (const TileShape& tile : own->tiles) text_ += fmt::format(" {:.3f}", tile.efficiency);
    text_ += fmt::format(", {:.3f} lost under load", own->throttling_loss);
  }

  void fit_attention() {
    const auto found = kernels().attention.find(subject_.name);
    if (found == kernels().attention.end())
      throw RequestError(fmt::format("no figures of attention by {}", subject_.name));
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
    text_ = "forward and backward";
    for (const AttentionFigures::OfHeadSize& size : own.head_sizes)
      text_ += fmt::format(" {}: {:.3f} {:.3f}", size.head_size, size.forward, size.backward);
  }

  const Subject& subject_;
  const Tables& tables_;
  CalibrateResult& result_;
  Device device_;
  std::string text_{};
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
      result.left_out.push_back({table->origin.id, table->origin.id,
                                 "only products and fused attention have figures to fit"});
    }
  }
  for (const auto& [subject, tables] : subjects) {
    const std::string& id = tables.front()->origin.id;
    try {
      DeviceFit{subject, tables, result}.run();
    } catch (const ConfigError& error) {
      result.left_out.push_back({id, id, reason_of(error)});
    } catch (const RequestError& error) {
      result.left_out.push_back({id, id, reason_of(error)});
    }
  }
}

}  // namespace lockstep::app
