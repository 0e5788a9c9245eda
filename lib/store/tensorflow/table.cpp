#include "store/tensorflow/table.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/protobuf.hpp"
#include "io/crc.hpp"
#include "store/cursor.hpp"
#include "store/tensorflow/snappy.hpp"

namespace ckpt::tensorflow {

namespace {

constexpr std::uint64_t footer_bytes = 48;
constexpr std::uint64_t handles_bytes = 40;
/// A byte for the compression, and the checksum.
constexpr std::uint64_t trailer_bytes = 5;
/// TensorFlow's blocks have 256 KiB, and one more entry.
constexpr std::uint64_t most_block_bytes = 64ULL << 20;
constexpr std::uint64_t written_block_bytes = 1U << 18;
constexpr std::size_t restart_interval = 16;
constexpr std::uint64_t number_bytes = 4;

constexpr const char* take_another = "the file is damaged: take another copy of it";

struct BlockHandle {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

BlockHandle take_handle(Cursor& in) {
  const std::uint64_t offset = in.varint();
  return {offset, in.varint()};
}

std::string block_at(const PosixFile& file, std::uint64_t file_bytes, const BlockHandle& handle) {
  const std::string place = "its block at byte " + std::to_string(handle.offset);
  if (handle.bytes > most_block_bytes || handle.offset > file_bytes ||
      file_bytes - handle.offset < handle.bytes + trailer_bytes)
    throw Error(Kind::input, place,
                {"has " + std::to_string(handle.bytes) + " bytes and a checksum",
                 "a block of at most 64 MiB within the file's " + std::to_string(file_bytes) + " bytes",
                 "is the file damaged or cut off?"});
  std::string bytes = file.text(handle.offset, handle.bytes + trailer_bytes);
  const std::string_view all = bytes;
  Cursor trailer(all.substr(handle.bytes));
  const std::uint64_t compression = trailer.little(1);
  const auto stored = static_cast<std::uint32_t>(trailer.little(number_bytes));
  crc32c.check(crc32c.of(all.substr(0, handle.bytes + 1)), unmasked(stored), place);
  if (compression == 1)
    return with_context(place, [&] { return unpacked_snappy(all.substr(0, handle.bytes), most_block_bytes); });
  if (compression != 0)
    throw Error(Kind::input, place,
                {"is compressed in a way of number " + std::to_string(compression), "none, or snappy",
                 "load the checkpoint with TensorFlow, and save it again"});
  bytes.resize(handle.bytes);
  return bytes;
}

/// Calls visit(key, value) for each entry of a block, of which there is at least one.
template <class Visit>
void for_each_in_block(std::string_view block, const Visit& visit) {
  const auto refuse = [](const std::string& found, const std::string& expected) {
    throw Error(Kind::input, "a block", {found, expected, take_another});
  };
  if (block.size() < number_bytes) refuse("ends within a number", "one of 4 bytes");
  Cursor last(block.substr(block.size() - number_bytes));
  const std::uint64_t restarts = last.little(number_bytes);
  if (restarts > block.size() / number_bytes - 1)
    refuse(std::to_string(restarts) + " places where keys are whole", "as many as it has room for");
  Cursor in(block.substr(0, block.size() - number_bytes * (restarts + 1)));
  if (in.is_at_end()) refuse("has no entry", "at least one");
  std::string key;
  while (!in.is_at_end()) {
    const std::uint64_t shared = in.varint();
    const std::uint64_t own = in.varint();
    const std::uint64_t value = in.varint();
    if (shared > key.size())
      refuse("a key that begins like " + std::to_string(shared) + " bytes of the one before it",
             "at most its " + std::to_string(key.size()));
    key.resize(shared);
    key += in.take(own);
    visit(std::string_view(key), in.take(value));
  }
}

// ---- Writing

/// A block under construction.
class BlockWriter {
 public:
  explicit BlockWriter(std::size_t interval) : interval_(interval) {}

