#include <array>

#include "tools/lockstep/help/words.hpp"

namespace lockstep::cli {

namespace {

constexpr std::array kWords = {
    Word{"cluster",
         "Equal nodes joined by a fabric, or one explicit graph; described by a file in "
         "configs/clusters.",
         "", "node, fabric"},
    Word{"node", "One machine: GPUs, CPUs, NICs and their links.", "", "cluster, rail"},
    Word{"fabric", "Switches and links that join the nodes of a cluster.", "", "leaf, rail"},
    Word{"endpoint",
         "Vertex of the topology graph that sends or receives transfers: a rank or a host.", "",
         "rank, link"},
    Word{"link", "One direction of a cable, with bandwidth, latency and efficiency.", "",
         "port, efficiency"},
    Word{"port", "Link that touches a rank or a NIC.", "", "link"},
    Word{"route", "Links that a transfer crosses from source to destination.", "",
         "equal-cost split"},
    Word{"equal-cost split",
         "A route divided over k equal paths with weight 1/k on each; hashed ECMP "
         "picks one of them instead.",
         "", "route", "ecmp"},
    Word{"rail", "Set of switches that connects the same-numbered NIC of every node.", "",
         "leaf, node"},
    Word{"leaf",
         "Lowest tier of switches of a fabric; spines join leaves, a pod is the subtree below "
         "one set of top-level links.",
         "", "rail, oversubscription", "spine, pod"},
    Word{"oversubscription",
         "Ratio of the bandwidth below a switch tier to the bandwidth above it; 1:1 "
         "is non-blocking.",
         "", "bisection bandwidth, leaf"},
    Word{"bisection bandwidth", "Minimum cut between the lower and the upper half of the ranks.",
         "", "bound", "bisection"},
    Word{"transfer", "One message in flight from a sender to a receiver along a route.", "",
         "route"},
    Word{"fluid model",
         "Each transfer is a flow with a max-min fair rate, recomputed whenever one begins "
         "or ends (--network fluid, the default).",
         "", "max-min fair share, queue model", "fluid"},
    Word{"max-min fair share",
         "Rate allocation in which no flow can gain without a flow of equal or "
         "lower rate losing.",
         "", "fluid model, bottleneck link", "max-min"},
    Word{"bottleneck link", "Saturated link that limits the rate of a flow.", "",
         "max-min fair share"},
    Word{"alpha-beta model",
         "Latency plus bytes over bandwidth, limited by ports only "
         "(--network alpha-beta).",
         "t = alpha + beta * S", "latency, fluid model", "alpha-beta, hockney"},
    Word{"queue model",
         "Whole messages in FIFO order over links, with cut-through forwarding "
         "(--network queue).",
         "", "fluid model", "queue"},
    Word{"latency", "Sum of link latencies on a route, paid once per transfer (alpha).", "",
         "message overhead, rounds", "alpha"},
    Word{"message overhead",
         "Time that a message occupies the sending device, apart from wire latency.", "",
         "latency"},
    Word{"efficiency", "Achieved over nominal rate of a link or kernel.", "", "link"},
    Word{"protocol",
         "How NCCL moves data: Simple (full bandwidth, more latency), LL (8 bytes of which 4 "
         "are data: half the bandwidth) and LL128 (120 of 128 bytes are data).",
         "", "NCCL's model", "ll, ll128, simple"},
};

}  // namespace

std::span<const Word> network_words() {
  return kWords;
}

}  // namespace lockstep::cli
