#include "diagnosis/draft/card_order.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "diagnosis/draft/cut_candidates.hpp"
#include "layout/placement/resolve.hpp"

namespace ckpt::drafting {

namespace {

constexpr std::size_t most_orders = 4;
constexpr std::uint64_t passage_elements = 64;

using Order = std::vector<std::uint64_t>;

/// Elements from one place of a piece on.
struct PieceStart {
  std::vector<std::uint64_t> shape;
  std::string bytes;
  friend auto operator<=>(const PieceStart&, const PieceStart&) = default;
};

/// Each card's first stored elements, mapped to the card's number; nothing if two cards have the same.
std::optional<std::map<PieceStart, std::uint64_t>> beginnings(const Question& question, CardData& cards) {
  std::map<PieceStart, std::uint64_t> found;
  for (Position card = 0; card < question.pieces.size(); ++card) {
    const StoredArray* array = question.pieces[card].array;
    if (array == nullptr || numel(array->shape) == 0) return std::nullopt;
    PieceStart segment{{array->shape.begin(), array->shape.end()}, ""};
    const std::uint64_t count = std::min(passage_elements, array->shape[array->shape.size() - 1]);
    segment.bytes.resize(count * array->dtype.size);
    cards.read(card, question.stored, {0, count}, std::as_writable_bytes(std::span(segment.bytes)));
    if (!found.emplace(std::move(segment), card).second) return std::nullopt;
  }
  return found;
}

/// The cards in the order in which these keys expect their beginnings.
std::optional<Order> order_under(const Keys& keys, const Mesh& mesh, const Question& question,
                                 const std::map<PieceStart, std::uint64_t>& card_of, WholeTensors& whole) {
  Layout layout;
  layout.mesh = mesh;
  layout.parameters.push_back({{Pattern("p")}, keys, std::nullopt, std::nullopt});
  Order order;
  std::set<std::uint64_t> taken;
  try {
    const Placement placement = resolve_target(layout, {{"p", question.first().dtype, *question.expected}}).placement;
    for (Position position = 0; position < mesh.size(); ++position) {
      const Shape shape = placement.stored_shape(0, position);
      if (numel(shape) == 0) return std::nullopt;
      const std::uint64_t count = std::min(passage_elements, shape[shape.size() - 1]);
      PieceStart segment{{shape.begin(), shape.end()}, std::string(count * question.first().dtype.size, '\0')};
      placement.for_each_region(0, position, {0, count}, [&](ParameterId, const Region& region) {
        const std::span bytes = std::as_writable_bytes(std::span(segment.bytes));
        whole.read(question.name, region.box,
                   bytes.subspan(region.offset * question.first().dtype.size,
                                 numel(region.box.shape()) * question.first().dtype.size));
      });
      const auto found = card_of.find(segment);
      if (found == card_of.end() || !taken.insert(found->second).second) return std::nullopt;
      order.push_back(found->second);
    }
  } catch (const Error& refused) {
    if (refused.kind() == Kind::io) throw;
    return std::nullopt;  // it cannot be cut so
  }
  return order;
}

}  // namespace

std::vector<Order> card_orders(const Mesh& mesh, const std::vector<Question>& questions, CardData& cards,
                               WholeTensors& whole) {
  std::vector<Axis> axes;
  for (Axis axis = 0; axis < mesh.axes.size(); ++axis)
    if (mesh.shape[axis] > 1) axes.push_back(axis);
  std::vector<Order> orders;
  for (const Question& question : questions) {
    if (!question.has_data || question.is_constant || question.first().shape.empty()) continue;
    if (!have_same_bytes(whole.find(question.name)->dtype, question.first().dtype)) continue;
    const auto card_of = beginnings(question, cards);
    if (!card_of) continue;
    for (const Keys& keys : candidates(Family::split, question, axes, {})) {
      const auto order = order_under(keys, mesh, question, *card_of, whole);
      if (order && std::find(orders.begin(), orders.end(), *order) == orders.end()) orders.push_back(*order);
    }
    if (orders.size() >= most_orders) break;
  }
  return orders;
}

}  // namespace ckpt::drafting
