#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "tensor/dtype.hpp"

namespace ckpt {

/// One byte an element, which is moved and never interpreted.
DType opaque_type(std::string_view name);

/// What a format calls the types of elements, both ways.
class ElementWords {
 public:
  struct Entry {
    std::string_view word;  ///< a literal
    std::string_view type;  ///< DType's name; an opaque type's, where no number has it
  };
  ElementWords(std::initializer_list<Entry> entries);

  /// Nothing for words that the format has not.
  std::optional<DType> type(std::string_view word) const;
  /// The first word for these elements, whatever form another format gave them; empty where there is none.
  std::string_view word(DType dtype) const;

 private:
  struct Pair {
    std::string_view word;
    DType dtype;
  };
  std::vector<Pair> pairs_;
};

}  // namespace ckpt
