#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "layout/placement.hpp"
#include "store/posix_file.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// A chunk that was written, and the sum of what had been read for it.
struct JournalRecord {
  Position card = 0;
  std::uint64_t array = 0;
  Interval elements;
  PartialSum read;

  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
  static auto fields(auto& self) {
    return std::tie(self.card, self.array, self.elements.lo, self.elements.hi, self.read.low, self.read.high,
                    self.read.bytes);
  }
};

/// Where a job has got to: beside what it has written, one file for each process, a record for each finished chunk.
/// A reader believes none of it before it has compared the data with the sum. Threads may share one.
class Journal {
 public:
  /// Goes on with this process's file in `directory`, or begins it.
  Journal(const std::filesystem::path& directory, int process);
  ~Journal();  ///< notes what is left, if it can
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal(Journal&&) = delete;
  Journal& operator=(Journal&&) = delete;

  /// To be called when the chunk's bytes have been handed to the system. A record waits for others until a few MiB of
  /// data have come together.
  void note(const JournalRecord& record, std::uint64_t bytes);

 private:
  void flush();

  std::mutex mutex_;
  PosixFile file_;
  std::uint64_t end_ = 0;
  std::string waiting_;
  std::uint64_t waiting_bytes_ = 0;  // of data
};

/// The records in a journal's directory, of all the processes that there were. What is damaged or half-written is left
/// out. Each of `processes` reads some of the files.
std::vector<JournalRecord> read_journal(const std::filesystem::path& directory, std::uint64_t process = 0,
                                        std::uint64_t processes = 1);
/// The records of one journal file's content.
std::vector<JournalRecord> parse_journal(std::span<const std::byte> bytes);

}  // namespace ckpt
