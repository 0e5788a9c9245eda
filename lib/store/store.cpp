#include "store/store.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/outside_data.hpp"
#include "io/posix_file.hpp"
#include "store/number_words.hpp"
#include "store/offset_file.hpp"
#include "store/viewed_files.hpp"

namespace ckpt {

namespace {

void write_segments(const PosixFile& file, const NewFile& made) {
  for (const FileSegment& segment : made.segments) {
    file.write(segment.offset, std::as_bytes(std::span(segment.bytes)));
    if (segment.late)
      segment.late->make(
          [&](std::uint64_t offset, std::span<const std::byte> bytes) { file.write(segment.offset + offset, bytes); });
  }
}

FileRoom write_new(const std::filesystem::path& path, const NewFile& made) {
  const PosixFile file = PosixFile::create(path);
  file.make_room(made.room.bytes);
  write_segments(file, made);
  return made.room;
}

}  // namespace

std::string lost_attributes_of_arrays(const FileSpec& spec) {
  std::vector<std::string> names;
  for (const FileSpec::Array& array : spec.arrays) {
    const auto says_type = [&](const Attribute& attribute) {
      const auto text = attribute.name == "dtype" ? text_in(attribute.value) : std::nullopt;
      const auto said = type_by_word(text.value_or(""));
      return said && said->kind == array.dtype.kind && said->size == array.dtype.size;
    };
    const auto is_no_loss = [&](const Attribute& attribute) {
      return attribute.name.starts_with('_') || says_type(attribute);
    };
    if (!std::all_of(array.attributes.begin(), array.attributes.end(), is_no_loss)) names.push_back(array.name);
  }
  return names.empty() ? "" : "attributes of " + join(names);
}

std::vector<Interval> written_later(const FileRoom& room) {
  std::vector<Interval> later;
  later.reserve(room.data.size() + 2);
  for (const FileExtents& data : room.data) data.append_to(later);
  if (room.manifest) later.push_back(*room.manifest);
  if (room.checksum) later.push_back(*room.checksum);
  return later;
}

std::optional<FileStatus> SourceStore::look_at(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0)
    return FileStatus{static_cast<std::uint64_t>(found.st_size),
                      found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec,
                      S_ISDIR(found.st_mode)};
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw system_error(path.string(), "cannot be looked at", errno);
}

void set_decoding_memory(SourceStore& store, std::uint64_t bytes) {
  if (DecodedChunks* const chunks = store.chunks()) chunks->set_budget(bytes);
}

Decoding decoding_of(SourceStore& store) {
  DecodedChunks* const chunks = store.chunks();
  return chunks != nullptr ? chunks->decoding() : Decoding{};
}

void let_show(SourceStore& store, const std::filesystem::path& directory) {
  if (ViewedFiles* const viewed = store.viewed()) viewed->let_show(directory);
}

FileRoom Store::create(const std::filesystem::path& path, const FileSpec& spec) {
  return write_new(path, *with_file(path.string(), [&] { return form(spec); }));
}

Store::CreatedAgain Store::create_again(const std::filesystem::path& path, const FileSpec& spec) {
  const auto made = with_file(path.string(), [&] { return form(spec); });
  const auto anew = [&] { return CreatedAgain{write_new(path, *made), false}; };
  if (!std::filesystem::exists(path)) return anew();
  const PosixFile file = PosixFile::open_for_writing(path);
  if (file.status().bytes != made->room.bytes) return anew();
  file.make_room(made->room.bytes);  // allocates the blocks that are still missing
  write_segments(file, *made);
  // Unless somebody has modified the file, only zeros lie between.
  const bool is_kept = sum_outside(file, made->room.bytes, written_later(made->room)) == made->room.metadata;
  return is_kept ? CreatedAgain{made->room, true} : anew();
}

std::unique_ptr<TargetFile> Store::open_to_fill(const std::filesystem::path& path, const FileRoom& room) {
  return std::make_unique<OffsetTarget>(path, room);
}

}  // namespace ckpt
