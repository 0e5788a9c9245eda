#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tensor/shape.hpp"

namespace ckpt::paddle_static {

/// A variable that a program's files of parameters hold.
struct Variable {
  std::string name;
  std::vector<std::optional<std::uint64_t>> shape;  ///< nothing: any size
};

/// Returns whether a tensor has the shape that a program gives a variable.
bool fits(const Variable& variable, const Shape& shape);

/// Returns the program beside a file of parameters: STEM.pdmodel, STEM.json, the same after the whole name, or
/// `__model__`.
std::optional<std::filesystem::path> program_beside(const std::filesystem::path& file);

/// Returns the persistable variables of a program, sorted by name, which is the order in which save_combine writes
/// them. A program is a ProgramDesc of protocol buffers (paddle/fluid/framework/framework.proto), or JSON as
/// Paddle 3 writes it (PIR). Throws input if it is neither.
std::vector<Variable> read_program(const std::filesystem::path& program);

}  // namespace ckpt::paddle_static
