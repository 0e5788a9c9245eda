#include "store/dataset_bytes.hpp"

#include <utility>

#include "base/checked.hpp"
#include "base/error_bytes.hpp"

namespace ckpt::dataset_bytes {

namespace {

void put(ByteWriter& out, const Extents& extents) {
  out.number(extents.size());
  for (const auto extent : extents) out.number(extent);
}

Extents take_extents(ByteReader& in) {
  const std::uint64_t rank = in.count(sizeof(std::uint64_t));
  Extents extents(rank);
  for (auto& extent : extents) extent = in.number();
  return extents;
}

void put(ByteWriter& out, const DType& dtype) {
  out.number(static_cast<std::uint64_t>(dtype.kind));
  out.number(static_cast<std::uint64_t>(dtype.order));
  out.number(dtype.size);
  out.text(dtype.name);
  out.text(dtype.native);
}

DType take_dtype(ByteReader& in) {
  DType dtype;
  dtype.kind = in.choice(ElementKind::space_padded_text);
  dtype.order = in.choice(ByteOrder::big);
  dtype.size = in.number();
  dtype.name = in.text();
  dtype.native = in.text();
  return dtype;
}

void put(ByteWriter& out, const std::optional<Extents>& extents) {
  out.flag(extents.has_value());
  if (extents) put(out, *extents);
}

std::optional<Extents> take_optional_extents(ByteReader& in) {
  if (!in.flag()) return std::nullopt;
  return take_extents(in);
}

void put(ByteWriter& out, const Value& value) {
  put(out, value.dtype);
  put(out, value.shape);
  out.text(value.bytes);
}

Value take_value(ByteReader& in) {
  Value value;
  value.dtype = take_dtype(in);
  value.shape = take_optional_extents(in);
  value.bytes = in.text();
  return value;
}

void put(ByteWriter& out, const Piece& piece) {
  put(out, piece.corner);
  out.number(piece.mesh.size());
  for (const MeshAxis& axis : piece.mesh) {
    out.text(axis.name);
    out.number(axis.size);
    out.number(axis.coordinate);
    out.number(axis.split_factor);
  }
  out.number(piece.split.size());
  for (const auto& axes : piece.split) {
    out.number(axes.size());
    for (const std::uint64_t axis : axes) out.number(axis);
  }
}

Piece take_piece(ByteReader& in) {
  Piece piece;
  piece.corner = take_extents(in);
  piece.mesh.resize(in.count(4 * sizeof(std::uint64_t)));
  for (MeshAxis& axis : piece.mesh) {
    axis.name = in.text();
    axis.size = in.number();
    axis.coordinate = in.number();
    axis.split_factor = in.number();
  }
  piece.split.resize(in.count(sizeof(std::uint64_t)));
  for (auto& axes : piece.split) {
    axes.resize(in.count(sizeof(std::uint64_t)));
    for (std::uint64_t& axis : axes) axis = in.number();
  }
  return piece;
}

void put(ByteWriter& out, const Hyperslab& hyperslab) {
  put(out, hyperslab.shape);
  for (const auto& [start, stride, count, block] : hyperslab.stripes)
    for (const std::uint64_t number : {start, stride, count, block}) out.number(number);
}

Hyperslab take_hyperslab(ByteReader& in) {
  Hyperslab hyperslab{take_extents(in), {}};
  hyperslab.stripes.resize(hyperslab.shape.size());
  for (auto& [start, stride, count, block] : hyperslab.stripes)
    for (std::uint64_t* number : {&start, &stride, &count, &block}) *number = in.number();
  return hyperslab;
}

void put(ByteWriter& out, const std::vector<View>& views) {
  out.number(views.size());
  for (const View& view : views) {
    out.number(view.file);
    out.text(view.dataset);
    put(out, view.theirs);
    put(out, view.ours);
  }
}

/// `files`: the number of viewed files.
std::vector<View> take_views(ByteReader& in, std::uint64_t files) {
  std::vector<View> views(in.count(4 * sizeof(std::uint64_t)));
  for (View& view : views) {
    const std::uint64_t file = in.number();
    if (file >= files) in.fail();
    view.file = static_cast<std::uint32_t>(file);
    view.dataset = in.text();
    view.theirs = take_hyperslab(in);
    view.ours = take_hyperslab(in);
  }
  return views;
}

}  // namespace

void put(ByteWriter& out, const std::vector<Attribute>& attributes) {
  out.number(attributes.size());
  for (const auto& attribute : attributes) {
    out.text(attribute.name);
    put(out, attribute.value);
  }
}

std::vector<Attribute> take_attributes(ByteReader& in) {
  std::vector<Attribute> attributes(in.count(7 * sizeof(std::uint64_t)));
  for (auto& attribute : attributes) {
    attribute.name = in.text();
    attribute.value = take_value(in);
  }
  return attributes;
}

void put(ByteWriter& out, const Leaf& leaf) {
  out.text(leaf.name);
  out.text(leaf.what);
  out.text(leaf.json);
  out.number(leaf.digest);
  out.flag(leaf.is_carried);
}

Leaf take_leaf(ByteReader& in) {
  Leaf leaf;
  leaf.name = in.text();
  leaf.what = in.text();
  leaf.json = in.text();
  leaf.digest = in.number();
  leaf.is_carried = in.flag();
  return leaf;
}

void put(ByteWriter& out, const StoredArray& array) {
  out.text(array.name);
  put(out, array.dtype);
  put(out, array.shape.extents());
  put(out, std::optional<Extents>(array.global_shape));
  out.flag(array.verbatim);
  out.flag(array.refusal.has_value());
  if (array.refusal) ckpt::put(out, *array.refusal);
}

StoredArray take_array(ByteReader& in) {
  StoredArray array;
  array.name = in.text();
  array.dtype = take_dtype(in);
  array.shape = take_extents(in);
  array.global_shape = take_optional_extents(in);
  array.verbatim = in.flag();
  if (in.flag()) array.refusal = get_error(in);
  return array;
}

void put(ByteWriter& out, const std::vector<ViewedFile>& viewed) {
  out.number(viewed.size());
  for (const ViewedFile& file : viewed) {
    out.text(file.path);
    out.flag(file.bytes.has_value());
    out.number(file.bytes.value_or(0));
  }
}

std::vector<ViewedFile> take_viewed(ByteReader& in) {
  std::vector<ViewedFile> viewed(in.count(2 * sizeof(std::uint64_t)));
  for (ViewedFile& file : viewed) {
    file.path = in.text();
    const bool is_known = in.flag();
    const std::uint64_t bytes = in.number();
    if (is_known) file.bytes = bytes;
  }
  return viewed;
}

void put(ByteWriter& out, const Dataset& dataset) {
  out.number(static_cast<std::uint64_t>(dataset.storage));
  std::vector<Interval> extents;
  dataset.extents.append_to(extents);
  out.number(extents.size());
  for (const Interval extent : extents) {
    out.number(extent.lo);
    out.number(extent.size());
  }
  put(out, dataset.strides.value_or({}));
  out.number(dataset.chunk_bytes);
  out.number(dataset.decoding_bytes);
  put(out, dataset.attributes);
  out.flag(dataset.verbatim.has_value());
  if (dataset.verbatim) put(out, *dataset.verbatim);
  out.flag(dataset.piece.has_value());
  if (dataset.piece) put(out, *dataset.piece);
  put(out, dataset.views);
}

Dataset take_dataset(ByteReader& in, std::uint64_t viewed_files) {
  Dataset dataset;
  dataset.storage = in.choice(Storage::verbatim);
  std::vector<Interval> extents(in.count(2 * sizeof(std::uint64_t)));
  for (Interval& extent : extents) {
    extent.lo = in.number();
    extent.hi = checked_add(extent.lo, in.number());
  }
  dataset.extents = FileExtents(extents);
  if (Extents strides = take_extents(in); !strides.empty()) dataset.strides = std::move(strides);
  dataset.chunk_bytes = in.number();
  dataset.decoding_bytes = in.number();
  dataset.attributes = take_attributes(in);
  if (in.flag()) dataset.verbatim = take_value(in);
  if (in.flag()) dataset.piece = take_piece(in);
  dataset.views = take_views(in, viewed_files);
  return dataset;
}

}  // namespace ckpt::dataset_bytes
