#include "store/hdf5/global_heap.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace ckpt::hdf5 {

namespace {

/// A file may give out at most this many times its own size, in addition to an amount that is always harmless.
constexpr std::uint64_t max_heap_expansion = 16;
constexpr std::uint64_t harmless_heap_bytes = 64U << 20;
constexpr std::uint64_t max_cached = 16U << 20;
constexpr std::uint64_t read_at_first = 4096;  ///< as much as HDF5 makes a collection
/// HDF5 makes no larger ones of several objects. Each reference leads to one at most, so that reading them again and
/// again takes time in proportion to the references, which the file has.
constexpr std::uint64_t shared_collection = 128U << 10;
constexpr std::uint64_t harmless_collection = 1U << 20;
constexpr std::uint64_t most_objects = 1U << 16;
constexpr std::uint64_t unit = 8;  // objects begin at a multiple of it
constexpr std::string_view heap_signature = "GCOL";

[[noreturn]] void damaged() {
  throw Error(Kind::input, "its variable-length data is damaged");
}

/// Decodes a little-endian number of `size` bytes, at most 8.
std::uint64_t number(const std::byte* bytes, std::size_t size) {
  std::uint64_t value = 0;
  if constexpr (std::endian::native == std::endian::little)
    if (size == sizeof value) {
      std::memcpy(&value, bytes, sizeof value);
      return value;
    }
  for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// The memory of which one part of `parts` is as much.
std::string memory_for(std::uint64_t bytes, std::uint64_t parts) {
  constexpr std::uint64_t mebibyte = 1U << 20;
  return std::to_string(ceil_div(checked_mul(bytes, parts), mebibyte)) + "MiB";
}

[[noreturn]] void refuse_text(std::uint64_t bytes, std::uint64_t most_bytes) {
  throw Error(Kind::input, "",
              {"one of its texts takes " + format_bytes(bytes),
               "at most " + format_bytes(most_bytes) + ", a sixteenth of the memory",
               "",
               {Advice::What::more_memory, memory_for(bytes, 16)}});
}

}  // namespace

Error too_many_values(std::uint64_t most_bytes, std::uint64_t all_bytes) {
  return {Kind::input,
          "",
          {"its values of variable length take more than " + format_bytes(most_bytes) + " of memory",
           "those of all files together within an eighth of the memory",
           "",
           {Advice::What::more_memory, memory_for(all_bytes, 8)}}};
}

GlobalHeap::GlobalHeap(const PosixFile& file, std::uint64_t file_bytes, hid_t id, std::uint64_t value_bytes,
                       std::uint64_t text_bytes)
    : file_(file),
      file_bytes_(file_bytes),
      budget_(checked_add(checked_mul(file_bytes, max_heap_expansion), harmless_heap_bytes)),
      most_value_bytes_(value_bytes),
      most_text_bytes_(text_bytes) {
  const auto creation = own<PropertyId>(H5Fget_create_plist(id), "the file's properties");
  hsize_t user_block = 0;
  check(H5Pget_userblock(creation.get(), &user_block), "the user block's size");
  check(H5Pget_sizes(creation.get(), &address_size_, &length_size_), "the sizes of the file's numbers");
  if (address_size_ > 8 || length_size_ > 8)
    throw Error(Kind::input, "", {"addresses or lengths of more than 8 bytes, which are not supported", "", ""});
  base_ = user_block;
}

GlobalHeap::GlobalHeap(const PosixFile& file, std::uint64_t file_bytes, const Form& form, std::uint64_t text_bytes)
    : file_(file),
      file_bytes_(file_bytes),
      base_(form.user_block),
      address_size_(form.address_bytes),
      length_size_(form.length_bytes),
      budget_(checked_add(checked_mul(file_bytes, max_heap_expansion), harmless_heap_bytes)),
      most_value_bytes_(std::numeric_limits<std::uint64_t>::max()),
      most_text_bytes_(text_bytes),
      is_visited_(true) {}

void GlobalHeap::spend(std::uint64_t bytes) {
  if (bytes > budget_)
    throw Error(Kind::input, "",
                {"values of more than " + std::to_string(max_heap_expansion) + " times the file's size", "",
                 "is the file damaged?"});
  budget_ -= bytes;
}

void GlobalHeap::take(std::uint64_t bytes) {
  spend(bytes);
  if (is_value_) keep(bytes);
}

void GlobalHeap::keep(std::uint64_t bytes) {
  values_ = checked_add(values_, bytes, "values");
}

std::optional<std::string_view> GlobalHeap::text(const std::byte* reference) {
  const Part part = resolve(reference);
  if (part.null) return std::nullopt;
  if (part.elements > part.bytes.size()) damaged();
  take(part.elements);
  const std::string_view text(reinterpret_cast<const char*>(part.bytes.data()), part.elements);
  return text.substr(0, text.find('\0'));  // for every reader a string ends there
}

GlobalHeap::Part GlobalHeap::resolve(const std::byte* reference) {
  Part part;
  part.elements = number(reference, 4);
  const std::uint64_t address = number(reference + 4, address_size_);
  const auto index = static_cast<std::uint32_t>(number(reference + 4 + address_size_, 4));
  if (address == 0) {
    part.elements = 0;
    part.null = true;
    return part;
  }
  const Collection& all = collection(address);
  const std::uint64_t place = index < all.places.size() ? all.places[index] * unit : 0;
  if (place == 0) damaged();
  part.bytes =
      std::span(all.bytes).subspan(place + object_header_size(), number(all.bytes.data() + place + 8, length_size_));
  return part;
}

const GlobalHeap::Collection& GlobalHeap::collection(std::uint64_t address) {
  if (const Collection* const known = collections_.find(address)) return *known;
  Collection loaded = load(address);
  const std::uint64_t memory = loaded.memory();
  return collections_.insert(address, std::move(loaded), memory);
}

void GlobalHeap::make_room(std::uint64_t bytes) {
  const std::uint64_t most = is_visited_ ? std::min(max_cached, most_text_bytes_) : max_cached;
  const std::uint64_t others = most - std::min(bytes, most);
  while (collections_.cost() > others) collections_.evict();
}

GlobalHeap::Collection GlobalHeap::load(std::uint64_t address) {
  const std::uint64_t start = checked_add(base_, address, "an address");
  const std::uint64_t header = (8 + length_size_ + 7) / 8 * 8;
  if (start > file_bytes_ || file_bytes_ - start < header) damaged();
  Collection loaded;
  loaded.bytes.resize(std::min(read_at_first, file_bytes_ - start));
  file_.read(start, loaded.bytes);
  const std::uint64_t size = number(loaded.bytes.data() + 8, length_size_);
  if (std::memcmp(loaded.bytes.data(), heap_signature.data(), heap_signature.size()) != 0 || size < header ||
      size > file_bytes_ - start || size / unit > std::numeric_limits<std::uint32_t>::max())
    damaged();
  if (is_visited_ && size > std::max(most_text_bytes_, harmless_collection)) refuse_text(size, most_text_bytes_);
  if (size > shared_collection) spend(size);
  make_room(size);

  const std::uint64_t there = std::min<std::uint64_t>(loaded.bytes.size(), size);
  loaded.bytes.resize(size);
  if (there < size) file_.read(start + there, std::span(loaded.bytes).subspan(there));
  const std::uint64_t object_header = object_header_size();
  loaded.places.resize(std::min(size / object_header, most_objects));
  for (std::uint64_t at = header; size - at >= object_header;) {
    const std::byte* object = loaded.bytes.data() + at;
    const auto index = static_cast<std::uint32_t>(number(object, 2));
    const std::uint64_t bytes = number(object + 8, length_size_);
    if (index == 0) break;  // free space up to the end
    if (bytes > size - at - object_header) damaged();
    if (index >= loaded.places.size()) loaded.places.resize(index + 1);
    loaded.places[index] = static_cast<std::uint32_t>(at / unit);
    at += std::min(object_header + (bytes + 7) / 8 * 8, size - at);
  }
  return loaded;
}

}  // namespace ckpt::hdf5