  void add(std::string_view key, std::string_view value) {
    std::size_t shared = 0;
    if (count_++ % interval_ == 0)
      restarts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    else
      shared = static_cast<std::size_t>(std::mismatch(key.begin(), key.end(), last_.begin(), last_.end()).first -
                                        key.begin());
    protobuf::put_varint(bytes_, shared);
    protobuf::put_varint(bytes_, key.size() - shared);
    protobuf::put_varint(bytes_, value.size());
    bytes_ += key.substr(shared);
    bytes_ += value;
    last_ = key;
  }

  std::size_t bytes() const noexcept { return bytes_.size(); }
  const std::string& last_key() const noexcept { return last_; }

  /// Appends the block to a file, begins a new one, and returns the handle in the form in which entries have it.
  std::string end(std::string& file) {
    if (restarts_.empty()) restarts_.push_back(0);
    for (const std::uint32_t restart : restarts_) put_little(bytes_, restart);
    put_little(bytes_, static_cast<std::uint32_t>(restarts_.size()));
    std::string handle;
    protobuf::put_varint(handle, file.size());
    protobuf::put_varint(handle, bytes_.size());
    bytes_.push_back('\0');  // not compressed
    put_little(bytes_, masked(crc32c.of(bytes_)));
    file += bytes_;
    *this = BlockWriter(interval_);
    return handle;
  }

 private:
  static void put_little(std::string& out, std::uint32_t number) {
    for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(number >> shift & 0xffU));
  }

  std::size_t interval_;
  std::size_t count_ = 0;
  std::string bytes_;
  std::string last_;
  std::vector<std::uint32_t> restarts_;
};

}  // namespace

std::uint32_t masked(std::uint32_t crc) noexcept {
  return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U;
}

std::uint32_t unmasked(std::uint32_t stored) noexcept {
  const std::uint32_t turned = stored - 0xa282ead8U;
  return (turned >> 17U) | (turned << 15U);
}

bool ends_as_table(const PosixFile& file, std::uint64_t file_bytes) {
  return file_bytes >= footer_bytes && file.text(file_bytes - table_end.size(), table_end.size()) == table_end;
}

void for_each_entry(const PosixFile& file, std::uint64_t file_bytes,
                    const std::function<void(std::string_view key, std::string_view value)>& visit) {
  if (!ends_as_table(file, file_bytes))
    throw Error(Kind::input, "",
                {"does not end as an index of TensorFlow does", "the 8 bytes that end each of its tables",
                 "is the file cut off? Copy it again"});
  const std::string footer = file.text(file_bytes - footer_bytes, handles_bytes);
  Cursor in(footer);
  take_handle(in);  // of a block about other blocks, which is empty
  const std::string blocks = block_at(file, file_bytes, take_handle(in));
  std::string last;
  bool is_first = true;
  for_each_in_block(blocks, [&](std::string_view, std::string_view handle) {
    Cursor place(handle);
    const std::string block = block_at(file, file_bytes, take_handle(place));
    for_each_in_block(block, [&](std::string_view key, std::string_view value) {
      if (!is_first && key <= last)
        throw Error(Kind::input, "",
                    {"keys that are out of order, of which TensorFlow finds only some", "ascending ones",
                     "was the index edited? Take another copy of it"});
      is_first = false;
      last = key;
      visit(key, value);
    });
  });
}

std::string table_of(const std::map<std::string, std::string>& entries) {
  std::string file;
  BlockWriter block(restart_interval);
  BlockWriter blocks(1);
  const auto end_block = [&] {
    const std::string last = block.last_key();
    blocks.add(last, block.end(file));
  };
  for (const auto& [key, value] : entries) {
    block.add(key, value);
    if (block.bytes() >= written_block_bytes) end_block();
  }
  if (block.bytes() > 0) end_block();
  std::string footer = BlockWriter(1).end(file);
  footer += blocks.end(file);
  footer.resize(handles_bytes, '\0');
  return file + footer + std::string(table_end);
}

}  // namespace ckpt::tensorflow
