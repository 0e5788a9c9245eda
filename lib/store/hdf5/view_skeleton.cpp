#include "store/hdf5/view_skeleton.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "store/hdf5/mapping_block.hpp"
#include "store/hdf5/mappings.hpp"
#include "store/hdf5/skeleton.hpp"

namespace ckpt::hdf5 {

namespace {

/// Size of the header of a collection, and of each of its objects. See the format specification, "Level 1E - Global
/// Heap".
constexpr std::size_t header_bytes = 16;
constexpr std::string_view view_heap_signature = "GCOL";

std::size_t padded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

std::size_t with_reserve(std::size_t bytes) {
  return padded(bytes + bytes / 4);
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;)
    number = static_cast<Number>(number << 8 | static_cast<unsigned char>(bytes.at(at + i)));
  return number;
}

void put_size(std::string& bytes, std::size_t at, std::uint64_t size) {
  for (std::size_t i = 0; i < 8; ++i) bytes.at(at + i) = static_cast<char>(size >> (8 * i));
}

/// Returns whether two arrays differ at most in what they show.
bool borrows_rule(const FileSpec::Array& a, const FileSpec::Array& b) {
  const auto& [name, dtype, shape, attributes, global_shape, verbatim, texts, same_as, origin, source_name, in_block,
               views] = a;
  return std::tie(name, dtype, shape, attributes, global_shape, verbatim, texts, same_as, origin, source_name,
                  in_block) == std::tie(b.name, b.dtype, b.shape, b.attributes, b.global_shape, b.verbatim, b.texts,
                                        b.same_as, b.origin, b.source_name, b.place_in_block) &&
         views.empty() == b.views.empty();
}

/// Returns views to nowhere whose block of mappings takes `bytes`, or as many as the array's number needs.
std::vector<View> room_for(std::size_t array, std::size_t bytes, const std::vector<ViewedFile>& viewed) {
  std::vector<View> views{{0, std::to_string(array) + '.', {}, {}}};
  const std::size_t least = mapping_block(views, viewed).size();
  views[0].dataset.append(std::max(bytes, least) - least, '.');
  return views;
}

/// Returns the specification with placeholders for what it shows.
FileSpec with_room(const FileSpec& spec) {
  const std::size_t text = std::max<std::size_t>(with_reserve(viewed_text(spec.viewed).size()), least_manifest_bytes);
  FileSpec room = spec;
  room.viewed = {{".", std::nullopt}, {"", 0}};
  room.viewed[1].path.assign(text - viewed_text(room.viewed).size(), '?');
  for (std::size_t i = 0; i < room.arrays.size(); ++i)
    if (auto& views = room.arrays[i].views; !views.empty())
      views = room_for(i, with_reserve(mapping_block(views, spec.viewed).size()), room.viewed);
  return room;
}

}  // namespace

ViewSkeleton::ViewSkeleton(const FileSpec& spec) : spec_(with_room(spec)) {
  MadeFile made = make_file(spec_, 0);  // it has no long texts: who shows others holds them
  made_ = std::move(made.file);
  metadata_ = std::move(made_.segments.back());
  made_.segments.pop_back();
  for (const std::uint64_t place : made.raw)
    if (place >= metadata_.offset) find_collection(place - metadata_.offset);
  const std::string text = viewed_text(spec_.viewed);
  text_ = metadata_.bytes.find(text);
  text_bytes_ = text.size();

  std::ptrdiff_t missing = text_ == std::string::npos ? 1 : 0;
  for (const auto& array : spec_.arrays) missing += array.views.empty() ? 0 : 1;
  for (const Collection& collection : collections_)
    missing -= std::count_if(collection.objects.begin(), collection.objects.end(),
                             [&](const Object& object) { return object.array < spec_.arrays.size(); });
  if (missing != 0)
    throw Error(Kind::io, "",
                {"HDF5 has put its mappings elsewhere", "each in a collection of the global heap", "this is a defect"});
  spec_.viewed.clear();
  for (auto& array : spec_.arrays)
    if (!array.views.empty()) array.views = {View()};
}

/// Returns the array whose room an object is, or the number of arrays if it is none.
std::size_t ViewSkeleton::array_of(std::string_view content) const {
  constexpr std::size_t name = 1 + 8 + 2 + 1;  // after the version, the number of mappings, "." and "/"
  std::size_t number = 0;
  for (std::size_t i = name; i < content.size() && content[i] >= '0' && content[i] <= '9'; ++i) {
    number = number * 10 + static_cast<std::size_t>(content[i] - '0');
    if (number >= spec_.arrays.size()) return spec_.arrays.size();
  }
  const auto& views = spec_.arrays[number].views;
  return !views.empty() && content == mapping_block(views, spec_.viewed) ? number : spec_.arrays.size();
}

