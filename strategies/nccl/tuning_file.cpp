#include "strategies/nccl/tuning_file.hpp"

#include <string_view>
#include <system_error>
#include <utility>

#include "sim/config/extends.hpp"
#include "sim/config/json/json_values.hpp"
#include "sim/config/reader.hpp"
#include "strategies/calibration/calibration.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/devices/provenance_key.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostCount = 1'000'000;
constexpr double kLargestFactor = 1000;
constexpr std::size_t kMostSizes = 63;  // powers of two that a size can be

template <class Enum>
std::vector<std::string_view> names_of() {
  return {NcclNames<Enum>::all.begin(), NcclNames<Enum>::all.end()};
}

template <class Enum>
Enum read_name(ObjectReader& in, const Key& key, std::string_view noun) {
  return parse_nccl_name<Enum>(in.one_of(key, noun, names_of<Enum>())).value();
}

NcclArchitecture read_architecture(ObjectReader& in, const Key& key) {
  return read_name<NcclArchitecture>(in, key, "architecture");
}

double read_factor(ObjectReader& in, const Key& key) {
  return in.number(key, 0.001, kLargestFactor);
}

/// [7, 9] as 7/9.
double read_ratio(ObjectReader& in, const Key& key) {
  std::vector<std::int64_t> parts;
  in.array(
      key, [&](const ValueReader& part) { parts.push_back(part.integer(1, kMostCount)); }, 2, 2);
  if (parts.size() != 2) return 1;
  return static_cast<double>(parts[0]) / static_cast<double>(parts[1]);
}

NcclCapRow read_caps_row(ObjectReader& in, const Key& key) {
  return in.object(key, [](ObjectReader& row) {
    NcclCapRow caps;
    for (const NcclSpan span : nccl_values<NcclSpan>()) {
      caps[span] = row.optional_rate(nccl_name(span));
    }
    return caps;
  });
}

/// Limits that nothing may lack.
NcclCapRow read_full_caps_row(ObjectReader& in, const Key& key) {
  return in.object(key, [](ObjectReader& row) {
    NcclCapRow caps;
    for (const NcclSpan span : nccl_values<NcclSpan>()) caps[span] = row.rate(nccl_name(span));
    return caps;
  });
}

std::vector<Rate> read_speeds(ObjectReader& in, const Key& key) {
  std::vector<Rate> speeds;
  in.array(
      key,
      [&](const ValueReader& value) {
        const Rate speed = value.rate();
        if (!speeds.empty() && speed >= speeds.back()) {
          value.note("expected speeds from high to low");
        }
        speeds.push_back(speed);
      },
      1, 100);
  return speeds;
}

/// Reads one file's blocks over what the file that it extends has.
class TuningReader {
 public:
  TuningReader(NcclTuning& tuning, bool extends) : tuning_{tuning}, extends_{extends} {}

  void read(ObjectReader& in) {
    tuning_.version = in.string("version");
    tuning_.summary = in.string("summary");
    read_times(in);
    read_rates(in);
    read_choices(in);
  }

 private:
  void read_times(ObjectReader& in) {
    block(in, {"base_latency", "Base latency by algorithm and protocol"},
          [this](auto& b) { rows(b, tuning_.base_latency); });
    block(in, {"hop_latency", "Latency of a hop by kind of link"}, [this](auto& b) { hops(b); });
    block(in, {"net_overhead", "Of the CPU per step of a ring between nodes"},
          [this](auto& b) { net_overhead(b); });
    block(in, "latency_terms", [this](auto& b) { latency_terms(b); });
    block(in,
          {"ring_plateau", "Factor on the latency of a ring all-reduce with Simple between nodes"},
          [this](auto& b) { ring_plateau(b); });
  }

  void read_rates(ObjectReader& in) {
    block(in, {"bandwidth_caps", "Maximum bandwidth of an architecture, total or per channel"},
          [this](auto& b) { caps(b); });
    block(in,
          {"ll_total_on_several_nodes",
           "Architecture whose ll_total applies on several nodes, by CPU vendor"},
          [this](auto& b) { ll_total_rows(b); });
    block(in, {"bandwidth_factors", "Efficiency of an algorithm on the bandwidth of its channels"},
          [this](auto& b) { bandwidth_factors(b); });
    block(in, {"tree_correction", "Factors on a tree all-reduce's bandwidth by size"},
          [this](auto& b) { tree_correction(b); });
  }

