#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/cut_rules.hpp"
#include "frameworks/rank_families.hpp"
#include "frameworks/rank_mesh.hpp"
#include "layout/layout.hpp"
#include "store/catalog.hpp"

/// What the ranks' files say of the tensors that they hold pieces of.
namespace ckpt {

/// Whether a file says which pieces of tensors it holds.
bool says_pieces(const Schema& schema);
/// Whether a file says it by an attribute, as DCP's safetensors do; and whether it is one of these, with tensors or
/// without.
bool says_corners(const Schema& schema);
bool is_of_corners(const Schema& schema);
/// Whether an attribute says it, or belongs to one that does: in a file that is cut otherwise it is not true.
bool is_of_corners(const Attribute& attribute);
/// A tensor that is a piece of a larger one by such an attribute; nothing where the file holds them whole, as far as it
/// says. Throws input for an attribute of another form.
std::optional<std::string> piece_by_corner(const Schema& schema);

/// One tensor in all files of a family.
struct SpreadTensor {
  struct Part {
    Position card = 0;
    Extents corner;  ///< none: the file does not say one
    Extents shape;
  };
  std::vector<Part> parts;
  std::optional<Extents> global_shape;
  std::optional<Keys> keys;  ///< of a DTensor
  bool has_corner = false;
};

/// All tensors, by name. `names` and `catalogs` are those of all files. Throws input, naming file and tensor, for what
/// ranks say differently, or no mesh stands for.
std::map<std::string, SpreadTensor> spread_tensors(const RankFamily& family, const std::vector<std::string>& names,
                                                   const std::vector<FileCatalog>& catalogs, const RankMesh& mesh);

/// A tensor by its parts; where no file says its shape, it ends where they do.
CutTensor cut(const std::string& name, const SpreadTensor& tensor);

/// The keys of its rule.
Keys keys_of(const std::string& name, const SpreadTensor& tensor, const Mesh& mesh);

}  // namespace ckpt
