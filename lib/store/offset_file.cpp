#include "store/offset_file.hpp"

#include "base/checked.hpp"

namespace ckpt {

OffsetFile::OffsetFile(const std::filesystem::path& path, const FileCatalog& catalog)
    : file_(PosixFile::open_for_reading(path)),
      status_(file_.status()),
      is_local_(file_.is_local()),
      schema_(catalog.schema),
      bytes_(catalog.bytes) {
  if (status_.bytes != bytes_)
    throw Error(
        Kind::input, file_.path(),
        {"has " + std::to_string(status_.bytes) + " bytes", "had " + std::to_string(bytes_) + " when it was catalogued",
         "is the checkpoint still being written?"});
}

void OffsetFile::read(std::size_t index, std::uint64_t offset, std::span<std::byte> out) {
  const StoredArray& array = schema_->arrays->at(index);
  const Dataset& dataset = schema_->datasets.at(index);
  if (out.empty()) return;
  const std::uint64_t bytes = dataset.storage == Storage::contiguous || dataset.storage == Storage::filtered
                                  ? checked_mul(volume(array.shape), array.dtype.size)
                                  : 0;
  if (checked_add(offset, out.size()) > bytes)
    throw Error(Kind::input, file_.path() + ": /" + array.name,
                {"has " + std::to_string(bytes) + " bytes", "asked for " + std::to_string(offset + out.size()), ""});
  with_context(file_.path() + ": /" + array.name, [&] {
    if (dataset.storage == Storage::contiguous)
      file_.read(dataset.offset + offset, out);
    else
      read_filtered(index, offset, out);
  });
}

void OffsetFile::read_filtered(std::size_t /*dataset*/, std::uint64_t /*offset*/, std::span<std::byte> /*out*/) {
  throw Error(Kind::input, "", {"is stored through filters", "which this format has not", "this is a defect"});
}

std::optional<FileExtent> OffsetFile::extent(std::size_t index) const {
  const Dataset& dataset = schema_->datasets.at(index);
  if (dataset.storage != Storage::contiguous || !is_local_) return std::nullopt;
  return FileExtent{file_.fd(), &file_.path(), status_.device, status_.inode, bytes_, dataset.offset};
}

}  // namespace ckpt