  void read_choices(ObjectReader& in) {
    block(in, {"algorithms", "Features of this version"}, [this](auto& b) { algorithms(b); });
    block(in,
          {"threads", "Threads per channel and the bytes per thread from which a channel is used"},
          [this](auto& b) { threads(b); });
    block(in, {"search", "Channel speeds tried by the search"}, [this](auto& b) { ladders(b); });
    block(in, "channels", [this](auto& b) { channels(b); });
    block(in, "enabled_by_default", [this](auto& b) { rules(b); });
    block(in, {"chunks", "Data per pipeline chunk"}, [this](auto& b) { chunks(b); });
    block(in,
          {"recognition",
           "How devices (prefixes of their ids) and CPUs (usable bandwidth between sockets) are "
           "recognized"},
          [this](auto& b) { recognition(b); });
    block(in,
          {"symmetric_kernels",
           "Kernels for buffers in symmetric windows: latency, and rates of a CTA and of a GPU"},
          [this](auto& b) { symmetric_kernels(b); });
    block(in, {"symmetric_choice", "How the time of a symmetric kernel is estimated and compared"},
          [this](auto& b) { symmetric_choice(b); });
    block(in, {"copy_engines", "Collectives by copy engines, of symmetric windows"},
          [this](auto& b) { copy_engines(b); });
  }

  /// A block with its source. Required, unless another file has it.
  template <class Read>
  void block(ObjectReader& in, const Key& key, Read read) {
    part(in, key, [&](ObjectReader& one) {
      (void)one.string("source");
      (void)optional_provenance(one, kProvenanceKey);
      read(one);
    });
  }

  template <class Read>
  void part(ObjectReader& in, const Key& key, Read read) {
    if (!extends_) return in.object(key, read);
    if (const auto found = in.optional(key)) found->object(read);
  }

  void algorithms(ObjectReader& in) {
    tuning_.has = {};
    in.array(
        "names",
        [this](const ValueReader& value) {
          const auto name = value.known_name("algorithm of NCCL", names_of<NcclAlgorithm>());
          if (name) tuning_.has[*parse_nccl_name<NcclAlgorithm>(*name)] = true;
        },
        1, kNcclCount<NcclAlgorithm>);
    tuning_.windows.has_kernels = in.boolean("symmetric_kernels", false);
    tuning_.windows.has_copy_engines = in.boolean("copy_engines", false);
  }

  void symmetric_kernels(ObjectReader& in) {
    in.object({"up_to_hopper", "Compute capability below 10.0"},
              [this](ObjectReader& one) { tuning_.windows.up_to_hopper = symmetric_costs(one); });
    in.object({"blackwell", "Compute capability 10.0 and later"},
              [this](ObjectReader& one) { tuning_.windows.blackwell = symmetric_costs(one); });
  }

  static NcclSymmetricCosts symmetric_costs(ObjectReader& in) {
    NcclSymmetricCosts out;
    out.ll_all_gather = in.duration("ll_all_gather");
    out.ll = in.duration({"ll", "Kernels with a flag in every word"});
    out.all_reduce = in.duration({"all_reduce", "With loads and stores"});
    out.other = in.duration({"other", "All-gather and reduce-scatter with loads and stores"});
    out.block_all_reduce = in.rate({"block_all_reduce", "Of a CTA"});
    out.block = in.rate({"block", "Of a CTA, all-gather and reduce-scatter"});
    out.peak_multicast_all_reduce = in.rate({"peak_multicast_all_reduce", "Of a GPU"});
    out.peak = in.rate({"peak", "Of a GPU, all other kernels"});
    out.multicast_blocks =
        in.integer({"multicast_blocks", "CTAs of all ranks that multicast"}, 1, kMostCount);
    return out;
  }

