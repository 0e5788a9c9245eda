#include "store/known_schemas.hpp"

#include <algorithm>
#include <cstring>

#include "store/outside_data.hpp"

namespace ckpt {

namespace {

/// Kept at most, all together: as many as a job has pipeline stages, whose files may come in turn.
constexpr std::size_t max_references = 64;
constexpr std::uint64_t max_schema_bytes = 16U << 20;
/// One of very many datasets is kept although it is larger than all may be: the schema itself is not smaller.
constexpr std::uint64_t max_bytes_per_dataset = 4U << 10;

}  // namespace

std::shared_ptr<const Schema> KnownSchemas::find(const PosixFile& file, std::uint64_t file_bytes) {
  std::vector<std::shared_ptr<const Reference>> candidates;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& reference : references_)
      if (reference->file_bytes == file_bytes) candidates.push_back(reference);
  }
  Interval looked_at;
  std::string found;
  for (const auto& reference : candidates) {
    if (reference->largest != looked_at) {  // for most of them it is the same
      looked_at = reference->largest;
      found = file.text(looked_at.lo, looked_at.size());
    }
    if (!std::string_view(reference->bytes).substr(reference->largest_at).starts_with(found) || !fits(*reference, file))
      continue;
    const std::lock_guard lock(mutex_);
    const auto place = std::find(references_.begin(), references_.end(), reference);
    if (place != references_.end()) references_.splice(references_.begin(), references_, place);
    return reference->schema;
  }
  return nullptr;
}

bool KnownSchemas::fits(const Reference& reference, const PosixFile& file) {
  const char* expected = reference.bytes.data();
  return for_each_piece(file, reference.outside, [&](std::uint64_t, std::span<const std::byte> found) {
    const bool same = std::memcmp(found.data(), expected, found.size()) == 0;
    expected += found.size();
    return same;
  });
}

void KnownSchemas::remember(const PosixFile& file, const PosixFile::Status& status,
                            std::shared_ptr<const Schema> schema) {
  if (std::any_of(schema->datasets.begin(), schema->datasets.end(),
                  [](const Dataset& dataset) { return dataset.storage == Storage::filtered; }))
    return;
  auto reference = std::make_shared<Reference>();
  reference->file_bytes = status.bytes;
  reference->outside = outside(data_intervals(*schema), status.bytes);
  std::uint64_t bytes = 0;
  for (const Interval piece : reference->outside) {
    if (piece.size() > reference->largest.size()) {
      reference->largest = piece;
      reference->largest_at = bytes;
    }
    bytes += piece.size();
  }
  if (bytes > std::max(max_schema_bytes, max_bytes_per_dataset * schema->datasets.size())) return;
  reference->bytes.reserve(bytes);
  for_each_piece(file, reference->outside, [&](std::uint64_t, std::span<const std::byte> found) {
    reference->bytes.append(reinterpret_cast<const char*>(found.data()), found.size());
    return true;
  });
  // What was read here must be what the schema was read from.
  const PosixFile::Status now = file.status();
  if (now.bytes != status.bytes || now.modified_ns != status.modified_ns) return;
  reference->schema = std::move(schema);

  const std::lock_guard lock(mutex_);
  references_.push_front(std::move(reference));
  bytes_ += bytes;
  while (references_.size() > max_references || (references_.size() > 1 && bytes_ > max_schema_bytes)) {
    bytes_ -= references_.back()->bytes.size();
    references_.pop_back();
  }
  ++version_;
}

std::uint64_t KnownSchemas::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

}  // namespace ckpt
