#include "layout/maps/tensor_template.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "tensor/shape.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_template = 4096;  // characters

[[noreturn]] void refuse_template(const std::string& text, const std::string& found, const std::string& expected,
                                  const std::string& remedy = {}) {
  throw Error(Kind::layout, "tensor \"" + text.substr(0, 200) + "\"", {found, expected, remedy});
}

bool is_axis_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text.front()) && text != "_" &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(' ', at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, at - begin));
  }
  return words;
}

/// A literal text as a pattern.
std::string literally(std::string_view text) {
  std::string pattern;
  for (const char c : text)
    if (std::string_view("*?[{").find(c) != std::string_view::npos)
      pattern.append({'[', c, ']'});
    else
      pattern += c;
  return pattern;
}

/// Reads the text between the outer brackets of a shape.
class ShapeParser {
 public:
  ShapeParser(const std::string& whole, std::string_view text) : whole_(whole), text_(text) {}

  std::vector<DimTemplate> dims() {
    std::vector<DimTemplate> dims;
    for (;;) {
      dims.push_back(dim());
      if (dims.size() > max_rank) refuse_template(whole_, "more than " + std::to_string(max_rank) + " dimensions", "");
      if (at_ == text_.size()) return dims;
      if (text_[at_] != ',') fail();
      ++at_;
    }
  }

 private:
  [[noreturn]] void fail() const {
    refuse_template(whole_,
                    at_ < text_.size() ? std::string("'") + text_[at_] + "' in its shape" : "its shape ends early",
                    "dimensions as in [g (q d | d | d), h]");
  }

  /// The words up to one of the signs.
  std::vector<std::string> words() {
    const std::size_t end = std::min(text_.find_first_of(",()|:", at_), text_.size());
    std::vector<std::string> words = words_of(text_.substr(at_, end - at_));
    at_ = end;
    return words;
  }

  std::vector<std::string> axes(std::vector<std::string> words) const {
    for (const std::string& word : words) {
      if (!word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; }))
        refuse_template(whole_, "the bare number " + word, "axes", "give it a name in \"sizes\"");
      if (!is_axis_name(word)) refuse_template(whole_, "'" + word + "'", "an axis: letters, digits and _");
    }
    return words;
  }

  AxisProduct piece() {
    AxisProduct piece;
    std::vector<std::string> found = words();
    if (at_ < text_.size() && text_[at_] == ':') {
      if (found.size() != 1) fail();
      piece.label = axes(found).front();
      ++at_;
      found = words();
    }
    piece.is_padding = found == std::vector<std::string>{"_"};
    const bool is_one = found == std::vector<std::string>{"1"};
    if (found.empty()) fail();
    if (!piece.is_padding && !is_one) piece.axes = axes(std::move(found));
    return piece;
  }

  DimTemplate dim() {
    DimTemplate dim;
    std::vector<std::string> first = words();
    if (first == std::vector<std::string>{"..."}) {
      dim.is_rest = true;
      dim.pieces.emplace_back();
      return dim;
    }
    if (at_ == text_.size() || text_[at_] != '(') {
      if (first.empty()) fail();
      dim.pieces.push_back({"", axes(std::move(first)), false});
      return dim;
    }
    dim.has_bracket = true;
    dim.before = axes(std::move(first));
    do {
      ++at_;
      dim.pieces.push_back(piece());
    } while (at_ < text_.size() && text_[at_] == '|');
    if (at_ == text_.size() || text_[at_] != ')') fail();
    ++at_;
    dim.after = axes(words());
    check_padding(dim);
    return dim;
  }

  void check_padding(const DimTemplate& dim) const {
    for (std::size_t i = 0; i < dim.pieces.size(); ++i) {
      if (!dim.pieces[i].is_padding) continue;
      if (i + 1 != dim.pieces.size() || i == 0)
        refuse_template(whole_, "padding (_) before another piece", "it as the last one");
      if (!dim.before.empty() || !dim.after.empty())
        refuse_template(whole_, "padding (_) inside a product of axes",
                        "it alone in its dimension, as in [(v | _), h]");
    }
  }

  const std::string& whole_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

