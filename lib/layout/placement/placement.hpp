#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/placement/box_cover.hpp"
#include "layout/placement/cut.hpp"
#include "tensor/region.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

using ParameterId = std::uint32_t;
using ArrayId = std::uint32_t;
/// A place in the mesh (a card's number in row-major order; its id may differ).
using Position = std::uint64_t;

/// A tensor as the model knows it.
struct Tensor {
  InternedText name;
  DType dtype;
  InternedShape shape;
  bool verbatim = false;

  std::uint64_t bytes() const { return verbatim ? 0 : checked_mul(numel(shape), dtype.size, "a tensor"); }
};

/// How a tensor is spread over the mesh. Filled by resolve; only Placement's functions read it.
struct Sharding {
  std::vector<std::shared_ptr<const DimCut>> cuts;  ///< one for each logical dimension
  std::vector<std::vector<Axis>> axes;              ///< for each dimension, the axes that it is cut over, major first
  std::vector<std::size_t> permute;                 ///< stored dimension i is logical dimension permute[i]
  std::optional<Flat> flat;
  std::shared_ptr<const BoxCover> boxes;  ///< explicit boxes; then cuts and axes cut nothing. Null: the cuts apply
  /// With `member`: it lies in this bucket instead of an array of its own; with `flat`, too, as the piece of each card.
  std::optional<std::uint32_t> bucket;
  std::uint32_t member = 0;
  Replicas replicas = Replicas::check;
  /// The rule that applied: an index into Layout::parameters, or nothing for default and buckets.
  std::optional<std::size_t> rule;

  friend auto operator<=>(const Sharding&, const Sharding&) = default;
};

/// How each of many tensors is spread. Tensors that are spread alike share one Spread.
class Shardings {
 public:
  const Sharding& operator[](std::size_t parameter) const noexcept { return *of_parameter_[parameter]; }
  const Sharding& front() const noexcept { return *of_parameter_.front(); }
  std::size_t size() const noexcept { return of_parameter_.size(); }
  void push_back(std::shared_ptr<const Sharding> sharding) { of_parameter_.push_back(std::move(sharding)); }
  void reserve(std::size_t parameters) { of_parameter_.reserve(parameters); }

 private:
  std::vector<std::shared_ptr<const Sharding>> of_parameter_;
};

/// A dataset that some of the cards store.
struct ArrayPlace {
  InternedText name;  ///< in the file
  DType dtype;
  At at;                             ///< coordinates that hold it; axes that are not named: all
  std::vector<ParameterId> members;  ///< one, or a bucket's members
  bool verbatim = false;
};

/// Two parameters of the same logical shape that the layout declares equal (`equals`): `parameter`, rounded to the
/// dtype of `other`, is `other`.
struct Equality {
  ParameterId parameter = 0;
  ParameterId other = 0;
};

/// Every parameter of a checkpoint, and where its elements lie on which card: the sole result of resolving a layout.
/// Outside this class nothing knows about splits, parts, padding, flats or buckets: it answers in regions.
class Placement {
 public:
  const Layout& layout() const noexcept { return layout_; }
  const Mesh& mesh() const noexcept { return layout_.mesh; }
  const std::vector<Tensor>& tensors() const noexcept { return tensors_; }
  const Shardings& shardings() const noexcept { return shardings_; }
  const std::vector<ArrayPlace>& arrays() const noexcept { return arrays_; }
  /// Returns pairs of parameters that are both here, in the order of the first.
  const std::vector<Equality>& equalities() const noexcept { return equalities_; }
  ArrayId array_of(ParameterId parameter) const noexcept { return array_of_[parameter]; }
  std::optional<ParameterId> find(const std::string& name) const;

  bool holds(Position position, ArrayId array) const;
  /// Returns the shape of an array in the file of a card that holds it.
  Shape stored_shape(ArrayId array, Position position) const;
  /// Returns the bytes of its data there; 0 if the card does not hold it, or its elements have no fixed size.
  std::uint64_t stored_bytes(ArrayId array, Position position) const;

  /// The sizes of a bucket at a position of the mesh, in elements.
  struct BucketSizes {
    std::uint64_t members = 0;   ///< all members
    std::uint64_t end = 0;       ///< including the gaps between members; if they are `flat`, for one card
    std::uint64_t padded = 0;    ///< all cards of the axis, if no piece were short
    std::uint64_t together = 0;  ///< what these cards store
    bool is_flat = false;        ///< members are cut before they are laid out
  };
  /// `array` must belong to a bucket.
  BucketSizes bucket_sizes(ArrayId array, Position position) const;

  using RegionVisit = std::function<void(ParameterId, const Region&)>;
  /// Visits the regions of a card's array within a run of its elements, clipped to that run; offsets count from the
  /// array's start. Elements of the run that no region covers are padding: zeros.
  void for_each_region(ArrayId array, Position position, Interval elements, const RegionVisit& visit) const;

  /// Returns the run of a card's array that holds the card's part of one parameter; no region of the parameter lies
  /// outside it.
  Interval run_of(ParameterId parameter, Position position) const;
  /// Visits the regions of one parameter within a run of its array, as for_each_region does.
  void for_each_region_of(ParameterId parameter, Position position, Interval elements, const RegionVisit& visit) const;

