#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/app/step/step_traffic.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// The links that communications of a step use: of a message its route, of a collective all links
/// that the messages of its algorithm cross, whichever member sends them.
class StepRoutes {
 public:
  /// The result must outlive this object.
  explicit StepRoutes(const TrainingStepResult& result);

  /// Number of the entry in json(); -1: no communication with other ranks.
  [[nodiscard]] std::int64_t route_of(int rank, const RoleProgram& role,
                                      const RoleOperation& operation);

  [[nodiscard]] std::size_t count() const { return texts_.size(); }
  /// Omits entries from `count` on, which no rank may refer to.
  void shorten(std::size_t count);
  /// Entries from `first` on: [{"members": [0, 1], "algorithm": "ring", "links": [12, 40]}]. Of
  /// many links the first, and "more": how many others there are.
  [[nodiscard]] std::string json(std::size_t first = 0) const;
  /// Links of all entries.
  [[nodiscard]] std::set<LinkId> links() const;

 private:
  TrainingStepResult const& result_;
  StepTraffic traffic_;
  std::map<std::string, std::int64_t> ids_{};  // by text
  std::map<const CommunicationTraffic*, std::int64_t> known_{};
  std::vector<std::string> texts_{};
  std::vector<std::vector<LinkId>> links_{};
};

/// Names and kinds of links: {"id": [12], "name": ["node0/gpu0 -> ..."], "kind": ["gpu -> ..."]}.
[[nodiscard]] std::string link_table(const Cluster& cluster, const std::set<LinkId>& links);

}  // namespace lockstep::cli
