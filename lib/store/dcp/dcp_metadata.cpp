#include "store/dcp/dcp_metadata.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "store/pickle/pickle_fields.hpp"
#include "store/torch/distributed.hpp"
#include "store/torch/tree_writer.hpp"

namespace ckpt::torch {

namespace {

[[noreturn]] void refuse_dcp(std::string_view object, const std::string& found, const std::string& expected,
                             const std::string& remedy = "is the file damaged?") {
  throw Error(Kind::input, object, {found, expected, remedy});
}

bool is_before(const Shape& a, const Shape& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

constexpr std::uint32_t in_no_file = ~std::uint32_t{0};  // for chunks that no file stores

/// Sorts files in natural order, and updates all indices of them.
void sort_files(DcpMetadata& metadata) {
  std::vector<std::uint32_t> order(metadata.files.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return natural_less(metadata.files[a], metadata.files[b]); });
  std::vector<std::uint32_t> number_of(order.size());
  std::vector<std::string> names;
  for (std::uint32_t number = 0; number < order.size(); ++number) {
    number_of[order[number]] = number;
    names.push_back(std::move(metadata.files[order[number]]));
  }
  metadata.files = std::move(names);
  for (DcpTensor& tensor : metadata.tensors)
    for (DcpChunk& chunk : tensor.chunks) chunk.file = number_of[chunk.file];
  for (DcpObject& object : metadata.objects) object.file = number_of[object.file];
}

/// Numbers the slots of sorted chunks.
void number_slots(DcpTensor& tensor) {
  std::unordered_map<std::uint32_t, std::uint32_t> chunks_in;
  for (DcpChunk& chunk : tensor.chunks) chunk.slot = chunks_in[chunk.file]++;
}

class DcpReader {
 public:
  explicit DcpReader(const Pickle& pickle) : pickle_(pickle) {}

  DcpMetadata read() {
    const PickleId root = pickle_.root();
    if (class_of(pickle_, root) != "Metadata")
      refuse_dcp("", "holds no Metadata", "what torch.distributed.checkpoint writes",
                 "is it another program's .metadata?");
    add_contents(need_field(pickle_, root, "state_dict_metadata"));
    add_places(need_field(pickle_, root, "storage_data"));
    if (const PickleId paths = field_of(pickle_, root, "planner_data"); paths != no_node) add_paths(paths);
    if (const PickleId data = field_of(pickle_, root, "mcore_data"); data != no_node) add_mcore_data(data);
    finish();
    return std::move(metadata_);
  }

 private:
  struct Known {
    bool is_tensor = false;
    std::size_t number = 0;
  };

  template <class Visit>
  void for_each_pair(PickleId dict, const char* what, const Visit& visit) const {
    const PickleNode& node = pickle_[dict];
    if (node.kind != PickleKind::dict) refuse_dcp(what, "is no dict", "a dict");
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) visit(node.items[i], node.items[i + 1]);
  }

  void add_contents(PickleId contents) {
    for_each_pair(contents, "state_dict_metadata", [&](PickleId key, PickleId value) {
      const std::string name(text_of(pickle_, key, "a name in state_dict_metadata"));
      with_context("/" + name, [&] { add_content(name, value); });
    });
  }

  void add_content(const std::string& name, PickleId value) {
    const std::string_view kind = class_of(pickle_, value);
    const bool is_tensor = kind != "BytesStorageMetadata";
    const std::size_t number = is_tensor ? metadata_.tensors.size() : metadata_.objects.size();
    if (!known_.emplace(name, Known{is_tensor, number}).second) refuse_dcp("", "stands there twice", "once");
    if (is_tensor)
      metadata_.tensors.push_back(tensor_or_refusal(name, value));
    else
      metadata_.objects.push_back({name, {{name}}, in_no_file, {}});
  }

  /// Keeps the reason why a tensor cannot be read: it is an error only if the tensor is kept.
  DcpTensor tensor_or_refusal(const std::string& name, PickleId value) const {
    DType dtype;
    try {
      if (const std::string_view kind = class_of(pickle_, value); kind != "TensorStorageMetadata")
        refuse_dcp("", "is a " + std::string(kind), "a tensor or an object's bytes",
                   "is it of a newer version of torch?");
      dtype = dtype_in(pickle_, need_field(pickle_, value, "properties"));
    } catch (const Error& why) {
      return refused(name, why);
    }
    return tensor_at(name, std::move(dtype), value);
  }

