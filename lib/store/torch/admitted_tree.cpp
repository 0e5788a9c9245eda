#include "store/torch/admitted_tree.hpp"

#include "base/error.hpp"
#include "store/guarded_reading.hpp"
#include "store/kept_tree.hpp"
#include "store/pickle/pickle.hpp"
#include "store/pickle/pickle_writer.hpp"

namespace ckpt::torch {

namespace {

/// The nodes of a pickle, and everything made of them.
constexpr std::uint64_t memory_per_tree_byte = 48;
constexpr std::uint64_t tree_bytes_per_second = 1U << 20;

std::string copy_in_child(std::string_view tree, int /*fd*/) {
  std::size_t at = 0;
  const auto pickle = Pickle::read(tree, at);
  if (!pickle) throw Error(Kind::input, tree_attribute, {"ends before its object does", "a whole one", ""});
  PickleWriter out(pickle->protocol());
  PickleCopy copy(*pickle, out, [](PickleId) { return false; });
  copy.node(pickle->root());
  return out.take();
}

}  // namespace

std::string admitted_tree(const std::string& tree) {
  const IsolationLimits limits = limits_for(tree.size(), memory_per_tree_byte, tree_bytes_per_second);
  if (auto said = isolated({copy_in_child, tree, -1, tree_attribute, limits})) return std::move(*said);
  warn_of_unguarded_reading();
  return copy_in_child(tree, -1);
}

}  // namespace ckpt::torch
