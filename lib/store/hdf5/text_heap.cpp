#include "store/hdf5/text_heap.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/interrupt.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "store/value.hpp"

namespace ckpt::hdf5 {

namespace {

constexpr std::uint64_t collection_header = 16;
constexpr std::uint64_t object_header = 16;
constexpr std::uint64_t least_collection = 4096;  // HDF5 reads so much of each at first
constexpr std::uint64_t usual_collection = 65536;
constexpr std::uint64_t references_at_once = 4096;
constexpr std::size_t summed_at_once = 65536;

std::uint64_t whole_words(std::uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

template <class Number>
void put(std::string& out, std::size_t at, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) out[at + i] = static_cast<char>(number >> (8 * i) & 0xff);
}

/// Holds one file's texts at a time, however many threads make files.
std::mutex making;

/// The bytes of texts in a new file (`late_texts`).
class LateTexts final : public LateBytes {
 public:
  LateTexts(TextSource source, std::uint64_t place)
      : source_(std::move(source)), place_(place), size_(source_.room()) {}

  std::uint64_t size() const noexcept override { return size_; }

  void make(const Put& put_bytes) const override {
    const std::lock_guard lock(making);
    const std::uint64_t heap = source_.count * text_reference_bytes;  // where the collections begin
    TextCollections collections;
    std::string references;
    std::string collection;
    std::uint64_t written = 0;
    std::uint64_t begin = 0;
    const auto flush_references = [&] {
      put_bytes(written, std::as_bytes(std::span(references)));
      written += references.size();
      references.clear();
    };
    const auto flush_collection = [&](std::uint64_t size) {
      if (collection.empty()) return;
      const std::size_t used = collection.size();
      collection.resize(size);
      put(collection, 8, size);
      if (size - used >= object_header) put(collection, used + 8, size - used);
      put_bytes(heap + begin, std::as_bytes(std::span(collection)));
      if (size > usual_collection) std::string().swap(collection);  // else a longer text would exist three times
      collection.clear();
    };
    source_.visit([&](std::optional<std::string_view> text) {
      const std::size_t at = references.size();
      references.resize(at + text_reference_bytes);
      if (text) {
        const std::uint64_t before = collections.size();
        const TextCollections::Place where = collections.add(text->size());
        if (where.is_first) {
          flush_collection(before);
          begin = where.collection;
          collection.assign("GCOL\1", 5);
          collection.resize(collection_header);
        }
        collection.resize(where.offset + object_header + whole_words(text->size()));
        put(collection, where.offset, static_cast<std::uint16_t>(where.index));
        put(collection, where.offset + 8, std::uint64_t{text->size()});
        std::memcpy(collection.data() + where.offset + object_header, text->data(), text->size());
        put(references, at, static_cast<std::uint32_t>(text->size()));
        put(references, at + 4, place_ + heap + where.collection);
        put(references, at + 12, where.index);
      }
      if (references.size() == references_at_once * text_reference_bytes) flush_references();
    });
    flush_references();
    flush_collection(collections.size());
  }

