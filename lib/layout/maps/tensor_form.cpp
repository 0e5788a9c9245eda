#include "layout/maps/tensor_form.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace ckpt {

TensorForm::TensorForm(const TensorTemplate& text, const MapSizes& sizes, std::vector<std::uint64_t> rest)
    : text_(text), sizes_(sizes), rest_(std::move(rest)) {
  for (const DimTemplate& dim : text.dims()) {
    if (dim.is_rest) {
      for (const std::uint64_t size : rest_) shape_.push_back(size);
      continue;
    }
    std::uint64_t pieces = 0;
    for (const AxisProduct& piece : dim.pieces)
      if (!piece.is_padding) pieces = checked_add(pieces, product(piece.axes));
    if (dim.is_padded()) padded_ = shape_.size();
    shape_.push_back(checked_mul(checked_mul(product(dim.before), pieces), product(dim.after)));
  }
  static_cast<void>(numel(shape_));
}

std::uint64_t TensorForm::product(const std::vector<std::string>& axes) const {
  std::uint64_t product = 1;
  for (const std::string& axis : axes) product = checked_mul(product, sizes_.size(axis));
  return product;
}

/// Places axes, major first, of which the last has this step.
void TensorForm::place_axes(const std::vector<std::string>& axes, std::size_t dim, std::uint64_t step,
                            std::vector<AxisPlace>& to) const {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    to.push_back({*axis, sizes_.size(*axis), dim, step});
    step *= sizes_.size(*axis);
  }
}

PiecePlace TensorForm::place(std::size_t piece) const {
  PiecePlace place{Shape(shape_.size()), {}};
  std::size_t d = 0;
  for (const DimTemplate& dim : text_.dims()) {
    if (dim.is_rest) {
      for (std::size_t i = 0; i < rest_.size(); ++i, ++d)
        place.axes.push_back({"..." + std::to_string(i), rest_[i], d, 1});
      continue;
    }
    const std::size_t of = dim.has_bracket ? piece : 0;
    std::uint64_t pieces = 0;  // together
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < dim.pieces.size(); ++i) {
      if (dim.pieces[i].is_padding) continue;
      if (i == of) before = pieces;
      pieces += product(dim.pieces[i].axes);
    }
    const std::uint64_t after = product(dim.after);
    place.base[d] = before * after;
    place_axes(dim.after, d, 1, place.axes);
    place_axes(dim.pieces[of].axes, d, after, place.axes);
    place_axes(dim.before, d, pieces * after, place.axes);
    ++d;
  }
  return place;
}

bool TensorForm::fits(const Shape& shape) const {
  if (shape.size() != shape_.size()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d == padded_ ? shape[d] < shape_[d] : shape[d] != shape_[d]) return false;
  return true;
}

std::vector<std::string> TensorForm::axes() const {
  std::vector<std::string> names;
  const auto add = [&](const std::vector<std::string>& axes) {
    for (const std::string& axis : axes)
      if (std::find(names.begin(), names.end(), axis) == names.end()) names.push_back(axis);
  };
  for (const DimTemplate& dim : text_.dims()) {
    add(dim.before);
    for (const AxisProduct& piece : dim.pieces) add(piece.axes);
    add(dim.after);
  }
  return names;
}

std::string TensorForm::fitting_sizes(const Shape& shape) const {
  constexpr std::uint64_t most_counted = 512;  // heads, groups, experts, and sizes of heads
  std::set<std::uint64_t> sizes(shape.begin(), shape.end());
  for (std::uint64_t size = 1; size <= most_counted; ++size) sizes.insert(size);
  const std::vector<std::string> names = axes();
  for (const std::string& name : names)
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {  // padding: anything less would fit, too
      try {
        const MapSizes changed = sizes_.with(name, *size);
        if (!TensorForm(text_, changed, rest_).fits(shape)) continue;
        std::string words;
        for (const std::string& each : names)
          if (changed.size(each) != sizes_.size(each))
            words.append(words.empty() ? "--size " : " --size ")
                .append(each)
                .append("=")
                .append(std::to_string(changed.size(each)));
        return words;
      } catch (const Error&) {
        continue;  // another size does not follow from this one
      }
    }
  return "";
}

std::string TensorForm::sizes_in_words() const {
  std::string words;
  for (const std::string& name : axes())
    words.append(words.empty() ? "" : " ").append(name).append("=").append(std::to_string(sizes_.size(name)));
  return words;
}

std::optional<std::vector<std::uint64_t>> rest_of(const TensorTemplate& text, const Shape& shape) {
  std::size_t before = 0;
  std::size_t after = 0;
  bool has_rest = false;
  for (const DimTemplate& dim : text.dims()) {
    if (dim.is_rest)
      has_rest = true;
    else
      ++(has_rest ? after : before);
  }
  if (!has_rest) return before == shape.size() ? std::optional(std::vector<std::uint64_t>{}) : std::nullopt;
  if (shape.size() < before + after) return std::nullopt;
  return std::vector<std::uint64_t>(shape.begin() + before, shape.end() - after);
}

}  // namespace ckpt
