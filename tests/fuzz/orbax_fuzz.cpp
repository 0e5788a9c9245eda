// Any bytes are the metadata of an array of zarr, or a manifest, a node or a tree's description of an Orbax checkpoint
// whose checksums are right: what is found survives its own encoding and its arrays are read, or there is one error of
// the project's own type.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/wire.hpp"
#include "io/crc.hpp"
#include "store/orbax/chunk_reader.hpp"
#include "store/orbax/item.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace ckpt;
using namespace std::string_literals;
namespace fs = std::filesystem;

constexpr std::uint64_t most_read_bytes = 64U << 10;

/// A directory for an item, which goes with the object.
class Directory {
 public:
  Directory() {
    std::error_code none;
    std::string name =
        ((fs::exists("/dev/shm", none) ? fs::path("/dev/shm") : fs::temp_directory_path()) / "ckpt_fuzz_XXXXXX")
            .string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Directory() { fs::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const fs::path& path() const noexcept { return path_; }
  void put(const std::string& name, std::string_view bytes) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  fs::path path_;
};

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text += static_cast<char>(value);
}

/// Around a body that is not compressed.
std::string enveloped(std::string_view magic, std::string_view body) {
  std::string all = std::string(magic) + little(magic.size() + 8 + 2 + body.size() + 4, 8) + "\0\0"s;
  all.append(body);
  return all + little(crc32c.of(all), 4);
}

/// A manifest of one version, whose root is the whole file "n".
std::string manifest_of(std::uint64_t node_bytes, std::uint8_t height, std::uint8_t keys) {
  const std::string config = std::string(16, 'u') + "\0"s + varint(1024) + varint(100000) + "\4\0"s;
  const std::string table = "\1\1\0n"s;
  const std::string version =
      "\1\1"s + static_cast<char>(height) + "\0\0"s + varint(node_bytes) + varint(keys) + "\0\0"s;
  return enveloped("\x0c\xdb\x3a\x2a", config + table + version + std::string(8, '\0') + "\0"s);
}

void read(const Directory& directory) {
  const std::string sent = wire::packed(orbax::read_item(directory.path()));
  const auto item = std::make_shared<const orbax::Item>(wire::unpacked<orbax::Item>(sent));
  if (wire::packed(*item) != sent) std::abort();
  const auto chunks = std::make_shared<DecodedChunks>();
  chunks->set_budget(most_read_bytes * 64);
  orbax::ChunkReader reader(directory.path(), item, chunks, {});
  for (std::size_t i = 0; i < item->arrays.size(); ++i) {
    const orbax::ItemArray& array = item->arrays[i];
    if (array.refusal) continue;
    try {
      const auto size = orbax::decoding_size(array);
      const std::uint64_t count = std::min(numel(array.form.shape), most_read_bytes / array.form.dtype.size);
      std::vector<std::byte> bytes(count * array.form.dtype.size);
      if (count > 0) reader.read(i, size, {0, count}, bytes.data());
      const std::uint64_t end = numel(array.form.shape);
      if (count > 0) reader.read(i, size, {end - count, end}, bytes.data());
    } catch (const Error&) {
    }
  }
}

void read_zarr(const std::string& json) {
  const auto array = orbax::zarr_array(json);
  if (!array) return;
  if (!array->is_consistent()) std::abort();
  for (const std::uint64_t number : {std::uint64_t{0}, orbax::value_count(*array) / 2, orbax::value_count(*array) - 1})
    if (orbax::value_count(*array) > 0 && orbax::value_number(*array, orbax::value_key(*array, number)) != number)
      std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 0) return read_zarr(std::string(bytes)), 0;
    const Directory directory;
    directory.put("v", std::string(64, 'v'));
    if (data[0] == 1) {
      directory.put("manifest.ocdbt", enveloped("\x0c\xdb\x3a\x2a", bytes));
    } else if (data[0] == 2) {
      const std::string node = enveloped("\x0c\xdb\x20\xde", bytes.substr(2));
      directory.put("n", node);
      directory.put("manifest.ocdbt", manifest_of(node.size(), data[1], data[2]));
    } else if (data[0] == 3) {
      directory.put("_METADATA", bytes);
      directory.put("_strings.json", bytes);
      directory.put("w/.zarray", bytes);
    } else {  // a chunk of an array of 64 bytes, as each codec has it
      const std::string codec =
          data[1] % 2 == 0 ? R"({"name":"zstd","configuration":{"level":3}})" : R"({"name":"gzip"})";
      const std::string inner = R"([{"name":"bytes"},)" + codec + R"(,{"name":"crc32c"}])";
      const std::string shard = R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[16],"index_codecs":)"
                                R"([{"name":"bytes"}],"codecs":)" +
                                inner + "}}]";
      directory.put("_METADATA", "{}");
      directory.put("w/zarr.json",
                    R"({"zarr_format":3,"node_type":"array","shape":[64],"data_type":"uint8","fill_value":0,)"
                    R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[64]}},)"
                    R"("chunk_key_encoding":{"name":"default"},"codecs":)" +
                        (data[2] % 2 == 0 ? inner : shard) + "}");
      directory.put("w/c/0", bytes.substr(2));
    }
    read(directory);
  } catch (const Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
