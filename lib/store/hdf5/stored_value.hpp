#pragma once

#include <string>
#include <vector>

#include "store/hdf5/global_heap.hpp"

namespace ckpt::hdf5 {

/// Reads values of any type in the form of Attribute::value: everything of fixed size as it is, a variable-length part
/// as a 64-bit count and its elements in place (2^64 − 1: a null string, which differs from the empty one), a compound
/// with such parts member by member. HDF5 reads a variable-length part as its stored reference into the heap, which
/// this class resolves.
class StoredForm {
 public:
  StoredForm(hid_t type, const GlobalHeap& heap);

  /// Returns the type with which to read values.
  hid_t raw_type() const noexcept { return raw_.get(); }
  /// Returns the bytes of one value as read.
  std::size_t size() const noexcept { return size_; }

  std::string flatten(const std::vector<std::byte>& values, GlobalHeap& heap) const;

 private:
  enum class Form { fixed, text, sequence, array, compound };

  void reference_form(const GlobalHeap& heap, Form form);
  void array_form(hid_t type, const GlobalHeap& heap);
  void compound_form(hid_t type, const GlobalHeap& heap);
  void flatten_one(const std::byte* value, GlobalHeap& heap, std::string& out) const;
  void flatten_text(const std::byte* value, GlobalHeap& heap, std::string& out) const;
  void flatten_sequence(const std::byte* value, GlobalHeap& heap, std::string& out) const;

  Form form_ = Form::fixed;
  std::size_t size_ = 0;
  std::size_t count_ = 0;             ///< number of an array's elements
  std::vector<StoredForm> inner_;     ///< one for a sequence or array, one for each member of a compound
  std::vector<std::size_t> offsets_;  ///< offsets of a compound's members
  TypeId raw_;
};

}  // namespace ckpt::hdf5
