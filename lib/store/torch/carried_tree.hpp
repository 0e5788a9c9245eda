#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "store/torch/archive.hpp"
#include "store/torch/opaque.hpp"
#include "store/torch/pickle_writer.hpp"

/// How a tree travels from the file that it was read from to one that is written: as a pickle in which each tensor is
/// no more than its name. Persistent ids, all tuples:
///   ("tensor", name, requires_grad)            a tensor
///   ("storage", name)                          a storage by itself
///   ("bytes", type, key, elements, its bytes)  a storage in an object that nobody understands; its bytes come once
/// A tensor of a class of its own is _rebuild_from_type_v2(None, class, tensor, attributes).
namespace ckpt::torch {

inline constexpr const char* carried_tensor = "tensor";
inline constexpr const char* carried_storage = "storage";
inline constexpr const char* carried_bytes = "bytes";
inline constexpr std::size_t carried_bytes_items = 5;

/// Of so many bytes in a tree, which these programs alone read: of any protocol.
unsigned char bytes_opcode(std::uint64_t count);

/// Copies objects that nobody understands into such a tree, with the storages in them.
class ObjectCarrier {
 public:
  /// All three must outlive it. `archive_name`: tells storages of archives apart whose objects are in one tree.
  ObjectCarrier(const Archive& archive, const PosixFile& file, PickleWriter& out, std::string archive_name = "");
  ObjectCarrier(const ObjectCarrier&) = delete;
  ObjectCarrier& operator=(const ObjectCarrier&) = delete;
  ObjectCarrier(ObjectCarrier&&) = delete;
  ObjectCarrier& operator=(ObjectCarrier&&) = delete;
  ~ObjectCarrier() = default;

  void copy(PickleId id) { copy_.node(id); }

 private:
  bool write_storage(PickleId id);

  const Pickle& tree_;
  const PosixFile& file_;
  PickleWriter& out_;
  const std::map<std::uint64_t, std::uint32_t>& sums_;
  std::string archive_name_;
  OpaqueSurvey survey_;
  PickleCopy copy_;
  std::set<std::uint64_t> given_;  // where the storages begin whose bytes were written
  std::uint64_t bytes_ = 0;        // of these
};

/// The tree of a file. Throws input, as reading the file does.
std::string carried_tree(const Archive& archive, const PosixFile& file);

/// Adds the node that a tensor of this name is in such a tree.
PickleId add_tensor(Pickle& tree, const std::string& name);

/// The name of the tensor or storage that a node of such a tree is; nothing for others.
std::optional<std::string_view> carried_name(const Pickle& tree, PickleId id);

}  // namespace ckpt::torch