/// Records a collection that has room for mappings; other raw data is ignored.
void ViewSkeleton::find_collection(std::size_t start) {
  const std::string_view bytes = metadata_.bytes;
  if (bytes.size() - start < header_bytes || !bytes.substr(start).starts_with(view_heap_signature)) return;
  Collection collection{start, number_at<std::uint64_t>(bytes, start + 8), {}};
  if (collection.bytes > bytes.size() - start) return;
  const std::size_t end = start + collection.bytes;
  bool has_room = false;
  for (std::size_t at = start + header_bytes; at + header_bytes <= end && number_at<std::uint16_t>(bytes, at) != 0;) {
    Object object{at, number_at<std::uint64_t>(bytes, at + 8)};
    if (object.bytes > end - at - header_bytes) return;
    object.array = array_of(bytes.substr(at + header_bytes, object.bytes));
    has_room = has_room || object.array < spec_.arrays.size();
    at += std::min(header_bytes + padded(object.bytes), end - at);
    collection.objects.push_back(object);
  }
  if (has_room) collections_.push_back(std::move(collection));
}

bool ViewSkeleton::borrows_rule(const FileSpec& spec) const {
  return std::tie(spec.attributes, spec.groups, spec.layout, spec.manifest, spec.tree, spec.has_checksum) ==
             std::tie(spec_.attributes, spec_.groups, spec_.layout, spec_.manifest, spec_.tree, spec_.has_checksum) &&
         std::equal(spec.arrays.begin(), spec.arrays.end(), spec_.arrays.begin(), spec_.arrays.end(),
                    [](const FileSpec::Array& a, const FileSpec::Array& b) { return hdf5::borrows_rule(a, b); });
}

/// Returns false if the collection has no room for its arrays' mappings.
bool ViewSkeleton::fill(const Collection& collection, const FileSpec& spec, std::string& bytes) const {
  const std::size_t end = collection.offset + collection.bytes;
  std::size_t at = collection.offset + header_bytes;
  const auto put = [&](const Object& object, std::string_view content) {
    if (end - at < header_bytes + padded(content.size())) return false;
    bytes.replace(at, header_bytes, metadata_.bytes, object.offset, header_bytes);  // its index and reference count
    put_size(bytes, at + 8, content.size());
    at += header_bytes;
    bytes.replace(at, content.size(), content);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at + content.size()),
                padded(content.size()) - content.size(), '\0');
    at += padded(content.size());
    return true;
  };
  for (const Object& object : collection.objects) {
    const bool has_room =
        object.array < spec.arrays.size()
            ? put(object, mapping_block(spec.arrays[object.array].views, spec.viewed))
            : put(object, std::string_view(metadata_.bytes).substr(object.offset + header_bytes, object.bytes));
    if (!has_room) return false;
  }
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(end), '\0');
  if (end - at >= header_bytes) put_size(bytes, at + 8, end - at);  // object 0: the free space, including its header
  return true;
}

std::shared_ptr<const NewFile> ViewSkeleton::filled(const FileSpec& spec) const {
  const std::string text = viewed_text(spec.viewed);
  if (text.size() > text_bytes_ || !borrows_rule(spec)) return nullptr;
  FileSegment segment = metadata_;
  segment.bytes.replace(text_, text_bytes_, text + std::string(text_bytes_ - text.size(), ' '));
  for (const Collection& collection : collections_)
    if (!fill(collection, spec, segment.bytes)) return nullptr;
  auto made = std::make_shared<NewFile>(made_);
  const auto change = [&](std::size_t offset, std::size_t bytes) {
    const auto sum = [&](const std::string& text_of) {
      return sum_of(std::as_bytes(std::span(text_of)).subspan(offset, bytes), segment.offset + offset);
    };
    made->room.metadata = made->room.metadata - sum(metadata_.bytes);
    made->room.metadata += sum(segment.bytes);
  };
  change(text_, text_bytes_);
  for (const Collection& collection : collections_) change(collection.offset, collection.bytes);
  made->segments.push_back(std::move(segment));
  return made;
}

}  // namespace ckpt::hdf5
