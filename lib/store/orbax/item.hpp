#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "store/orbax/ocdbt.hpp"
#include "store/orbax/zarr.hpp"
#include "tensor/box.hpp"

namespace ckpt::orbax {

/// The file in which Orbax describes the tree of an item.
inline constexpr const char* step_metadata = "_CHECKPOINT_METADATA";  ///< of a step, or of an item alone
inline constexpr const char* item_metadata = "_METADATA";
inline constexpr const char* item_texts = "_strings.json";  ///< texts by the names of their leaves

/// An array of an item.
struct ItemArray {
  struct Stored {
    std::uint64_t number = 0;  ///< of the value in the grid
    Place place;
  };
  std::string name;
  ZarrArray form;
  std::vector<Stored> values;   ///< ascending by number; those that are missing are zeros
  std::string random_key = {};  ///< of a key of JAX's random numbers, whose data the array is: the generator's name
  std::optional<Error> refusal = {};  ///< why it cannot be read; then it has no form

  /// Returns the place of a value, or null.
  const Place* find(std::uint64_t number) const;
};

/// An item of Orbax: the arrays and texts of one tree.
struct Item {
  std::vector<ItemArray> arrays;  ///< ascending by name
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::string> files;  ///< with the arrays' values, relative to the directory
  std::string inlined;             ///< values that lie in no file of their own
  std::string tree;                ///< tree_of its leaves; empty if nothing describes them

  /// Returns the index of the array of this name, or arrays.size().
  std::size_t find(std::string_view name) const;
  bool is_consistent() const;
};

/// A piece of an array that lies in one file, in row-major order.
struct StoredPiece {
  Box box;                   ///< of whole chunks, which may reach beyond the array
  std::uint64_t offset = 0;  ///< of its first element in the file
};

/// Returns the piece that an array's chunks in a file form, or nothing if the file has no chunk of it. Throws input if
/// the chunks do not form one row-major piece (files of other writers).
std::optional<StoredPiece> piece_in(const ItemArray& array, std::uint32_t file);

/// Reads what describes an item, but no array: an OCDBT database, or a directory for each array. Throws input if it is
/// damaged or incomplete.
Item read_item(const std::filesystem::path& directory);

}  // namespace ckpt::orbax
