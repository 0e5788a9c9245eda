#include "store/hdf5/source_file.hpp"

#include "base/checked.hpp"
#include "store/hdf5/filtered_data.hpp"
#include "store/posix_file.hpp"

namespace ckpt::hdf5 {

namespace {

class Source final : public SourceFile {
 public:
  Source(const std::filesystem::path& path, const FileCatalog& catalog, std::shared_ptr<DecodedChunks> chunks)
      : file_(PosixFile::open_for_reading(path)),
        status_(file_.status()),
        is_local_(file_.is_local()),
        schema_(catalog.schema),
        bytes_(catalog.bytes),
        filtered_(file_, bytes_, schema_, std::move(chunks)) {
    if (status_.bytes != bytes_) refuse_size(status_.bytes);
  }

  void read(std::size_t index, std::uint64_t offset, std::span<std::byte> out) override {
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
        read_filtered(index, array.dtype.size, offset, out);
    });
  }

  std::optional<FileExtent> extent(std::size_t index) const override {
    const Dataset& dataset = schema_->datasets.at(index);
    if (dataset.storage != Storage::contiguous || !is_local_) return std::nullopt;
    return FileExtent{file_.fd(), &file_.path(), status_.device, status_.inode, bytes_, dataset.offset};
  }

 private:
  [[noreturn]] void refuse_size(std::uint64_t found) const {
    throw Error(Kind::input, file_.path(),
                {"has " + std::to_string(found) + " bytes", "had " + std::to_string(bytes_) + " when it was catalogued",
                 "is the checkpoint still being written?"});
  }

  void read_filtered(std::size_t index, std::uint64_t element, std::uint64_t offset, std::span<std::byte> out) {
    if (offset % element != 0 || out.size() % element != 0)
      throw Error(Kind::input, "", {"read of a part of an element", "", ""});
    filtered_.read(index, {offset / element, (offset + out.size()) / element}, out);
  }

  PosixFile file_;
  PosixFile::Status status_;
  bool is_local_;
  std::shared_ptr<const Schema> schema_;
  std::uint64_t bytes_;
  FilteredData filtered_;
};

}  // namespace

std::unique_ptr<SourceFile> open_source(const std::filesystem::path& file, const FileCatalog& catalog,
                                        std::shared_ptr<DecodedChunks> chunks) {
  return std::make_unique<Source>(file, catalog, std::move(chunks));
}

}  // namespace ckpt::hdf5
