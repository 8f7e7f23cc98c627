#include "tools/app/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"

namespace lockstep::app {

/// From and to the library that formats numbers and escapes text.
struct JsonConversion {
  using Library = nlohmann::ordered_json;

  static Library to_library(const Json& json) {
    return std::visit(
        [](const auto& value) -> Library {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::vector<Json>>) {
            Library out = Library::array();
            for (const Json& each : value) out.push_back(to_library(each));
            return out;
          } else if constexpr (std::is_same_v<T, Json::Members>) {
            Library::object_t members;
            members.reserve(value.size());
            for (const auto& [key, each] : value)  // keys differ already
              members.Container::emplace_back(key, to_library(each));
            return Library(std::move(members));
          } else {
            return Library(value);
          }
        },
        json.value_);
  }

  static Json from_library(const Library& from) {
    Json out;
    switch (from.type()) {
      case Library::value_t::object: {
        Json::Members members;
        for (const auto& [key, each] : from.items()) members.emplace_back(key, from_library(each));
        out.value_ = std::move(members);
        break;
      }
      case Library::value_t::array: {
        std::vector<Json> elements;
        for (const Library& each : from) elements.push_back(from_library(each));
        out.value_ = std::move(elements);
        break;
      }
      case Library::value_t::string:
        out.value_ = from.get<std::string>();
        break;
      case Library::value_t::boolean:
        out.value_ = from.get<bool>();
        break;
      case Library::value_t::number_integer:
        out.value_ = from.get<std::int64_t>();
        break;
      case Library::value_t::number_unsigned:
        out.value_ = from.get<std::uint64_t>();
        break;
      case Library::value_t::number_float:
        out.value_ = from.get<double>();
        break;
      default:
        break;
    }
    return out;
  }

  /// {"key", value} as it stands in a list.
  static bool is_member(const Json& json) {
    const auto* pair = std::get_if<std::vector<Json>>(&json.value_);
    return pair != nullptr && pair->size() == 2 &&
           std::holds_alternative<std::string>(pair->front().value_);
  }

  static Json::Members::value_type member(const Json& json) {
    const auto& pair = std::get<std::vector<Json>>(json.value_);
    return {std::get<std::string>(pair[0].value_), pair[1]};
  }
};

Json::Json(std::initializer_list<Json> list) {
  if (!std::all_of(list.begin(), list.end(), JsonConversion::is_member)) {
    value_ = std::vector<Json>(list);
    return;
  }
  value_ = Members{};
  for (const Json& each : list) {
    auto [key, value] = JsonConversion::member(each);
    (*this)[key] = std::move(value);
  }
}

Json Json::array() {
  Json out;
  out.value_ = std::vector<Json>{};
  return out;
}

Json Json::object() {
  Json out;
  out.value_ = Members{};
  return out;
}

Json Json::parse(const std::string& text) {
  return JsonConversion::from_library(JsonConversion::Library::parse(text));
}

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Members{};
  auto* members = std::get_if<Members>(&value_);
  LOCKSTEP_CHECK(members != nullptr);
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const auto& member) { return member.first == key; });
  return found != members->end() ? found->second
                                 : members->emplace_back(std::string{key}, Json{}).second;
}

const Json& Json::at(std::string_view key) const {
  const auto* members = std::get_if<Members>(&value_);
  LOCKSTEP_CHECK(members != nullptr);
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const auto& member) { return member.first == key; });
  LOCKSTEP_CHECK(found != members->end());
  return found->second;
}

const Json& Json::at(std::size_t index) const {
  const auto* elements = std::get_if<std::vector<Json>>(&value_);
  LOCKSTEP_CHECK(elements != nullptr && index < elements->size());
  return (*elements)[index];
}

void Json::erase(std::string_view key) {
  if (auto* members = std::get_if<Members>(&value_))
    members->erase(std::remove_if(members->begin(), members->end(),
                                  [&](const auto& member) { return member.first == key; }),
                   members->end());
}

void Json::update(const Json& members) {
  const auto* all = std::get_if<Members>(&members.value_);
  LOCKSTEP_CHECK(all != nullptr);
  for (const auto& [key, value] : *all) (*this)[key] = value;
}

void Json::push_back(Json value) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = std::vector<Json>{};
  auto* elements = std::get_if<std::vector<Json>>(&value_);
  LOCKSTEP_CHECK(elements != nullptr);
  elements->push_back(std::move(value));
}

std::size_t Json::size() const {
  if (const auto* elements = std::get_if<std::vector<Json>>(&value_)) return elements->size();
  const auto* members = std::get_if<Members>(&value_);
  return members != nullptr ? members->size() : 0;
}

std::string Json::dump(int indent) const {
  return JsonConversion::to_library(*this).dump(indent, ' ', false,
                                                JsonConversion::Library::error_handler_t::replace);
}

}  // namespace lockstep::app