  void symmetric_choice(ObjectReader& in) {
    NcclSymmetricFactors& factors = tuning_.windows.factors;
    factors.ll_bytes = read_factor(in, {"ll_bytes", "Bytes of a kernel with flags per byte"});
    factors.ll_multicast = read_factor(in, "ll_multicast");
    factors.multicast_per_rank = read_factor(in, "multicast_per_rank");
    factors.most_blocks = in.integer({"most_blocks", "CTAs of a kernel"}, 1, kMostCount);
    factors.time_for_fewer = read_factor(in, "time_for_fewer");
    factors.cost_of_block = in.number({"cost_of_block", "Share of the time that a CTA adds"}, 0, 1);
  }

  void copy_engines(ObjectReader& in) {
    NcclCopyEngines& out = tuning_.windows.copy_engines;
    out.launch = in.duration({"launch", "Before the first byte"});
    in.object({"all_gather_above", "Part of a rank above which an all-gather goes there"},
              [&out](ObjectReader& above) {
                for (const NcclArchitecture of : nccl_values<NcclArchitecture>()) {
                  const auto given = above.optional(nccl_name(of));
                  out.all_gather_above[of] =
                      given ? std::optional{given->positive_bytes()} : std::nullopt;
                }
              });
  }

  void rows(ObjectReader& in, NcclTable<NcclAlgorithm, NcclLatencyRow>& table) {
    for (const NcclAlgorithm algorithm : nccl_values<NcclAlgorithm>()) {
      part(in, nccl_name(algorithm),
           [&](ObjectReader& one) { table[algorithm] = row(one, algorithm); });
    }
  }

  static NcclLatencyRow row(ObjectReader& in, NcclAlgorithm algorithm) {
    NcclLatencyRow times;
    for (const NcclProtocol protocol : nccl_values<NcclProtocol>()) {
      if (is_simple_only(algorithm) && protocol != NcclProtocol::simple) continue;
      times[protocol] = in.duration(nccl_name(protocol));
    }
    return times;
  }

  void hops(ObjectReader& in) {
    for (const NcclHop hop : nccl_values<NcclHop>()) {
      part(in, nccl_name(hop),
           [this, hop](ObjectReader& table) { rows(table, tuning_.hop_latency[hop]); });
    }
  }

  void net_overhead(ObjectReader& in) {
    for (const NcclCpu cpu : nccl_values<NcclCpu>()) {
      tuning_.net_overhead.per_step[cpu] = in.duration(nccl_name(cpu));
    }
    tuning_.net_overhead.simple_factor = read_factor(in, "simple_factor");
  }

  void latency_terms(ObjectReader& in) {
    tuning_.latency = {in.duration("collnet_direct_per_peer"),
                       read_factor(in, "pat_network_divisor"), in.duration("pat_per_rank")};
  }

  void ring_plateau(ObjectReader& in) {
    tuning_.ring_plateau.from = in.bytes({"from_per_channel_and_rank", "Such as \"64 B\""});
    in.object("factor", [this](ObjectReader& factors) {
      for (const NcclArchitecture architecture : nccl_values<NcclArchitecture>()) {
        tuning_.ring_plateau.factor[architecture] = read_factor(factors, nccl_name(architecture));
      }
    });
  }

  void caps(ObjectReader& in) {
    for (const NcclArchitecture architecture : nccl_values<NcclArchitecture>()) {
      tuning_.caps[architecture] =
          in.object(nccl_name(architecture), [](ObjectReader& one) { return caps_of(one); });
    }
  }

  static NcclCaps caps_of(ObjectReader& in) {
    return {read_full_caps_row(in, {"ll_total", "Values by number of nodes"}),
            read_full_caps_row(in, {"ring_ll128_channel", "Values by number of nodes"}),
            read_full_caps_row(in, {"tree_ll128_channel", "Values by number of nodes"}),
            read_full_caps_row(in, {"tree_channel", "Values by number of nodes"}),
            read_caps_row(in, {"nvls_tree_channel",
                               "Values by number of nodes; an omitted column: unsupported"}),
            in.number("nvls_efficiency", 0, 1)};
  }

  void ll_total_rows(ObjectReader& in) {
    for (const NcclCpu cpu : nccl_values<NcclCpu>()) {
      tuning_.ll_total_row[cpu] = read_architecture(in, nccl_name(cpu));
    }
  }

