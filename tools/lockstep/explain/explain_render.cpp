#include "tools/lockstep/explain/explain_render.hpp"

#include "tools/lockstep/explain/explain_json.hpp"
#include "tools/lockstep/explain/explain_page.hpp"
#include "tools/lockstep/terminal/text_width.hpp"

namespace lockstep::cli {

std::string render(const Explanation& explanation, const OutputStyle& style) {
  switch (style.format) {
    case Format::json:
      return render_json(explanation);
    case Format::csv:
      return lockstep::cli::render(event_report(explanation), Format::csv);
    case Format::table:
    case Format::md:
      break;
  }
  const std::string text = render_page(explanation, style);
  const bool wraps = style.is_table() && style.wraps_notes && !style.wide;
  return wraps ? with_wrapped_notes(text, style.width) : text;
}

}  // namespace lockstep::cli