  static DcpTensor refused(const std::string& name, const Error& why) {
    return {name, {}, {0}, {{whole({0}), in_no_file, 0, {}}}, {{name}}, why};
  }

  DcpTensor tensor_at(const std::string& name, DType dtype, PickleId value) const {
    DcpTensor tensor{
        name, std::move(dtype), whole_numbers(pickle_, need_field(pickle_, value, "size"), "its size"), {}, {{name}}};
    checked_mul(numel(tensor.shape), tensor.dtype.size, "its number of bytes");
    for (const PickleId id : items_in(pickle_, need_field(pickle_, value, "chunks"), "its chunks")) {
      const Shape lo = whole_numbers(pickle_, need_field(pickle_, id, "offsets"), "a chunk's offsets");
      const Shape sizes = whole_numbers(pickle_, need_field(pickle_, id, "sizes"), "a chunk's sizes");
      if (lo.size() != tensor.shape.size() || sizes.size() != tensor.shape.size())
        refuse_dcp("", "has a chunk of " + std::to_string(lo.size()) + " dimensions",
                   std::to_string(tensor.shape.size()) + ", as the tensor has");
      Box box{lo, Shape(lo.size())};
      for (std::size_t d = 0; d < lo.size(); ++d) box.hi[d] = checked_add(lo[d], sizes[d], "a chunk's end");
      if (!contains(whole(tensor.shape), box))
        refuse_dcp("", "has the chunk " + to_string(box), "within its shape " + to_string(tensor.shape));
      tensor.chunks.push_back({box, in_no_file, 0, {}});
    }
    sort_chunks(tensor);
    return tensor;
  }

  /// Sorts chunks by their boxes. Empty chunks are removed, of which torch stores only the last one; an empty tensor
  /// keeps one.
  static void sort_chunks(DcpTensor& tensor) {
    auto& chunks = tensor.chunks;
    const bool is_empty = whole(tensor.shape).empty();
    if (is_empty && !chunks.empty()) chunks.resize(1);
    if (!is_empty) std::erase_if(chunks, [](const DcpChunk& chunk) { return chunk.box.empty(); });
    std::sort(chunks.begin(), chunks.end(),
              [](const DcpChunk& a, const DcpChunk& b) { return is_before(a.box.lo, b.box.lo); });
    const auto same = std::adjacent_find(chunks.begin(), chunks.end(),
                                         [](const auto& a, const auto& b) { return a.box.lo == b.box.lo; });
    if (same != chunks.end())
      refuse_dcp("", "has two chunks that begin at " + to_string(same->box.lo), "chunks that do not overlap");
  }

  void add_places(PickleId places) {
    for_each_pair(places, "storage_data", [&](PickleId index, PickleId info) {
      const std::string name(text_of(pickle_, need_field(pickle_, index, "fqn"), "a name in storage_data"));
      with_context("/" + name, [&] { add_place(name, index, info); });
    });
  }

  void add_place(const std::string& name, PickleId index, PickleId info) {
    const auto known = known_.find(name);
    if (known == known_.end()) refuse_dcp("", "is stored", "also in state_dict_metadata, which has no such name");
    check_plain(known->second, name, info);
    const std::uint32_t file = file_number(need_field(pickle_, info, "relative_path"));
    const std::uint64_t offset = whole_number(pickle_, need_field(pickle_, info, "offset"), "its offset");
    const std::uint64_t length = whole_number(pickle_, need_field(pickle_, info, "length"), "its length");
    const Interval item{offset, checked_add(offset, length, "its end")};
    if (!known->second.is_tensor) {
      DcpObject& object = metadata_.objects[known->second.number];
      if (object.file != in_no_file) refuse_dcp("", "is stored twice", "once");
      object.file = file;
      object.item = item;
      return;
    }
    DcpTensor& tensor = metadata_.tensors[known->second.number];
    if (tensor.refusal) {  // the file of its first piece represents it
      if (DcpChunk& chunk = tensor.chunks.front(); chunk.file == in_no_file) chunk = {chunk.box, file, 0, item};
      return;
    }
    const PickleId lo = field_of(pickle_, index, "offset");
    const Shape begin = lo == no_node || is_none(pickle_, lo) ? Shape(tensor.shape.size())
                                                              : whole_numbers(pickle_, lo, "a chunk's offset");
    const auto found =
        std::lower_bound(tensor.chunks.begin(), tensor.chunks.end(), begin,
                         [](const DcpChunk& chunk, const Shape& at) { return is_before(chunk.box.lo, at); });
    if (found == tensor.chunks.end() || !(found->box.lo == begin)) return;  // an empty chunk
    if (found->file != in_no_file) refuse_dcp("", "is stored twice at " + to_string(begin), "once");
    found->file = file;
    found->item = item;
  }

