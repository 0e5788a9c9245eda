#include "store/dcp/dcp_item.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/checked.hpp"
#include "store/pickle/little_endian.hpp"
#include "store/torch/element_types.hpp"
#include "store/zip/zip_records.hpp"

namespace ckpt::torch {

namespace {

/// Headers, pickle and small entries of a tensor's item take about 700 bytes.
constexpr std::uint64_t head_bytes = 4096;

// The record after an entry's bytes.
constexpr std::string_view behind_mark = "PK\7\10";
constexpr std::size_t behind_bytes = 16;
constexpr std::uint64_t sizes_follow = 8;  // a flag

std::uint64_t little_at(std::string_view bytes, std::size_t at, std::size_t count) {
  return little_endian(bytes.substr(at, count));
}

/// Walks over the entries in an item's first bytes.
class Head {
 public:
  explicit Head(std::string_view bytes) : bytes_(bytes) {}

  /// Moves to the next entry; returns false if there is no complete header in the head.
  bool next() {
    const std::string_view rest = bytes_.substr(at_);
    if (rest.size() < local_bytes || !rest.starts_with(local_mark)) return false;
    flags_ = little_at(rest, 6, 2);
    const std::uint64_t method = little_at(rest, 8, 2);
    size_ = little_at(rest, 22, 4);
    const std::uint64_t name = little_at(rest, 26, 2);
    const std::uint64_t whole = local_bytes + name + little_at(rest, 28, 2);
    if (method != 0 || whole > rest.size()) return false;
    name_ = rest.substr(local_bytes, name);
    at_ += whole;
    return true;
  }

  bool is_named(std::string_view name) const {
    const std::size_t slash = name_.find('/');
    return slash != std::string_view::npos && name_.substr(slash + 1) == name;
  }
  std::size_t at() const noexcept { return at_; }

  /// Moves past the entry's `size` bytes; the entry's header, or the record after it, must confirm the size.
  bool skip(std::uint64_t size) {
    if (size > bytes_.size() - at_) return false;
    at_ += size;
    if ((flags_ & sizes_follow) == 0) return size == size_;
    const std::string_view rest = bytes_.substr(at_);
    if (rest.size() < behind_bytes || !rest.starts_with(behind_mark) || little_at(rest, 8, 4) != size) return false;
    at_ += behind_bytes;
    return true;
  }

  /// Returns the bytes of a small entry, whose end the record after it confirms.
  std::optional<std::string_view> small() {
    if ((flags_ & sizes_follow) == 0) {
      const std::size_t begin = at_;
      return skip(size_) ? std::optional(bytes_.substr(begin, size_)) : std::nullopt;
    }
    const std::size_t end = bytes_.find(behind_mark, at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view found = bytes_.substr(at_, end - at_);
    return skip(found.size()) ? std::optional(found) : std::nullopt;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::uint64_t flags_ = 0;
  std::uint64_t size_ = 0;
  std::string_view name_;
};

/// Returns the storages that a tree refers to, with one node for each.
std::map<std::string_view, PickleId> storages_in(const Pickle& tree) {
  std::map<std::string_view, PickleId> storages;
  for (PickleId id = 0; id < tree.nodes().size(); ++id)
    if (tree[id].kind == PickleKind::persistent) storages.emplace(storage_name(tree, id).key, id);
  return storages;
}

/// Returns the description of the tree's one storage; nothing if its type does not determine its length (quantised).
std::optional<StorageClaim> claim_of(const Pickle& tree, PickleId storage) {
  if (!storage_type(storage_name(tree, storage).type)) return std::nullopt;
  return storage_claim(tree, storage);
}

/// Returns nothing if the head is not enough.
std::optional<Archive> from_head(const PosixFile& file, Interval item) {
  auto bytes = std::make_unique<std::string>(std::min(item.size(), head_bytes), '\0');
  file.read(item.lo, std::as_writable_bytes(std::span(*bytes)));
  Head head(*bytes);
  if (!head.next() || !head.is_named("data.pkl")) return std::nullopt;
  std::size_t end = head.at();
  auto tree = Pickle::read(*bytes, end);
  if (!tree || !head.skip(end - head.at())) return std::nullopt;
  Archive archive{std::move(bytes), std::move(*tree), {}};
  const auto storages = storages_in(archive.tree);
  if (storages.empty()) return archive;
  const auto claim = storages.size() == 1 ? claim_of(archive.tree, storages.begin()->second) : std::nullopt;
  if (!claim) return std::nullopt;
  while (head.next()) {
    if (head.is_named("data/" + std::string(claim->key))) {
      const std::uint64_t size = checked_mul(claim->elements, claim->dtype.size, "a storage's number of bytes");
      const std::uint64_t begin = item.lo + head.at();
      if (size > item.hi - begin) return std::nullopt;
      archive.storages.emplace(claim->key, Interval{begin, begin + size});
      return archive;
    }
    const bool is_order = head.is_named("byteorder");
    const auto found = head.small();
    if (!found || (is_order && *found != "little")) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Archive read_dcp_item(const PosixFile& file, Interval item) {
  if (auto archive = from_head(file, item)) return std::move(*archive);
  return read_zip_archive(file, item);
}

}  // namespace ckpt::torch
