#include <map>

#include "base/error.hpp"
#include "store/dcp/dcp_metadata.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/element_types.hpp"

namespace ckpt::torch {

namespace {

constexpr const char* metadata_module = "torch.distributed.checkpoint.metadata";
constexpr const char* storage_module = "torch.distributed.checkpoint.filesystem";

class DcpWriter {
 public:
  explicit DcpWriter(const DcpMetadata& metadata) : metadata_(metadata), out_(2) {}

  std::string write() {
    object(metadata_module, "Metadata", [&] {
      field("state_dict_metadata", [&] { contents(); });
      field("planner_data", [&] { paths(); });
      field("storage_data", [&] { places(); });
      field("storage_meta", [&] { out_.opcode(op::none); });
      if (!metadata_.mcore_data.empty()) field("mcore_data", [&] { write_copy(metadata_.mcore_data, out_); });
    });
    return out_.take();
  }

 private:
  /// Writes an object whose state is a dict of the fields that `fill` writes.
  template <class Fill>
  void object(const char* module, const char* name, const Fill& fill) {
    out_.global(module, name);
    out_.opcode(op::empty_tuple, op::newobj);
    dict(fill);
    out_.opcode(op::build);
  }

  template <class Fill>
  void dict(const Fill& fill) {
    out_.opcode(op::empty_dict, op::mark);
    fill();
    out_.opcode(op::setitems);
  }

  template <class Value>
  void field(const char* name, const Value& value) {
    out_.word(name);
    value();
  }

  void size(const Shape& numbers) {
    out_.global("torch", "Size");
    out_.numbers(numbers);
    out_.opcode(op::tuple1, op::reduce);
  }

  void contents() {
    dict([&] {
      for (const DcpTensor& tensor : metadata_.tensors) {
        if (tensor.chunks.empty()) continue;
        out_.word(tensor.name);
        object(metadata_module, "TensorStorageMetadata", [&] { content(tensor); });
      }
      for (const DcpObject& each : metadata_.objects) {
        out_.word(each.name);
        object(metadata_module, "BytesStorageMetadata", [] {});
      }
    });
  }

  void content(const DcpTensor& tensor) {
    field("properties", [&] { properties(tensor); });
    field("size", [&] { size(tensor.shape); });
    field("chunks", [&] {
      out_.opcode(op::empty_list, op::mark);
      for (const DcpChunk& chunk : tensor.chunks)
        object(metadata_module, "ChunkStorageMetadata", [&] {
          field("offsets", [&] { size(chunk.box.lo); });
          field("sizes", [&] { size(chunk.box.shape()); });
        });
      out_.opcode(op::appends);
    });
  }

  /// Writes (type, layout, requires_grad, memory format, pinned), which all tensors of a type share.
  void properties(const DcpTensor& tensor) {
    const auto known = properties_.find(tensor.dtype.name);
    if (known != properties_.end()) return out_.recall(known->second);
    const auto type = torch_type(tensor.dtype);
    if (!type)
      throw Error(Kind::input, "/" + tensor.name,
                  {"found elements of type " + tensor.dtype.name, "a type that torch has",
                   "cast it (--cast), or leave it out"});
    out_.global(metadata_module, "TensorProperties");
    out_.opcode(op::empty_tuple, op::newobj, op::mark);
    out_.global("torch", type->name);
    called("torch.serialization", "_get_layout", [&] { out_.word("torch.strided"); });
    out_.boolean(false);
    called(metadata_module, "_MEM_FORMAT_ENCODING", [&] { out_.integer(0); });
    out_.boolean(false);
    out_.opcode(op::tuple, op::build);
    properties_.emplace(tensor.dtype.name, out_.remember());
  }

  template <class Argument>
  void called(const char* module, const char* function, const Argument& argument) {
    out_.global(module, function);
    argument();
    out_.opcode(op::tuple1, op::reduce);
  }

  void paths() {
    dict([&] {
      for (const DcpTensor& tensor : metadata_.tensors)
        if (!tensor.chunks.empty()) path(tensor.name, tensor.path);
      for (const DcpObject& each : metadata_.objects) path(each.name, each.path);
    });
  }

  void path(const std::string& name, const DcpPath& keys) {
    out_.word(name);
    write_path(out_, keys.empty() ? DcpPath{{name}} : keys);
  }

  void places() {
    dict([&] {
      for (const DcpTensor& tensor : metadata_.tensors)
        for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
          index(tensor.name, &tensor.chunks[i].box.lo, i);
          place(tensor.chunks[i].file, tensor.chunks[i].item);
        }
      for (const DcpObject& each : metadata_.objects) {
        index(each.name, nullptr, 0);
        place(each.file, each.item);
      }
    });
  }

  void index(const std::string& name, const Shape* offset, std::size_t number) {
    object(metadata_module, "MetadataIndex", [&] {
      field("fqn", [&] { out_.word(name); });
      field("offset", [&] { offset == nullptr ? out_.opcode(op::none) : size(*offset); });
      field("index",
            [&] { offset == nullptr ? out_.opcode(op::none) : out_.integer(static_cast<std::int64_t>(number)); });
    });
  }

  void place(std::uint32_t file, Interval item) {
    object(storage_module, "_StorageInfo", [&] {
      field("relative_path", [&] { out_.word(metadata_.files[file]); });
      field("offset", [&] { out_.integer(static_cast<std::int64_t>(item.lo)); });
      field("length", [&] { out_.integer(static_cast<std::int64_t>(item.size())); });
    });
  }

  const DcpMetadata& metadata_;
  PickleWriter out_;
  std::map<std::string, std::uint32_t> properties_;  // by element type: the number to recall
};

}  // namespace

std::string pickled(const DcpMetadata& metadata) {
  return DcpWriter(metadata).write();
}

}  // namespace ckpt::torch
