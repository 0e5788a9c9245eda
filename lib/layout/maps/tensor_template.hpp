#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layout/names/pattern.hpp"

namespace ckpt {

/// A capture of a name in a map: `{l}`, `{i b}` (i·B + b), `{n + m}` (begins at the size n), or `{rest}`, which is
/// text.
struct NameCapture {
  std::string text;               ///< as written, between the braces
  std::vector<std::string> axes;  ///< major first; a text has its own name as its only axis
  std::string first;              ///< the size at which it begins; empty: 0
  bool is_text = false;

  friend bool operator==(const NameCapture&, const NameCapture&) = default;
};

/// Axes that lie one in another, major first, in one dimension; or padding.
struct AxisProduct {
  std::string label;  ///< of a piece; mostly empty
  std::vector<std::string> axes;
  bool is_padding = false;
};

/// A dimension of a tensor in a map: `g (q d | d | d)`. Without a bracket there is one piece, and nothing before or
/// after it.
struct DimTemplate {
  std::vector<std::string> before;
  std::vector<AxisProduct> pieces;
  std::vector<std::string> after;
  bool is_rest = false;  ///< `...`: any number of dimensions that both sides have alike
  bool has_bracket = false;

  bool is_padded() const noexcept { return pieces.back().is_padding; }
};

/// A tensor of one side of a map: `decoder.layers.{l}.mlp.linear_fc1.weight [(f | f), h]`.
class TensorTemplate {
 public:
  /// `sizes`: the names that have a size in the map; a capture of another name is text. Throws layout.
  TensorTemplate(const std::string& text, const std::set<std::string>& sizes);

  const std::string& text() const noexcept { return text_; }
  const std::string& name() const noexcept { return name_; }
  const std::vector<NameCapture>& captures() const noexcept { return captures_; }
  /// Returns the pattern of its names; capture number i is called std::to_string(i).
  const Pattern& pattern() const noexcept { return pattern_; }
  const std::vector<DimTemplate>& dims() const noexcept { return dims_; }
  /// Returns whether it says its shape; else it is `[...]`.
  bool has_shape() const noexcept { return has_shape_; }
  /// Returns the number of pieces, padding not counted.
  std::size_t pieces() const noexcept;
  const DimTemplate* fused() const noexcept;  ///< the dimension that has a bracket

  /// Returns the axes of one of its pieces, those of the name first; `...` is not among them.
  std::vector<std::string> axes_of(std::size_t piece) const;

  /// Returns the template of the tensor in which an axis of the name is dimension 0 instead: `stacked` replaces
  /// `prefix` at the beginning of its name. Nothing if it does not begin so.
  std::optional<TensorTemplate> stacked(const std::string& axis, const std::string& prefix, const std::string& with,
                                        const std::set<std::string>& sizes) const;

 private:
  void parse_name(const std::set<std::string>& sizes);
  void parse_dims(std::string_view text);

  std::string text_;
  std::string name_;
  std::vector<NameCapture> captures_;
  Pattern pattern_;
  std::vector<DimTemplate> dims_;
  bool has_shape_ = false;
};

}  // namespace ckpt
