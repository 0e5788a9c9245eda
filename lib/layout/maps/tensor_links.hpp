#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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

/// Returns the piece of which each element is a block of a piece's elements; nothing if a block would be cut or come
/// apart. `shapes`, `blocks`: of the source's tensors and of the target, by dimension. The last block may be short.
std::optional<TensorPiece> in_blocks(TensorPiece piece, const std::array<Shape, 2>& shapes,
                                     const std::array<Shape, 2>& blocks);

/// The places of one tensor's elements in the tensors of another system, for the planner. Only pieces are held. A piece
/// may have thousands of links, which are computed on request.
class TensorLinks {
 public:
  /// `scaling`: what becomes of the elements on the way; nothing: they move as they are.
  explicit TensorLinks(std::vector<TensorPiece> pieces, std::optional<Scaling> scaling = {});

  /// A tensor on the way, as it is made of the source's.
  struct Stop {
    ParameterId first = 0;
    std::shared_ptr<const TensorLinks> links = {};  ///< null: it is `first`, element by element
  };
  /// The places in the tensors that `then`'s own are made of. Throws input if some are recomputed and others not, or
  /// twice.
  TensorLinks(std::shared_ptr<const TensorLinks> then, const std::vector<Stop>& stops);

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

  void for_each_through(const Box& box, const Visit& visit) const;
  void descend(const Walk& walk, std::size_t axis, const Box& box, std::uint64_t source, Link& link,
               const Visit& visit) const;

  std::vector<Walk> walks_;
  std::shared_ptr<const TensorLinks> then_;  // from `stops_`; null: from the source itself
  std::map<ParameterId, Stop> stops_;
  std::optional<Scaling> scaling_;
};

}  // namespace ckpt
