#include "tools/lockstep/calibrate/fitted_text.hpp"

#include <fmt/format.h>

#include <optional>
#include <variant>

namespace lockstep::cli {

namespace {

std::string name_of(const NcclCostKey& key) {
  return fmt::format("nccl {} {} {} {} {}, {}", key.version, nccl_name(key.architecture),
                     to_string(key.collective), nccl_name(key.kind), nccl_name(key.protocol),
                     key.several_nodes ? "several nodes" : "one node");
}

std::string rate_text(const char* name, const std::optional<Rate>& rate) {
  return rate ? fmt::format(", {} {:.4g} GB/s", name, rate->bytes_per_second() / 1e9) : "";
}

std::string figures_of(const NcclCost& cost) {
  std::string out = fmt::format("launch {:.4g} us", cost.launch.seconds() * 1e6);
  if (cost.hop > Duration{}) out += fmt::format(", hop {:.4g} us", cost.hop.seconds() * 1e6);
  if (cost.hop_hidden_by) out += fmt::format(", hidden by {}", to_string(*cost.hop_hidden_by));
  if (cost.network_hop > Duration{})
    out += fmt::format(", network hop {:.4g} us", cost.network_hop.seconds() * 1e6);
  if (cost.loop > Duration{}) out += fmt::format(", loop {:.4g} us", cost.loop.seconds() * 1e6);
  return out + rate_text("wire", cost.wire) + rate_text("own", cost.own);
}

struct TextOf {
  FittedText operator()(const NcclCost& cost) const {
    return {"collective", name_of(cost.key), figures_of(cost)};
  }

  FittedText operator()(const app::FittedGemms& fit) const {
    const GemmParameters& gemms = fit.parameters;
    std::string text = fmt::format("launch {:.3g} us, tile start {:.3g} us, tiles",
                                   gemms.launch.seconds() * 1e6, gemms.tile_start.seconds() * 1e6);
    for (const TileShape& tile : gemms.tiles) text += fmt::format(" {:.3f}", tile.efficiency);
    text += fmt::format(", {:.3f} lost under load", gemms.throttling_loss);
    return {"products", fit.device + " " + fit.precision, std::move(text)};
  }

  FittedText operator()(const app::FittedAttention& fit) const {
    std::string text = "forward and backward";
    for (const AttentionFigures::OfHeadSize& size : fit.parameters.head_sizes)
      text += fmt::format(" {}: {:.3f} {:.3f}", size.head_size, size.forward, size.backward);
    return {"attention", fit.device + " " + fit.implementation, std::move(text)};
  }

  FittedText operator()(const app::FittedStack& fit) const {
    return {"stack", fit.stack,
            fmt::format("host {:.3g} us per kernel, computation during communication takes {:.3f}",
                        fit.parameters.host_time->seconds() * 1e6,
                        *fit.parameters.slowdown_while_communicating)};
  }
};

}  // namespace

FittedText fitted_text(const app::FittedFigures& fitted) {
  return std::visit(TextOf{}, fitted.of);
}

}  // namespace lockstep::cli
