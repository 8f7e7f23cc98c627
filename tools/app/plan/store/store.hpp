#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/app/plan/search.hpp"
#include "tools/app/plan/store/database.hpp"
#include "tools/app/plan/store/stored_search.hpp"

/// Results of a search in a SQLite file, readable by any client. `simulated` has one row per
/// simulated layout; `lockstep query --help` lists all tables.
namespace lockstep::app {

/// By kind of store; raised when a newer program could not read what an older one wrote, or not
/// rebuild its points.
inline constexpr int kPlanStoreVersion = 1;
inline constexpr int kSweepStoreVersion = 3;

/// A range of points decided by a search.
struct StoredRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool complete = false;
  RuleCounts rules{};
  std::uint64_t memory = 0;  // points dropped by bounds on memory
  std::uint64_t limits = 0;  // points dropped by bounds on limits

  friend bool operator==(const StoredRange&, const StoredRange&) = default;
};

/// Identity of a search; equal in stores that can be merged.
struct StoreIdentity {
  std::string tool_version;
  std::string space_hash;
  std::string space;  // as space_text()
  StoredOptions options;
};

/// Contents of a store.
struct StoreContents {
  StoreIdentity identity;
  std::vector<StoredRange> ranges{};  // sorted by begin
  std::vector<SimulatedLayout> simulated{};
  std::vector<DroppedLayout> dropped{};
};

/// Errors: RequestError at `place` for a file that is missing, locked, damaged, truncated, not a
/// store or of another version.
[[nodiscard]] StoreContents read_store(const std::string& file, const std::string& place);

/// "plan" or "sweep". Errors: RequestError at `place` for a database that is not a store.
[[nodiscard]] std::string store_kind(Database& database, const std::string& place);

/// Errors: RequestError at `place` for a database that is not a store or has another version.
/// `kind`: "plan" or "sweep"; empty: either.
void check_store(Database& database, const std::string& place, const std::string& kind = "plan");

/// Without the points. Errors: as read_store().
[[nodiscard]] StoreIdentity read_identity(Database& database, const std::string& place);

/// Errors: RequestError at `place` naming the first difference to the search of `file`.
void check_same_search(const StoreIdentity& mine, const StoreIdentity& of, const std::string& file,
                       const std::string& place);

/// "2/8"; for merged stores the part of the space they cover.
[[nodiscard]] std::string shard_text(const PlanRequest& request);

/// A store opened for writing. Batches are transactions, so a killed process leaves a consistent
/// file.
class PlanStore {
 public:
  /// `resume`: continues an existing file. Errors: RequestError at "store", as read_store() and
  /// check_same_search(), and for an existing file without `resume`; IoError if it cannot be
  /// written.
  PlanStore(const std::string& file, bool resume, const StoreIdentity& identity,
            const std::string& shard, const PlanSpace& space,
            const std::vector<std::unique_ptr<PlanSetting>>& settings, const PlanPrices& prices);
  PlanStore(const PlanStore&) = delete;
  PlanStore& operator=(const PlanStore&) = delete;
  /// Removes the file if nothing was written.
  ~PlanStore();

  /// Contents of the file when opened.
  [[nodiscard]] const std::vector<SimulatedLayout>& known() const { return known_; }
  void add(const SimulatedLayout& layout);
  /// Commits the batch; points added so far survive a crash.
  void end_batch();
  /// Writes the result of the search and closes the file.
  void finish(const SearchResult& result, const std::vector<StoredRange>& ranges);

 private:
  void create(const StoreIdentity& identity, const std::string& shard);
  void resume(const StoreIdentity& identity, const std::string& shard);
  [[nodiscard]] bool is_blank();
  void add_axes();
  void add_tables();
  void add_certificate(const SearchResult& result);
  void begin_batch();
  [[nodiscard]] std::vector<std::string> axis_keys() const;

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  PlanPrices prices_;
  std::string file_;
  std::unique_ptr<Database> database_;
  std::string insert_;
  std::vector<SimulatedLayout> known_;
  std::uint64_t rows_ = 0;
  bool created_ = false;
  bool in_batch_ = false;
  bool finished_ = false;
};

}  // namespace lockstep::app
