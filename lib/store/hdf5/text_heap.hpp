#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "io/posix_file.hpp"
#include "store/hdf5/global_heap.hpp"
#include "store/long_texts.hpp"
#include "store/store.hpp"

namespace ckpt::hdf5 {

/// The bytes of a reference to a text in files that are made here.
inline constexpr std::uint64_t text_reference_bytes = 16;

/// Where texts lie in collections of the global heap that are written here, one after another. Collections are small,
/// because HDF5 reads a whole one for each text in it that is not in its cache.
class TextCollections {
 public:
  struct Place {
    std::uint64_t collection = 0;  ///< where it begins
    std::uint32_t index = 0;       ///< of the text in it
    std::uint64_t offset = 0;      ///< of the object's header from the collection's beginning
    bool is_first = false;         ///< the collection before is complete
  };
  Place add(std::uint64_t text_bytes);
  /// The size of the collection in which the last text is.
  std::uint64_t size() const noexcept;
  /// What all collections take.
  std::uint64_t bytes() const noexcept { return begin_ + (index_ == 0 ? 0 : size()); }

 private:
  std::uint64_t begin_ = 0;
  std::uint64_t used_ = 0;
  std::uint32_t index_ = 0;
};

/// A text; nothing: there is none, which differs from an empty one.
using VisitText = std::function<void(std::optional<std::string_view>)>;

/// Visits `count` texts whose references lie at an offset in the file.
void for_each_text(const PosixFile& file, std::uint64_t references, std::uint64_t count, GlobalHeap& heap,
                   const VisitText& visit);

/// Adds up what LongTexts says of texts.
class TextCount {
 public:
  void add(std::optional<std::string_view> text);
  std::uint64_t bytes() const noexcept { return end_; }
  std::uint64_t stored_bytes() const noexcept { return collections_.bytes(); }
  PartialSum sum();

 private:
  void put(std::string_view bytes);
  void flush();

  std::string pending_;
  std::uint64_t end_ = 0;
  PartialSum sum_;
  TextCollections collections_;
};

/// Visits the texts of a file. Throws input if they are not those that were counted, and for one that takes more than
/// `text_bytes` (most_text_bytes).
void for_each_text(const TextsOfFile& source, std::uint64_t text_bytes, const VisitText& visit);

/// Texts that are written into a new file: references, and collections behind them. Wherever they come from, the bytes
/// are the same.
struct TextSource {
  std::uint64_t count = 0;
  std::uint64_t stored_bytes = 0;  ///< LongTexts::stored_bytes
  std::function<void(const VisitText&)> visit;

  std::uint64_t room() const;
};
TextSource source_of(const TextsOfFile& source, std::uint64_t text_bytes);
/// Nothing for a value that is not texts, or not long enough. `value` must outlive the result.
std::optional<TextSource> source_of(const Value& value);

/// Those bytes, for a file in which they begin at `place`; they are made anew from the source each time, for one file
/// after another, as each may take much memory.
std::shared_ptr<const LateBytes> late_texts(TextSource source, std::uint64_t place);

}  // namespace ckpt::hdf5
