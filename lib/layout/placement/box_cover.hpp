#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "layout/language/layout.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// Explicit boxes (`boxes`) that cover a tensor exactly, each with the cards that hold it. A tree finds the boxes that
/// meet a given box, in time proportional to the result.
class BoxCover {
 public:
  /// Throws layout, in words for a message, if boxes overlap or do not cover the shape, or if one belongs to a card
  /// outside the mesh.
  BoxCover(const Boxes& boxes, const Shape& shape, const Mesh& mesh);

  /// Returns the shape that the boxes extend to, if nothing else determines it.
  static Shape reach(const Boxes& boxes);

  /// The distinct boxes, empty ones last, and the positions that hold each, ascending.
  std::size_t size() const noexcept { return boxes_.size(); }
  const Box& box(std::size_t number) const noexcept { return boxes_[number].box; }
  const std::vector<std::uint64_t>& holders(std::size_t number) const noexcept { return boxes_[number].holders; }

  /// The box of a card, and the number of the box's holders before it.
  struct CardBox {
    std::uint32_t box;
    std::uint32_t copy;
  };
  /// Returns null for a card that holds nothing.
  const CardBox* held(std::uint64_t position) const noexcept;

  /// Returns a box that the most cards hold: its holders identify the tensor's copies.
  std::size_t most_held() const noexcept { return most_held_; }

  /// Calls visit(number) for each box that shares an element with `wanted`.
  template <class Visit>
  void for_each_meeting(const Box& wanted, Visit&& visit) const {
    if (!nodes_.empty() && !wanted.empty()) descend(0, wanted, visit);
  }

 private:
  struct Entry {
    Box box;
    std::vector<std::uint64_t> holders;
  };
  /// A tree of bounding boxes: each node spans boxes_[first, last), and is split in the middle.
  struct Node {
    Box around;
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t second_child = 0;  ///< the first child follows its parent; 0: a leaf
  };

  void collect(const Boxes& boxes, const Mesh& mesh);
  void build(std::uint32_t first, std::uint32_t last);
  void check_within(const Shape& shape, const Mesh& mesh) const;
  void check_no_overlap(const Mesh& mesh) const;
  void check_no_gap(const Shape& shape) const;
  std::uint64_t covered(const Box& wanted) const;
  std::string name(std::size_t number, const Mesh& mesh) const;

  template <class Visit>
  void descend(std::uint32_t at, const Box& wanted, Visit&& visit) const {
    const Node& node = nodes_[at];
    if (!meets(node.around, wanted)) return;
    if (node.second_child == 0) {
      for (std::uint32_t i = node.first; i < node.last; ++i)
        if (meets(boxes_[i].box, wanted)) visit(static_cast<std::size_t>(i));
      return;
    }
    descend(at + 1, wanted, visit);
    descend(node.second_child, wanted, visit);
  }
  static bool meets(const Box& a, const Box& b) noexcept;

  std::vector<Entry> boxes_;
  std::uint32_t solid_ = 0;  // number of boxes that are not empty
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, CardBox> by_position_;
  std::size_t most_held_ = 0;
};

}  // namespace ckpt
