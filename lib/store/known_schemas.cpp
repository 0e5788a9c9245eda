#include "store/known_schemas.hpp"

#include <algorithm>
#include <cstring>

#include "io/outside_data.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

namespace {

/// An entry with very many datasets is kept even above the limit for all: its schema takes as much memory.
constexpr std::uint64_t max_bytes_per_dataset = 4U << 10;

bool is_same_file(const PosixFile::Status& a, const PosixFile::Status& b) {
  return a.bytes == b.bytes && a.modified_ns == b.modified_ns && a.device == b.device && a.inode == b.inode;
}

}  // namespace

/// A file whose schema is known.
class KnownSchemas::Reference {
 public:
  Reference(const PosixFile& file, const PosixFile::Status& status, std::shared_ptr<const Schema> schema)
      : path_(file.path()), status_(status), outside_(outside(data_intervals(*schema), status.bytes)), schema_(schema) {
    for (const Interval piece : outside_) {
      if (piece.size() > largest_.size()) {
        largest_ = piece;
        largest_at_ = size_;
      }
      size_ += piece.size();
    }
  }

  std::uint64_t file_bytes() const noexcept { return status_.bytes; }
  std::uint64_t size() const noexcept { return size_; }  ///< size of everything outside its data
  const std::shared_ptr<const Schema>& schema() const noexcept { return schema_; }
  Interval largest() const noexcept { return largest_; }

  /// Returns whether another file has the same metadata. `found`: its bytes at `largest`, where most other files
  /// differ.
  bool fits(const PosixFile& file, std::string_view found) {
    const std::string& known = bytes();
    if (known.empty() || !std::string_view(known).substr(largest_at_).starts_with(found)) return false;
    const char* expected = known.data();
    return for_each_piece(file, outside_, [&](std::uint64_t, std::span<const std::byte> piece) {
      const bool same = std::memcmp(piece.data(), expected, piece.size()) == 0;
      expected += piece.size();
      return same;
    });
  }

 private:
  /// Returns everything outside its data, concatenated; empty if the file may have changed since its schema was read.
  const std::string& bytes() {
    std::call_once(is_read_, [this] {
      try {
        const PosixFile file = PosixFile::open_for_reading(path_);
        std::string read;
        read.reserve(size_);
        for_each_piece(file, outside_, [&](std::uint64_t, std::span<const std::byte> piece) {
          read.append(reinterpret_cast<const char*>(piece.data()), piece.size());
          return true;
        });
        if (is_same_file(file.status(), status_)) expected_ = std::move(read);
      } catch (const Error&) {  // the file is gone, or shorter: it identifies no others
      }
    });
    return expected_;
  }

  std::string path_;
  PosixFile::Status status_;
  std::vector<Interval> outside_;  // pieces that no dataset's data covers, ascending
  std::uint64_t size_ = 0;
  Interval largest_;  // the first of the largest pieces
  std::size_t largest_at_ = 0;
  std::shared_ptr<const Schema> schema_;
  std::once_flag is_read_;
  std::string expected_;
};

std::shared_ptr<const Schema> KnownSchemas::find(const PosixFile& file, std::uint64_t file_bytes) {
  std::vector<std::shared_ptr<Reference>> candidates;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : references_)
      if (entry.value->file_bytes() == file_bytes) candidates.push_back(entry.value);
  }
  Interval looked_at;
  std::string found;
  for (const auto& reference : candidates) {
    if (reference->largest() != looked_at) {  // most candidates have the same one
      looked_at = reference->largest();
      found = file.text(looked_at.lo, looked_at.size());
    }
    if (!reference->fits(file, found)) continue;
    const std::lock_guard lock(mutex_);
    references_.find(reference.get());
    return reference->schema();
  }
  return nullptr;
}

void KnownSchemas::remember(const PosixFile& file, const PosixFile::Status& status,
                            std::shared_ptr<const Schema> schema) {
  if (std::any_of(schema->datasets.begin(), schema->datasets.end(),
                  [](const Dataset& dataset) { return dataset.storage == Storage::filtered; }) ||
      std::any_of(schema->arrays->begin(), schema->arrays->end(),
                  [](const StoredArray& array) { return array.refusal.has_value(); }))
    return;
  const std::uint64_t most = std::max(max_schema_bytes, max_bytes_per_dataset * schema->datasets.size());
  auto reference = std::make_shared<Reference>(file, status, std::move(schema));
  if (reference->size() > most) return;

  const std::lock_guard lock(mutex_);
  references_.insert(reference.get(), reference, reference->size());
  ++version_;
}

std::uint64_t KnownSchemas::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

}  // namespace ckpt
