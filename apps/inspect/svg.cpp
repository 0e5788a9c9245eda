#include "inspect/svg.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "report/table.hpp"

namespace ckpt::cli {

namespace {

/// Escapes a name, which may contain anything; `printable` removes what XML does not allow.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace

void Svg::rect(const Rect& at, const std::string& style, const std::string& fill, const std::string& tip) {
  body_ +=
      fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}")", at.x, at.y, at.width, at.height, style);
  if (!fill.empty()) body_ += fmt::format(R"( fill="{}")", fill);
  body_ += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></rect>\n";
}

void Svg::text(int x, int y, const std::string& style, const std::string& text) {
  body_ += fmt::format(R"(<text x="{}" y="{}" class="{}">{}</text>)", x, y, style, escaped(text)) + "\n";
}

std::string Svg::beginning() {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- a picture of a checkpoint by ckpt-inspect -->\n";
}

std::string Svg::document(int width, int height, const std::string& title, const std::string& definitions) const {
  return beginning() +
         fmt::format(
             R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img">
<title>{2}</title>
{3}<rect width="{0}" height="{1}" fill="#ffffff"/>
)",
             width, height, escaped(title), definitions) +
         body_ + "</svg>\n";
}

int text_width(const std::string& text, int font_size) {
  return static_cast<int>(length_of(text)) * font_size * 62 / 100;
}

}  // namespace ckpt::cli
