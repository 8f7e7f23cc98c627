#pragma once

#include <string>

#include "tests/topologies/files/schema_agreement.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/import/import.hpp"

/// Words for tests that import machines.
namespace lockstep {

inline std::string fixture(const std::string& name) {
  return text_of_file(LOCKSTEP_SOURCE_DIR "/tests/data/topology_import/" + name);
}

inline ImportOptions named(const std::string& name) {
  ImportOptions options;
  options.name = name;
  return options;
}

inline ImportedCluster imported(const std::string& name,
                                const ImportOptions& options = named("m")) {
  return import_topology(fixture(name), name, options);
}

inline Cluster cluster_of(const ImportedCluster& imported, const ClusterSize& size = {}) {
  return read_cluster(parse_json(imported.json, "imported.json"), size).cluster;
}

/// Why a text is refused; "accepted" where it is not.
inline std::string refusal_of(const std::string& text, const ImportOptions& options = named("m")) {
  try {
    (void)import_topology(text, "t", options);
  } catch (const ConfigError& error) {
    return error.what();
  } catch (const ImportError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace lockstep
