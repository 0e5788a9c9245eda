#include "output/journal.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/log.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t enough_data = 4ULL << 20;
constexpr std::size_t enough_records = 1024;

/// A record in the file: eight words, the last a sum of the others. Little-endian, like the machine.
using Words = std::array<std::uint64_t, 8>;

std::uint64_t sum_of_words(const Words& words) {
  const auto bytes = std::as_bytes(std::span(words)).first(sizeof(Words) - sizeof(words[0]));
  const PartialSum sum = sum_of(bytes, 4096);
  return sum.low ^ sum.high;
}

Words words_of(const JournalRecord& record) {
  Words words{record.card,     record.array,     record.elements.lo, record.elements.hi,
              record.read.low, record.read.high, record.read.bytes,  0};
  words.back() = sum_of_words(words);
  return words;
}

/// The process whose journal a file is, by the file's name; nothing for other files.
std::optional<std::uint64_t> process_named(const std::string& name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

Journal::Journal(const std::filesystem::path& directory, int process)
    : file_(PosixFile::open_or_create(directory / std::to_string(process))) {
  // After the last complete record: a killed process may leave half a record.
  end_ = file_.status().bytes / sizeof(Words) * sizeof(Words);
}

Journal::~Journal() {
  try {
    const std::lock_guard lock(mutex_);
    flush();
  } catch (const Error& error) {
    log::debug("the journal could not be brought up to date: {}", error.what());
  }
}

void Journal::note(const JournalRecord& record, std::uint64_t bytes) {
  const Words words = words_of(record);
  const std::lock_guard lock(mutex_);
  waiting_.append(reinterpret_cast<const char*>(words.data()), sizeof words);
  waiting_bytes_ += bytes;
  if (waiting_bytes_ >= enough_data || waiting_.size() >= enough_records * sizeof words) flush();
}

void Journal::flush() {
  file_.write(end_, std::as_bytes(std::span(waiting_)));
  end_ += waiting_.size();
  waiting_.clear();
  waiting_bytes_ = 0;
}

std::vector<JournalRecord> parse_journal(std::span<const std::byte> bytes) {
  std::vector<JournalRecord> records;
  for (std::size_t at = 0; bytes.size() - at >= sizeof(Words); at += sizeof(Words)) {
    Words words;
    std::memcpy(words.data(), bytes.data() + at, sizeof words);
    if (words.back() != sum_of_words(words)) continue;
    records.push_back({words[0], words[1], {words[2], words[3]}, {words[4], words[5], words[6]}});
  }
  return records;
}

std::vector<JournalRecord> read_journal(const std::filesystem::path& directory, std::uint64_t process,
                                        std::uint64_t processes) {
  constexpr std::uint64_t step = 1024 * sizeof(Words);
  std::vector<JournalRecord> records;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const auto writer = process_named(entry.path().filename().string());
    if (!writer || *writer % processes != process || !entry.is_regular_file()) continue;
    const PosixFile file = PosixFile::open_for_reading(entry.path());
    const std::uint64_t size = file.status().bytes;
    std::vector<std::byte> bytes;
    for (std::uint64_t at = 0; at < size; at += bytes.size()) {
      bytes.resize(static_cast<std::size_t>(std::min(step, size - at)));
      file.read(at, bytes);
      const auto some = parse_journal(bytes);
      records.insert(records.end(), some.begin(), some.end());
    }
  }
  return records;
}

}  // namespace ckpt
