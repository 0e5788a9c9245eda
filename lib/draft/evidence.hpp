#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "layout/placement.hpp"

namespace ckpt::drafting {

/// Reads what cards store.
class CardData {
 public:
  virtual ~CardData() = default;
  /// A run of the elements of an array that a card stores. Throws input, naming the file.
  virtual void read(Position card, const std::string& stored, Interval elements, std::span<std::byte> out) = 0;
};

/// The whole tensors that the cards' pieces are to make, as somebody else has them.
class WholeTensors {
 public:
  virtual ~WholeTensors() = default;
  /// Sorted by name.
  virtual const std::vector<Tensor>& tensors() const = 0;
  /// Whether elements can be read, or names, shapes and dtypes are all there is.
  virtual bool has_data() const = 0;
  /// The elements of a box, in row-major order and in the reference's own dtype. Throws input, naming the file.
  virtual void read(const std::string& name, const Box& box, std::span<std::byte> out) = 0;

  /// Null: there is none of that name.
  const Tensor* find(const std::string& name) const;
};

/// Whether elements of these types are the same where their bytes are: one type, in whatever form a file holds it.
bool have_same_bytes(const DType& ours, const DType& theirs);

/// Whether it can be told from their bytes that elements of these types are the same: of one type, or of two that are
/// floating-point.
bool are_comparable(const DType& ours, const DType& theirs);

/// Whether they are: byte by byte, or with the ones of the wider type rounded to the other.
bool are_same(const DType& ours, std::span<const std::byte> a, const DType& theirs, std::span<const std::byte> b);

}  // namespace ckpt::drafting
