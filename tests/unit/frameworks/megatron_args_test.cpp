#include "frameworks/megatron_args.hpp"

#include "catch.hpp"
#include "layout/language/mesh.hpp"

using namespace ckpt;

namespace {

std::string text(const std::string& value) {
  return std::string("X") + static_cast<char>(value.size()) + std::string(3, '\0') + value;
}

std::string number(int value) {
  return std::string("K") + static_cast<char>(value);
}

/// A dict as pickle.dumps(..., 2) writes it, with these arguments of a job and one more number equal to theirs.
std::string tree_with(const std::string& arguments) {
  return "\x80\x02}(" + text("args") + "cargparse\nNamespace\n)\x81}(" + arguments + "ub" + text("iteration") +
         number(4) + "u.";
}

std::string sizes(int tensor, int pipeline) {
  return text("tensor_model_parallel_size") + number(tensor) + text("hidden_size") + number(4) +
         text("pipeline_model_parallel_size") + number(pipeline);
}

/// Whether a pickle has this argument directly before this number.
bool says(const std::string& tree, const std::string& argument, int value) {
  const std::size_t at = tree.find(argument);
  // Writers may remember the text (q and a byte, or \x94) between the two.
  return at != std::string::npos && tree.substr(at + argument.size(), 5).find(number(value)) != std::string::npos;
}

}  // namespace

TEST_CASE("Megatron's arguments get the sizes of the target's mesh") {
  const std::string tree = tree_with(sizes(4, 1));
  const auto on_two = with_mesh_in_args(tree, {{"dp", "tp"}, {3, 2}, {}});
  REQUIRE(on_two);
  CHECK(says(*on_two, "tensor_model_parallel_size", 2));
  CHECK(says(*on_two, "hidden_size", 4));
  CHECK(says(*on_two, "pipeline_model_parallel_size", 1));
  CHECK(says(*on_two, "iteration", 4));

  const auto alone = with_mesh_in_args(tree_with(sizes(4, 2)), {{"card"}, {1}, {}});
  REQUIRE(alone);
  CHECK(says(*alone, "tensor_model_parallel_size", 1));
  CHECK(says(*alone, "pipeline_model_parallel_size", 1));
}

TEST_CASE("Arguments that say the mesh already, or that it does not say, stay") {
  CHECK_FALSE(with_mesh_in_args(tree_with(sizes(4, 1)), {{"tp"}, {4}, {}}));
  CHECK_FALSE(with_mesh_in_args(tree_with(sizes(4, 1)), {{"card"}, {2}, {}}));
  CHECK_FALSE(with_mesh_in_args("\x80\x02}" + text("args") + number(1) + "s.", {{"tp"}, {4}, {}}));
  CHECK_FALSE(with_mesh_in_args("", {{"tp"}, {4}, {}}));
}
