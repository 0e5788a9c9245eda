#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/cut_rules.hpp"
#include "frameworks/rank_families.hpp"
#include "frameworks/rank_mesh.hpp"
#include "layout/language/layout.hpp"
#include "store/catalog.hpp"

/// What the ranks' files say about the tensors of which they hold pieces.
namespace ckpt {

/// Whether a file describes which pieces of tensors it holds.
bool says_pieces(const Schema& schema);
/// states_origins: whether an attribute describes them, as in DCP's safetensors; has_origins: whether a file is one of
/// these, with tensors or without.
bool states_origins(const Schema& schema);
bool has_origins(const Schema& schema);
/// Whether an attribute describes pieces or belongs to one that does: in a file with another sharding it is not true.
bool has_origins(const Attribute& attribute);
/// The name of a tensor that such an attribute makes a piece of a larger one; nothing if the file holds whole tensors
/// as far as it says. Throws input for an attribute of another form.
std::optional<std::string> piece_by_origin(const Schema& schema);

/// One tensor in all files of a family.
struct ShardedTensor {
  struct Part {
    Position card = 0;
    Shape origin;  ///< empty: the file does not state one
    Shape shape;
  };
  std::vector<Part> parts;
  std::optional<Shape> global_shape;
  std::optional<Keys> keys;  ///< for a DTensor
  bool has_origin = false;
};

/// All tensors, by name. `names` and `catalogs` are those of all files. Throws input, naming file and tensor, if ranks
/// contradict each other, or no one mesh covers the tensor.
std::map<std::string, ShardedTensor> sharded_tensors(const RankFamily& family, const std::vector<std::string>& names,
                                                     const std::vector<FileCatalog>& catalogs, const RankMesh& mesh);

/// Assembles a tensor from its parts; if no file states its shape, it ends where they do.
CutTensor cut(const std::string& name, const ShardedTensor& tensor);

/// The keys of the tensor's rule.
Keys keys_of(const std::string& name, const ShardedTensor& tensor, const Mesh& mesh);

}  // namespace ckpt
