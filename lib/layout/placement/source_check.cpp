#include "layout/placement/source_check.hpp"

#include <algorithm>

#include "layout/names/rule_name.hpp"
#include "layout/placement/diagnose.hpp"

namespace ckpt {

namespace {

/// Compares each card's files with what the placement expects there.
class CardCheck {
 public:
  CardCheck(const Layout& layout, const SourceNames& names, const Placement& placement)
      : layout_(layout), names_(names), placement_(placement) {}

  std::vector<std::string> warnings() const {
    if (others_ == 0) return {};
    const std::string more = others_ > 1 ? " (and " + std::to_string(others_ - 1) + " more such)" : "";
    return {other_ + more + ": the layout counts"};
  }

  void check(Position position) {
    for (std::size_t n = 0; n < names_.logical().size(); ++n) {
      try {
        check(n, position);
      } catch (Error& error) {
        error.in_file(file(n, position)).of_parameter(names_.logical()[n].name);
        throw;
      }
    }
  }

 private:
  void check(std::size_t n, Position position) {
    const auto parameter = static_cast<ParameterId>(n);  // both are sorted by name
    const ArrayId array = placement_.array_of(parameter);
    const StoredArray* found = names_.at(n, position);
    if (!placement_.holds(position, array)) {
      if (found != nullptr) refuse_elsewhere(parameter, position);
      return;
    }
    const Shape expected = placement_.stored_shape(array, position);
    if (found == nullptr) {
      if (numel(expected) != 0 || placement_.tensors()[parameter].verbatim)
        refuse_missing(parameter, position, expected);
      return;
    }
    if (!(found->shape == expected)) refuse_shape(parameter, position, *found, expected);
    if (!(found->dtype == placement_.tensors()[parameter].dtype) ||
        found->verbatim != placement_.tensors()[parameter].verbatim)
      refuse_dtype(parameter, position, *found);
    const bool is_own = !placement_.shardings()[parameter].bucket;
    if (is_own && found->global_shape && !(*found->global_shape == placement_.tensors()[parameter].shape))
      note_other_shape(parameter, position, *found);
  }

  /// A job on one card's file alone records there that its piece is the whole parameter: the layout knows better.
  void note_other_shape(ParameterId parameter, Position position, const StoredArray& found) {
    const Shape& shape = placement_.tensors()[parameter].shape;
    const Shape& said = *found.global_shape;
    const auto rule = placement_.shardings()[parameter].rule;
    const bool is_said = rule && layout_.parameters[*rule].keys.shape;
    if (!(said == found.shape) && !is_said)
      throw Error(Kind::input, place(parameter, position),
                  {"its attribute ckpt_global_shape says that it is a piece of " + to_string(said),
                   to_string(shape) + ", the logical shape that " + layout_.origin + " gives",
                   "is it the layout of all files? If the attribute is stale, say \"shape\": " + to_string(shape) +
                       " in the parameter's rule"});
    if (others_++ == 0)
      other_ = place(parameter, position) + " says by ckpt_global_shape that the parameter is " + to_string(said) +
               ", " + layout_.origin + " gives " + to_string(shape);
  }

  /// Returns the first file that declares how a parameter is stored.
  std::string first_file(std::size_t n) const { return file(n, names_.first_position(n)); }

  std::string file(std::size_t n, Position position) const {
    const auto entry = layout_.files.entry_of(names_.logical()[n].stored).value_or(0);
    return layout_.files.path(layout_.mesh, position, entry);
  }

  std::string place(std::size_t n, Position position) const {
    return layout_.files.place(layout_.mesh, position, names_.logical()[n].stored);
  }

  std::string cards_of(const BoxCover& boxes) const {
    std::vector<Position> positions;
    for (std::size_t number = 0; number < boxes.size(); ++number)
      positions.insert(positions.end(), boxes.holders(number).begin(), boxes.holders(number).end());
    std::sort(positions.begin(), positions.end());
    return list_cards(layout_.mesh, positions);
  }