  void check_plain(const Known& known, const std::string& name, PickleId info) {
    const PickleId transforms = field_of(pickle_, info, "transform_descriptors");
    if (transforms == no_node || is_none(pickle_, transforms)) return;
    const Error why(Kind::input, "",
                    {"is stored transformed (transform_descriptors)", "data as it is",
                     "save it without extensions such as compression"});
    if (!known.is_tensor) throw Error(why);
    metadata_.tensors[known.number] = refused(name, why);
  }

  std::uint32_t file_number(PickleId path) {
    const std::string name(text_of(pickle_, path, "relative_path"));
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      refuse_dcp("", "is stored in \"" + name + "\"", "the name of a file of the directory");
    const auto [known, is_new] = files_.emplace(name, static_cast<std::uint32_t>(metadata_.files.size()));
    if (is_new) metadata_.files.push_back(name);
    return known->second;
  }

  /// Keys are texts, or indices of list items.
  void add_paths(PickleId paths) {
    if (pickle_[paths].kind != PickleKind::dict) return;
    for_each_pair(paths, "planner_data", [&](PickleId key, PickleId value) {
      const PickleNode& name = pickle_[key];
      const PickleNode& keys = pickle_[value];
      const auto known = name.kind == PickleKind::text ? known_.find(std::string(name.text)) : known_.end();
      if (known == known_.end() || keys.kind != PickleKind::tuple || keys.items.empty()) return;
      DcpPath path;
      for (const PickleId id : keys.items) {
        const PickleNode& item = pickle_[id];
        const bool is_place = item.kind != PickleKind::text;
        path.push_back({is_place ? std::to_string(item.number) : std::string(item.text), is_place});
      }
      const std::size_t number = known->second.number;
      (known->second.is_tensor ? metadata_.tensors[number].path : metadata_.objects[number].path) = std::move(path);
    });
  }

  void add_mcore_data(PickleId data) {
    if (!pickle_[data].items.empty()) metadata_.mcore_data = write_object(pickle_, data).pickle;
  }

  void finish() {
    for (DcpTensor& tensor : metadata_.tensors) {
      for (const DcpChunk& chunk : tensor.chunks)
        if (chunk.file == in_no_file)
          refuse_dcp("/" + tensor.name, "its chunk " + to_string(chunk.box) + " is stored nowhere",
                     "in one of the files", "was the save interrupted?");
      number_slots(tensor);
    }
    for (const DcpObject& object : metadata_.objects)
      if (object.file == in_no_file)
        refuse_dcp("/" + object.name, "is stored nowhere", "in one of the files", "was the save interrupted?");
    std::sort(metadata_.tensors.begin(), metadata_.tensors.end(),
              [](const DcpTensor& a, const DcpTensor& b) { return a.name < b.name; });
    sort_files(metadata_);
  }

  const Pickle& pickle_;
  DcpMetadata metadata_;
  std::unordered_map<std::string, Known> known_;
  std::unordered_map<std::string, std::uint32_t> files_;
};

}  // namespace

DcpMetadata parse_dcp_metadata(std::string_view bytes) {
  std::size_t at = 0;
  const auto pickle = Pickle::read(bytes, at);
  if (!pickle)
    refuse_dcp("", "ends before its object does", "a whole one", "is the file truncated? Take another checkpoint");
  return DcpReader(*pickle).read();
}

