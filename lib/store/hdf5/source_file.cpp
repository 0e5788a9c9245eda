#include "store/hdf5/source_file.hpp"

#include "store/hdf5/filtered_data.hpp"
#include "store/offset_file.hpp"

namespace ckpt::hdf5 {

namespace {

class Source final : public OffsetFile {
 public:
  Source(const std::filesystem::path& path, const FileCatalog& catalog, std::shared_ptr<DecodedChunks> chunks)
      : OffsetFile(path, catalog), filtered_(file(), bytes(), schema(), std::move(chunks)) {}

 private:
  void read_filtered(std::size_t index, std::uint64_t offset, std::span<std::byte> out) override {
    const std::uint64_t element = (*schema()->arrays)[index].dtype.size;
    if (offset % element != 0 || out.size() % element != 0)
      throw Error(Kind::input, "", {"read of a part of an element", "", ""});
    filtered_.read(index, {offset / element, (offset + out.size()) / element}, out);
  }

  FilteredData filtered_;
};

}  // namespace

std::unique_ptr<SourceFile> open_source(const std::filesystem::path& file, const FileCatalog& catalog,
                                        std::shared_ptr<DecodedChunks> chunks) {
  return std::make_unique<Source>(file, catalog, std::move(chunks));
}

}  // namespace ckpt::hdf5
