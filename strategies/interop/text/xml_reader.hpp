#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/interop/text/xml_document.hpp"

namespace lockstep {

/// What a whole number may be, both ends included.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// Elements that may stand anywhere and mean nothing.
struct IgnoredElements {
  std::string_view name;
  std::int64_t count = 0;  // met so far
};

/// Reads one element strictly and notes what is wrong with it, in words that say what is allowed.
/// Attributes that nobody asks for are ignored.
class XmlReader {
 public:
  /// `where` names the element in messages, such as "gpu 3, tb 2"; it is only called for a problem.
  /// Children that `ignored` names are counted there and otherwise ignored.
  XmlReader(const XmlDocument& document, const XmlElement& element, Problems& problems,
            IgnoredElements& ignored, std::function<std::string()> where = {})
      : document_{&document},
        element_{&element},
        problems_{&problems},
        ignored_{&ignored},
        where_{std::move(where)} {}

  /// Null if there is none.
  [[nodiscard]] const XmlAttribute* find(std::string_view name) const;
  /// Notes where it is missing.
  [[nodiscard]] const XmlAttribute* required(std::string_view name) const;

  /// The two below: nothing where the attribute is missing (which only the first one notes) or no
  /// whole number of this range (which both note).
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name,
                                                    IntegerRange range) const;
  [[nodiscard]] std::optional<std::int64_t> integer_if_any(std::string_view name,
                                                           IntegerRange range) const;
  /// Which of the names it is: "no NOUN named ...; did you mean ...?"
  [[nodiscard]] std::optional<std::size_t> one_of(const XmlAttribute& attribute,
                                                  std::string_view noun,
                                                  const std::vector<std::string_view>& names) const;

  /// Calls `visit` with every child called `name`; other children are noted.
  template <class Visit>
  void children(std::string_view name, const Visit& visit) const {
    document_->for_each_child(*element_, [&](const XmlElement& child) {
      if (child.name == name) {
        visit(child);
      } else if (!is_ignored(child)) {
        complain_of_child(child, name);
      }
    });
  }
  void no_children() const;

  void complain(std::string message) const { complain(element_->at, std::move(message)); }
  void complain(Position at, std::string message) const;

 private:
  [[nodiscard]] std::optional<std::int64_t> integer_of(const XmlAttribute& attribute,
                                                       IntegerRange range) const;
  void complain_of_child(const XmlElement& child, std::string_view allowed) const;
  /// Counts it where it is.
  [[nodiscard]] bool is_ignored(const XmlElement& child) const;

  const XmlDocument* document_;
  const XmlElement* element_;
  Problems* problems_;
  IgnoredElements* ignored_;
  std::function<std::string()> where_;
};

}  // namespace lockstep
