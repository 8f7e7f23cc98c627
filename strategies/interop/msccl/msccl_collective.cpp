#include "strategies/interop/msccl/msccl_collective.hpp"

#include <array>

namespace lockstep {

namespace {

struct Row {
  std::string_view name;
  std::optional<Collective> collective;
};

constexpr std::array kRows{
    Row{"allreduce", Collective::all_reduce},
    Row{"allgather", Collective::all_gather},
    Row{"reduce_scatter", Collective::reduce_scatter},
    Row{"reducescatter", Collective::reduce_scatter},
    Row{"alltoall", Collective::all_to_all},
    Row{"broadcast", Collective::broadcast},
    Row{"reduce", Collective::reduce},
    Row{"gather", Collective::gather},
    Row{"scatter", Collective::scatter},
    Row{"custom", std::nullopt},
    Row{"alltoallv", std::nullopt},
    Row{"send", std::nullopt},
    Row{"recv", std::nullopt},
};

}  // namespace

const std::vector<std::string_view>& msccl_collective_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Row& row : kRows) names.push_back(row.name);
    return names;
  }();
  return kNames;
}

std::optional<Collective> msccl_collective(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.collective;
  }
  return std::nullopt;
}

std::string_view msccl_name_of(Collective collective) {
  for (const Row& row : kRows) {
    if (row.collective == collective) return row.name;
  }
  return "custom";
}

bool begins_with_part(std::optional<Collective> collective) {
  return collective == Collective::all_gather || collective == Collective::gather;
}

bool ends_with_part(std::optional<Collective> collective) {
  return collective == Collective::reduce_scatter || collective == Collective::scatter;
}

}  // namespace lockstep
