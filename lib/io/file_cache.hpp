#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/lru.hpp"
#include "io/posix_file.hpp"

namespace ckpt {

/// A cache of open files by number. It closes the least recently used when more than `most` are open, or when the
/// system allows no more. A file in use stays open.
template <class File>
class FileCache {
 public:
  using Open = std::function<std::shared_ptr<File>(std::uint64_t file)>;

  FileCache(std::size_t most, Open open) : most_(most), open_(std::move(open)) {}

  std::shared_ptr<File> get(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (const auto* file = files_.find(number)) return *file;
    if (files_.size() >= most_) files_.evict();
    return files_.insert(number, opened(number));
  }

 private:
  std::shared_ptr<File> opened(std::uint64_t number) {
    for (;;) {
      try {
        return open_(number);
      } catch (const TooManyOpenFiles&) {
        if (!files_.evict([](const auto& file) { return file.use_count() == 1; })) throw;  // all are in use
      }
    }
  }

  std::size_t most_;
  Open open_;
  std::mutex mutex_;
  Lru<std::uint64_t, std::shared_ptr<File>> files_;
};

}  // namespace ckpt