 private:
  TextSource source_;
  std::uint64_t place_;
  std::uint64_t size_;
};

}  // namespace

TextCollections::Place TextCollections::add(std::uint64_t text_bytes) {
  if (text_bytes > std::numeric_limits<std::uint32_t>::max())
    throw Error(Kind::input, "",
                {"one of its texts takes " + format_bytes(text_bytes), "less than 4 GiB, as HDF5 can say", ""});
  const std::uint64_t bytes = checked_add(object_header, whole_words(text_bytes), "a text");
  bool is_first = index_ == 0;
  if (index_ > 0 && used_ + bytes > usual_collection) {
    begin_ = checked_add(begin_, size(), "texts");
    is_first = true;
  }
  if (is_first) {
    index_ = 0;
    used_ = collection_header;
  }
  const Place place{begin_, ++index_, used_, is_first};
  used_ = checked_add(used_, bytes, "texts");
  return place;
}

std::uint64_t TextCollections::size() const noexcept {
  return std::max(used_, least_collection);
}

void for_each_text(const PosixFile& file, std::uint64_t references, std::uint64_t count, GlobalHeap& heap,
                   const VisitText& visit) {
  const std::size_t each = heap.reference_size();
  std::vector<std::byte> window(each * std::min(count, references_at_once));
  for (std::uint64_t done = 0; done < count;) {
    check_interrupt();
    const std::uint64_t now = std::min(count - done, references_at_once);
    file.read(references + done * each, std::span(window).first(now * each));
    for (std::uint64_t i = 0; i < now; ++i) visit(heap.text(window.data() + i * each));
    done += now;
  }
}

void TextCount::add(std::optional<std::string_view> text) {
  if (!text) return put(wire::packed(no_text));
  collections_.add(text->size());
  put(wire::packed(std::uint64_t{text->size()}));
  put(*text);
}

void TextCount::put(std::string_view bytes) {
  end_ = checked_add(end_, bytes.size(), "texts");
  if (pending_.size() + bytes.size() > summed_at_once) flush();
  if (bytes.size() <= summed_at_once) {
    pending_ += bytes;
    return;
  }
  sum_ += sum_of(std::as_bytes(std::span(bytes)), end_ - bytes.size());
}

void TextCount::flush() {
  if (pending_.empty()) return;
  sum_ += sum_of(std::as_bytes(std::span(pending_)), sum_.bytes);
  pending_.clear();
}

PartialSum TextCount::sum() {
  flush();
  return sum_;
}

void for_each_text(const TextsOfFile& source, std::uint64_t text_bytes, const VisitText& visit) {
  const LongTexts& texts = source.texts;
  const PosixFile file = PosixFile::open_for_reading(source.file);
  with_file(source.file.string(), [&] {
    GlobalHeap heap(file, file.status().bytes, {texts.user_block, texts.address_bytes, texts.length_bytes}, text_bytes);
    TextCount found;
    for_each_text(file, texts.references, numel(texts.shape), heap, [&](std::optional<std::string_view> text) {
      found.add(text);
      // Where it has room for others than those, nothing may be written: it has changed.
      if (found.bytes() <= texts.bytes && found.stored_bytes() <= texts.stored_bytes) visit(text);
    });
    if (found.sum() != texts.sum || found.stored_bytes() != texts.stored_bytes)
      throw Error(Kind::input, source.file.string(),
                  {"its texts are no longer those that were read first", "a file that nobody writes",
                   "start again once it is complete"});
  });
}

std::uint64_t TextSource::room() const {
  return checked_add(checked_mul(count, text_reference_bytes, "texts"), stored_bytes, "texts");
}

TextSource source_of(const TextsOfFile& source, std::uint64_t text_bytes) {
  return {numel(source.texts.shape), source.texts.stored_bytes,
          [source, text_bytes](const VisitText& visit) { for_each_text(source, text_bytes, visit); }};
}

std::optional<TextSource> source_of(const Value& value) {
  const bool is_text = value.dtype.kind == ElementKind::text && value.dtype.size == 0;
  if (!is_text || !value.shape || value.bytes.size() < least_long_texts) return std::nullopt;
  TextSource source{value.count(), 0, [&value](const VisitText& visit) {
                      wire::Reader in{value.bytes, "a value"};
                      for (std::uint64_t i = 0; i < value.count(); ++i) {
                        const auto bytes = in.take<std::uint64_t>();
                        if (bytes == no_text) {
                          visit(std::nullopt);
                          continue;
                        }
                        const std::string_view text = in.raw(bytes);
                        visit(text.substr(0, text.find('\0')));  // for every reader a string ends there
                      }
                      in.finish();
                    }};
  TextCollections collections;
  source.visit([&](std::optional<std::string_view> text) {
    if (text) collections.add(text->size());
  });
  source.stored_bytes = collections.bytes();
  return source;
}

std::shared_ptr<const LateBytes> late_texts(TextSource source, std::uint64_t place) {
  return std::make_shared<const LateTexts>(std::move(source), place);
}

}  // namespace ckpt::hdf5
