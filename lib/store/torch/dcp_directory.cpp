#include "store/torch/dcp_directory.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/byte_stream.hpp"
#include "base/checked.hpp"
#include "base/text.hpp"
#include "store/guarded_reading.hpp"
#include "store/posix_file.hpp"
#include "store/torch/branches.hpp"
#include "store/torch/dcp_item.hpp"
#include "store/torch/leaf.hpp"
#include "store/torch/view_dataset.hpp"

namespace ckpt::torch {

namespace {

constexpr std::uint64_t most_parts = 8;

/// A pickle's nodes, and what is made of them.
constexpr std::uint64_t memory_per_metadata_byte = 48;
constexpr std::uint64_t most_metadata_bytes = 2ULL << 30;
constexpr std::uint64_t metadata_bytes_per_second = 1U << 20;

constexpr std::uint64_t memory_per_item = 4096;
constexpr std::uint64_t items_per_second = 1000;  // as slow as that where nothing of the files is in memory

std::string metadata_of(const PosixFile& file, std::uint64_t bytes) {
  return encode(parse_dcp_metadata(file.text(0, bytes)));
}

DcpMetadata without_chunks(const DcpMetadata& metadata) {
  DcpMetadata contents{metadata.files, {}, metadata.objects, metadata.mcore_data};
  for (const DcpTensor& tensor : metadata.tensors)
    contents.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, {}, tensor.path});
  return contents;
}

/// A directory is described first, and its tree is taken when its output is made: what that takes is kept meanwhile.
class LastContents {
 public:
  void keep(const PosixFile::Status& file, DcpMetadata contents) {
    const std::lock_guard lock(mutex_);
    file_ = file;
    contents_ = std::move(contents);
  }
  std::optional<DcpMetadata> of(const PosixFile::Status& file) {
    const std::lock_guard lock(mutex_);
    const bool is_the_same = file.device == file_.device && file.inode == file_.inode && file.bytes == file_.bytes &&
                             file.modified_ns == file_.modified_ns;
    return is_the_same ? contents_ : std::nullopt;
  }

 private:
  std::mutex mutex_;
  PosixFile::Status file_;
  std::optional<DcpMetadata> contents_;
};

LastContents& last_contents() {
  static LastContents last;
  return last;
}

/// Reads the items of one file.
class FileReader {
 public:
  FileReader(const std::filesystem::path& path, std::uint32_t slots)
      : file_(PosixFile::open_for_reading(path)), status_(file_.status()), slots_(slots) {}

  void add(const DcpTensor& tensor, const DcpChunk& chunk) {
    with_context("/" + tensor.name, [&] {
      const Archive archive = read(chunk.item);
      const auto view = tensor_in(archive.tree, archive.tree.root(), archive.storages);
      if (!view)
        throw Error(Kind::input, "",
                    {"its item holds " + describe(archive.tree, archive.tree.root()), "expected a tensor", ""});
      check(tensor, chunk, *view);
      Slot& slot = slots_[chunk.slot];
      slot.arrays.push_back({tensor.name, tensor.dtype, view->shape, tensor.shape, false});
      slot.datasets.push_back(dataset_of(*view));
    });
  }

  void add(const DcpObject& object) {
    with_context("/" + object.name, [&] {
      const Archive archive = read(object.item);
      const PickleId root = archive.tree.root();
      std::string group;
      for (std::size_t i = 0; i + 1 < object.path.size(); ++i) group = name_below(group, object.path[i].text);
      if (auto value = leaf_value(archive.tree, root)) {
        attributes_[group].insert_or_assign(object.path.back().text, std::move(*value));
        return;
      }
      leaves_.push_back(leaf_of(archive.tree, OpaqueSurvey(archive.tree, archive.storages).of(root), root,
                                name_below(group, object.path.back().text)));
    });
  }

