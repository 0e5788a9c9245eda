#pragma once

#include <string>
#include <vector>

#include "inspect/attribute_value.hpp"
#include "inspect/card_files.hpp"

namespace ckpt::cli {

/// A form in which some cards store a parameter.
struct StoredForm {
  std::string dtype;
  Extents shape;
  std::uint64_t cards = 0;
  std::string first_file;  ///< that holds it so
};

/// A value that an attribute has on some cards.
struct AttributeForm {
  std::string name;
  Json value;
  std::uint64_t cards = 0;
};

struct StoredParameter {
  std::string name;
  std::vector<StoredForm> forms;  ///< the commonest first
  std::vector<AttributeForm> attributes;
  std::uint64_t bytes = 0;  ///< on all cards
};

/// What the files say by themselves, without a layout.
struct Survey {
  std::vector<StoredParameter> parameters;  ///< in natural order
  std::vector<AttributeForm> attributes;    ///< of the files' roots
  std::uint64_t files = 0;
  std::uint64_t file_bytes = 0;
};

Survey survey(const CardFiles& files);

}  // namespace ckpt::cli
