#include "diagnosis/draft/trial.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt::drafting {

namespace {

constexpr std::uint64_t whole_bytes = 16 << 10;  // pieces up to this are compared whole
constexpr std::uint64_t runs_of_a_piece = 16;    // in larger ones
constexpr std::uint64_t run_elements = 32;
constexpr std::uint64_t most_cards = 64;

const std::string one_name = "p";

/// Whether a large multiple turns everything that some card stores into padding: that could explain any piece.
bool has_idle_cards(const Placement& placement) {
  const Keys& keys = placement.layout().parameters.front().keys;
  std::uint64_t multiple = keys.flat ? keys.flat->multiple_of : 1;
  if (keys.pad)
    for (const auto& [dim, pad] : *keys.pad) multiple = std::max(multiple, pad.multiple_of);
  if (multiple == 1) return false;
  for (Position position = 0; position < placement.mesh().size(); ++position) {
    const Interval all{0, placement.holds(position, 0) ? numel(placement.stored_shape(0, position)) : 0};
    bool holds_any = all.empty();
    placement.for_each_region(0, position, all, [&](ParameterId, const Region&) { holds_any = true; });
    if (!holds_any) return true;
  }
  return false;
}

/// The cards whose copies are read; absent: all.
std::optional<std::set<Position>> cards_that_count(const Placement& placement) {
  if (placement.shardings().front().replicas != Replicas::first) return std::nullopt;
  std::set<Position> cards;
  placement.for_each_first(0, [&](Position first) { cards.insert(placement.lowest_holder(0, first)); });
  return cards;
}

}  // namespace

Trial::Trial(const Mesh& mesh, const Question& question, CardData& cards, WholeTensors* reference)
    : mesh_(mesh), question_(question), cards_(cards), reference_(question.has_data ? reference : nullptr) {
  const auto nothing = std::make_shared<const std::vector<StoredArray>>();
  std::map<std::vector<std::uint64_t>, CardArrays> known;
  for (const Piece& piece : question.pieces) {
    if (piece.array == nullptr) {
      card_arrays_.push_back(nothing);
      continue;
    }
    CardArrays& arrays_on_card = known[{piece.array->shape.begin(), piece.array->shape.end()}];
    if (!arrays_on_card) {
      StoredArray array = *piece.array;
      array.name = one_name;
      if (question.expected) array.global_shape.reset();
      arrays_on_card = std::make_shared<const std::vector<StoredArray>>(1, std::move(array));
    }
    card_arrays_.push_back(arrays_on_card);
  }
}

std::optional<Placement> Trial::resolved(const Keys& keys) const {
  Layout layout;
  layout.mesh = mesh_;
  layout.parameters.push_back({{Pattern(one_name)}, keys, std::nullopt, std::nullopt});
  try {
    Resolved resolved = resolve_source(layout, card_arrays_);
    if (question_.expected && !(resolved.placement.tensors().front().shape == *question_.expected)) return std::nullopt;
    return std::move(resolved.placement);
  } catch (const Error&) {
    return std::nullopt;  // it does not fit, which is the answer
  }
}

bool Trial::fits(const Keys& keys) {
  const std::optional<Placement> placement = resolved(keys);
  if (!placement || has_idle_cards(*placement)) return false;
  if (reference_ == nullptr || question_.first().verbatim) return true;
  if (samples_.empty()) take_samples();
  const auto cards = cards_that_count(*placement);
  Likeness likeness(question_.first().dtype, reference_->find(question_.name)->dtype, reference_->tolerance());
  for (const Sample& sample : samples_) {
    if (cards && !cards->contains(sample.card)) continue;
    compare(*placement, sample, likeness);
    if (!reference_->tolerance() && !likeness.holds()) return false;
  }
  return likeness.holds();
}

void Trial::take_samples() {
  const std::vector<Position> cards = holders(question_.pieces);
  const std::uint64_t element = question_.first().dtype.size;
  const std::uint64_t count = std::min<std::uint64_t>(cards.size(), most_cards);
  for (std::uint64_t c = 0; c < count; ++c) {
    const Position card = cards[count == 1 ? 0 : c * (cards.size() - 1) / (count - 1)];
    const std::uint64_t size = numel(question_.pieces[card].array->shape);
    const bool is_whole = size * element <= whole_bytes;
    const std::uint64_t runs = is_whole ? 1 : runs_of_a_piece;
    const std::uint64_t each = is_whole ? size : run_elements;
    for (std::uint64_t r = 0; r < runs && size != 0; ++r) {
      const std::uint64_t start = runs == 1 ? 0 : (size - each) / (runs - 1) * r;
      Sample sample{card, {start, start + each}, std::vector<std::byte>(each * element)};
      cards_.read(card, question_.stored, sample.elements, sample.bytes);
      samples_.push_back(std::move(sample));
    }
  }
}

void Trial::compare(const Placement& placement, const Sample& sample, Likeness& likeness) {
  const std::uint64_t element = question_.first().dtype.size;
  const DType& other = reference_->find(question_.name)->dtype;
  std::vector<std::byte> ours;
  std::vector<std::byte> theirs;
  placement.for_each_region(0, sample.card, sample.elements, [&](ParameterId, const Region& region) {
    if (!reference_->tolerance() && !likeness.holds()) return;
    const Shape shape = region.box.shape();
    ours.resize(numel(shape) * element);
    theirs.resize(numel(shape) * other.size);
    run(strided_copy(shape, region.strides, row_major_strides(shape), element),
        sample.bytes.data() + (region.offset - sample.elements.lo) * element, ours.data());
    reference_->read(question_.name, region.box, theirs);
    likeness.add(ours, theirs);
  });
}

}  // namespace ckpt::drafting
