#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/maps/name_map.hpp"

namespace ckpt {

/// The fields of a model's config.json, and below them those of its `text_config`.
class ModelConfig {
 public:
  ModelConfig() = default;
  /// Throws input.
  ModelConfig(const std::string& json_text, std::string origin);

  const std::string& origin() const noexcept { return origin_; }
  const FormulaValue& field(const std::string& name) const;
  /// Its `model_type`, and the other one that `text_config` has: the model and the text model in it.
  const std::vector<std::string>& model_types() const noexcept { return model_types_; }

 private:
  std::string origin_;
  std::map<std::string, FormulaValue> fields_;
  std::vector<std::string> model_types_;
};

/// The sizes of a map's axes, reckoned when asked for. It refers to the map.
class MapSizes {
 public:
  /// `given` come before the map's own sizes and config.json's fields. Throws usage for a given name that neither has.
  MapSizes(const NameMap& map, ModelConfig config, std::map<std::string, std::uint64_t> given);

  /// Returns the names that have a size in a map, or are fields that it asks for.
  static std::set<std::string> names(const NameMap& map);

  /// These sizes with one given anew; those that follow from it follow.
  MapSizes with(const std::string& name, std::uint64_t size) const;

  /// Throws layout or input, with what is missing.
  std::uint64_t size(const std::string& axis) const;
  /// The value of a name in a condition, apart from axes whose value a tensor's name says.
  FormulaValue value(const std::string& name) const;
  const ModelConfig& config() const noexcept { return config_; }
  /// Throws input, with both values, if a size in use differs from the one that `recorded` gives; a given size does
  /// not.
  void check_against(const ModelConfig& recorded) const;
  /// The sizes that were asked for.
  const std::map<std::string, std::uint64_t>& used() const noexcept { return known_; }

 private:
  FormulaValue reckoned(const std::string& name) const;

  const NameMap& map_;
  ModelConfig config_;
  std::map<std::string, std::uint64_t> given_;
  mutable std::map<std::string, std::uint64_t> known_;
  mutable std::map<std::string, FormulaValue> reckoned_;
  mutable std::vector<std::string> in_progress_;
};

}  // namespace ckpt