TensorTemplate::TensorTemplate(const std::string& text, const std::set<std::string>& sizes) : text_(text) {
  if (text.size() > most_template)
    refuse_template(text, "more than " + std::to_string(most_template) + " characters", "a shorter text");
  const std::size_t shape = text.ends_with(']') ? text.rfind(" [") : std::string::npos;
  name_ = text.substr(0, shape);
  while (name_.ends_with(' ')) name_.pop_back();
  bool is_in_capture = false;
  bool has_space = name_.empty();
  for (const char c : name_) {
    is_in_capture = c == '{' || (is_in_capture && c != '}');
    has_space = has_space || (c == ' ' && !is_in_capture);
  }
  if (has_space)
    refuse_template(text, "no name with a shape behind it", "NAME [DIM, DIM], with one space before the shape");
  parse_name(sizes);
  has_shape_ = shape != std::string::npos;
  if (has_shape_) {
    parse_dims(std::string_view(text).substr(shape + 2, text.size() - shape - 3));
  } else {
    dims_.emplace_back();
    dims_.back().is_rest = true;
    dims_.back().pieces.emplace_back();
  }
}

void TensorTemplate::parse_name(const std::set<std::string>& sizes) {
  std::string pattern;
  std::set<std::string> numeric;
  for (std::size_t at = 0; at < name_.size();) {
    const std::size_t open = std::min(name_.find('{', at), name_.size());
    pattern += literally(std::string_view(name_).substr(at, open - at));
    if (open == name_.size()) break;
    const std::size_t close = name_.find('}', open);
    if (close == std::string::npos) refuse_template(text_, "an open {", "a } behind it");
    NameCapture capture{name_.substr(open + 1, close - open - 1), {}, {}, false};
    std::vector<std::string> words = words_of(capture.text);
    if (words.size() == 3 && words[1] == "+") {
      capture.first = words[0];
      words = {words[2]};
    }
    if (words.empty() || !std::all_of(words.begin(), words.end(), is_axis_name) ||
        (!capture.first.empty() && !is_axis_name(capture.first)))
      refuse_template(text_, "{" + capture.text + "}", "{l}, {i b} or {n + m}");
    capture.axes = std::move(words);
    capture.is_text = capture.axes.size() == 1 && capture.first.empty() && !sizes.contains(capture.axes.front());
    const std::string number = std::to_string(captures_.size());
    if (!capture.is_text) numeric.insert(number);
    pattern += "{" + number + "}";
    captures_.push_back(std::move(capture));
    at = close + 1;
  }
  pattern_ = Pattern(pattern, numeric);
}

void TensorTemplate::parse_dims(std::string_view text) {
  if (words_of(text).empty()) return;  // a tensor without dimensions
  dims_ = ShapeParser(text_, text).dims();
  std::size_t brackets = 0;
  std::size_t rests = 0;
  for (const DimTemplate& dim : dims_) {
    brackets += dim.has_bracket ? 1 : 0;
    rests += dim.is_rest ? 1 : 0;
  }
  if (brackets > 1) refuse_template(text_, "two brackets", "one at most");
  if (rests > 1) refuse_template(text_, "... twice", "it once at most");
}

const DimTemplate* TensorTemplate::fused() const noexcept {
  for (const DimTemplate& dim : dims_)
    if (dim.has_bracket) return &dim;
  return nullptr;
}

std::size_t TensorTemplate::pieces() const noexcept {
  const DimTemplate* const dim = fused();
  return dim == nullptr ? 1 : dim->pieces.size() - (dim->is_padded() ? 1 : 0);
}

std::vector<std::string> TensorTemplate::axes_of(std::size_t piece) const {
  std::vector<std::string> axes;
  const auto add = [&](const std::vector<std::string>& more) { axes.insert(axes.end(), more.begin(), more.end()); };
  for (const NameCapture& capture : captures_) add(capture.axes);
  for (const DimTemplate& dim : dims_) {
    add(dim.before);
    add(dim.pieces[dim.has_bracket ? piece : 0].axes);
    add(dim.after);
  }
  return axes;
}

std::optional<TensorTemplate> TensorTemplate::stacked(const std::string& axis, const std::string& prefix,
                                                      const std::string& with,
                                                      const std::set<std::string>& sizes) const {
  if (!name_.starts_with(prefix)) return std::nullopt;
  const std::string name = with + name_.substr(prefix.size());
  const std::string shape = has_shape_ ? text_.substr(text_.rfind(" [") + 2) : "...]";
  return TensorTemplate(name + " [" + axis + (shape == "]" ? "" : ", ") + shape, sizes);
}

}  // namespace ckpt
