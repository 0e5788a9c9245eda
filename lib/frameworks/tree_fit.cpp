#include "frameworks/tree_fit.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frameworks/deepspeed_files.hpp"
#include "frameworks/megatron_args.hpp"
#include "frameworks/zero_groups.hpp"
#include "frameworks/zero_tree.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view mappings = "optimizer_state_dict/param_slice_mappings/";

std::optional<deepspeed::FileName> zero_file(const std::string& path) {
  return deepspeed::parse_file_name(fs::path(path).filename().string());
}

std::uint64_t ranks_in(const std::vector<std::string>& paths) {
  std::uint64_t ranks = 0;
  for (const std::string& path : paths)
    if (const auto file = zero_file(path); file && file->is_optimizer) ranks = std::max(ranks, *file->data_rank + 1);
  return ranks;
}

using Names = std::vector<std::string>;

/// The optimizer's files by rank.
std::map<std::uint64_t, const Schema*> optimizers_in(const std::vector<NamedSchema>& files) {
  std::map<std::uint64_t, const Schema*> optimizers;
  for (const NamedSchema& file : files)
    if (const auto name = zero_file(file.name); name && name->is_optimizer)
      optimizers.emplace(*name->data_rank, file.schema);
  return optimizers;
}

/// The parameters of each group in the order of the ranks' slices; each rank's file has its own. A parameter that a
/// border of slices cuts is named by both ranks.
std::map<std::string, Names, std::less<>> orders_in(const std::vector<NamedSchema>& files) {
  std::map<std::string, Names, std::less<>> orders;
  for (const auto& [rank, schema] : optimizers_in(files))
    for (const Leaf& leaf : schema->leaves) {
      if (!leaf.name.starts_with(mappings)) continue;
      const std::size_t slash = leaf.name.find('/', mappings.size());
      if (slash == std::string::npos) continue;  // the rank has no part of this group
      Names& order = orders[leaf.name.substr(mappings.size(), slash - mappings.size())];
      std::string name = leaf.name.substr(slash + 1);
      if (order.empty() || order.back() != name) order.push_back(std::move(name));
    }
  return orders;
}

bool deals_out(const NamedSchema& file) {
  for (const Group& group : file.schema->groups)
    if (group.path == "ds_config/zero_optimization")
      for (const Attribute& each : group.attributes)
        if (each.name == "round_robin_gradients") return each.value.bytes == std::string(1, '\1');
  return false;
}

/// The order of names that are dealt out to ranks: first those of the first rank, then those of the second, and so on.
std::vector<std::size_t> deal(std::size_t count, std::uint64_t ranks) {
  std::vector<std::size_t> places;
  for (std::size_t rank = 0; rank < std::min<std::uint64_t>(ranks, count); ++rank)
    for (std::size_t at = rank; at < count; at += ranks) places.push_back(at);
  return places;
}

Names dealt_out(const Names& names, std::uint64_t ranks) {
  Names dealt;
  for (const std::size_t place : deal(names.size(), ranks)) dealt.push_back(names[place]);
  return dealt;
}

/// The inverse of dealt_out.
Names gathered(const Names& dealt, std::uint64_t ranks) {
  Names names(dealt.size());
  const auto places = deal(dealt.size(), ranks);
  for (std::size_t i = 0; i < places.size(); ++i) names[places[i]] = dealt[i];
  return names;
}

/// The shape that a card's model rank has of a parameter, before data ranks cut it.
Shape local_shape(const Placement& target, ParameterId parameter, Position card) {
  const Sharding& spread = target.shardings()[parameter];
  Shape shape(spread.cuts.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t dim = spread.permute[i];
    shape[i] = spread.cuts[dim]->extent(target.mesh().combination_at(spread.axes[dim], card));
  }
  return shape;
}

/// The name of the parameter that these master weights belong to.
std::string weight_name(const std::string& master) {
  const std::string prefix = std::string(deepspeed::master_word) + "/";
  return master.starts_with(prefix) ? master.substr(prefix.size()) : master;
}

}  // namespace

TreeFit::TreeFit(const Placement& target, const std::vector<NamedSchema>& source) : target_(target), where_(target) {
  const auto paths = target.layout().files.paths(target.mesh());
  if (std::none_of(paths.begin(), paths.end(), zero_file)) return;
  ranks_ = ranks_in(paths);
  for (const std::string& path : paths)
    if (const auto file = zero_file(path)) model_ranks_ = std::max(model_ranks_, file->model_rank + 1);
  if (ranks_ == 0) ranks_ = target.mesh().size() / model_ranks_;
  std::map<std::string, ArrayId> by_name;
  for (ArrayId array = 0; array < target.arrays().size(); ++array) {
    const bool is_flat = target.shardings()[target.arrays()[array].members.front()].bucket.has_value();
    (is_flat ? by_name : weights_).emplace(where_.name(array), array);
  }
  is_of_pieces_ = by_name.contains(std::string(deepspeed::flat_groups_of_pieces) + "0");
  const std::string path = is_of_pieces_ ? deepspeed::flat_groups_of_pieces : deepspeed::flat_groups;
  for (auto at = by_name.find(path + "0"); at != by_name.end();
       at = by_name.find(path + std::to_string(groups_.size())))
    groups_.push_back(at->second);
  if (!is_of_pieces_) check_order(source);
}

