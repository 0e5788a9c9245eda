#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/posix_file.hpp"
#include "layout/placement/placement.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// A chunk that was written, and the sum of the data read for it.
struct JournalRecord {
  Position card = 0;
  std::uint64_t array = 0;
  Interval elements;
  PartialSum read;

  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
};

/// A job's progress: beside the written data, one file for each process with a record for each finished chunk. A reader
/// trusts a record only after comparing the data with its sum. Threads may share one.
class Journal {
 public:
  /// Continues this process's file in `directory`, or begins it.
  Journal(const std::filesystem::path& directory, int process);
  ~Journal();  ///< records the remaining chunks, if it can
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal(Journal&&) = delete;
  Journal& operator=(Journal&&) = delete;

  /// To be called once the chunk's bytes have been handed to the system. Records wait until they cover a few MiB of
  /// data.
  void note(const JournalRecord& record, std::uint64_t bytes);

 private:
  void flush();

  std::mutex mutex_;
  PosixFile file_;
  std::uint64_t end_ = 0;
  std::string waiting_;
  std::uint64_t waiting_bytes_ = 0;  // of data
};

/// The records of all processes in a journal's directory, without damaged and incomplete ones. Each of `processes`
/// reads some of the files.
std::vector<JournalRecord> read_journal(const std::filesystem::path& directory, std::uint64_t process = 0,
                                        std::uint64_t processes = 1);
/// The records in one journal file's content.
std::vector<JournalRecord> parse_journal(std::span<const std::byte> bytes);

}  // namespace ckpt