  void bandwidth_factors(ObjectReader& in) {
    NcclBandwidthFactors& factors = tuning_.bandwidth;
    factors.ring_ll = read_factor(in, "ring_ll");
    factors.ring_ll128 = read_factor(in, "ring_ll128");
    factors.tree = read_factor(in, "tree");
    factors.tree_ll_divisor = read_factor(in, "tree_ll_divisor");
    factors.tree_ll128_one_node = read_ratio(in, {"tree_ll128_one_node", "[7, 9] is 7/9"});
    factors.tree_ll128 = read_ratio(in, {"tree_ll128", "[7, 9] is 7/9"});
    factors.plain_tree = read_factor(in, "plain_tree");
    factors.pat = read_factor(in, "pat");
    factors.collnet_direct = read_factor(in, "collnet_direct");
    factors.collnet_direct_from = read_architecture(in, "collnet_direct_from");
    factors.round_trip = read_factor(in, "round_trip");
  }

  void tree_correction(ObjectReader& in) {
    tuning_.tree_correction.from = in.positive_bytes("from");
    for (const NcclProtocol protocol : nccl_values<NcclProtocol>()) {
      auto& factors = tuning_.tree_correction.factors[protocol];
      factors.clear();
      in.array(
          {nccl_name(protocol), "Values by power of two of the size"},
          [&](const ValueReader& value) { factors.push_back(value.number(0.001, kLargestFactor)); },
          1, kMostSizes);
    }
  }

  void threads(ObjectReader& in) {
    NcclThreads& threads = tuning_.threads;
    for (const NcclProtocol protocol : nccl_values<NcclProtocol>()) {
      threads.per_channel[protocol] = in.integer(nccl_name(protocol), 1, kMostCount);
    }
    threads.simple_slow = in.integer("simple_slow", 1, kMostCount);
    threads.slow = in.rate("slow");
    in.object("least_bytes", [&threads](ObjectReader& least) {
      for (const NcclProtocol protocol : nccl_values<NcclProtocol>()) {
        threads.least_bytes[protocol] = least.bytes(nccl_name(protocol));
      }
    });
  }

  void ladders(ObjectReader& in) {
    for (const NcclArchitecture architecture : nccl_values<NcclArchitecture>()) {
      tuning_.ladders[architecture] = in.object(nccl_name(architecture), [](ObjectReader& one) {
        return NcclLadder{read_speeds(one, {"intra", "Values in descending order"}),
                          read_speeds(one, {"inter", "Values in descending order"}),
                          one.rate("split_from")};
      });
    }
  }

  void channels(ObjectReader& in) {
    NcclChannelCounts& counts = tuning_.channels;
    counts.most_found = in.integer("most_found", 1, kMostCount);
    counts.most_used = in.integer("most_used", 1, kMostCount);
    counts.factor = in.integer("factor", 1, kMostCount);
    counts.double_from = read_architecture(in, "double_from");
    counts.double_above = in.rate("double_above");
    counts.double_below = in.integer("double_below", 1, kMostCount);
  }

  void rules(ObjectReader& in) {
    NcclRules& rules = tuning_.rules;
    rules.ll128_intra =
        read_name<NcclPath>(in, {"ll128_intra", "Path types, nearest first"}, "path");
    in.object("ll128_inter", [&rules](ObjectReader& inter) {
      for (const NcclArchitecture architecture : nccl_values<NcclArchitecture>()) {
        rules.ll128_inter[architecture] =
            read_name<NcclPath>(inter, nccl_name(architecture), "path");
      }
    });
    rules.nvls_from = read_architecture(in, "nvls_from");
    rules.nvls_least_channels = in.integer("nvls_least_channels", 1, kMostCount);
    rules.pat_ranks_per_node = in.integer("pat_ranks_per_node", 1, kMostCount);
  }

