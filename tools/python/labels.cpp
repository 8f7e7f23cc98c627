#include "tools/python/labels.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace lockstep::python {

namespace {

/// "cluster (dict)" of "<cluster-0123456789abcdef>.json"; as in lockstep/_errors.py.
std::string kind_of(const std::string& name) {
  const std::string kind = name.substr(1, name.find('-') - 1);
  return kind == "result" || kind == "schedule" ? kind : kind + " (dict)";
}

std::string own_name(const std::string& name, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto found = json.is_object() ? json.find("name") : json.end();
  const bool has_name = json.is_object() && found != json.end() && found->is_string();
  return has_name ? found->get<std::string>() : kind_of(name);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char each : text) {
    if (each == '&')
      out += "&amp;";
    else if (each == '<')
      out += "&lt;";
    else if (each == '>')
      out += "&gt;";
    else if (each == '"')
      out += "&quot;";
    else
      out += each;
  }
  return out;
}

std::string spelled(const std::string& text, Spelling spelling) {
  if (spelling == Spelling::html) return escaped(text);
  if (spelling == Spelling::plain) return text;
  const std::string quoted = nlohmann::json(text).dump();
  return quoted.substr(1, quoted.size() - 2);
}

/// Replaces `name` with the path before it, if any.
void replace_all(std::string& text, const std::string& name, const std::string& with) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    constexpr std::string_view kBeforePaths = " \t\n\"'<>;&=(,";
    const std::size_t before =
        at == 0 ? std::string::npos : text.find_last_of(kBeforePaths, at - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    text.replace(begin, at + name.size() - begin, with);
    at = begin + with.size();
  }
}

}  // namespace

std::string with_labels(std::string text, const Documents& documents, Spelling spelling) {
  for (const auto& [name, document] : documents) {
    const std::string id = name.substr(0, name.rfind('.'));
    for (const auto& [what, with] :
         {std::pair{name, kind_of(name)}, {id, own_name(name, document)}}) {
      replace_all(text, what, spelled(with, spelling));
      if (spelling != Spelling::html) continue;
      replace_all(text, escaped(what), escaped(with));
      // In scripts of pages no "<" is written as it is.
      std::string in_script = what;
      in_script.replace(0, 1, "\\u003c");
      replace_all(text, in_script, spelled(with, Spelling::json));
    }
  }
  return text;
}

}  // namespace lockstep::python
