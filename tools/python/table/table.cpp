#include "tools/python/table/table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace lockstep::python {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// Which types the values of a column have.
struct Seen {
  bool boolean = false;
  bool integer = false;
  bool real = false;
  bool other = false;

  void add(const Json& value) {
    if (value.is_null()) return;
    const bool beyond = value.is_number_unsigned() && value.get<std::uint64_t>() > kLargest;
    if (value.is_boolean()) {
      boolean = true;
    } else if (value.is_number_integer() && !beyond) {
      integer = true;
    } else if (value.is_number()) {
      real = true;
    } else {
      other = true;
    }
  }

  [[nodiscard]] ColumnType type() const {
    const bool number = integer || real;
    if (other || (boolean && number)) return ColumnType::text;
    if (boolean) return ColumnType::boolean;
    if (real) return ColumnType::real;
    return integer ? ColumnType::integer : ColumnType::text;
  }
};

void set_bit(std::vector<std::uint8_t>& bits, std::size_t at) {
  bits[at / 8] = static_cast<std::uint8_t>(bits[at / 8] | (1U << (at % 8)));
}

class ColumnWriter {
 public:
  ColumnWriter(std::string name, ColumnType type, std::size_t rows) : valid_((rows + 7) / 8, 0) {
    out_.name = std::move(name);
    out_.type = type;
    switch (type) {
      case ColumnType::boolean:
        out_.bits.resize((rows + 7) / 8, 0);
        break;
      case ColumnType::integer:
        out_.integers.resize(rows, 0);
        break;
      case ColumnType::real:
        out_.reals.resize(rows, std::nan(""));
        break;
      case ColumnType::text:
        out_.offsets.reserve(rows + 1);
        out_.offsets.push_back(0);
        break;
    }
  }

  /// Of each row in turn; null: absent.
  void add(const Json* value) {
    const bool absent = value == nullptr || value->is_null();
    if (absent)
      ++out_.nulls;
    else
      put(*value);
    if (!absent) set_bit(valid_, at_);
    if (out_.type == ColumnType::text) end_text();
    ++at_;
  }

  [[nodiscard]] Column column() {
    if (out_.nulls > 0) out_.valid = std::move(valid_);
    return std::move(out_);
  }

 private:
  void put(const Json& value) {
    switch (out_.type) {
      case ColumnType::boolean:
        if (value.get<bool>()) set_bit(out_.bits, at_);
        break;
      case ColumnType::integer:
        out_.integers[at_] = value.get<std::int64_t>();
        break;
      case ColumnType::real:
        out_.reals[at_] = value.get<double>();
        break;
      case ColumnType::text:
        out_.texts += value.is_string() ? value.get_ref<const std::string&>() : value.dump();
        break;
    }
  }

  void end_text() {
    if (out_.texts.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw std::length_error("a column of texts is larger than 2 GiB");
    out_.offsets.push_back(static_cast<std::int32_t>(out_.texts.size()));
  }

  Column out_;
  std::vector<std::uint8_t> valid_;
  std::size_t at_ = 0;
};

bool is_table(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& row) { return row.is_object(); });
}

}  // namespace

const Column* Table::find(const std::string& name) const {
  const auto at = std::find_if(columns.begin(), columns.end(),
                               [&](const Column& each) { return each.name == name; });
  return at == columns.end() ? nullptr : &*at;
}

Table table_of(const std::string& json, const std::string& key) {
  const Json document = Json::parse(json);
  const auto rows = document.find(key);
  if (rows == document.end()) return {};
  if (!is_table(*rows)) throw std::out_of_range("\"" + key + "\" is no list of objects");
  std::vector<std::string> names;
  std::map<std::string, Seen> seen;
  for (const Json& row : *rows)
    for (const auto& [name, value] : row.items()) {
      const auto [at, is_new] = seen.try_emplace(name);
      if (is_new) names.push_back(name);
      at->second.add(value);
    }
  Table out{rows->size(), {}};
  for (const std::string& name : names) {
    ColumnWriter writer{name, seen.at(name).type(), out.rows};
    for (const Json& row : *rows) {
      const auto at = row.find(name);
      writer.add(at == row.end() ? nullptr : &*at);
    }
    out.columns.push_back(writer.column());
  }
  return out;
}

std::vector<std::string> tables_of(const std::string& json) {
  const Json document = Json::parse(json);
  std::vector<std::string> out;
  for (const auto& [name, value] : document.items())
    if (is_table(value) && !(value.empty() && name != "rows")) out.push_back(name);
  std::stable_partition(out.begin(), out.end(), [](const auto& name) { return name == "rows"; });
  return out;
}

}  // namespace lockstep::python
