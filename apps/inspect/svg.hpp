#pragma once

#include <string>

namespace ckpt::cli {

/// Text of a drawing in SVG, element by element. Coordinates and sizes in pixels.
class Svg {
 public:
  struct Rect {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
  };

  /// `style` is the name of a class, `fill` a colour or pattern where the class has none. `tip` is shown by a browser
  /// where the pointer rests on it; empty: nothing.
  void rect(const Rect& at, const std::string& style, const std::string& fill, const std::string& tip);
  /// `y` is that of the base line. `style` says the size and where `x` is: at the beginning, middle or end.
  void text(int x, int y, const std::string& style, const std::string& text);

  /// What every document begins with, and by which it is known again.
  static std::string beginning();
  /// The whole document. `definitions` are styles and patterns.
  std::string document(int width, int height, const std::string& title, const std::string& definitions) const;

 private:
  std::string body_;
};

/// How wide text of a font of this size is, within a few percent in the usual fonts.
int text_width(const std::string& text, int font_size);

}  // namespace ckpt::cli
