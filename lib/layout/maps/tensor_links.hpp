#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "layout/placement/placement.hpp"
#include "tensor/link.hpp"
#include "tensor/scaling.hpp"

namespace ckpt {

/// An index that runs through a piece of a tensor, and where it does on both sides.
struct PieceAxis {
  static constexpr std::size_t nowhere = max_rank;

  std::uint64_t size = 1;
  std::size_t target_dim = 0;
  std::uint64_t target_step = 1;
  std::size_t source_dim = nowhere;  ///< nowhere: the source's name carries the axis
  std::uint64_t source_step = 0;
  std::uint64_t number_step = 0;  ///< in TensorPiece::sources, if the source's name carries the axis
};

/// Elements of one target tensor that lie in a regular way in one source tensor, or in several of one shape.
struct TensorPiece {
  std::vector<ParameterId> sources;  ///< one for each combination of the axes that the source's name carries
  Shape source_base;
  Shape target_base;
  std::vector<PieceAxis> axes;
};

/// The places of one tensor's elements in the tensors of another system, for the planner. Only pieces are held. A piece
/// may have thousands of links, which are computed on request.
class TensorLinks {
 public:
  /// `scaling`: what becomes of the elements on the way; nothing: they move as they are.
  explicit TensorLinks(std::vector<TensorPiece> pieces, std::optional<Scaling> scaling = {});

  const std::optional<Scaling>& scaling() const noexcept { return scaling_; }

  using Visit = std::function<void(ParameterId source, const Link& link)>;
  /// Visits the links that may meet a box of the target tensor. The time depends on their number.
  void for_each(const Box& box, const Visit& visit) const;

  void for_each_source(const std::function<void(ParameterId)>& visit) const;

 private:
  /// A piece, ready to be walked. Its links have at most one axis in each dimension of either side; `walked` are the
  /// others, in the order in which their values are gone through.
  struct Walk {
    std::vector<ParameterId> sources;
    std::vector<PieceAxis> walked;
    std::vector<std::uint64_t> spans;  ///< by walked axis: how far later axes reach in its dimension of the target
    Link first;                        ///< the link at the first values of all walked axes
  };

  void descend(const Walk& walk, std::size_t axis, const Box& box, std::uint64_t source, Link& link,
               const Visit& visit) const;

  std::vector<Walk> walks_;
  std::optional<Scaling> scaling_;
};

}  // namespace ckpt
