#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/catalog.hpp"

namespace ckpt {

/// Of a file in which there is nothing.
std::shared_ptr<const Schema> empty_schema(const std::string& format);

/// A schema with the attributes of another one beside its own, which count where both have one of a name.
std::shared_ptr<const Schema> with_attributes_of(const Schema& schema, const Schema& other);

/// A schema with these leaves instead of its own.
std::shared_ptr<const Schema> with_leaves(const Schema& schema, std::vector<Leaf> leaves);

}  // namespace ckpt