  std::string held_by(ParameterId parameter) const {
    if (const auto& boxes = placement_.shardings()[parameter].boxes) return "the cards " + cards_of(*boxes);
    std::vector<std::string> parts;
    for (const auto& [axis, coordinates] : placement_.arrays()[placement_.array_of(parameter)].at)
      parts.push_back(layout_.mesh.axes[axis] + "=" +
                      (coordinates.size() == 1 ? std::to_string(coordinates[0]) : format_list(coordinates)));
    return parts.empty() ? "every card" : "the cards at " + join(parts);
  }

  [[noreturn]] void refuse_elsewhere(ParameterId parameter, Position position) const {
    throw Error(Kind::input, place(parameter, position),
                {"card " + std::to_string(layout_.mesh.card(position)) + " holds parameter '" +
                     placement_.tensors()[parameter].name + "'",
                 "it on " + held_by(parameter) + " only, as " + layout_.origin + " says", "is it the right layout?"});
  }

  [[noreturn]] void refuse_missing(ParameterId parameter, Position position, const Shape& expected) const {
    const auto rule = placement_.shardings()[parameter].rule;
    std::vector<Position> holders;
    for (Position p = 0; p < layout_.mesh.size(); ++p)
      if (names_.at(parameter, p) != nullptr) holders.push_back(p);
    throw Error(Kind::input, place(parameter, position),
                {"parameter '" + placement_.tensors()[parameter].name + "' is missing",
                 to_string(expected) + " of it on " + held_by(parameter) + ", as " + layout_.origin +
                     (rule ? " (" + rule_name(layout_, *rule) + ")" : "") + " says",
                 "cards that hold it: " + list_cards(layout_.mesh, holders) +
                     (holders.empty() ? "" : R"(; where copies may be missing, say "replicas": "first" in its rule)")});
  }

  [[noreturn]] void refuse_dtype(std::size_t n, Position position, const StoredArray& found) const {
    throw Error(Kind::input, place(n, position),
                {"its dtype is " + found.dtype.name, names_.first(n).dtype.name + ", as in " + first_file(n),
                 "a parameter has one dtype on all its cards"});
  }

  [[noreturn]] void refuse_shape(ParameterId parameter, Position position, const StoredArray& found,
                                 const Shape& expected) const {
    const Tensor& tensor = placement_.tensors()[parameter];
    const Sharding& sharding = placement_.shardings()[parameter];
    if (sharding.bucket)
      throw Error(Kind::input, place(parameter, position),
                  explain_piece(placement_, placement_.array_of(parameter), position,
                                [&](Position card) { return names_.at(parameter, card); }));
    std::string cuts;
    std::vector<CutSpec> specs(sharding.axes.size());
    std::vector<std::string> axis_names = layout_.mesh.axes;
    for (std::size_t d = 0; d < sharding.axes.size(); ++d) {
      if (d < sharding.cuts.size() && sharding.cuts[d]->is_sum_of_parts()) specs[d].parts = {d, {tensor.shape[d]}, 0};
      for (std::size_t i = 0; i < sharding.axes[d].size(); ++i) {
        const Axis axis = sharding.axes[d][i];
        specs[d].axes.push_back(axis);
        specs[d].counts.push_back(layout_.mesh.shape[axis]);
        cuts += (i == 0 ? ", dim " + std::to_string(d) + " over " : " and ") + layout_.mesh.axes[axis] + "=" +
                std::to_string(layout_.mesh.shape[axis]);
      }
    }
    const bool is_plain = !sharding.flat;
    throw Error(Kind::input, place(parameter, position),
                {"stored shape " + to_string(found.shape),
                 to_string(expected) + " by " + layout_.origin + " (logical " + to_string(tensor.shape) + cuts + ")",
                 is_plain ? explain_shape(found.shape, expected, tensor.shape, specs, axis_names) : ""});
  }

  const Layout& layout_;
  const SourceNames& names_;
  const Placement& placement_;
  std::size_t others_ = 0;  // number of shapes in files that differ from the layout's
  std::string other_;       // the first of them
};

}  // namespace

std::vector<std::string> check_cards(const Layout& layout, const SourceNames& names, const Placement& placement) {
  CardCheck check(layout, names, placement);
  for (Position position = 0; position < layout.mesh.size(); ++position) check.check(position);
  return check.warnings();
}

}  // namespace ckpt
