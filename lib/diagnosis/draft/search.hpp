#pragma once

#include <map>
#include <string>
#include <vector>

#include "diagnosis/draft/cut_candidates.hpp"
#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/trial.hpp"

namespace ckpt::drafting {

/// Finds the ways of cutting that fit one parameter after another, and remembers what has fitted: parameters that are
/// declared alike are mostly cut alike. It refers to all constructor arguments.
class Search {
 public:
  /// `reference` may be null.
  Search(const Mesh& mesh, CardData& cards, WholeTensors* reference)
      : mesh_(mesh), cards_(cards), reference_(reference) {}

  /// The candidates that fit, from the first family that has any; empty if no known way fits. Ways that mean the same
  /// on this mesh count as one: `exact` comes before other words for `uneven`, the smallest multiple of padding before
  /// others.
  std::vector<Keys> fitting(const Question& question);

 private:
  std::vector<Keys> search(const Question& question, Trial& trial);
  void find_parts(const Question& question);

  const Mesh& mesh_;
  CardData& cards_;
  WholeTensors* reference_;
  std::vector<std::vector<std::uint64_t>> parts_;
  std::map<std::string, std::vector<Keys>> fitted_;  // by how the parameter is declared
};

}  // namespace ckpt::drafting
