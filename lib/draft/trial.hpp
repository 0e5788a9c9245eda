#pragma once

#include <optional>
#include <vector>

#include "draft/evidence.hpp"
#include "draft/question.hpp"
#include "layout/resolve.hpp"

namespace ckpt::drafting {

/// Tries ways of cutting on one parameter: the library resolves a layout of one rule against its pieces, and samples of
/// the pieces are compared with what the reference has in the places that the placement gives. It refers to all that it
/// is made of.
class Trial {
 public:
  /// `reference` may be null.
  Trial(const Mesh& mesh, const Question& question, CardData& cards, WholeTensors* reference);

  /// Whether the pieces have the shapes that these keys give for the expected shape (or for any, where none is known),
  /// and their samples are what the reference has.
  bool fits(const Keys& keys);
  /// The first half of that.
  std::optional<Placement> resolved(const Keys& keys) const;

 private:
  /// A run of elements that a card stores.
  struct Sample {
    Position card = 0;
    Interval elements;
    std::vector<std::byte> bytes;
  };

  void take_samples();
  bool agrees(const Placement& placement, const Sample& sample);

  const Mesh& mesh_;
  const Question& question_;
  CardData& cards_;
  WholeTensors* reference_;
  std::vector<Holding> holdings_;
  std::vector<Sample> samples_;  // taken when first needed
};

}  // namespace ckpt::drafting
