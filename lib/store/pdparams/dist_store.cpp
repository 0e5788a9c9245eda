#include "store/pdparams/dist_store.hpp"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "base/wire.hpp"
#include "io/posix_file.hpp"
#include "store/dcp/path_tree.hpp"
#include "store/pdparams/paddle_store.hpp"
#include "store/pdparams/write_file.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/torch/element_types.hpp"

namespace ckpt {

namespace {

namespace op = torch::op;
using torch::PickleWriter;

constexpr unsigned metadata_protocol = 4;
/// The module of Paddle 3.3.1; 3.1.1 and before had it as paddle.distributed.checkpoint.metadata.
constexpr const char* metadata_module = "paddle.distributed.flex_checkpoint.dcp.metadata";

/// A piece of a tensor in a new file.
struct NewPiece {
  std::string name;
  std::string path;  ///< of the tensor in the source: its parts are joined with '/'
  std::string type;
  Shape lo;
  Shape local_shape;
  Shape shape;  ///< of the whole tensor
};

NewPiece piece_of(const FileSpec::Array& array) {
  const Shape local(array.shape);
  return {array.name,
          array.source_name.str(),
          std::string(torch::torch_type(array.dtype)->name),
          array.origin.value_or(Shape(local.size())),
          local,
          Shape(array.global_shape.value_or(array.shape))};
}

/// Writes the objects of Paddle's metadata.
class MetadataWriter {
 public:
  explicit MetadataWriter(const std::vector<IndexedFile>& files) : out_(metadata_protocol) {
    std::map<std::string, std::vector<std::pair<std::string, NewPiece>>> tensors;
    for (const IndexedFile& file : files)
      for (NewPiece& piece : wire::unpacked<std::vector<NewPiece>>(file.index))
        tensors[piece.name].emplace_back(file.name, std::move(piece));
    begin("Metadata");
    out_.word("state_dict_metadata");
    dict([&] {
      for (const auto& [name, pieces] : tensors) {
        out_.text(name);
        out_.opcode(op::empty_list, op::mark);
        for (const auto& [file, piece] : pieces) local_metadata(piece);
        out_.opcode(op::appends);
      }
    });
    out_.word("storage_metadata");
    dict([&] {
      for (const auto& [name, pieces] : tensors)
        for (const auto& [file, piece] : pieces) {
          local_index(piece);
          out_.text(file);
        }
    });
    out_.word("flat_mapping");
    dict([&] {
      for (const auto& [name, pieces] : tensors) mapping(name, pieces.front().second.path);
    });
    end();
  }

  std::string take() { return out_.take(); }

 private:
  void begin(std::string_view name) {
    out_.global(metadata_module, name);
    out_.opcode(op::empty_tuple, op::newobj, op::empty_dict, op::mark);
  }
  void end() { out_.opcode(op::setitems, op::build); }

  template <class Write>
  void dict(const Write& write) {
    out_.opcode(op::empty_dict, op::mark);
    write();
    out_.opcode(op::setitems);
  }

  void numbers(const char* name, const Shape& values) {
    out_.word(name);
    out_.numbers(values);
  }

  void not_flattened() {
    out_.word("is_flattened");
    out_.boolean(false);
    out_.word("flattened_range");
    out_.opcode(op::none);
  }

  void local_metadata(const NewPiece& piece) {
    begin("LocalTensorMetadata");
    numbers("global_offset", piece.lo);
    numbers("local_shape", piece.local_shape);
    out_.word("dtype");
    out_.word(piece.type);
    numbers("global_shape", piece.shape);
    not_flattened();
    end();
  }

  void local_index(const NewPiece& piece) {
    begin("LocalTensorIndex");
    out_.word("tensor_key");
    out_.text(piece.name);
    numbers("global_offset", piece.lo);
    not_flattened();
    out_.word("replica_id");
    out_.opcode(op::none);
    numbers("local_shape", piece.local_shape);
    end();
  }