  void chunks(ObjectReader& in) {
    NcclChunks& chunks = tuning_.chunks;
    in.object("step", [&chunks](ObjectReader& step) {
      for (const NcclProtocol protocol : nccl_values<NcclProtocol>()) {
        chunks.step[protocol] = step.positive_bytes(nccl_name(protocol));
      }
    });
    chunks.pipeline_steps = in.integer("pipeline_steps", 1, kMostCount);
    chunks.send_recv_ll_up_to = in.bytes({"send_recv_ll_up_to", "Such as \"64 B\""});
    in.object({"nvls", "Of NVLS inside a node"},
              [&chunks](ObjectReader& nvls) { chunks.nvls = nvls_chunks(nvls); });
    chunks.tree_ll128.clear();
    in.array("tree_ll128", [&chunks](const ValueReader& value) {
      chunks.tree_ll128.push_back(value.object([](ObjectReader& one) {
        return NcclChunkHalving{one.integer("pieces", 1, kMostCount), one.positive_bytes("least")};
      }));
    });
  }

  static NcclNvlsChunks nvls_chunks(ObjectReader& in) {
    NcclNvlsChunks out;
    out.step = in.positive_bytes({"step", "Largest chunk of a channel and head"});
    in.array({"shorter", "Chunks of messages that fill fewer loops, applied in turn"},
             [&out](const ValueReader& value) {
               out.shorter.push_back(value.object([](ObjectReader& one) {
                 return NcclShorterChunk{one.integer("loops", 1, kMostCount),
                                         one.positive_bytes("chunk")};
               }));
             });
    in.object({"channels", "By architecture; an omitted one: unsupported"},
              [&out](ObjectReader& channels) {
                for (const NcclArchitecture of : nccl_values<NcclArchitecture>())
                  out.channels[of] = channels.optional_integer(nccl_name(of), 1, kMostCount);
              });
    return out;
  }

  void recognition(ObjectReader& in) {
    NcclRecognition& recognition = tuning_.recognition;
    in.object("devices", [&recognition](ObjectReader& devices) {
      for (const NcclArchitecture architecture : nccl_values<NcclArchitecture>()) {
        auto& beginnings = recognition.devices[architecture];
        beginnings.clear();
        devices.array(nccl_name(architecture), [&beginnings](const ValueReader& value) {
          beginnings.push_back(value.string());
        });
      }
    });
    recognition.otherwise = read_architecture(in, "otherwise");
    recognition.sockets.clear();
    in.array("sockets", [&recognition](const ValueReader& value) {
      recognition.sockets.push_back(value.object([](ObjectReader& one) {
        return NcclSocket{one.rate("bandwidth"), read_name<NcclCpu>(one, "cpu", "maker of CPUs")};
      }));
    });
  }

  NcclTuning& tuning_;
  bool extends_;
};

NcclTuning read_tuning(ObjectReader& in, const std::filesystem::path& file) {
  return read_extending<NcclTuning>(in, file, [](ObjectReader& of, NcclTuning& out, bool extends) {
    TuningReader{out, extends}.read(of);
  });
}

}  // namespace

NcclTuning read_nccl_tuning(const JsonDocument& document, std::string id,
                            const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / (id + ".json");
  NcclTuning out =
      read_document(document, [&file](ObjectReader& in) { return read_tuning(in, file); });
  out.id = std::move(id);
  return out;
}

JsonValue nccl_tuning_schema() {
  return schema_of("NCCL tuning", "Tuning model of one NCCL version. Every block names its source.",
                   [](ObjectReader& in) { return read_tuning(in, {}); });
}

NcclTuning load_nccl_tuning(const std::filesystem::path& path, std::vector<NcclCost> costs) {
  NcclTuning out = read_nccl_tuning(read_json(path), path.stem().string(), path.parent_path());
  out.costs = std::move(costs);
  const std::filesystem::path shipped =
      path.parent_path().parent_path() / "calibration" / "collectives.json";
  std::error_code ignored;
  if (!std::filesystem::exists(shipped, ignored)) return out;
  const std::vector<NcclCost> others =
      load_calibration(shipped, path.parent_path().parent_path() / "kernels").collectives;
  out.costs.insert(out.costs.end(), others.begin(), others.end());
  return out;
}

std::vector<std::string> nccl_tuning_ids(const std::filesystem::path& folder) {
  return device_ids(folder);  // ids are names of .json files there as well
}

}  // namespace lockstep
