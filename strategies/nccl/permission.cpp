#include "strategies/nccl/permission.hpp"

namespace lockstep {
namespace {

/// Whether the algorithm can execute the collective at all.
bool plays(const NcclCase& one, NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::ring) return true;
  if (one.all_reduce()) return algorithm != NcclAlgorithm::pat;
  if (!one.by_parts()) return false;
  // Versions without NVLS have rings alone for these.
  const bool collnet =
      algorithm == NcclAlgorithm::collnet_direct && one.tuning.has[NcclAlgorithm::nvls];
  return algorithm == NcclAlgorithm::pat || algorithm == NcclAlgorithm::nvls || collnet;
}

/// What is on and off.
class Permission {
 public:
  Permission(const NcclCase& one, const NcclFilter& choice)
      : case_{one}, facts_{one.facts}, choice_{choice} {}

  /// Why this is not allowed; empty where it is.
  [[nodiscard]] std::string operator()(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    if (!case_.tuning.has[algorithm]) return "not in this version of NCCL";
    if (!plays(case_, algorithm)) return "not for this collective";
    if (is_simple_only(algorithm) && protocol != NcclProtocol::simple) return "Simple alone";
    if (const char* reason = lacks(algorithm); reason[0] != '\0') return reason;
    if (choice_.algorithms[algorithm] == NcclRestriction::refused) return "refused by NCCL_ALGO";
    if (choice_.protocols[protocol] == NcclRestriction::refused) return "refused by NCCL_PROTO";
    return protocol == NcclProtocol::ll128 && !is_ll128_on() ? "LL128 is off on these paths" : "";
  }

 private:
  /// What the cluster lacks for it; empty where nothing.
  [[nodiscard]] const char* lacks(NcclAlgorithm algorithm) const {
    switch (algorithm) {
      case NcclAlgorithm::tree:
      case NcclAlgorithm::ring:
        return facts_.ring.channels == 0 ? "no channels found" : "";
      case NcclAlgorithm::collnet_direct:
      case NcclAlgorithm::collnet_chain:
        return collnet();
      case NcclAlgorithm::nvls:
      case NcclAlgorithm::nvls_tree:
        return nvls(algorithm);
      case NcclAlgorithm::pat:
        return pat();
    }
    return "";
  }

  [[nodiscard]] const char* collnet() const {
    if (facts_.nodes == 1) return "several nodes alone";
    return facts_.has_collnet ? "" : "no reduction in the network";
  }

  [[nodiscard]] const char* nvls(NcclAlgorithm algorithm) const {
    const NcclRules& rules = case_.tuning.rules;
    if (facts_.nvls.channels == 0) return "no NVSwitch that reduces";
    if (!facts_.has_equal_nodes()) return "nodes differ in size";
    if (facts_.nvls.channels < rules.nvls_least_channels) return "too few channels for NVLS";
    if (algorithm == NcclAlgorithm::nvls_tree) {
      return facts_.nodes == 1 ? "several nodes alone" : "";
    }
    return facts_.nodes == 1 ? "" : collnet();
  }

  [[nodiscard]] const char* pat() const {
    if (facts_.nodes == 1) return "several nodes alone";
    return facts_.ranks_per_node() > case_.tuning.rules.pat_ranks_per_node
               ? "too many GPUs per node for PAT"
               : "";
  }

  [[nodiscard]] bool is_ll128_on() const {
    if (choice_.protocols[NcclProtocol::ll128] == NcclRestriction::wanted) return true;
    const NcclRules& rules = case_.tuning.rules;
    const bool inside = facts_.ranks_per_node() == 1 || facts_.intra_path <= rules.ll128_intra;
    return inside &&
           (facts_.nodes == 1 || facts_.inter_path <= rules.ll128_inter[facts_.architecture]);
  }

  const NcclCase& case_;
  const NcclFacts& facts_;
  const NcclFilter& choice_;
};

}  // namespace

bool nccl_models(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol) {
  return plays(one, algorithm) && (protocol == NcclProtocol::simple || !is_simple_only(algorithm));
}

std::string nccl_refusal(const NcclCase& one, const NcclFilter& choice, NcclAlgorithm algorithm,
                         NcclProtocol protocol) {
  return Permission{one, choice}(algorithm, protocol);
}

}  // namespace lockstep