namespace {

constexpr const char* are_ranks_of_one_save = "are the ranks' files those of one save?";

/// Adds what one more rank stores of a tensor.
void add_replica(DcpTensor& known, DcpTensor&& other) {
  if (known.refusal) return;
  if (other.refusal) {
    known = std::move(other);
    return;
  }
  const std::string at = "/" + known.name;
  if (!(known.shape == other.shape) || known.dtype.name != other.dtype.name)
    refuse_dcp(at,
               "is " + known.dtype.name + " " + to_string(known.shape) + " by one rank's metadata and " +
                   other.dtype.name + " " + to_string(other.shape) + " by another's",
               "one", are_ranks_of_one_save);
  for (DcpChunk& chunk : other.chunks) {
    const auto same = std::find_if(known.chunks.begin(), known.chunks.end(), [&](const DcpChunk& each) {
      return each.file == chunk.file && each.box.lo == chunk.box.lo;
    });
    if (same != known.chunks.end())
      refuse_dcp(at, "is stored twice in one file at " + to_string(chunk.box.lo), "once", are_ranks_of_one_save);
    known.chunks.push_back(std::move(chunk));
  }
}

/// Replaces the file indices in a rank's metadata by those among all files.
void renumber(DcpMetadata& rank, std::unordered_map<std::string, std::uint32_t>& files, DcpMetadata& all) {
  std::vector<std::uint32_t> number_of;
  for (std::string& name : rank.files) {
    const auto [known, is_new] = files.emplace(name, static_cast<std::uint32_t>(all.files.size()));
    if (is_new) all.files.push_back(std::move(name));
    number_of.push_back(known->second);
  }
  for (DcpTensor& tensor : rank.tensors)
    for (DcpChunk& chunk : tensor.chunks) chunk.file = number_of[chunk.file];
  for (DcpObject& object : rank.objects) object.file = number_of[object.file];
}

}  // namespace

void check_has_chunks(const DcpMetadata& metadata) {
  for (const DcpTensor& tensor : metadata.tensors)
    if (tensor.chunks.empty())
      refuse_dcp("/" + tensor.name, "has no chunk", "chunks that cover " + to_string(tensor.shape));
}

DcpMetadata merged(std::vector<DcpMetadata> ranks) {
  DcpMetadata all;
  std::unordered_map<std::string, std::uint32_t> files;
  std::map<std::string, DcpTensor> tensors;
  for (DcpMetadata& rank : ranks) {
    renumber(rank, files, all);
    for (DcpTensor& tensor : rank.tensors) {
      const auto known = tensors.find(tensor.name);
      if (known == tensors.end()) {
        std::string name = tensor.name;
        tensors.emplace(std::move(name), std::move(tensor));
      } else {
        add_replica(known->second, std::move(tensor));
      }
    }
    for (DcpObject& object : rank.objects) {
      if (tensors.contains(object.name))
        refuse_dcp("/" + object.name, "is a tensor on one rank and an object on another", "one", are_ranks_of_one_save);
      all.objects.push_back(std::move(object));
    }
    if (all.mcore_data.empty()) all.mcore_data = std::move(rank.mcore_data);
  }
  for (auto& [name, tensor] : tensors) all.tensors.push_back(std::move(tensor));
  sort_files(all);
  for (DcpTensor& tensor : all.tensors) {
    std::stable_sort(tensor.chunks.begin(), tensor.chunks.end(), [](const DcpChunk& a, const DcpChunk& b) {
      return is_before(a.box.lo, b.box.lo) || (a.box.lo == b.box.lo && a.file < b.file);
    });
    number_slots(tensor);
  }
  return all;
}

bool DcpMetadata::is_consistent() const noexcept {
  const auto is_of_a_file = [&](const auto& item) { return item.file < files.size(); };
  return std::ranges::all_of(objects, is_of_a_file) && std::ranges::all_of(tensors, [&](const DcpTensor& tensor) {
           return std::ranges::all_of(tensor.chunks, is_of_a_file);
         });
}

DcpMetadata within_files(const DcpMetadata& metadata, const std::vector<bool>& files) {
  DcpMetadata part{metadata.files, {}, {}};
  for (const DcpTensor& tensor : metadata.tensors) {
    DcpTensor some{tensor.name, tensor.dtype, tensor.shape, {}, {}, tensor.refusal};
    for (const DcpChunk& chunk : tensor.chunks)
      if (files[chunk.file]) some.chunks.push_back(chunk);
    if (!some.chunks.empty()) part.tensors.push_back(std::move(some));
  }
  for (const DcpObject& object : metadata.objects)
    if (files[object.file]) part.objects.push_back(object);
  return part;
}

}  // namespace ckpt::torch
