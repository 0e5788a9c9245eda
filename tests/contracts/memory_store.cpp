#include "contracts/memory_store.hpp"

#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/outside_data.hpp"

namespace ckpt::contract {

namespace {

constexpr std::uint64_t head_bytes = 16;  // magic and length
constexpr std::uint64_t gap_bytes = 3;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& found) {
  throw Error(Kind::input, file.string(), {found, "a file of the store in memory", "is it truncated or damaged?"});
}

std::string encoded(const std::shared_ptr<const Schema>& schema) {
  return encode(FileCatalog{schema, 0, 0});
}

/// What a specification declares, its arrays at these places.
std::shared_ptr<const Schema> schema_of(const FileSpec& spec, const std::vector<FileExtents>& places) {
  auto schema = std::make_shared<Schema>();
  schema->format = "memory";
  std::vector<std::size_t> order(spec.arrays.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return spec.arrays[a].name < spec.arrays[b].name; });
  std::vector<StoredArray> arrays;
  for (const std::size_t i : order) {
    const FileSpec::Array& array = spec.arrays[i];
    arrays.push_back({array.name, array.dtype, array.shape, array.global_shape, array.verbatim.has_value()});
    Dataset dataset;
    dataset.storage = array.verbatim ? Storage::verbatim : places[i].count() == 0 ? Storage::empty : Storage::raw;
    dataset.extents = places[i];
    dataset.attributes = array.attributes;
    dataset.verbatim = array.verbatim;
    schema->datasets.push_back(std::move(dataset));
  }
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  schema->attributes = spec.attributes;
  schema->groups = spec.groups;
  schema->layout = spec.layout;
  schema->manifest = spec.manifest;
  return schema;
}

/// Where the arrays' bytes go, from `end` on, which is moved behind them.
std::vector<FileExtents> places_of(const FileSpec& spec, std::uint64_t slice_bytes, std::uint64_t& end) {
  std::vector<FileExtents> places;
  for (const FileSpec::Array& array : spec.arrays) {
    const std::uint64_t bytes = array.verbatim ? 0 : checked_mul(numel(array.shape), array.dtype.size);
    const std::uint64_t slice = slice_bytes == 0 || bytes == 0 ? std::max<std::uint64_t>(bytes, 1) : slice_bytes;
    std::vector<Interval> slices(ceil_div(bytes, slice));
    for (std::size_t i = slices.size(); i-- > 0;) {
      const std::uint64_t size = std::min(slice, bytes - i * slice);
      slices[i] = {end + gap_bytes, end + gap_bytes + size};
      end = slices[i].hi;
    }
    places.emplace_back(slices);
  }
  return places;
}

PartialSum sum_of_rest(const std::string& bytes, std::vector<Interval> data) {
  PartialSum sum;
  for (const Interval piece : outside(std::move(data), bytes.size()))
    sum += sum_of(std::as_bytes(std::span(bytes)).subspan(piece.lo, piece.size()), piece.lo);
  return sum;
}

/// A whole new file, with zeros for its data.
struct WholeFile {
  std::string bytes;
  FileRoom room;
};

WholeFile make(const FileSpec& spec, std::uint64_t slice_bytes) {
  // The metadata's length does not depend on the places in it.
  std::uint64_t end = 0;
  const std::uint64_t length = encoded(schema_of(spec, places_of(spec, slice_bytes, end))).size();
  WholeFile made;
  made.room.bytes = head_bytes + length;
  made.room.data = places_of(spec, slice_bytes, made.room.bytes);
  made.room.is_in_order = slice_bytes == 0;
  made.bytes = MemoryStore::magic;
  made.bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  made.bytes += encoded(schema_of(spec, made.room.data));
  if (spec.manifest.size() >= least_manifest_bytes) {
    const std::size_t found = made.bytes.find(spec.manifest);
    if (made.bytes.find(spec.manifest, found + 1) != std::string::npos)
      throw Error(Kind::io, "", {"its manifest stands in it twice", "", ""});
    made.room.manifest = Interval{found, found + spec.manifest.size()};
  }
  made.bytes.resize(made.room.bytes);
  made.room.metadata = sum_of_rest(made.bytes, written_later(made.room));
  return made;
}

