// Any bytes are the index of TensorFlow's checkpoint, as a file or as the entries of one whose checksums are right: it
// survives its own encoding and has a layout, or there is one error of the project's own type. What is written from it
// is read again as it was.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/wire.hpp"
#include "frameworks/cut_rules.hpp"
#include "io/posix_file.hpp"
#include "store/tensorflow/bundle.hpp"
#include "store/tensorflow/snappy.hpp"
#include "store/tensorflow/string_tensor.hpp"
#include "store/tensorflow/table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace ckpt;

constexpr std::uint64_t most_snappy_bytes = 1U << 20;

/// Key and value in turn, each behind a byte that says its length.
std::string table_in(std::string_view bytes) {
  std::map<std::string, std::string> entries;
  const auto take = [&] {
    if (bytes.empty()) return std::string();
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(bytes[0]), bytes.size() - 1);
    std::string text(bytes.substr(1, length));
    bytes.remove_prefix(length + 1);
    return text;
  };
  while (!bytes.empty()) {
    std::string key = take();
    entries.emplace(std::move(key), take());
  }
  return tensorflow::table_of(entries);
}

void read(const std::string& bytes) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  const PosixFile file = PosixFile::adopt("fuzz", Fd(fd));
  file.resize(bytes.size());
  file.write(0, std::as_bytes(std::span(bytes)));
  const tensorflow::Bundle bundle = tensorflow::read_index(file, bytes.size(), "fuzz");
  const std::string sent = wire::packed(bundle);
  if (wire::packed(wire::unpacked<tensorflow::Bundle>(sent)) != sent || !bundle.is_consistent()) std::abort();
  std::uint64_t slots = 1;
  for (const auto& tensor : bundle.tensors)
    for (const auto& piece : tensor.pieces) slots = std::max<std::uint64_t>(slots, piece.slot + 1);
  const Mesh mesh{{"card", "chunk"}, {bundle.files.size(), slots}, {}};
  std::vector<CutTensor> tensors;
  for (const auto& tensor : bundle.tensors) {
    tensors.push_back({tensor.name, tensor.shape, {}});
    for (const auto& piece : tensor.pieces)
      tensors.back().held.push_back({std::uint64_t{piece.file} * slots + piece.slot, piece.box});
  }
  if (mesh.size() > 0 && mesh.size() <= max_cards) layout_of(tensors, mesh, "fuzz");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0]) {
      case 0:
        read(std::string(bytes));
        break;
      case 1:
        read(table_in(bytes));
        break;
      case 2:
        if (tensorflow::unpacked_snappy(bytes, most_snappy_bytes).size() > most_snappy_bytes) std::abort();
        break;
      default:
        for (const auto& tensor : tensorflow::tensors_in(bytes)) {
          const auto stored = tensorflow::stored_strings(tensor.elements);
          if (tensorflow::elements_in(stored.bytes, tensor.elements.size(), stored.crc) != tensor.elements)
            std::abort();
        }
    }
  } catch (const Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
