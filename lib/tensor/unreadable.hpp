#pragma once

#include <optional>

#include "base/error.hpp"
#include "tensor/stored_array.hpp"

/// Arrays that a file has and nobody can read. A catalog lists them: they are an error only where they are kept.
namespace ckpt {

/// Such an array: without elements, and of a type that no format can write. `why` names neither file nor array.
StoredArray unreadable(std::string name, const Error& why);

/// Why an array cannot be read, or nothing where it can. Names neither file nor array; advises to leave it out.
std::optional<Error> why_unreadable(const StoredArray& array);

}  // namespace ckpt
