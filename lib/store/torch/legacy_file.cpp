#include "store/torch/legacy_file.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "store/torch/element_types.hpp"

namespace ckpt::torch {

namespace {

using namespace std::string_view_literals;

/// The first pickle without its first opcodes: the number 0x1950a86a20f9469cfc6c.
constexpr std::string_view magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr std::size_t protocol_bytes = 2;
constexpr std::size_t frame_bytes = 9;
constexpr std::uint64_t most_magic_bytes = protocol_bytes + frame_bytes + magic.size();
constexpr std::int64_t protocol_version = 1001;

/// How much of the file to read for the pickles at its start, whose length is not stored.
constexpr std::uint64_t first_window = 1U << 20;
constexpr std::uint64_t last_window = 256U << 20;

[[noreturn]] void refuse_legacy(const std::string& found, const std::string& expected,
                                const std::string& remedy = "is the file damaged?") {
  throw Error(Kind::input, "", {"found " + found, expected, remedy});
}

/// Returns the length of the first pickle, if `begin` starts with it: in protocol 2 or 3, or in 4 or 5, which add a
/// frame.
std::optional<std::size_t> magic_length(std::string_view begin) {
  if (begin.size() < protocol_bytes || begin[0] != '\x80' || begin[1] < 2 || begin[1] > 5) return std::nullopt;
  const bool is_framed = begin.size() > protocol_bytes && begin[protocol_bytes] == '\x95';
  const std::size_t at = std::min(begin.size(), protocol_bytes + (is_framed ? frame_bytes : 0));
  return begin.substr(at).starts_with(magic) ? std::optional(at + magic.size()) : std::nullopt;
}

struct Pickles {
  std::unique_ptr<const std::string> bytes;
  std::vector<Pickle> pickles;  ///< protocol, machine, tree, keys
  std::uint64_t end = 0;        ///< end of the last one in the file
};

/// Reads the pickles; returns nothing if they are longer than `window` bytes.
std::optional<Pickles> read_window(const PosixFile& file, std::uint64_t window) {
  Pickles found{std::make_unique<const std::string>(file.text(0, window)), {}, 0};
  std::size_t at = magic_length(*found.bytes).value();
  for (int i = 0; i < 4; ++i) {
    auto pickle = Pickle::read(*found.bytes, at);
    if (!pickle) return std::nullopt;
    found.pickles.push_back(std::move(*pickle));
  }
  found.end = at;
  return found;
}

Pickles read_pickles(const PosixFile& file, std::uint64_t file_bytes) {
  for (std::uint64_t window = first_window;; window *= 4) {
    if (auto found = read_window(file, std::min(window, file_bytes))) return std::move(*found);
    if (window >= file_bytes)
      refuse_legacy("the file's end within its object", "a whole one", "is the file truncated?");
    if (window >= last_window) refuse_legacy("an object of more than " + format_bytes(last_window), "a smaller one");
  }
}

void check_machine(const Pickles& found) {
  const PickleNode& version = found.pickles[0][found.pickles[0].root()];
  if (version.kind != PickleKind::integer || version.number != protocol_version)
    refuse_legacy("another version of torch's first format", std::to_string(protocol_version));
  const Pickle& machine = found.pickles[1];
  const PickleId little = machine.value_of(machine.root(), "little_endian");
  if (little == no_node || machine[little].kind != PickleKind::boolean || machine[little].number == 0)
    refuse_legacy("numbers that are not little-endian", "those of a little-endian machine",
                  "save it on another machine");
}

/// Returns the element size of each storage, which only the tree states; also of quantised ones, since other storages
/// follow them.
std::map<std::string_view, std::uint64_t> element_bytes(const Pickle& tree) {
  std::map<std::string_view, std::uint64_t> bytes;
  for (PickleId id = 0; id < tree.nodes().size(); ++id) {
    if (tree[id].kind != PickleKind::persistent) continue;
    const StorageName storage = storage_name(tree, id);
    const auto size = storage_element_bytes(storage.type);
    bytes.emplace(storage.key, size ? *size : storage_claim(tree, id).dtype.size);
  }
  return bytes;
}

Storages find_storages(const PosixFile& file, std::uint64_t file_bytes, const Pickles& found) {
  const Pickle& keys = found.pickles[3];
  const auto sizes = element_bytes(found.pickles[2]);
  Storages storages;
  std::uint64_t at = found.end;
  for (const PickleId id : keys[keys.root()].items) {
    const std::string_view key = keys[id].text;
    const auto size = sizes.find(key);
    std::uint64_t elements = 0;
    if (size == sizes.end()) refuse_legacy("storage " + std::string(key) + ", of which nothing is said", "its type");
    if (file_bytes - at < sizeof elements)
      refuse_legacy("the file's end before storage " + std::string(key), "its bytes", "is the file truncated?");
    file.read(at, std::as_writable_bytes(std::span(&elements, 1)));
    at += sizeof elements;
    const std::uint64_t bytes = checked_mul(elements, size->second, "a storage's number of bytes");
    if (bytes > file_bytes - at)
      refuse_legacy("storage " + std::string(key) + " of " + std::to_string(bytes) + " bytes",
                    "at most " + std::to_string(file_bytes - at) + ", which are left of the file",
                    "is the file truncated?");
    if (!storages.emplace(key, Interval{at, at + bytes}).second)
      refuse_legacy("storage " + std::string(key) + " twice", "once");
    at += bytes;
  }
  return storages;
}

}  // namespace

bool is_legacy_file(const PosixFile& file, std::uint64_t file_bytes) {
  return magic_length(file.text(0, std::min(file_bytes, most_magic_bytes))).has_value();
}

Archive read_legacy_file(const PosixFile& file, std::uint64_t file_bytes) {
  Pickles found = read_pickles(file, file_bytes);
  check_machine(found);
  Storages storages = find_storages(file, file_bytes, found);
  return {std::move(found.bytes), std::move(found.pickles[2]), std::move(storages)};
}

}  // namespace ckpt::torch
