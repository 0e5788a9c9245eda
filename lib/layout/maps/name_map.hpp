#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/maps/formula.hpp"
#include "layout/maps/real_formula.hpp"
#include "layout/maps/tensor_template.hpp"
#include "layout/names/pattern.hpp"

namespace ckpt {

/// One of a map's two sides, as an index.
using MapSide = std::size_t;

constexpr MapSide other_side(MapSide side) {
  return 1 - side;
}

/// A piece of one of the tensors that a rule lists for a side.
struct PieceRef {
  std::size_t tensor = 0;
  std::size_t piece = 0;
};

/// Tensors of both sides that have the same elements.
struct MapRule {
  std::array<std::vector<TensorTemplate>, 2> tensors;
  std::vector<std::array<PieceRef, 2>> pieces;  ///< which piece of one side is which of the other
  Formula when;                                 ///< may be empty
  RealFormula times;                            ///< from the first side to the second; empty: the elements move
  RealFormula plus;
  std::string place;  ///< "llama.json: /tensors/3"
};

/// Names with a number that may be dimension 0 instead: `decoder.layers.{l}.` and `decoder.layers.`.
struct StackedNames {
  MapSide side = 0;
  std::string axis;
  std::string prefix;   ///< with the capture
  std::string stacked;  ///< without
};

/// A second name of a tensor, where a condition holds.
struct TiedName {
  MapSide side = 0;
  TensorTemplate name;
  TensorTemplate of;  ///< its axes are among those of `name`
  Formula when;
};

/// How the tensors of one system are those of another: a map file, parsed and consistent in itself.
struct NameMap {
  std::string origin;  ///< its name in messages
  std::array<std::string, 2> sides;
  std::vector<std::string> models;  ///< values of config.json's model_type
  std::map<std::string, std::vector<Formula>> sizes;
  std::vector<StackedNames> stacks;
  std::array<std::vector<Pattern>, 2> states;  ///< each captures {state} and {name}
  std::array<std::vector<Pattern>, 2> drop;
  std::vector<TiedName> tied;
  std::vector<MapRule> rules;
  std::vector<std::pair<std::string, std::string>> texts;  ///< origin and text of the file and those it is based on

  std::optional<MapSide> side(const std::string& name) const;
};

/// Returns the text of a map that another one is based on, and its name in messages.
using OpenMap = std::function<std::pair<std::string, std::string>(const std::string& name)>;

/// Parses a map strictly. Throws layout with the origin, the JSON pointer, the value found and those allowed; if a rule
/// is not a bijection, with both tensors and the axis.
NameMap parse_name_map(const std::string& json_text, const std::string& origin, const OpenMap& open);

/// Returns the JSON schema of the language, as layouts/names/schema.json has it.
std::string name_map_schema();

}  // namespace ckpt
