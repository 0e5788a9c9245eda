#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/torch_dist_tree.hpp"
#include "store/pickle/pickle.hpp"

/// The parts of a model_optim_rng.pt that torch_dist saves as separate objects.
namespace ckpt::torch_dist {

inline constexpr const char* generators = "rng_state";

/// Whether this is the key of a model: "model" if it is whole, "model0" and so on for virtual stages.
bool is_model(std::string_view key);

/// The numbers of tensor and pipeline ranks; nothing unless each of them is there exactly once.
std::optional<RankTree::Rank> counts(const std::vector<RankTree>& ranks);

/// A value of a tree as a pickle of its own; nothing if it has a tensor of which only the name is there.
std::optional<std::string> pickle_of(const torch::Pickle& tree, torch::PickleId value);

/// The objects of the first file: modules' objects, and the states of generators.
class RankObjects {
 public:
  /// `names`: torch_dist names of the tensors that are written.
  explicit RankObjects(const std::vector<std::string>& names);

  /// `tree`: the rank's tree with values in it. `ranks`: `counts` of all ranks; without it, generators are skipped.
  void add(const torch::Pickle& tree, const RankTree& rank, const std::optional<RankTree::Rank>& ranks);

  /// Returns all objects as the tree of a DCP directory; to be called once.
  std::string take();

 private:
  void add_modules(const torch::Pickle& tree, const std::string& part, torch::PickleId model, const RankTree& rank);

  std::set<std::string> layers_;
  std::map<std::string, std::string> objects_;   // pickles by their items' names
  std::map<std::string, std::string> nothings_;  // the same, for layers that perhaps no rank reports
};

}  // namespace ckpt::torch_dist
