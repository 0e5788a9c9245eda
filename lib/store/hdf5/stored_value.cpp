#include "store/hdf5/stored_value.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/checked.hpp"
#include "base/wire.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/value.hpp"

namespace ckpt::hdf5 {

namespace {

constexpr const char* reference_tag = "ckpt heap reference";

/// Replaces HDF5's conversion of variable-length parts when they are read as opaque references: it leaves the bytes
/// unchanged.
herr_t keep_bytes(hid_t source, hid_t target, H5T_cdata_t* data, std::size_t, std::size_t, std::size_t, void*, void*,
                  hid_t) {
  if (data->command != H5T_CONV_INIT) return 0;
  const bool variable = H5Tget_class(source) == H5T_VLEN || H5Tis_variable_str(source) > 0;
  const LibraryText tag(H5Tget_tag(target));
  data->need_bkg = H5T_BKG_NO;
  return variable && tag && std::string_view(tag.get()) == reference_tag && H5Tget_size(source) == H5Tget_size(target)
             ? 0
             : -1;
}

void register_conversion() {
  static const bool once = [] {
    const auto opaque = own<TypeId>(H5Tcreate(H5T_OPAQUE, 16), "H5Tcreate");
    const auto sequence = own<TypeId>(H5Tvlen_create(H5T_NATIVE_INT8), "H5Tvlen_create");
    check(H5Tregister(H5T_PERS_SOFT, "ckpt_sequence", sequence.get(), opaque.get(), keep_bytes), "H5Tregister");
    check(H5Tregister(H5T_PERS_SOFT, "ckpt_text", H5T_C_S1, opaque.get(), keep_bytes), "H5Tregister");
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace

StoredForm::StoredForm(hid_t type, const GlobalHeap& heap) : size_(H5Tget_size(type)) {
  if (size_ == 0) fail("a type's size");
  const H5T_class_t kind = H5Tget_class(type);
  if (!traits_of(type).variable_length) {
    raw_ = own<TypeId>(H5Tcopy(type), "copying a type");
  } else if (kind == H5T_STRING) {
    reference_form(heap, Form::text);
  } else if (kind == H5T_VLEN) {
    inner_.emplace_back(own<TypeId>(H5Tget_super(type), "a sequence's base").get(), heap);
    reference_form(heap, Form::sequence);
  } else if (kind == H5T_ARRAY) {
    array_form(type, heap);
  } else {
    compound_form(type, heap);
  }
}

void StoredForm::reference_form(const GlobalHeap& heap, Form form) {
  register_conversion();
  form_ = form;
  size_ = heap.reference_size();
  raw_ = own<TypeId>(H5Tcreate(H5T_OPAQUE, size_), "H5Tcreate");
  check(H5Tset_tag(raw_.get(), reference_tag), "H5Tset_tag");
}

void StoredForm::array_form(hid_t type, const GlobalHeap& heap) {
  form_ = Form::array;
  const auto base = own<TypeId>(H5Tget_super(type), "an array type's base");
  count_ = size_ / H5Tget_size(base.get());
  inner_.emplace_back(base.get(), heap);
  size_ = checked_mul(count_, inner_.front().size_);
  const int rank = check(H5Tget_array_ndims(type), "an array type's rank");
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  check(H5Tget_array_dims2(type, extents.data()), "an array type's extents");
  raw_ = own<TypeId>(H5Tarray_create2(inner_.front().raw_type(), static_cast<unsigned>(rank), extents.data()),
                     "H5Tarray_create2");
}

void StoredForm::compound_form(hid_t type, const GlobalHeap& heap) {
  form_ = Form::compound;
  const int count = check(H5Tget_nmembers(type), "a compound's members");
  std::vector<unsigned> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::size_t> memory_sizes;
  for (const unsigned i : order) {
    const auto member = own<TypeId>(H5Tget_member_type(type, i), "a compound's member");
    inner_.emplace_back(member.get(), heap);
    offsets_.push_back(H5Tget_member_offset(type, i));
    memory_sizes.push_back(H5Tget_size(member.get()));
  }
  // Stored members are laid out as in memory, except that the variable ones before them have different sizes.
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return offsets_[a] < offsets_[b]; });
  std::size_t shift = 0;  // modulo 2^64: the shift may be negative
  for (const unsigned i : order) {
    offsets_[i] += shift;
    shift += inner_[i].size_ - memory_sizes[i];
  }
  size_ += shift;
  raw_ = own<TypeId>(H5Tcreate(H5T_COMPOUND, size_), "H5Tcreate");
  for (unsigned i = 0; i < order.size(); ++i) {
    const LibraryText name(H5Tget_member_name(type, i));
    if (!name) fail("a compound's member");
    check(H5Tinsert(raw_.get(), name.get(), offsets_[i], inner_[i].raw_type()), "H5Tinsert");
  }
}

std::string StoredForm::flatten(const std::vector<std::byte>& values, GlobalHeap& heap) const {
  std::string out;
  if (form_ == Form::fixed) {
    out.assign(reinterpret_cast<const char*>(values.data()), values.size());
  } else {
    for (std::size_t at = 0; at < values.size(); at += size_) {
      flatten_one(values.data() + at, heap, out);
      if (heap.is_over()) out.clear();
    }
  }
  return out;
}

void StoredForm::flatten_one(const std::byte* value, GlobalHeap& heap, std::string& out) const {
  switch (form_) {
    case Form::fixed:
      out.append(reinterpret_cast<const char*>(value), size_);
      return;
    case Form::text:
      return flatten_text(value, heap, out);
    case Form::sequence:
      return flatten_sequence(value, heap, out);
    case Form::array:
      for (std::size_t i = 0; i < count_; ++i) inner_.front().flatten_one(value + i * inner_.front().size_, heap, out);
      return;
    case Form::compound:
      for (std::size_t i = 0; i < inner_.size(); ++i) inner_[i].flatten_one(value + offsets_[i], heap, out);
      return;
  }
}

void StoredForm::flatten_text(const std::byte* value, GlobalHeap& heap, std::string& out) const {
  if (const auto text = heap.text(value))
    out += wire::packed(*text);
  else
    out += wire::packed(no_text);
}

void StoredForm::flatten_sequence(const std::byte* value, GlobalHeap& heap, std::string& out) const {
  const StoredForm& element = inner_.front();
  const GlobalHeap::Part part = heap.resolve(value);
  if (checked_mul(part.elements, element.size_) > part.bytes.size())
    throw Error(Kind::input, "its variable-length data is damaged");
  heap.take(part.elements * element.size_);
  out += wire::packed(part.elements);
  // Elements may have parts of their own, whose collections would replace this one.
  const std::vector<std::byte> bytes(part.bytes.begin(), part.bytes.end());
  for (std::uint64_t i = 0; i < part.elements; ++i) element.flatten_one(bytes.data() + i * element.size_, heap, out);
}

}  // namespace ckpt::hdf5
