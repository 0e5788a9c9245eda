#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "store/hdf5/library.hpp"

namespace ckpt::hdf5 {

/// Converts values of a type from their bytes (Attribute::value, see StoredForm) to the form that HDF5 writes from.
class MemoryForm {
 public:
  explicit MemoryForm(hid_t type);

  /// Values in memory form, with the parts that their pointers refer to.
  struct Values {
    std::vector<std::byte> elements;
    std::deque<std::vector<std::byte>> parts;
  };
  /// Throws input unless `bytes` are exactly `count` values.
  Values unflatten(const std::string& bytes, std::uint64_t count) const;

 private:
  enum class Form { fixed, text, sequence, array, compound };
  struct Unflattened;

  void unflatten_one(std::byte* value, Unflattened& in) const;

  Form kind_ = Form::fixed;
  std::size_t size_ = 0;              ///< size of one value in memory
  std::size_t count_ = 0;             ///< number of an array's elements
  std::vector<MemoryForm> inner_;     ///< one for a sequence or array, one for each member of a compound
  std::vector<std::size_t> offsets_;  ///< offsets of a compound's members
};

}  // namespace ckpt::hdf5
