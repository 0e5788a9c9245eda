#pragma once

#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/placement/placement.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// A tensor whose pieces state where they belong.
struct CutTensor {
  struct CardPiece {
    Position card = 0;
    Box box;
  };
  std::string name;
  Shape shape;
  std::vector<CardPiece> held;  ///< one for each card that holds some of it
  bool is_padded = false;       ///< pieces reach beyond the tensor, and are stored with zeros there
};

/// The simplest keys that say how a tensor is cut: whole, `at` some cards or on all; cut along one dimension by `ceil`,
/// or, padded, by `pad`; else `boxes`. The mesh's first axis counts the files; a second one, if any, the pieces of a
/// tensor in a file. Throws input, naming the tensor, if pieces overlap or leave a gap.
Keys keys_of(const CutTensor& tensor, const Mesh& mesh);

/// Extends pieces that end where the tensor does, so that all begin and end on a regular grid, as coarse as their other
/// ends allow. A cell of the grid is one run of elements in its piece: dimensions before one in which pieces are
/// several cells stay as they are.
void pad_pieces(CutTensor& tensor);

/// The keys for another number of cards on the mesh's first axis: whole on each, or cut along the first dimension that
/// is cut here, by `uneven`.
Keys keys_elsewhere(const CutTensor& tensor, Uneven uneven = Uneven::ceil);

/// Keys as text for comparison.
std::string text_of(const Keys& keys, const Mesh& mesh);

/// A name and its keys.
struct NamedKeys {
  std::string name;
  Keys keys;
};

/// Few rules for many names: names that are cut alike and differ only in numbers share one pattern, if it matches no
/// other name.
std::vector<Rule> rules_of(const std::vector<NamedKeys>& names, const Mesh& mesh);

/// A layout of these tensors without files; and one for other cards, in files rank_{card} of a mesh with one axis.
Layout layout_of(const std::vector<CutTensor>& tensors, const Mesh& mesh, const std::string& origin);
Layout layout_elsewhere(const std::vector<CutTensor>& tensors, std::uint64_t cards, const std::string& origin,
                        Uneven uneven = Uneven::ceil);

}  // namespace ckpt
