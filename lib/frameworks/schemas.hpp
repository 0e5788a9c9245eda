#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/catalog.hpp"

namespace ckpt {

/// The schema of an empty file.
std::shared_ptr<const Schema> empty_schema(const std::string& format);

/// A schema with another one's attributes added to its own; for equal names its own count.
std::shared_ptr<const Schema> with_attributes_of(const Schema& schema, const Schema& other);

/// A schema with these leaves instead of its own.
std::shared_ptr<const Schema> with_leaves(const Schema& schema, std::vector<Leaf> leaves);

}  // namespace ckpt
