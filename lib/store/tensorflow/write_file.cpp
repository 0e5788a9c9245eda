#include "store/tensorflow/write_file.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "store/number_words.hpp"
#include "store/tensorflow/bundle.hpp"
#include "store/tensorflow/element_types.hpp"
#include "store/tensorflow/string_tensor.hpp"

namespace ckpt::tensorflow {

namespace {

/// As cache lines are; TensorFlow takes any offset.
constexpr std::uint64_t data_alignment = 64;

/// A file's entry for the index: a piece for each array, but for those that store nothing of a larger tensor, and then
/// those of the tree.
using Pieces = std::vector<std::optional<WrittenPiece>>;

std::string mark_of(const FileSpec::Array& array) {
  const auto found = std::ranges::find(array.attributes, dtype_attribute, &Attribute::name);
  return found == array.attributes.end() ? "" : text_in(found->value).value_or("");
}

std::uint32_t checked_number(const FileSpec::Array& array) {
  if (array.verbatim && array.verbatim->dtype.kind == ElementKind::text && array.verbatim->shape) return string_number;
  const std::uint32_t number = array.verbatim ? 0 : number_of(array.dtype, mark_of(array));
  if (number == 0)
    throw Error(Kind::input, "/" + array.name,
                {"elements of type " + array.dtype.name + ", which TensorFlow does not have", "", "",
                 leaving_out({array.name.str()})});
  return number;
}

WrittenPiece piece_of(const FileSpec::Array& array) {
  Box box{array.origin.value_or(Shape(array.shape.size())), array.shape};
  for (std::size_t d = 0; d < box.hi.size(); ++d) box.hi[d] += box.lo[d];
  return {array.name, checked_number(array), array.global_shape.value_or(array.shape), std::move(box), {}, 0};
}

class DataFileForm {
 public:
  void add(const FileSpec::Array& array) {
    WrittenPiece piece = piece_of(array);
    made_.room.data.emplace_back();
    if (piece.type == string_number) {
      piece.shape = *array.verbatim->shape;
      piece.box = whole(piece.shape);
      return add_strings(std::move(piece), texts_in(*array.verbatim).value());
    }
    if (piece.box.empty() && !whole(piece.shape).empty()) {
      pieces_.emplace_back();
      return;
    }
    const std::uint64_t bytes = checked_mul(numel(array.shape), array.dtype.size, "a tensor");
    piece.place = room_for(bytes);
    if (bytes > 0) made_.room.data.back() = FileExtents(piece.place.lo, bytes);
    pieces_.emplace_back(std::move(piece));
  }

  void add(const StringTensor& tensor) {
    add_strings({tensor.name, string_number, tensor.shape, whole(tensor.shape), {}, 0}, tensor.elements);
  }

  NewFile take() {
    for (auto& [number, stored] : strings_) {
      pieces_[number]->place = room_for(stored.bytes.size());
      pieces_[number]->crc = stored.crc;
      if (stored.bytes.empty()) continue;
      made_.room.metadata += sum_of(std::as_bytes(std::span(stored.bytes)), pieces_[number]->place.lo);
      made_.segments.push_back({pieces_[number]->place.lo, std::move(stored.bytes)});
    }
    made_.room.bytes = end_;
    made_.room.index = wire::packed(pieces_);
    return std::move(made_);
  }

 private:
  Interval room_for(std::uint64_t bytes) {
    const std::uint64_t begin = bytes > 0 ? round_up(end_, data_alignment, "a file") : end_;
    end_ = checked_add(begin, bytes, "a file");
    return {begin, end_};
  }

  /// Strings lie behind all data: chunks that lie close together are written with what is between them.
  void add_strings(WrittenPiece piece, const std::vector<std::string>& elements) {
    strings_.emplace_back(pieces_.size(), stored_strings(elements));
    pieces_.emplace_back(std::move(piece));
  }

  NewFile made_;
  Pieces pieces_;
  std::vector<std::pair<std::size_t, StoredStrings>> strings_;  // of the pieces of these numbers
  std::uint64_t end_ = 0;
};

}  // namespace

NewFile form_of(const FileSpec& spec) {
  DataFileForm form;
  for (const FileSpec::Array& array : spec.arrays) form.add(array);
  if (spec.tree)
    for (const StringTensor& tensor : tensors_in(*spec.tree)) form.add(tensor);
  return form.take();
}

std::vector<std::string> losses(const FileSpec& spec) {
  std::vector<std::string> lost;
  for (const Attribute& attribute : spec.attributes) lost.push_back("attribute " + attribute.name);
  for (const Group& group : spec.groups)
    if (!group.attributes.empty()) lost.push_back("attributes of " + group.path);
  FileSpec unmarked = spec;
  for (FileSpec::Array& array : unmarked.arrays) {
    const std::string mark = mark_of(array);
    if (checked_number(array) != number_of(array.dtype, "") && !mark.empty())
      std::erase_if(array.attributes, [](const Attribute& each) { return each.name == dtype_attribute; });
  }
  if (auto attributes = lost_attributes_of_arrays(unmarked); !attributes.empty()) lost.push_back(std::move(attributes));
  return lost;
}

std::string index_text(const std::vector<IndexedFile>& files) {
  std::vector<std::vector<WrittenPiece>> all;
  for (const IndexedFile& file : files) {
    auto& of_file = all.emplace_back();
    auto pieces = wire::unpacked<Pieces>(file.index);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (!pieces[i]) continue;
      if (i < file.sums.size() && pieces[i]->type != string_number) pieces[i]->crc = file.sums[i];
      of_file.push_back(std::move(*pieces[i]));
    }
  }
  return index_of(all);
}

void check_names(const std::vector<std::string>& datasets) {
  for (const std::string& name : datasets)
    if (name.empty() || name.find('\0') != std::string::npos)
      throw Error(
          Kind::input, "tensor name \"" + name + '"',
          {"it is empty, or has a zero byte", "text, as TensorFlow's names are", "", {Advice::What::rename, ""}});
}

}  // namespace ckpt::tensorflow
