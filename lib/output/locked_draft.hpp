#pragma once

#include <filesystem>
#include <string>

#include "io/posix_file.hpp"

namespace ckpt {

/// A text file that is to replace FILE in one step: FILE.partial, which one job has at a time. Others wait for it; once
/// it has replaced FILE, they make a new one. The draft of a job that was killed is the next job's. On a file system
/// without locks nobody waits, and each job has a draft of its own.
class LockedDraft {
 public:
  /// Waits until it has the draft, unless a signal interrupts it. Throws io if no draft can be made there. `ending`:
  /// what the draft's name has besides FILE's.
  explicit LockedDraft(const std::filesystem::path& file, const char* ending = ".partial");
  ~LockedDraft();  ///< a draft that was not published is removed
  LockedDraft(const LockedDraft&) = delete;
  LockedDraft& operator=(const LockedDraft&) = delete;
  LockedDraft(LockedDraft&&) = delete;
  LockedDraft& operator=(LockedDraft&&) = delete;

  /// Writes the text, with FILE's permissions if it exists, and replaces FILE. To be called once. `is_lasting`: waits
  /// for the disk.
  void publish(const std::string& text, bool is_lasting = true);

 private:
  bool try_lock();

  std::filesystem::path file_;
  std::filesystem::path path_;
  Fd draft_;  // until it is published
};

}  // namespace ckpt
