#include "topologies/import/machine/placed_xml.hpp"

#include <functional>

namespace lockstep {
namespace {

std::string_view words_for(pugi::xml_parse_status status) {
  switch (status) {
    case pugi::status_bad_pi:
      return "a declaration has no end, \"?>\"";
    case pugi::status_bad_comment:
      return "a comment has no end, \"-->\"";
    case pugi::status_bad_cdata:
      return "a CDATA section has no end, \"]]>\"";
    case pugi::status_bad_doctype:
      return "malformed document type declaration";
    case pugi::status_bad_start_element:
      return "malformed element: expected <NAME ATTRIBUTE=\"VALUE\" ...> or <NAME .../>";
    case pugi::status_bad_attribute:
      return "malformed attribute: expected NAME=\"VALUE\"";
    case pugi::status_bad_end_element:
      return "malformed end of an element: expected </NAME>";
    case pugi::status_end_element_mismatch:
      return "this end belongs to no open element";
    case pugi::status_unrecognized_tag:
      return "not an element: expected <NAME ...>";
    case pugi::status_out_of_memory:
      return "there is not enough memory for this file";
    default:
      return "malformed XML";
  }
}

/// What stands there, for the message.
std::string found_at(std::string_view text, std::size_t offset) {
  constexpr std::size_t kShown = 20;
  std::string_view rest = text.substr(std::min(offset, text.size()));
  rest = rest.substr(0, rest.find_first_of("\r\n"));
  if (rest.empty())
    return offset >= text.size() ? ", got the end of the file" : ", got the end of the line";
  return ", got " + in_quotes(rest.substr(0, kShown));
}

}  // namespace

PlacedXml::PlacedXml(std::string_view text, std::string file)
    : file_{std::move(file)}, text_{text}, places_{text_}, buffer_{text} {
  const pugi::xml_parse_result result =
      parsed_.load_buffer_inplace(buffer_.data(), buffer_.size(),
                                  pugi::parse_default | pugi::parse_fragment, pugi::encoding_utf8);
  if (result) return;
  // Where the text ends too early, pugixml stops at or before its last byte.
  auto offset = static_cast<std::size_t>(result.offset);
  if (offset + 1 >= text_.size()) offset = text_.size();
  const bool mismatch = result.status == pugi::status_end_element_mismatch;
  const std::string message = mismatch && offset == text_.size()
                                  ? "the file ends before its elements do"
                                  : std::string{words_for(result.status)} + found_at(text_, offset);
  throw ConfigError{Problem{file_, places_.at(offset), "", message}};
}

/// pugixml gives a nameless thing a name outside the buffer: it stands at the start.
Position PlacedXml::at(const char* name) const {
  const char* begin = buffer_.data();
  const std::less<> before;
  const bool inside = !before(name, begin) && before(name, begin + buffer_.size());
  return places_.at(inside ? static_cast<std::size_t>(name - begin) : 0);
}

}  // namespace lockstep
