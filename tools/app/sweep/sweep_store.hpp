#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/plan/store/database.hpp"
#include "tools/app/sweep/sweep.hpp"

namespace lockstep::app {

struct SweepStoreRequest {
  std::string file{};
  bool resume = false;         // whether an existing file is continued
  std::string tool_version{};  // recorded in the store
  std::string asked{};         // the sweep as requested
  std::string run{};           // options of the simulations as JSON, recorded in the store
};

/// Rows of a sweep in a SQLite file, which `lockstep query` and any client read: `simulated` has
/// one per point. Batches are transactions, so a killed process leaves a consistent file. Errors:
/// RequestError at "store" for an existing file without `resume`, a file that is not a sweep store,
/// is of another sweep or version, is locked or damaged; IoError if it cannot be written.
class SweepStore {
 public:
  SweepStore(const SweepStoreRequest& request, const SweepGrid& grid);

  /// Points written by an earlier run.
  [[nodiscard]] const std::map<std::uint64_t, SweepRow>& known() const { return known_; }
  void add(const SweepPoint& point);
  /// Commits the points added so far.
  void end_batch();
  /// Ends a complete or interrupted sweep.
  void finish();

 private:
  void create(const SweepStoreRequest& request, const SweepGrid& grid);
  void resume(const SweepStoreRequest& request, const SweepGrid& grid);
  void check(const std::string& key, const std::string& mine, const char* what);
  void read_known();

  std::vector<std::string> axes_;
  std::string insert_;
  std::unique_ptr<Database> database_;
  std::map<std::uint64_t, SweepRow> known_;
  bool in_batch_ = false;
};

}  // namespace lockstep::app
