#include "strategies/interop/text/xml_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <pugixml.hpp>
#include <utility>

#include "sim/config/json/text_cursor.hpp"

namespace lockstep {

namespace {

bool continues_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Bytes of the code point that begins with `c`; 0 where none does.
std::size_t code_point_length(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x80) return 1;
  if (byte >= 0xC2 && byte < 0xE0) return 2;
  if (byte >= 0xE0 && byte < 0xF0) return 3;
  return byte >= 0xF0 && byte < 0xF5 ? 4 : 0;
}

/// The first byte that begins no character XML may hold.
std::optional<std::size_t> first_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = code_point_length(text[i]);
    if (length == 0 || text[i] == '\0' || text.size() - i < length) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if (!continues_code_point(text[i + k])) return i;
    }
    i += length;
  }
  return std::nullopt;
}

std::string_view words_for(pugi::xml_parse_status status) {
  switch (status) {
    case pugi::status_out_of_memory:
      return "there is not enough memory for this file";
    case pugi::status_bad_pi:
      return "a declaration that begins here has no end, \"?>\"";
    case pugi::status_bad_comment:
      return "a comment has no end, \"-->\"";
    case pugi::status_bad_cdata:
      return "a CDATA section has no end, \"]]>\"";
    case pugi::status_bad_doctype:
      return "malformed document type declaration";
    case pugi::status_bad_pcdata:
      return "malformed text";
    case pugi::status_bad_start_element:
      return "malformed start of an element";
    case pugi::status_bad_attribute:
      return "malformed attribute; expected NAME=\"VALUE\"";
    case pugi::status_bad_end_element:
      return "malformed end of an element";
    case pugi::status_end_element_mismatch:
      return "this end belongs to no open element";
    case pugi::status_unrecognized_tag:
      return "this is not a tag";
    default:
      return "malformed XML";
  }
}

/// Past the last byte there is nothing left that could end what is open.
std::string message_for(const pugi::xml_parse_result& result, std::string_view text) {
  const bool at_end = static_cast<std::size_t>(result.offset) + 1 >= text.size();
  if (at_end && result.status == pugi::status_end_element_mismatch)
    return "the file ends before its elements do";
  return std::string{words_for(result.status)};
}

[[noreturn]] void refuse(const std::string& file, std::string_view text, std::size_t offset,
                         std::string message) {
  TextCursor cursor{text};
  cursor.advance_to(offset);
  throw ConfigError{Problem{file, cursor.position(), "", std::move(message)}};
}

void check_size(std::string_view text, const std::string& file) {
  if (text.size() <= kLargestXml) return;
  throw ConfigError{Problem{
      file,
      {},
      "",
      fmt::format("the file is larger than {} MiB, which is the most", kLargestXml >> 20U)}};
}

}  // namespace

/// Walks pugixml's tree and writes down elements and attributes with their places. Names lie in the
/// parsed buffer where they lay in the text, so that their addresses tell their offsets.
class XmlTreeBuilder {
 public:
  XmlTreeBuilder(std::string_view text, XmlDocument& out)
      : out_{out}, cursor_{text}, problems_{out.file_} {}

  void build(const pugi::xml_document& parsed) {
    for (const pugi::xml_node node : parsed.children()) {
      if (is_element(node) && !out_.elements_.empty()) {
        note(node.name() - 1, "a second element outside the first");
        break;
      }
      add_tree(node);
    }
    if (out_.elements_.empty() && !problems_.any())
      problems_.note({}, "", "there is no element in this file");
    problems_.throw_if_any();
  }

 private:
  static bool is_element(pugi::xml_node node) { return node.type() == pugi::node_element; }
  static bool is_text(pugi::xml_node node) {
    return node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata;
  }

