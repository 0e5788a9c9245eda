#include "store/hdf5/source_file.hpp"

#include "store/hdf5/filtered_data.hpp"
#include "store/offset_file.hpp"
#include "store/viewed_data.hpp"

namespace ckpt::hdf5 {

namespace {

class Source final : public OffsetFile {
 public:
  Source(const std::filesystem::path& path, const FileCatalog& catalog, std::shared_ptr<DecodedChunks> chunks,
         std::shared_ptr<ViewedFiles> viewed)
      : OffsetFile(path, catalog),
        filtered_(file(), bytes(), schema(), std::move(chunks)),
        viewed_(path, catalog, std::move(viewed)) {}

 private:
  void read_by_format(std::size_t index, std::uint64_t offset, std::span<std::byte> out) override {
    const std::uint64_t element = (*schema()->arrays)[index].dtype.size;
    if (offset % element != 0 || out.size() % element != 0)
      throw Error(Kind::input, "", {"read of a part of an element", "", ""});
    const Interval elements{offset / element, (offset + out.size()) / element};
    if (schema()->datasets[index].storage == Storage::views) return viewed_.read(index, elements, out);
    filtered_.read(index, elements, out);
  }

  FilteredData filtered_;
  ViewedData viewed_;
};

}  // namespace

std::unique_ptr<SourceFile> open_source(const std::filesystem::path& file, const FileCatalog& catalog,
                                        std::shared_ptr<DecodedChunks> chunks, std::shared_ptr<ViewedFiles> viewed) {
  return std::make_unique<Source>(file, catalog, std::move(chunks), std::move(viewed));
}

}  // namespace ckpt::hdf5
