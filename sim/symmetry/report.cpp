#include "sim/symmetry/report.hpp"

#include "sim/symmetry/class_differences.hpp"

namespace lockstep::fold {

void describe_classes(const Relations& relations, const Partition& partition,
                      const Network& network, const Workload& workload, FoldReport& report) {
  for (std::size_t c = 0; c < partition.first_member.size(); ++c) {
    const Member& first = relations.members[partition.first_member[c]];
    report.classes.push_back(
        {first.call, first.rank, std::int64_t{partition.members_in[c]} * relations.copies(), {}});
  }
  describe_differences(relations, partition, network, workload, report);
  report.class_of.resize(workload.calls.size());
  for (std::uint32_t copy = 0; copy < relations.copies(); ++copy)
    for (std::size_t m = 0; m < relations.members.size(); ++m)
      report.class_of[relations.members[m].call].push_back(partition.member_class[m]);
}

}  // namespace lockstep::fold
