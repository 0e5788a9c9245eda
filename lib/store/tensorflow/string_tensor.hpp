#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.hpp"

/// Tensors of texts or bytes of any length, as a bundle stores them: the lengths, their checksum, the bytes.
namespace ckpt::tensorflow {

struct StringTensor {
  std::string name;
  Shape shape;
  std::vector<std::string> elements;  ///< in row-major order
};

/// The name of the tensor in which TensorFlow 2 keeps the graph of a checkpoint's objects.
inline constexpr std::string_view object_graph = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// Returns the elements of a tensor of `count` from its stored bytes. Throws input if a checksum differs (`crc`: that
/// of the whole, not masked), or if the bytes are not `count` elements.
std::vector<std::string> elements_in(std::string_view stored, std::uint64_t count, std::uint32_t crc);

struct StoredStrings {
  std::string bytes;
  std::uint32_t crc = 0;  ///< not masked
};
StoredStrings stored_strings(const std::vector<std::string>& elements);

/// Whether any format can hold the elements as texts: there are some, all of UTF-8 and without zero bytes. The graph of
/// objects is none, whatever its bytes.
bool are_texts(std::string_view name, const std::vector<std::string>& elements);

/// The tree of a bundle (SourceStore::tree): its tensors of other strings, as bytes of this format's own. `tensors_in`
/// throws input for bytes that are no such tree.
std::string tree_of(const std::vector<StringTensor>& tensors);
std::vector<StringTensor> tensors_in(std::string_view tree);

/// Returns such a tree with new names; without the tensors that get none.
std::string chosen_tree(std::string_view tree,
                        const std::function<std::optional<std::string>(const std::string& name)>& new_name);

/// Returns such a tree after a child process has read it: its bytes may come from anyone. Throws as `tensors_in`.
std::string admitted_tree(const std::string& tree);

}  // namespace ckpt::tensorflow
