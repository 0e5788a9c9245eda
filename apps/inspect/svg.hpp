#pragma once

#include <string>

namespace ckpt::cli {

/// Writes a drawing in SVG, element by element. Coordinates and sizes are in pixels.
class Svg {
 public:
  struct Rect {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
  };

  /// `style`: the name of a class; `fill`: a colour or pattern if the class has none. A browser shows `tip` when the
  /// pointer rests on the rectangle; empty: nothing.
  void rect(const Rect& at, const std::string& style, const std::string& fill, const std::string& tip);
  /// `y`: of the base line. `style` determines the size and the meaning of `x`: beginning, middle or end.
  void text(int x, int y, const std::string& style, const std::string& text);

  /// The beginning of every document, by which it can be recognised.
  static std::string beginning();
  /// The whole document. `definitions`: styles and patterns.
  std::string document(int width, int height, const std::string& title, const std::string& definitions) const;

 private:
  std::string body_;
};

/// The approximate width of text in a font of this size: within a few percent for the usual fonts.
int text_width(const std::string& text, int font_size);

}  // namespace ckpt::cli