/// A file's metadata, undecoded.
std::string metadata_of(const std::filesystem::path& file, const std::string& bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < head_bytes || !bytes.starts_with(MemoryStore::magic)) refuse(file, "no such file");
  std::memcpy(&length, bytes.data() + MemoryStore::magic.size(), sizeof length);
  if (length > bytes.size() - head_bytes) refuse(file, "metadata of " + std::to_string(length) + " bytes");
  return bytes.substr(head_bytes, length);
}

/// What it says, if all data lies within the file.
std::shared_ptr<const Schema> read_schema(const std::filesystem::path& file, const std::string& metadata,
                                          std::uint64_t file_bytes) {
  auto schema = with_context(file.string(), [&] { return decode_catalog(metadata).schema; });
  if (schema->format != "memory") refuse(file, "format " + schema->format);
  for (std::size_t i = 0; i < schema->datasets.size(); ++i) {
    const StoredArray& array = (*schema->arrays)[i];
    const Dataset& dataset = schema->datasets[i];
    if (array.verbatim != (dataset.storage == Storage::verbatim) || array.verbatim != dataset.verbatim.has_value() ||
        dataset.storage == Storage::filtered || (dataset.storage == Storage::raw) != (dataset.extents.count() != 0))
      refuse(file, "/" + array.name + " stored in no way there is");
    if (!array.verbatim && dataset.extents.bytes() != bytes_of(array)) refuse(file, "/" + array.name + " of no size");
    if (i > 0 && array.name <= (*schema->arrays)[i - 1].name) refuse(file, "names in disorder");
  }
  for (const Interval data : data_intervals(*schema))
    if (data.hi > file_bytes) refuse(file, "data that ends at byte " + std::to_string(data.hi));
  return schema;
}

class Source final : public SourceFile {
 public:
  Source(std::shared_ptr<const MemoryFiles::File> file, std::string path, std::shared_ptr<const Schema> schema)
      : file_(std::move(file)), path_(std::move(path)), schema_(std::move(schema)) {}

  void read(std::size_t index, std::uint64_t offset, std::span<std::byte> out) override {
    const FileExtents& extents = schema_->datasets.at(index).extents;
    with_context(path_ + ": /" + (*schema_->arrays)[index].name, [&] {
      if (offset > extents.bytes() || out.size() > extents.bytes() - offset)
        throw Error(Kind::input, "", {"has " + std::to_string(extents.bytes()) + " bytes", "", ""});
      extents.for_each_part({offset, offset + out.size()}, [&](std::uint64_t place, Interval part) {
        file_->read(place, out.subspan(part.lo - offset, part.size()));
      });
    });
  }

  PartialSum sum_rest(const std::optional<FileSegment>& left_out) override {
    std::vector<Interval> data = data_intervals(*schema_);
    const std::string bytes = file_->bytes();
    if (left_out && left_out->offset < bytes.size() &&
        bytes.compare(left_out->offset, left_out->bytes.size(), left_out->bytes) == 0)
      data.push_back({left_out->offset, left_out->offset + left_out->bytes.size()});
    return file_->sum_outside(std::move(data));
  }

 private:
  std::shared_ptr<const MemoryFiles::File> file_;
  std::string path_;
  std::shared_ptr<const Schema> schema_;
};

class Target final : public TargetFile {
 public:
  Target(std::shared_ptr<MemoryFiles::File> file, const FileRoom& room) : file_(std::move(file)), room_(room) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override { file_->write(offset, bytes); }
  void read(std::uint64_t offset, std::span<std::byte> out) override { file_->read(offset, out); }
  void sync() override {}
  void drop_cached() override {}
  PartialSum sum_rest() override { return file_->sum_outside(written_later(room_)); }

 private:
  std::shared_ptr<MemoryFiles::File> file_;
  const FileRoom& room_;
};

}  // namespace

std::string MemoryFiles::File::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void MemoryFiles::File::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::lock_guard lock(mutex_);
  if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
    throw Error(Kind::input, "", {"ends before byte " + std::to_string(offset + out.size()), "", "is it truncated?"});
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
}

void MemoryFiles::File::write(std::uint64_t offset, std::span<const std::byte> data) {
  const std::lock_guard lock(mutex_);
  if (bytes_.size() < offset + data.size()) bytes_.resize(offset + data.size());
  std::memcpy(bytes_.data() + offset, data.data(), data.size());
}

PartialSum MemoryFiles::File::sum_outside(std::vector<Interval> data) const {
  const std::lock_guard lock(mutex_);
  return sum_of_rest(bytes_, std::move(data));
}

