#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.hpp"

namespace ckpt {

/// Returns a type of one byte an element, which is moved but never interpreted.
DType opaque_type(std::string_view name);

/// Whether elements are bytes about which a file says nothing but their number: `--as` says which numbers they are.
bool is_bytes(const DType& dtype);
/// The remedy for a format that does not take them.
std::string name_number_type(const DType& dtype, const std::string& name);

/// A row of a format's table of element types, for which `decides_each_type` (tensor/known_types.hpp) is asserted.
struct ElementWord {
  std::string_view word;  ///< a literal
  std::string_view type;  ///< DType's name, or an opaque type's if no number has this name
};

/// A format's names of element types, mapped in both directions.
class ElementWords {
 public:
  explicit ElementWords(std::span<const ElementWord> rows);

  /// Returns nothing for words that the format does not have.
  std::optional<DType> type(std::string_view word) const;
  /// Returns the first word for these elements, whatever form another format gave them; empty if there is none.
  std::string_view word(DType dtype) const;

 private:
  struct Pair {
    std::string_view word;
    DType dtype;
  };
  std::vector<Pair> pairs_;
};

}  // namespace ckpt
