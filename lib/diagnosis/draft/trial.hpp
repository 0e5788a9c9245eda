#pragma once

#include <optional>
#include <vector>

#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/question.hpp"
#include "layout/placement/resolve.hpp"

namespace ckpt::drafting {

/// Tries ways of cutting on one parameter: the library resolves a layout with one rule for its pieces, and samples of
/// the pieces are compared with the reference at the places that the placement gives. It refers to all constructor
/// arguments.
class Trial {
 public:
  /// `reference` may be null.
  Trial(const Mesh& mesh, const Question& question, CardData& cards, WholeTensors* reference);

  /// Whether the pieces have the shapes that these keys give for the expected shape (or for any, if none is known), and
  /// their samples agree with the reference.
  bool fits(const Keys& keys);
  /// The placement if the shapes fit; does not compare samples.
  std::optional<Placement> resolved(const Keys& keys) const;

 private:
  /// A run of elements that a card stores.
  struct Sample {
    Position card = 0;
    Interval elements;
    std::vector<std::byte> bytes;
  };

  void take_samples();
  void compare(const Placement& placement, const Sample& sample, Likeness& likeness);

  const Mesh& mesh_;
  const Question& question_;
  CardData& cards_;
  WholeTensors* reference_;
  std::vector<CardArrays> card_arrays_;
  std::vector<Sample> samples_;  // taken when first needed
};

}  // namespace ckpt::drafting
