#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

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
    if (const auto found = where_.find(number); found != where_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return order_.front().second;
    }
    if (order_.size() >= most_) {
      where_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(number, opened(number));
    where_[number] = order_.begin();
    return order_.front().second;
  }

 private:
  std::shared_ptr<File> opened(std::uint64_t number) {
    for (;;) {
      try {
        return open_(number);
      } catch (const TooManyOpenFiles&) {
        if (!close_unused()) throw;
      }
    }
  }

  /// Closes the least recently used file that is not in use; returns false if all are in use.
  bool close_unused() {
    for (auto file = order_.rbegin(); file != order_.rend(); ++file)
      if (file->second.use_count() == 1) {
        where_.erase(file->first);
        order_.erase(std::next(file).base());
        return true;
      }
    return false;
  }

  std::size_t most_;
  Open open_;
  std::mutex mutex_;
  std::list<std::pair<std::uint64_t, std::shared_ptr<File>>> order_;
  std::unordered_map<std::uint64_t, typename std::list<std::pair<std::uint64_t, std::shared_ptr<File>>>::iterator>
      where_;
};

}  // namespace ckpt
