#include "tools/app/point/stored_point.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/json/config_error.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/plan/plan.hpp"
#include "tools/app/plan/store/store.hpp"
#include "tools/app/plan/store/stored_search.hpp"
#include "tools/app/sweep/sweep_grid.hpp"

namespace lockstep::app {

namespace {

constexpr std::string_view kRank = "rank";

[[nodiscard]] bool is_database(const std::string& file) {
  constexpr std::string_view kMagic = "SQLite format 3";  // the first bytes of every such file
  std::array<char, kMagic.size()> first{};
  std::ifstream in{file, std::ios::binary};
  in.read(first.data(), first.size());
  return in && std::string_view{first.data(), first.size()} == kMagic;
}

[[nodiscard]] bool is_file(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(name, ignored);
}

[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && out <= static_cast<std::uint64_t>(INT64_MAX) ? std::optional{out} : std::nullopt;
}

class PointReader {
 public:
  explicit PointReader(const PointName& name)
      : name_{name}, database_{name.store, Database::Mode::read, ""} {
    check_store(database_, "", "");
    sweep_ = store_kind(database_, "") == "sweep";
  }

  [[nodiscard]] StoredPoint read() {
    if (name_.point.empty())
      throw RequestError(fmt::format("{} is a store; expected one of its points: {}:{}{}",
                                     name_.store, name_.store, sweep_ ? "0" : "rank1", listing()));
    const std::uint64_t index = index_of();
    StoredPoint out = sweep_ ? of_sweep(index) : of_plan(index);
    out.step = step_of(index);
    return out;
  }

 private:
  [[nodiscard]] std::string listing() const {
    return fmt::format("; `lockstep query {} 'SELECT * FROM {}'` lists them", name_.store,
                       sweep_ ? "simulated" : "best_layouts");
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw RequestError(fmt::format("{}:{}: {}", name_.store, name_.point, why));
  }
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& sql, std::uint64_t of) {
    const auto rows = database_.query(sql, {static_cast<std::int64_t>(of)});
    const auto* found = rows.rows.empty() ? nullptr : std::get_if<std::int64_t>(&rows.rows[0][0]);
    return found != nullptr ? std::optional{*found} : std::nullopt;
  }
  [[nodiscard]] std::string meta(const std::string& key) {
    const auto rows = database_.query("SELECT value FROM meta WHERE key = ?", {key});
    const auto* text = rows.rows.empty() ? nullptr : std::get_if<std::string>(&rows.rows[0][0]);
    if (text == nullptr)
      throw RequestError(fmt::format("{} is damaged: it has no {}", name_.store, key));
    return *text;
  }

  [[nodiscard]] std::uint64_t index_of() {
    const std::string_view point = name_.point;
    const bool by_rank = point.starts_with(kRank);
    const auto number = number_of(by_rank ? point.substr(kRank.size()) : point);
    if (!number)
      refuse(fmt::format("expected a point's number such as {}:17{}{}", name_.store,
                         sweep_ ? "" : fmt::format(", or its rank such as {}:rank1", name_.store),
                         listing()));
    if (!by_rank) return *number;
    if (sweep_) refuse("a sweep has no ranks; expected a point's number" + listing());
    const auto index = integer("SELECT \"index\" FROM best WHERE rank = ?", *number);
    if (!index) {
      const auto ranks = database_.query("SELECT count(*) FROM best");
      const auto* count = std::get_if<std::int64_t>(&ranks.rows[0][0]);
      refuse(count == nullptr || *count == 0 ? "the store has no result, its search has not ended"
                                             : fmt::format("its result has ranks 1 to {}", *count));
    }
    return static_cast<std::uint64_t>(*index);
  }

  [[nodiscard]] std::optional<Duration> step_of(std::uint64_t index) {
    const auto ps = integer("SELECT step_time_ps FROM simulated WHERE \"index\" = ?", index);
    return ps ? std::optional{Duration::picoseconds(*ps)} : std::nullopt;
  }

  [[nodiscard]] JsonDocument resolved(const JsonDocument& base, const std::string& name,
                                      const std::vector<std::string>& overrides) const {
    try {
      return {base.file, read_scenario(base, name, overrides, config_folder()).resolved};
    } catch (const ConfigError& error) {
      refuse("the point is impossible: " + error.problems().front().message);
    }
  }

  [[nodiscard]] StoredPoint of_plan(std::uint64_t index) {
    const StoreIdentity identity = read_identity(database_, "");
    const PlanSpace space = space_from(identity.space, name_.store);
    const PlanRequest request = request_from(identity.options, name_.store);
    try {
      return {resolved(space.base, space.name, point_overrides(space, request, index)),
              request.calibration, request.changes.options};
    } catch (const RequestError& error) {
      if (error.message().starts_with(name_.store)) throw;
      refuse(error.message());
    }
  }

  [[nodiscard]] StoredPoint of_sweep(std::uint64_t index) {
    const SweepGrid grid{meta("grid"), name_.store};
    if (index >= grid.points())
      refuse(fmt::format("the sweep has points 0 to {}", grid.points() - 1));
    std::vector<std::string> overrides = grid.overrides(index);
    try {
      grid.add_dp(overrides);
    } catch (const ConfigError& error) {
      refuse("the point is impossible: " + error.problems().front().message);
    } catch (const RequestError& error) {
      refuse("the point is impossible: " + error.message());
    }
    overrides.emplace_back("variants=[]");
    return {resolved(grid.base().document, grid.name(), overrides), {}, meta("run")};
  }

  const PointName& name_;
  Database database_;
  bool sweep_ = false;
};

}  // namespace

std::optional<PointName> point_name(const std::string& text) {
  if (is_file(text)) return is_database(text) ? std::optional<PointName>{{text, ""}} : std::nullopt;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    if (text.ends_with(".db")) return PointName{text, ""};
    return std::nullopt;
  }
  PointName out{text.substr(0, colon), text.substr(colon + 1)};
  const bool store = is_file(out.store) ? is_database(out.store) : out.store.ends_with(".db");
  return store ? std::optional{std::move(out)} : std::nullopt;
}

StoredPoint stored_point(const PointName& name) {
  return PointReader{name}.read();
}

}  // namespace lockstep::app
