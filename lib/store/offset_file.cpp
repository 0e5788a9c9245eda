#include "store/offset_file.hpp"

#include "io/outside_data.hpp"
#include "io/strided_data.hpp"

namespace ckpt {

namespace {

bool is_read_by_format(const Dataset& dataset) {
  return dataset.storage == Storage::filtered || dataset.storage == Storage::views;
}

}  // namespace

OffsetFile::OffsetFile(const std::filesystem::path& path, const FileCatalog& catalog)
    : file_(PosixFile::open_for_reading(path)),
      status_(file_.status()),
      is_local_(file_.is_local()),
      schema_(catalog.schema),
      bytes_(catalog.bytes) {
  if (status_.bytes != bytes_)
    throw Error(Kind::input, file_.path(),
                {"has " + std::to_string(status_.bytes) + " bytes",
                 std::to_string(bytes_) + ", as when it was catalogued", "is the checkpoint still being written?"});
}

std::string OffsetFile::name_of(std::size_t index) const {
  return file_.path() + ": /" + schema_->arrays->at(index).name;
}

/// Formats the name only on an error: reads may be as small as the name.
template <class Work>
void OffsetFile::naming(std::size_t index, Work&& work) const {
  try {
    work();
  } catch (Error& error) {
    error.within(name_of(index));
    throw;
  }
}

void OffsetFile::check_range(std::size_t index, std::uint64_t bytes, std::uint64_t offset, std::uint64_t count) const {
  if (offset > bytes || count > bytes - offset)
    throw Error(Kind::input, name_of(index),
                {"has " + std::to_string(bytes) + " bytes",
                 std::to_string(count) + " from byte " + std::to_string(offset) + " on", ""});
}

void OffsetFile::read(std::size_t index, std::uint64_t offset, std::span<std::byte> out) {
  const StoredArray& array = schema_->arrays->at(index);
  const Dataset& dataset = schema_->datasets.at(index);
  if (out.empty()) return;
  if (!is_read_by_format(dataset) && dataset.storage != Storage::strided) return read_as_stored(index, offset, out);
  check_range(index, bytes_of(array), offset, out.size());
  naming(index, [&] {
    if (is_read_by_format(dataset)) return read_by_format(index, offset, out);
    read_strided(file_, {dataset.extents.offset(), array.dtype.size, array.shape, dataset.strides.value_or({})}, offset,
                 out);
  });
}

void OffsetFile::read_as_stored(std::size_t index, std::uint64_t offset, std::span<std::byte> out) {
  const Dataset& dataset = schema_->datasets.at(index);
  if (is_read_by_format(dataset)) return read(index, offset, out);
  check_range(index, dataset.extents.bytes(), offset, out.size());
  naming(index, [&] {
    dataset.extents.for_each_part({offset, offset + out.size()}, [&](std::uint64_t place, Interval part) {
      file_.read(place, out.subspan(part.lo - offset, part.size()));
    });
  });
}

bool OffsetFile::will_need(std::size_t index, Interval bytes) {
  const Dataset& dataset = schema_->datasets.at(index);
  if (is_read_by_format(dataset) || bytes.hi > dataset.extents.bytes()) return true;
  bool is_there = true;
  dataset.extents.for_each_part(bytes, [&](std::uint64_t place, Interval part) {
    if (!file_.will_need(place, part.size())) is_there = false;
  });
  return is_there;
}

void OffsetFile::read_by_format(std::size_t /*dataset*/, std::uint64_t /*offset*/, std::span<std::byte> /*out*/) {
  throw Error(Kind::input, "",
              {"is stored through filters or as views, which this format has not", "", "this is a defect"});
}

std::optional<StridedForm> OffsetFile::strided(std::size_t index) const {
  const Dataset& dataset = schema_->datasets.at(index);
  if (dataset.storage != Storage::strided) return std::nullopt;
  return StridedForm{schema_->arrays->at(index).shape, dataset.strides.value_or({})};
}

std::optional<LocatedExtent> OffsetFile::located(std::size_t index, std::uint64_t offset) const {
  const Dataset& dataset = schema_->datasets.at(index);
  const bool is_as_it_is = dataset.storage == Storage::raw || dataset.storage == Storage::strided;
  if (!is_as_it_is || offset >= dataset.extents.bytes()) return std::nullopt;
  return LocatedExtent{{file_.fd(), &file_.path(), status_.device, status_.inode, bytes_, is_local_},
                       dataset.extents.at(offset)};
}

PartialSum OffsetFile::sum_rest(const std::optional<FileSegment>& left_out) {
  std::vector<Interval> data = data_intervals(*schema_);
  if (left_out && left_out->bytes.size() <= bytes_ && left_out->offset <= bytes_ - left_out->bytes.size()) {
    const std::string found = file_.text(left_out->offset, left_out->bytes.size());
    if (found == left_out->bytes) data.push_back({left_out->offset, left_out->offset + found.size()});
  }
  return sum_outside(file_, bytes_, std::move(data));
}

PartialSum OffsetTarget::sum_rest() {
  return sum_outside(file_, room_.bytes, written_later(room_));
}

}  // namespace ckpt