  void finish(std::vector<FileCatalog>& catalogs) {
    for (Slot& slot : slots_) {
      auto schema = std::make_shared<Schema>();
      schema->format = dcp_format;
      schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(slot.arrays));
      schema->datasets = std::move(slot.datasets);
      if (&slot == &slots_.front()) add_attributes(*schema);
      catalogs.push_back({std::move(schema), status_.bytes, status_.modified_ns});
    }
  }

 private:
  struct Slot {
    std::vector<StoredArray> arrays;
    std::vector<Dataset> datasets;
  };

  Archive read(Interval item) const {
    if (item.hi > status_.bytes)
      throw Error(
          Kind::input, "",
          {"its item ends at byte " + std::to_string(item.hi),
           "expected it within the file's " + std::to_string(status_.bytes) + " bytes", "is the file truncated?"});
    return read_dcp_item(file_, item);
  }

  static void check(const DcpTensor& tensor, const DcpChunk& chunk, const TensorView& view) {
    const Extents shape = chunk.box.shape();
    if (view.shape == shape && view.dtype.name == tensor.dtype.name) return;
    throw Error(Kind::input, "",
                {"its item is " + view.dtype.name + " " + to_string(view.shape),
                 ".metadata says " + tensor.dtype.name + " " + to_string(shape), "are the files those of one save?"});
  }

  void add_attributes(Schema& schema) {
    schema.leaves = std::move(leaves_);
    for (auto& [group, values] : attributes_) {
      std::vector<Attribute> attributes;
      for (auto& [name, value] : values) attributes.push_back({name, std::move(value)});
      if (group.empty())
        schema.attributes = std::move(attributes);
      else
        schema.groups.push_back({group, std::move(attributes)});
    }
  }

  PosixFile file_;
  PosixFile::Status status_;
  std::vector<Slot> slots_;
  std::map<std::string, std::map<std::string, Value>> attributes_;
  std::vector<Leaf> leaves_;
};

/// What lies in one file.
struct Contents {
  struct Chunk {
    std::uint32_t tensor;
    std::uint32_t chunk;
  };
  std::vector<Chunk> chunks;  ///< by their tensors' names
  std::vector<std::uint32_t> objects;
  std::vector<Interval> items;  ///< of both
};

std::vector<Contents> contents_of(const DcpMetadata& metadata) {
  std::vector<Contents> contents(metadata.files.size());
  for (std::uint32_t t = 0; t < metadata.tensors.size(); ++t)
    for (std::uint32_t c = 0; c < metadata.tensors[t].chunks.size(); ++c) {
      const DcpChunk& chunk = metadata.tensors[t].chunks[c];
      contents[chunk.file].chunks.push_back({t, c});
      contents[chunk.file].items.push_back(chunk.item);
    }
  for (std::uint32_t o = 0; o < metadata.objects.size(); ++o) {
    contents[metadata.objects[o].file].objects.push_back(o);
    contents[metadata.objects[o].file].items.push_back(metadata.objects[o].item);
  }
  return contents;
}

/// An item tells its tensor's shape and not its name: two that share bytes are one that is taken for another.
void check_items_apart(std::vector<Interval> items) {
  std::sort(items.begin(), items.end(), [](Interval a, Interval b) { return a.lo < b.lo; });
  for (std::size_t i = 1; i < items.size(); ++i)
    if (items[i].lo < items[i - 1].hi)
      throw Error(Kind::input, "",
                  {"two items that share byte " + std::to_string(items[i].lo), "expected each in a place of its own",
                   "is .metadata that of these files?"});
}

std::vector<FileCatalog> catalogs_of(const std::filesystem::path& directory, const DcpMetadata& metadata,
                                     const std::vector<std::uint32_t>& files) {
  const std::vector<Contents> contents = contents_of(metadata);
  const std::vector<std::uint32_t> slots = dcp_slots(metadata);
  std::vector<FileCatalog> found;
  for (const std::uint32_t number : files)
    with_file((directory / metadata.files[number]).string(), [&] {
      FileReader file(directory / metadata.files[number], slots[number]);
      check_items_apart(contents[number].items);
      for (const Contents::Chunk& each : contents[number].chunks) {
        const DcpTensor& tensor = metadata.tensors[each.tensor];
        file.add(tensor, tensor.chunks[each.chunk]);
      }
      for (const std::uint32_t object : contents[number].objects) file.add(metadata.objects[object]);
      file.finish(found);
    });
  return found;
}

