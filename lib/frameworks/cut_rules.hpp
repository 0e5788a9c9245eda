#pragma once

#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "layout/placement.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// A tensor whose pieces say themselves where they belong.
struct CutTensor {
  struct Held {
    Position card = 0;
    Box box;
  };
  std::string name;
  Extents shape;
  std::vector<Held> held;  ///< one for each card that has some of it
};

/// How a tensor is cut, said as simply as it can be on a mesh whose first axis counts the files, and whose second one,
/// if there is one, the pieces of a tensor in a file: whole, `at` some cards or on all; cut along one dimension by
/// `ceil`; else by `boxes`. Throws input, naming the tensor, where pieces overlap or leave something out.
Keys keys_of(const CutTensor& tensor, const Mesh& mesh);

/// The same for another number of cards, on the mesh's first axis: whole on each, or cut along the first dimension that
/// is cut here.
Keys keys_elsewhere(const CutTensor& tensor);

/// Keys as text, by which they can be compared.
std::string text_of(const Keys& keys, const Mesh& mesh);

/// A name, and what is said of it.
struct NamedKeys {
  std::string name;
  Keys keys;
};

/// The names as few rules: of those that are cut alike, names that differ in numbers only are one pattern where that
/// matches no other name.
std::vector<Rule> rules_of(const std::vector<NamedKeys>& names, const Mesh& mesh);

/// A layout of these tensors, without files; and the same for other cards, in files rank_{card} of a mesh of one axis.
Layout layout_of(const std::vector<CutTensor>& tensors, const Mesh& mesh, const std::string& origin);
Layout layout_elsewhere(const std::vector<CutTensor>& tensors, std::uint64_t cards, const std::string& origin);

}  // namespace ckpt
