#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "store/pickle/opaque.hpp"
#include "store/pickle/pickle_writer.hpp"
#include "store/zip/archive.hpp"

/// A tree that travels from a source file to an output file: a pickle in which a name stands for each tensor. Its
/// persistent ids are tuples:
/// ("tensor", name, requires_grad)            a tensor
/// ("storage", name)                          a storage without a tensor
/// ("bytes", type, key, elements, its bytes)  a storage in an opaque object; its bytes occur once
/// A tensor of a class of its own is _rebuild_from_type_v2(None, class, tensor, attributes).
namespace ckpt::torch {

inline constexpr const char* carried_tensor = "tensor";
inline constexpr const char* carried_storage = "storage";
inline constexpr const char* carried_bytes = "bytes";
inline constexpr std::size_t carried_bytes_items = 5;

/// Returns the opcode for `count` bytes in a tree, whatever its protocol: only ckpt-reshard reads it.
unsigned char bytes_opcode(std::uint64_t count);

/// Copies opaque objects into such a tree, including the storages in them.
class ObjectCarrier {
 public:
  /// `archive`, `file` and `out` must outlive it. `archive_name` distinguishes equal storage keys of several archives
  /// in one tree.
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
  std::set<std::uint64_t> given_;  // first bytes of the storages that were written
  std::uint64_t bytes_ = 0;        // total size of these
};

/// Returns the tree of a file. Throws input as reading the file does.
std::string carried_tree(const Archive& archive, const PosixFile& file);

/// Adds the node that stands for a tensor of this name in such a tree.
PickleId add_tensor(Pickle& tree, const std::string& name);

/// Returns the name of the tensor or storage that a node of such a tree stands for; nothing for other nodes.
std::optional<std::string_view> carried_name(const Pickle& tree, PickleId id);

}  // namespace ckpt::torch
