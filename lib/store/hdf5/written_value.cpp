#include "store/hdf5/written_value.hpp"

#include <cstring>

#include "base/checked.hpp"
#include "base/wire.hpp"
#include "store/value.hpp"

namespace ckpt::hdf5 {

struct MemoryForm::Unflattened {
  wire::Reader bytes;
  Values& values;

  std::byte* part(std::uint64_t size) { return values.parts.emplace_back(static_cast<std::size_t>(size)).data(); }
};

MemoryForm::MemoryForm(hid_t type) : size_(H5Tget_size(type)) {
  if (size_ == 0) fail("a type's size");
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0) kind_ = Form::text;
      break;
    case H5T_VLEN:
      kind_ = Form::sequence;
      inner_.emplace_back(own<TypeId>(H5Tget_super(type), "a sequence's base").get());
      break;
    case H5T_ARRAY:
      inner_.emplace_back(own<TypeId>(H5Tget_super(type), "an array type's base").get());
      kind_ = inner_.front().kind_ == Form::fixed ? Form::fixed : Form::array;
      count_ = size_ / inner_.front().size_;
      break;
    case H5T_COMPOUND: {
      const int count = check(H5Tget_nmembers(type), "a compound's members");
      for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
        inner_.emplace_back(own<TypeId>(H5Tget_member_type(type, i), "a compound's member").get());
        offsets_.push_back(H5Tget_member_offset(type, i));
        if (inner_.back().kind_ != Form::fixed) kind_ = Form::compound;
      }
      break;
    }
    default:
      break;
  }
}

MemoryForm::Values MemoryForm::unflatten(const std::string& bytes, std::uint64_t count) const {
  Values values;
  Unflattened in{{bytes, "a value"}, values};
  // Every value takes at least one byte, so that a false count cannot request more than this.
  if (kind_ == Form::fixed ? bytes.size() != checked_mul(size_, count) : count > bytes.size()) in.bytes.fail();
  values.elements.resize(checked_mul(size_, count));
  if (kind_ == Form::fixed)
    std::memcpy(values.elements.data(), in.bytes.raw(bytes.size()).data(), bytes.size());
  else
    for (std::uint64_t i = 0; i < count; ++i) unflatten_one(values.elements.data() + i * size_, in);
  in.bytes.finish();
  return values;
}

void MemoryForm::unflatten_one(std::byte* value, Unflattened& in) const {
  switch (kind_) {
    case Form::fixed:
      std::memcpy(value, in.bytes.raw(size_).data(), size_);
      return;
    case Form::text: {
      const std::uint64_t length = in.bytes.take<std::uint64_t>();
      std::byte* text = nullptr;
      if (length != no_text) {
        const std::string_view content = in.bytes.raw(length);
        text = in.part(length + 1);  // ends with a null byte
        std::memcpy(text, content.data(), length);
      }
      std::memcpy(value, &text, sizeof text);
      return;
    }
    case Form::sequence: {
      hvl_t sequence{};
      sequence.len = in.bytes.take<std::uint64_t>();
      if (sequence.len > in.bytes.left()) in.bytes.fail();
      std::byte* elements = in.part(checked_mul(sequence.len, inner_.front().size_));
      for (std::size_t i = 0; i < sequence.len; ++i)
        inner_.front().unflatten_one(elements + i * inner_.front().size_, in);
      sequence.p = elements;
      std::memcpy(value, &sequence, sizeof sequence);
      return;
    }
    case Form::array:
      for (std::size_t i = 0; i < count_; ++i) inner_.front().unflatten_one(value + i * inner_.front().size_, in);
      return;
    case Form::compound:
      for (std::size_t i = 0; i < inner_.size(); ++i) inner_[i].unflatten_one(value + offsets_[i], in);
      return;
  }
}

}  // namespace ckpt::hdf5
