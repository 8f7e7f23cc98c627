#include "strategies/measure/validation/library_rule.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

bool cites(const CollectiveTable& table, std::string_view words) {
  return table.origin.source.find(words) != std::string::npos;
}

bool says(const CollectiveTable& table, std::string_view words) {
  return table.origin.notes.find(words) != std::string::npos;
}

}  // namespace

const std::vector<LibraryRule>& library_rules() {
  static const std::vector<LibraryRule> rules{
      {"notes say NCCL of 2021 or 2022, source NetX-lab/Echo or VIA-Research/vTrain", "2.12",
       "Echo's logs and vTrain's traces of A100 were made with the PyTorch of 2021 to 2023, which "
       "brought NCCL 2.10 to 2.14",
       [](const CollectiveTable& table) {
         return says(table, "NCCL of 202") || cites(table, "NetX-lab/Echo") ||
                cites(table, "VIA-Research/vTrain");
       }},
      {"all others", "2.30", "versions from 2.20 on are near to each other",
       [](const CollectiveTable&) { return true; }},
  };
  return rules;
}

std::string nccl_version_of(const CollectiveTable& table) {
  const auto& rules = library_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&table](const LibraryRule& rule) {
    return rule.matches(table);
  });
  LOCKSTEP_CHECK(found != rules.end());
  return std::string{found->nccl};
}

}  // namespace lockstep
