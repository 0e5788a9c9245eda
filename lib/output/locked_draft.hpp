#pragma once

#include <filesystem>
#include <string>

#include "store/posix_file.hpp"

namespace ckpt {

/// A text file that is to take the place of FILE in one step: FILE.partial, which one job has at a time. Others wait
/// for it; when it has taken the place, they find another of its name. On a file system without locks nobody waits, and
/// each has a draft of its own.
class LockedDraft {
 public:
  /// Waits for it, unless a signal ends that. Throws io where none can be made there.
  explicit LockedDraft(const std::filesystem::path& file);
  ~LockedDraft();  ///< a draft that was not published is removed
  LockedDraft(const LockedDraft&) = delete;
  LockedDraft& operator=(const LockedDraft&) = delete;
  LockedDraft(LockedDraft&&) = delete;
  LockedDraft& operator=(LockedDraft&&) = delete;

  /// Writes the text, with FILE's permissions if it is there, and puts it in its place. Once.
  void publish(const std::string& text);

 private:
  bool try_to_take();

  std::filesystem::path file_;
  std::filesystem::path path_;
  Fd draft_;  // until it is published
};

}  // namespace ckpt
