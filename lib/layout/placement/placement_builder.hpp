#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "layout/names/borrowing.hpp"
#include "layout/names/naming.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// The effective keys of one tensor, checked against its rank: `split` and its companions for each dimension.
struct CutPlan {
  std::vector<CutSpec> dims;
  std::vector<std::size_t> permute;
};

/// Builds a Placement, tensor by tensor: the part of resolving that source and target share.
class PlacementBuilder {
 public:
  explicit PlacementBuilder(const Layout& layout) { placement_.layout_ = layout; }

  const Layout& layout() const noexcept { return placement_.layout_; }

  /// Throws layout, with `where` ("parameter 'w' (rule \"*.w\")") in front, if the keys do not fit a tensor of this
  /// rank.
  CutPlan plan(const Keys& keys, std::size_t rank, const std::string& where) const;

  /// Returns the coordinates that hold a parameter of this stored name, from its rule, from the numbers in its name,
  /// and from the axes along which cards share its file.
  At at_of(const Keys& keys, const std::string& stored, const At& counted) const;

  /// Reserves room for this number of tensors.
  void reserve(std::size_t tensors);

  /// Adds a tensor with an array of its own. Tensors are added in the order of their names.
  void add(Tensor tensor, const Decision& decision, const CutPlan& plan, StoredName stored, const std::string& where);

  /// Adds a bucket's member with all its keys (Borrowing). `finish` places it among its siblings.
  void add_member(Tensor tensor, Membership membership, const Keys& keys, const std::string& stored_name,
                  const std::string& where);

  /// Declares that the parameter added last equals another one, which may come later. If that one is never added, this
  /// has no effect.
  void equate(std::string other) { equals_.emplace_back(last(), std::move(other)); }

  /// Lays out the buckets, checks that every element of every tensor has a card, and returns the placement.
  Placement finish();

 private:
  /// `sharding` says which rule applied; this adds its cuts.
  ParameterId add_sharding(Tensor tensor, Sharding sharding, const Keys& keys, const CutPlan& plan,
                           const std::string& where);
  std::shared_ptr<const Sharding> shared(Sharding sharding);
  std::shared_ptr<const DimCut> cut(std::uint64_t size, const CutSpec& spec);
  std::shared_ptr<const BoxCover> cover(const Keys& keys, const Shape& shape, const std::string& where);
  void check_at_of_boxes(const BoxCover& boxes, const At& at, const std::string& where) const;
  void check_alike(std::uint32_t bucket, const std::vector<ParameterId>& members) const;
  void place_members(std::uint32_t bucket, ArrayId array);
  void place_members_at(Position position, const Bucket& bucket, const std::vector<ParameterId>& members,
                        Placement::BucketPlace& place) const;
  At shared_at(const std::string& stored) const;
  void check_not_shared(const std::vector<Axis>& cut_over, const std::string& stored, const std::string& where) const;
  void check_held(ParameterId parameter) const;
  void check_size(ParameterId parameter) const;
  void set_base(ParameterId parameter);
  void find_equalities();
  ParameterId last() const { return static_cast<ParameterId>(placement_.tensors_.size() - 1); }
  std::string over(const CutSpec& spec) const;
  /// Returns how messages name a parameter.
  std::string where(ParameterId parameter) const;

  Placement placement_;
  std::map<std::pair<CutSpec, std::uint64_t>, std::shared_ptr<const DimCut>> cuts_;
  std::map<std::pair<const Boxes*, std::vector<std::uint64_t>>, std::shared_ptr<const BoxCover>> covers_;
  std::map<Sharding, std::shared_ptr<const Sharding>> known_shardings_;
  std::map<std::uint32_t, ArrayId> bucket_arrays_;
  std::vector<std::pair<ParameterId, std::string>> equals_;
};

/// Reduces the keys for a tensor without dimensions, where there is nothing to cut, to where it lives and how replicas
/// count. Keys with boxes, or with both `flat` and `shape`, are kept: a scalar may lie flat over cards.
void drop_cuts(Keys& keys);

/// Returns the coordinates that a and b have in common.
At both(const At& a, const At& b);

}  // namespace ckpt
