#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/torch_dist_tree.hpp"
#include "store/torch/pickle.hpp"

/// What of a model_optim_rng.pt is an object by itself in torch_dist.
namespace ckpt::torch_dist {

inline constexpr const char* generators = "rng_state";

/// "model" of one that is whole, "model0" and so on of one in virtual stages.
bool is_model(std::string_view key);

/// How many tensor and pipeline ranks there are; nothing where not each of them is there once.
std::optional<RankTree::Rank> counts(const std::vector<RankTree>& ranks);

/// A value of a tree as a pickle by itself; nothing where it has a tensor of which only the name is there.
std::optional<std::string> pickle_of(const torch::Pickle& tree, torch::PickleId value);

/// The objects of a first file: those of modules, and the states of generators.
class RankObjects {
 public:
  /// `names`: of the tensors that are written, in torch_dist.
  explicit RankObjects(const std::vector<std::string>& names);

  /// `tree`: the rank's, with values in it. `ranks`: `counts` of all; without, generators are passed over.
  void add(const torch::Pickle& tree, const RankTree& rank, const std::optional<RankTree::Rank>& ranks);

  /// All together, as the tree of a DCP directory; once.
  std::string take();

 private:
  void add_modules(const torch::Pickle& tree, const std::string& part, torch::PickleId model, const RankTree& rank);

  std::set<std::string> layers_;
  std::map<std::string, std::string> objects_;   // as pickles, by the names of their items
  std::map<std::string, std::string> nothings_;  // likewise, of layers that no rank may tell of
};

}  // namespace ckpt::torch_dist
