#include "strategies/pipeline/recomputed_modules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "strategies/models/reverse.hpp"

namespace lockstep {

namespace {

using OperationNames = std::vector<std::string_view>;

/// Which of the layers in a block: none, "mtp.", "mtp_2.".
[[nodiscard]] std::string_view layer_of(const Operation& operation) {
  const std::string_view name = operation.name;
  return name.substr(0, name.size() - name_in_layer(operation).size());
}

/// Whether an operation has one of these names, or one that begins with it and a dot, as those of
/// communication and of casts do.
[[nodiscard]] bool belongs(std::string_view name, const OperationNames& to) {
  return std::any_of(to.begin(), to.end(), [name](std::string_view of) {
    return name.starts_with(of) && (name.size() == of.size() || name[of.size()] == '.');
  });
}

class ModulesOfBlock {
 public:
  explicit ModulesOfBlock(const Block& block) : block_{block} {
    for (const Operation& operation : block.forward)
      if (std::find(layers_.begin(), layers_.end(), layer_of(operation)) == layers_.end())
        layers_.push_back(layer_of(operation));
  }

  [[nodiscard]] std::vector<RecomputedModule> of(const std::set<RecomputeModule>& modules) {
    const auto has = [&modules](RecomputeModule one) { return modules.contains(one); };
    for (const std::string_view layer : layers_) {
      layer_ = layer;
      if (has(RecomputeModule::core_attn)) add_core();
      if (has(RecomputeModule::layernorm)) {
        add({"attention.norm"}, false);
        add({"cross_attention.norm"}, false);
        add({"mlp.norm"}, false);
      }
      if (has(RecomputeModule::mla_up_proj) && is_latent())
        add({"attention.q_norm", "attention.q", "attention.q_rotary", "attention.kv_norm",
             "attention.k", "attention.v", "attention.k_rotary"},
            false);
      if (has(RecomputeModule::mlp))
        add({"mlp.up", "mlp.gate", "mlp.activation", "mlp.down"}, true);
      if (has(RecomputeModule::moe)) {
        add({"router", "experts", "shared"}, true);
        continue;
      }
      if (has(RecomputeModule::moe_act)) add({"experts.activation"}, false);
      if (has(RecomputeModule::shared_experts)) add({"shared"}, true);
    }
    std::sort(out_.begin(), out_.end(), [](const auto& one, const auto& other) {
      return one.operations.front() < other.operations.front();
    });
    return std::move(out_);
  }

 private:
  template <class Takes>
  [[nodiscard]] std::vector<std::size_t> all(Takes&& takes) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < block_.forward.size(); ++i) {
      const Operation& operation = block_.forward[i];
      if (layer_of(operation) == layer_ && takes(name_in_layer(operation))) found.push_back(i);
    }
    return found;
  }

  void add_core() {
    constexpr std::array<std::string_view, 5> kCore{"attention.scores", "attention.relative_bias",
                                                    "attention.softmax", "attention.core_dropout",
                                                    "attention.context"};
    constexpr std::string_view kCross = "cross_";
    for (const bool crosses : {false, true}) {
      keep(all([&](std::string_view name) {
             if (name.starts_with(kCross) != crosses) return false;
             if (crosses) name.remove_prefix(kCross.size());
             return std::find(kCore.begin(), kCore.end(), name) != kCore.end();
           }),
           true);
    }
  }

  void add(const OperationNames& names, bool whole) {
    std::vector<std::size_t> found =
        all([&](std::string_view name) { return belongs(name, names); });
    if (whole && !found.empty()) add_casts_of_input(found);
    keep(std::move(found), whole);
  }

  void keep(std::vector<std::size_t> operations, bool whole) {
    if (!operations.empty()) out_.push_back({std::move(operations), whole});
  }

  [[nodiscard]] bool is_latent() const {
    return !all([](std::string_view name) { return name == "attention.kv_compressed"; }).empty();
  }

  /// Casts of which this module alone reads the result, with what goes before them.
  void add_casts_of_input(std::vector<std::size_t>& module) const {
    const auto inside = [&](std::size_t i) {
      return std::find(module.begin(), module.end(), i) != module.end();
    };
    OperationNames casts;
    for (const Operation& cast : block_.forward) {
      if (!casts_operand(cast) || cast.writes.empty() || layer_of(cast) != layer_) continue;
      bool any = false;
      bool alone = true;
      for (std::size_t i = 0; i < block_.forward.size(); ++i) {
        if (!reads(block_.forward[i], cast.writes.front())) continue;
        any = true;
        alone = alone && inside(i);
      }
      if (any && alone) casts.push_back(name_in_layer(cast));
    }
    if (casts.empty()) return;
    for (const std::size_t i : all([&](std::string_view name) { return belongs(name, casts); }))
      if (!inside(i)) module.push_back(i);
    std::sort(module.begin(), module.end());
  }

  [[nodiscard]] static bool reads(const Operation& operation, const Ref& what) {
    return std::any_of(operation.reads.begin(), operation.reads.end(), [&](const Ref& read) {
      return read.tensor == what.tensor && read.further == what.further;
    });
  }

  const Block& block_;
  std::vector<std::string_view> layers_{};
  std::string_view layer_{};
  std::vector<RecomputedModule> out_{};
};

}  // namespace

std::string_view name_in_layer(const Operation& operation) {
  const std::string_view name = operation.name;
  return name.starts_with("mtp") ? name.substr(name.find('.') + 1) : name;
}

std::vector<RecomputedModule> modules_of(const Block& block,
                                         const std::set<RecomputeModule>& modules) {
  return ModulesOfBlock{block}.of(modules);
}

}  // namespace lockstep
