#include <set>
#include <string_view>

#include "base/checked.hpp"
#include "base/wire.hpp"
#include "io/posix_file.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/dcp/dcp_item.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/guarded_reading.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/carried_tree.hpp"

namespace ckpt::torch {

namespace {

constexpr std::uint64_t object_bytes_per_second = 1U << 20;
/// The protocol of torch.save: names in it are those of Python 2 (`__builtin__.set`), which readers translate only up
/// to this protocol; they read the names of later protocols, too.
constexpr unsigned tree_protocol = 2;

class DcpTreeWriter {
 public:
  explicit DcpTreeWriter(const std::filesystem::path& directory) : directory_(directory), out_(tree_protocol) {}

  std::string write(const DcpMetadata& metadata) {
    out_.text(carried_paths);
    out_.opcode(op::empty_dict, op::mark);
    for (const DcpTensor& tensor : metadata.tensors) {
      write_path(out_, tensor.path);
      out_.word(carried_tensor);
      out_.text(tensor.name);
      out_.opcode(op::tuple2, op::binpersid);
    }
    std::set<std::string_view> written;  // of the copies that ranks have saved, the first is taken
    for (const DcpObject& object : metadata.objects)
      if (written.insert(object.name).second)
        with_context("/" + object.name, [&] { add(object, metadata.files[object.file]); });
    out_.opcode(op::setitems);
    if (!metadata.mcore_data.empty()) write_copy(metadata.mcore_data, out_);
    out_.opcode(metadata.mcore_data.empty() ? op::tuple2 : op::tuple3);
    out_.opcode(op::binpersid);
    return out_.take();
  }

 private:
  void add(const DcpObject& object, const std::string& name) {
    const PosixFile file = PosixFile::open_for_reading(directory_ / name);
    const Archive archive = read_dcp_item(file, object.item);
    write_path(out_, object.path);
    ObjectCarrier(archive, file, out_, object.name + "/").copy(archive.tree.root());
  }

  const std::filesystem::path& directory_;
  PickleWriter out_;
};

std::string tree_in_child(std::string_view argument, int /*fd*/) {
  const auto [directory, metadata] =
      wire::unpacked<std::tuple<std::string, DcpMetadata>>(argument, "a request for a tree");
  return DcpTreeWriter(directory).write(metadata);
}

}  // namespace

std::string read_dcp_tree(const std::filesystem::path& directory) {
  const DcpMetadata metadata = read_dcp_contents(directory);
  std::uint64_t bytes = 0;
  for (const DcpObject& object : metadata.objects) bytes = checked_add(bytes, object.item.size(), "objects");
  check_object_bytes(bytes);
  IsolationLimits limits = limits_for(bytes, 0, object_bytes_per_second);
  limits.memory_bytes += memory_of_child(bytes);
  if (auto said = isolated({tree_in_child, wire::packed(directory.string(), metadata), -1, dcp_format, limits}))
    return std::move(*said);
  warn_of_unguarded_reading();
  return DcpTreeWriter(directory).write(metadata);
}

}  // namespace ckpt::torch