/// `round_robin_gradients` deals a group's parameters out to the ranks in turn.
void TreeFit::check_order(const std::vector<NamedSchema>& source) const {
  std::vector<std::string> paths;
  for (const NamedSchema& file : source) paths.push_back(file.name);
  const std::uint64_t before = ranks_in(paths);
  if (before == ranks_) return;
  const bool is_set = std::any_of(source.begin(), source.end(), deals_out);
  const auto orders = orders_in(source);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Names laid;
    for (const ParameterId member : target_.arrays()[groups_[g]].members)
      laid.push_back(weight_name(target_.tensors()[member].name));
    const auto found = orders.find(std::to_string(g));
    const Names order = found == orders.end() ? Names{} : found->second;
    if (!is_set && (order.empty() || order == laid)) continue;
    const Names original = gathered(laid, before);
    if ((order.empty() || order == original) && dealt_out(original, ranks_) == laid) continue;
    throw Error(Kind::input, std::string(mappings) + std::to_string(g),
                {"found parameters in the order that \"round_robin_gradients\" gives them for dp_world_size " +
                     std::to_string(before) + ": " + join(laid, 4),
                 "one that holds for " + std::to_string(ranks_) + ", too",
                 "merge the checkpoint, or save once more without that setting"});
  }
}

std::optional<Shape> TreeFit::shape_of(const std::string& path, Position card) const {
  if (is_of_pieces_) {
    const auto weight = target_.find(path.substr(path.find('/') + 1));
    return weight ? std::optional(local_shape(target_, *weight, card)) : std::nullopt;
  }
  const auto found = weights_.find(path);
  if (found == weights_.end() || !target_.holds(card, found->second)) return std::nullopt;
  return target_.stored_shape(found->second, card);
}

std::optional<std::string> TreeFit::fitted(FileNumber file, const std::string& tree) const {
  if (ranks_ == 0) return with_mesh_in_args(tree, target_.mesh());
  const Position card = where_.table().owner(file);
  const auto name = zero_file(target_.layout().files.path(target_.mesh(), card, where_.table().entry(file)));
  if (!name) return std::nullopt;
  deepspeed::ZeroTree changed(tree);
  if (!name->is_optimizer) {
    changed.set_ranks(ranks_, model_ranks_);
    changed.set_shapes([&](const std::string& path) { return shape_of(path, card); });
    return changed.take();
  }
  changed.set_partitions(ranks_);
  std::vector<deepspeed::GroupSlice> slices;
  for (const ArrayId array : groups_) {
    deepspeed::GroupSlice slice;
    const Placement::BucketSizes sizes = target_.bucket_sizes(array, card);
    slice.each = sizes.padded / ranks_;
    slice.first = *name->data_rank * slice.each;
    slice.end = sizes.is_flat ? sizes.padded : sizes.end;
    slice.all = sizes.padded;
    for (const ParameterId member : target_.arrays()[array].members) {
      const Interval run = target_.run_of(member, card);
      const std::uint64_t elements = numel(local_shape(target_, member, card));
      slice.parameters.push_back({weight_name(target_.tensors()[member].name), run, elements});
    }
    slices.push_back(std::move(slice));
  }
  if (is_of_pieces_)
    changed.check_groups(slices, ranks_, *name->data_rank == 0 && name->model_rank == 0);
  else
    changed.set_slices(slices);
  return changed.take();
}

/// Only DeepSpeed's files have such values.
bool follows_from_ranks(std::string_view name) {
  return name == "group_paddings" || name.find(mappings) != std::string_view::npos;
}

std::optional<Sidecar> latest_sidecar(const Layout& target) {
  std::set<std::string> folders;
  for (const std::string& path : target.files.paths(target.mesh)) {
    if (!zero_file(path)) return std::nullopt;
    folders.insert(fs::path(path).parent_path().string());
  }
  if (folders.size() != 1 || folders.begin()->empty() || folders.begin()->find('/') != std::string::npos)
    return std::nullopt;
  return Sidecar{deepspeed::latest_file, *folders.begin()};
}

}  // namespace ckpt