std::shared_ptr<MemoryFiles::File> MemoryFiles::find(const std::filesystem::path& file) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(file.string());
  if (found == files_.end())
    throw Error(Kind::input, file.string(),
                {"no such file", "", "check the path, and `files` where a layout is given"});
  return found->second;
}

void MemoryFiles::put(const std::filesystem::path& file, std::string bytes) {
  const std::lock_guard lock(mutex_);
  files_[file.string()] = std::make_shared<File>(std::move(bytes), ++clock_);
}

void MemoryFiles::remove(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  files_.erase(file.string());
}

void MemoryFiles::rename(const std::filesystem::path& directory, const std::filesystem::path& to) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::shared_ptr<File>> files;
  for (const auto& [name, file] : files_) {
    const bool is_below = name.starts_with(directory.string() + "/");
    files[is_below ? to.string() + name.substr(directory.string().size()) : name] = file;
  }
  files_ = std::move(files);
}

std::optional<FileStatus> MemoryFiles::look_at(const std::filesystem::path& path) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = files_.find(path.string()); found != files_.end())
    return FileStatus{found->second->bytes().size(), found->second->modified_ns, false};
  const std::string below = path.string() + "/";
  const auto first = files_.lower_bound(below);
  if (first != files_.end() && first->first.starts_with(below)) return FileStatus{0, 0, true};
  return std::nullopt;
}

std::optional<FileStatus> MemoryStore::look_at(const std::filesystem::path& path) {
  return files_->look_at(path);
}

bool MemoryStore::recognises(const std::filesystem::path& file) {
  return files_->find(file)->bytes().starts_with(magic);
}

FileCatalog MemoryStore::catalog(const std::filesystem::path& file) {
  const auto found = files_->find(file);
  const std::string bytes = found->bytes();
  const std::string metadata = metadata_of(file, bytes);
  auto schema = read_schema(file, metadata, bytes.size());
  const std::lock_guard lock(mutex_);
  return {schemas_.try_emplace(metadata, std::move(schema)).first->second, bytes.size(), found->modified_ns};
}

std::unique_ptr<SourceFile> MemoryStore::open(const std::filesystem::path& file, const FileCatalog& catalog) {
  auto found = files_->find(file);
  if (found->bytes().size() != catalog.bytes) refuse(file, "another size than when it was catalogued");
  return std::make_unique<Source>(std::move(found), file.string(), catalog.schema);
}

void MemoryStore::check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const {
  for (const std::string& group : groups)
    if (std::find(datasets.begin(), datasets.end(), group) != datasets.end())
      throw Error(Kind::input, group, {"a dataset in the place of a group", "", "rename it with --rename"});
}

std::vector<std::string> MemoryStore::losses(const FileSpec& /*spec*/) const {
  return {};
}

std::shared_ptr<const NewFile> MemoryStore::form(const FileSpec& spec) {
  WholeFile made = make(spec, slice_bytes_);
  const auto file = std::make_shared<NewFile>(NewFile{made.room, {}});
  std::vector<Interval> data;
  for (const FileExtents& extents : made.room.data) extents.append_to(data);
  for (const Interval piece : outside(data, made.room.bytes))
    file->segments.push_back({piece.lo, made.bytes.substr(piece.lo, piece.size())});
  return file;
}

FileRoom MemoryStore::create(const std::filesystem::path& file, const FileSpec& spec) {
  WholeFile made = make(spec, slice_bytes_);
  files_->put(file, std::move(made.bytes));
  return made.room;
}

Store::CreatedAgain MemoryStore::create_again(const std::filesystem::path& file, const FileSpec& spec) {
  const WholeFile made = make(spec, slice_bytes_);
  const auto there = look_at(file);
  if (!there || there->bytes != made.room.bytes) return {create(file, spec), false};
  const auto found = files_->find(file);
  const auto write = [&](Interval piece) {
    found->write(piece.lo, std::as_bytes(std::span(made.bytes)).subspan(piece.lo, piece.size()));
  };
  for (const Interval piece : outside(written_later(made.room), made.room.bytes)) write(piece);
  if (made.room.manifest) write(*made.room.manifest);
  return {made.room, true};
}

std::unique_ptr<TargetFile> MemoryStore::open_to_fill(const std::filesystem::path& file, const FileRoom& room) {
  return std::make_unique<Target>(files_->find(file), room);
}

}  // namespace ckpt::contract