std::string catalogs_in_child(std::string_view argument, int /*fd*/) {
  ByteReader in(argument, "a request for metadata");
  const std::filesystem::path directory = in.text();
  std::vector<std::uint32_t> files(in.count(sizeof(std::uint64_t)));
  for (std::uint32_t& file : files) file = checked_narrow<std::uint32_t>(in.number());
  const DcpMetadata metadata = decode_dcp_metadata(in.text());
  return ckpt::encode(catalogs_of(directory, metadata, files));
}

IsolatedWork work_for(const std::filesystem::path& directory, const DcpMetadata& metadata,
                      const std::vector<std::uint32_t>& files) {
  std::vector<bool> is_meant(metadata.files.size(), false);
  for (const std::uint32_t file : files) is_meant[file] = true;
  const DcpMetadata part = within_files(metadata, is_meant);
  std::uint64_t items = part.objects.size();
  for (const DcpTensor& tensor : part.tensors) items += tensor.chunks.size();
  ByteWriter argument;
  argument.text(directory.string());
  argument.number(files.size());
  for (const std::uint32_t file : files) argument.number(file);
  argument.text(encode(part));
  IsolationLimits limits;
  limits.memory_bytes += checked_mul(items, memory_per_item);
  limits.processor_s += items / items_per_second;
  limits.clock_s += limits.processor_s;
  return {catalogs_in_child, argument.take(), -1, dcp_format, limits};
}

}  // namespace

std::vector<std::uint32_t> dcp_slots(const DcpMetadata& metadata) {
  std::vector<std::uint32_t> slots(metadata.files.size(), 1);
  for (const DcpTensor& tensor : metadata.tensors)
    for (const DcpChunk& chunk : tensor.chunks) slots[chunk.file] = std::max(slots[chunk.file], chunk.slot + 1);
  return slots;
}

DcpMetadata read_dcp_metadata(const std::filesystem::path& path) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const PosixFile::Status status = file.status();
  const std::uint64_t bytes = status.bytes;
  return with_file(path.string(), [&] {
    if (bytes > most_metadata_bytes)
      throw Error(Kind::input, "",
                  {"has " + format_bytes(bytes), "expected at most " + format_bytes(most_metadata_bytes), ""});
    const IsolationLimits limits = limits_for(bytes, memory_per_metadata_byte, metadata_bytes_per_second);
    DcpMetadata metadata = decode_dcp_metadata(read_guarded<metadata_of>(file, bytes, dcp_format, limits));
    last_contents().keep(status, without_chunks(metadata));
    return metadata;
  });
}

DcpMetadata read_dcp_contents(const std::filesystem::path& path) {
  if (auto last = last_contents().of(PosixFile::open_for_reading(path).status())) return std::move(*last);
  return without_chunks(read_dcp_metadata(path));
}

std::vector<FileCatalog> read_dcp_catalogs(const std::filesystem::path& directory, const DcpMetadata& metadata,
                                           const std::vector<std::uint32_t>& files) {
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t parts = std::min({cores, most_parts, std::max<std::uint64_t>(1, files.size())});
  std::vector<IsolatedWork> works;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const auto at = [&](std::uint64_t number) {
      return files.begin() + static_cast<std::ptrdiff_t>(files.size() * number / parts);
    };
    works.push_back(work_for(directory, metadata, {at(part), at(part + 1)}));
  }
  const auto said = isolated(works);
  if (said) return decode_catalogs(*said);
  warn_of_unguarded_reading();
  return catalogs_of(directory, metadata, files);
}

}  // namespace ckpt::torch
