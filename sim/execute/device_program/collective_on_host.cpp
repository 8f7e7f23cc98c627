#include "sim/execute/device_program/collective_on_host.hpp"

#include <utility>

#include "sim/execute/kernels/lowering_parts.hpp"
#include "sim/execute/program/exchange.hpp"

namespace lockstep::execution {

template <class Real>
void run_on_host(const CollectiveTensors<Real>& of, const CollectiveRoom& room) {
  CommandGraphBuilder& graph = *room.builder;
  KernelLaunch launch = lowering::launch_of(KernelFunction::on_host, 1);
  launch.name = std::string{to_string(of.how->collective)};
  std::vector<Region> reads;
  std::vector<Region> writes;
  for (const auto& parts : of.parts) {
    for (const CollectivePart& part : parts) {
      if (part.from != nullptr) reads.push_back(part.brought);
      if (part.to != nullptr) writes.push_back(part.got);
    }
  }
  for (const Region& region : reads) launch.sizes.push_back(region.count);
  for (const Region& region : writes) launch.sizes.push_back(region.count);
  launch.on_host = [parts = of.parts, how = *of.how, root = of.root](const auto& read,
                                                                     auto& written) {
    std::size_t next_read = 0;
    std::size_t next_written = 0;
    for (const auto& tensor : parts) {
      std::vector<std::vector<Real>> brought(tensor.size());
      std::vector<ExchangePart<Real>> members;
      for (std::size_t k = 0; k < tensor.size(); ++k) {
        ExchangePart<Real>& member = members.emplace_back();
        if (tensor[k].from != nullptr) {
          const auto& values = read[next_read++];
          brought[k].assign(values.begin(), values.end());
          member.from = tensor[k].from;
          member.brought = &brought[k];
        }
        if (tensor[k].to == nullptr) continue;
        member.to = tensor[k].to;
        member.got.assign(static_cast<std::size_t>(member.to->elements()), 0);
      }
      check_order(how, members);
      exchange(how, root, members);
      for (std::size_t k = 0; k < tensor.size(); ++k) {
        if (tensor[k].to == nullptr) continue;
        std::vector<double>& result = written[next_written++];
        for (std::size_t i = 0; i < result.size(); ++i) {
          result[i] = static_cast<double>(members[k].got[i]) + (tensor[k].adds ? result[i] : 0);
        }
      }
    }
  };
  for (const StreamIndex stream : of.streams) {
    graph.depend(of.streams[0], graph.last(stream));
    const std::vector<CommandId> pending = graph.pending(stream);
    for (const CommandId before : pending) graph.depend(of.streams[0], before);
  }
  const CommandId done = room.launch(of.streams[0], launch, std::move(reads), std::move(writes));
  for (const StreamIndex stream : of.streams) graph.depend(stream, done);
}

template void run_on_host(const CollectiveTensors<float>&, const CollectiveRoom&);
template void run_on_host(const CollectiveTensors<double>&, const CollectiveRoom&);

}  // namespace lockstep::execution