  /// The keys of the nested dicts whose join is the name.
  void mapping(const std::string& name, const std::string& path) {
    std::string joined = path;
    for (char& c : joined) c = c == '/' ? '.' : c;
    out_.text(name);
    out_.opcode(op::mark);
    std::string_view rest = joined == name ? std::string_view(path) : std::string_view(name);
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
      out_.text(rest.substr(0, slash));
      rest.remove_prefix(slash + 1);
    }
    out_.text(rest);
    out_.opcode(op::tuple);
  }

  PickleWriter out_;
};

class PaddleIndex final : public DirectoryIndex {
 public:
  std::string_view name() const noexcept override { return pdparams::dist_index; }
  std::string file_name(const IndexedPlace& place) const override { return std::to_string(place.number) + "_0.distcp"; }
  std::string file_template(std::uint64_t /*count*/) const override { return "{card}_0.distcp"; }
  std::string tensor_name(const std::string& name) const override { return torch::dcp_name(torch::dcp_path(name)); }
  std::vector<Text> texts(const std::vector<IndexedFile>& files) const override {
    return {{std::string(name()), MetadataWriter(files).take()}};
  }
  bool recognises(const std::filesystem::path& path) const override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return file.status().bytes > 0 && file.text(0, 1) == "\x80";
  }
};

/// A piece without elements is none, unless the whole tensor is empty.
bool is_piece(const FileSpec::Array& array) {
  return !whole(array.shape).empty() || whole(array.global_shape.value_or(array.shape)).empty();
}

/// A specification of the pieces alone, which is all that these directories hold.
FileSpec pieces_of(const FileSpec& spec) {
  FileSpec pieces;
  for (const FileSpec::Array& array : spec.arrays) {
    if (!is_piece(array)) continue;
    pieces.arrays.push_back(array);
    pieces.arrays.back().same_as.reset();
    pieces.arrays.back().global_shape.reset();  // is in the metadata
  }
  return pieces;
}

class PaddleDistStore final : public Store {
 public:
  std::string_view name() const noexcept override { return pdparams::dist_format; }
  FormatTraits traits() const override { return {.is_read_by_ranks = true}; }
  const DirectoryIndex* index() const noexcept override { return &index_; }

  /// Its files are read by paddle_store.
  bool recognises(const std::filesystem::path& /*path*/) override { return false; }
  FileCatalog catalog(const std::filesystem::path& path) override { return files_->catalog(path); }
  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    return files_->open(file, catalog);
  }

  void check_names(const std::vector<std::string>& datasets,
                   const std::vector<std::string>& /*groups*/) const override {
    files_->check_names(datasets, {});
  }

  std::string_view refused_by(const DType& dtype) const noexcept override { return pdparams::refused_by(dtype); }

  std::vector<std::string> losses(const FileSpec& spec) const override {
    std::vector<std::string> lost;
    for (const Attribute& attribute : spec.attributes) lost.push_back("attribute " + attribute.name);
    for (const Group& group : spec.groups) lost.push_back("attributes of " + group.path);
    for (std::string& each : pdparams::losses(pieces_of(spec))) lost.push_back(std::move(each));
    return lost;
  }

  std::shared_ptr<const NewFile> form(const FileSpec& spec) override {
    NewFile made = pdparams::form_of(pieces_of(spec));
    std::vector<NewPiece> pieces;
    std::vector<FileExtents> data(spec.arrays.size());
    for (std::size_t i = 0; i < spec.arrays.size(); ++i) {
      if (!is_piece(spec.arrays[i])) continue;
      data[i] = made.room.data[pieces.size()];
      pieces.push_back(piece_of(spec.arrays[i]));
    }
    made.room.data = std::move(data);
    made.room.index = wire::packed(pieces);
    return std::make_shared<const NewFile>(std::move(made));
  }

 private:
  std::unique_ptr<Store> files_ = paddle_store();
  PaddleIndex index_;
};

}  // namespace

std::unique_ptr<Store> paddle_dist_store() {
  return std::make_unique<PaddleDistStore>();
}

}  // namespace ckpt
