#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/found_files.hpp"
#include "inspect/attribute_value.hpp"
#include "report/card_ids.hpp"

namespace ckpt::cli {

/// A form in which some files store a parameter.
struct StoredForm {
  std::string dtype;
  Shape shape;
  std::vector<std::size_t> groups;  ///< of files: indices into Survey::groups
};

/// A value that an attribute has in some files.
struct AttributeForm {
  std::string name;
  Json value;
  std::vector<std::size_t> groups;
};

struct StoredParameter {
  std::string name;
  std::vector<StoredForm> forms;  ///< the commonest first
  std::vector<AttributeForm> attributes;
  std::uint64_t bytes = 0;  ///< on all cards
  bool is_shown = false;    ///< some files only show data of others
};

/// Some files: identified by the cards in their names, if these differ in one number only.
struct WhichFiles {
  std::vector<std::string> names;  ///< in natural order
  std::optional<CardIds> cards;
};

/// What the files contain, without the layout except for its prefixes.
struct Survey {
  std::vector<StoredParameter> parameters;  ///< in natural order
  std::vector<AttributeForm> attributes;    ///< of the files' roots
  std::vector<AttributeForm> leaves;        ///< values of trees that no attribute can hold, each described in words
  std::vector<std::string> files;           ///< their names, in natural order
  std::vector<std::uint64_t> numbers;       ///< parallel to files: the one number that differs, or empty
  std::vector<std::string> formats;         ///< of the files, as Schema::format names them
  std::vector<std::string> shown;           ///< other files whose data these show: paths from their own directories
  /// Groups of files that declare the same: their indices, ascending.
  std::vector<std::vector<std::size_t>> groups;
  std::uint64_t file_count = 0;
  std::uint64_t file_bytes = 0;

  std::size_t count(const std::vector<std::size_t>& of_groups) const;
  WhichFiles which(const std::vector<std::size_t>& of_groups) const;
};

Survey survey(const FoundCheckpoint& found);

/// "f32", or "bf16|f32" if files differ.
std::string dtypes_of(const StoredParameter& parameter);

}  // namespace ckpt::cli