  using ShardVisit = std::function<void(Position, const Region&)>;
  /// Visits the regions that together hold a (non-empty) box of a parameter, each clipped to it, within the parameter's
  /// first copy. The time depends on the number of regions, not of cards.
  void for_each_shard(ParameterId parameter, const Box& box, const ShardVisit& visit) const;

  /// Returns one position for each whole copy of a parameter that the cards hold, ascending; the first identifies the
  /// copy that for_each_shard visits.
  std::vector<Position> replica_bases(ParameterId parameter) const;
  /// Return the number of copies and the first position, in constant time.
  std::uint64_t copies(ParameterId parameter) const;
  Position first_base(ParameterId parameter) const noexcept { return base_[parameter]; }
  /// Returns every card that holds the same elements at the same place as `first` (a card of the first copy), including
  /// `first`.
  std::vector<Position> holders(ParameterId parameter, Position first) const;
  /// Returns the holder that counts if replicas may differ (Replicas::first): the one with the lowest card id.
  Position lowest_holder(ParameterId parameter, Position first) const;
  /// Returns the lowest holder if replicas may differ, else `first` itself.
  Position counted_card(ParameterId parameter, Position first) const {
    return shardings_[parameter].replicas == Replicas::first ? lowest_holder(parameter, first) : first;
  }
  /// Returns the position that identifies the copy of a parameter to which a card that holds it belongs.
  Position base_of(ParameterId parameter, Position position) const;
  /// Returns whether a card belongs to the first copy.
  bool is_of_first_copy(ParameterId parameter, Position position) const {
    return base_of(parameter, position) == base_[parameter];
  }
  /// Visits the cards of the first copy of a parameter.
  void for_each_first(ParameterId parameter, const std::function<void(Position)>& visit) const;

 private:
  friend class PlacementBuilder;

  /// Where a parameter's local array begins within its 1-D flat buffer, how the buffer is cut, and where a card's piece
  /// of it begins in the stored array: element e lies on card (base + e) / each, at shift + (base + e) % each.
  struct Slice {
    std::uint64_t base = 0;
    std::uint64_t each = 0;  ///< elements of the buffer on each card of the axis
    std::uint64_t shift = 0;
  };
  /// The layout of a bucket's members, for each combination of coordinates on the axes that split its members.
  struct BucketPlace {
    Axis axis = 0;
    std::vector<Axis> axes;
    bool is_flat = false;        ///< members are cut before they are laid out, and `bases` are those of each card's
                                 ///< pieces
    bool last_is_short = false;  ///< no card stores anything beyond `end`
    struct MemberOffsets {
      std::vector<std::uint64_t> bases;
      std::uint64_t end = 0;  ///< end of the last member
      std::uint64_t each = 0;
    };
    std::vector<MemberOffsets> offsets;
  };

  std::optional<Axis> flat_axis(ParameterId parameter) const;
  std::uint64_t piece(ParameterId parameter, std::size_t dim, Position position) const;
  Position position_of_piece(ParameterId parameter, std::size_t dim, std::uint64_t piece) const;
  /// Returns the box that a card holds, for explicit boxes.
  const Box& box_on(ParameterId parameter, Position position) const;
  /// Returns the shape of the local array that `split` leaves on a card, in stored order.
  Shape local_shape(ParameterId parameter, Position position) const;
  std::uint64_t flat_piece(ParameterId parameter, const Shape& local) const;
  Slice slice(ParameterId parameter, Position position, const Shape& local) const;
  std::uint64_t stored_length(const BucketPlace& bucket, const BucketPlace::MemberOffsets& where,
                              std::uint64_t card) const;
  const BucketPlace::MemberOffsets& offsets(const BucketPlace& bucket, Position position) const;
  /// Returns the axes whose coordinate does not affect what a card holds of a parameter, with the coordinates that hold
  /// it.
  std::vector<std::pair<Axis, std::vector<std::uint64_t>>> free_axes(ParameterId parameter) const;
  std::vector<std::uint64_t> allowed(ArrayId array, Axis axis) const;
  void regions_of_local_box(ParameterId parameter, Position position, const Shape& strides, const Box& local,
                            std::uint64_t origin, const RegionVisit& visit) const;
  void for_each_box_shard(ParameterId parameter, const Box& box, const ShardVisit& visit) const;
  void visit_shard(ParameterId parameter, Position first, const std::vector<Span>& spans, const Box& box,
                   const ShardVisit& visit) const;

  Layout layout_;
  std::vector<Tensor> tensors_;
  Shardings shardings_;
  std::vector<ArrayPlace> arrays_;
  std::vector<ArrayId> array_of_;
  std::vector<Equality> equalities_;
  std::vector<BucketPlace> buckets_;
  std::vector<Position> base_;  // by parameter: the position with the lowest allowed coordinates on its free axes
};

/// Returns "[0, 1, 2, … (61 more)]": card ids for a message.
std::string list_cards(const Mesh& mesh, const std::vector<Position>& positions);

}  // namespace ckpt