  /// Goes through `top` and all within it without recursion.
  void add_tree(pugi::xml_node top) {
    std::vector<std::size_t> open;
    pugi::xml_node node = top;
    while (node) {
      enter(node, open);
      if (is_element(node) && node.first_child()) {
        if (open.size() == kDeepestXml) {
          note(node.name() - 1, fmt::format("more than {} elements in one another", kDeepestXml));
          return;
        }
        node = node.first_child();
        continue;
      }
      node = next_of(node, top, open);
    }
  }

  void enter(pugi::xml_node node, std::vector<std::size_t>& open) {
    if (is_text(node)) note_text(node.value());
    if (!is_element(node)) return;
    open.push_back(out_.elements_.size());
    add_element(node);
  }

  /// The node after `node` in the text; closes the elements that end between.
  pugi::xml_node next_of(pugi::xml_node node, pugi::xml_node top, std::vector<std::size_t>& open) {
    for (;; node = node.parent()) {
      if (is_element(node)) close(open);
      if (node == top) return {};
      if (const pugi::xml_node next = node.next_sibling()) return next;
    }
  }

  void close(std::vector<std::size_t>& open) {
    out_.elements_[open.back()].end = static_cast<std::uint32_t>(out_.elements_.size());
    open.pop_back();
  }

  void add_element(pugi::xml_node node) {
    XmlElement element;
    element.name = node.name();
    element.at = position_of(node.name() - 1);
    element.first_attribute = static_cast<std::uint32_t>(out_.attributes_.size());
    for (const pugi::xml_attribute attribute : node.attributes()) {
      out_.attributes_.push_back(
          {attribute.name(), attribute.value(), position_of(attribute.name())});
    }
    element.attributes =
        static_cast<std::uint32_t>(out_.attributes_.size()) - element.first_attribute;
    out_.elements_.push_back(element);
    note_duplicates(out_.attributes(element));
  }

  void note_duplicates(std::span<const XmlAttribute> attributes) {
    std::vector<const XmlAttribute*> sorted;
    for (const XmlAttribute& attribute : attributes) sorted.push_back(&attribute);
    std::stable_sort(
        sorted.begin(), sorted.end(),
        [](const XmlAttribute* a, const XmlAttribute* b) { return a->name < b->name; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i]->name != sorted[i - 1]->name) continue;
      problems_.note(sorted[i]->at, "",
                     fmt::format("attribute {} is given twice", in_quotes(sorted[i]->name)));
    }
  }

  void note_text(const char* where) {
    (void)position_of(where);
    const std::size_t spaces = cursor_.rest().find_first_not_of(" \t\r\n");
    if (spaces != std::string_view::npos) cursor_.advance_to(cursor_.offset() + spaces);
    problems_.note(cursor_.position(), "", "text, where only elements can stand");
  }

  void note(const char* where, std::string message) {
    problems_.note(position_of(where), "", std::move(message));
  }

  /// Of an address within the buffer. Addresses only grow; an empty name lies nowhere.
  Position position_of(const char* where) {
    const char* begin = out_.buffer_.data();
    if (where >= begin && where < begin + out_.buffer_.size())
      cursor_.advance_to(static_cast<std::size_t>(where - begin));
    return cursor_.position();
  }

  XmlDocument& out_;
  TextCursor cursor_;
  Problems problems_;
};

XmlDocument::XmlDocument(std::string_view text, std::string file)
    : file_{std::move(file)}, buffer_{text} {
  check_size(text, file_);
  if (const auto bad = first_bad_byte(text))
    refuse(file_, text, *bad, "this byte is not valid UTF-8");
  pugi::xml_document parsed;
  const pugi::xml_parse_result result =
      parsed.load_buffer_inplace(buffer_.data(), buffer_.size(),
                                 pugi::parse_default | pugi::parse_fragment, pugi::encoding_utf8);
  if (!result)
    refuse(file_, text, static_cast<std::size_t>(result.offset), message_for(result, text));
  XmlTreeBuilder{text, *this}.build(parsed);
}

}  // namespace lockstep
