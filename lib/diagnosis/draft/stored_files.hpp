#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/file_cache.hpp"
#include "checkpoint/reference_reader.hpp"
#include "checkpoint/stored_sample.hpp"
#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/facts.hpp"

namespace ckpt::drafting {

/// The data of a checkpoint's files, as the cards store it. It refers to checkpoint and store.
class StoredFiles final : public CardData {
 public:
  /// `most_open`: how many files may be open at a time (`files_in_cache`).
  StoredFiles(const Checkpoint& checkpoint, SourceStore& store, std::size_t most_open);

  /// All names, sorted, and a sample of what each card stores under them; `threads` threads read.
  std::vector<NameFacts> facts(unsigned threads);

  void read(Position card, const std::string& stored, Interval elements, std::span<std::byte> out) override;

  std::uint64_t bytes_read() const noexcept { return bytes_; }

 private:
  StoredSample sample(FileNumber file, std::size_t dataset);
  void read(FileNumber file, std::size_t dataset, Interval elements, std::span<std::byte> out);

  const Checkpoint& checkpoint_;
  FileCache<SourceFile> files_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

/// A reference's tensors, and its data if it has any. It refers to the reference and the store.
class ReferenceTensors final : public WholeTensors {
 public:
  ReferenceTensors(const Reference& reference, SourceStore& store, std::size_t most_open);

  const std::vector<Tensor>& tensors() const override { return reference_.tensors(); }
  bool has_data() const override { return reference_.has_data(); }
  void read(const std::string& name, const Box& box, std::span<std::byte> out) override;

  std::uint64_t bytes_read() const noexcept { return bytes_; }

 private:
  const Reference& reference_;
  std::unique_ptr<ReferenceReader> reader_;
  std::uint64_t bytes_ = 0;
};

}  // namespace ckpt::drafting
