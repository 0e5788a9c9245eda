#pragma once

#include "store/store.hpp"

namespace ckpt::fixture {

/// A specification that makes a file that declares the same once more.
inline FileSpec spec_of(const Schema& schema) {
  FileSpec spec;
  for (std::size_t i = 0; i < schema.datasets.size(); ++i) {
    const StoredArray& stored = (*schema.arrays)[i];
    const Dataset& dataset = schema.datasets[i];
    spec.arrays.push_back(
        {stored.name, stored.dtype, stored.shape, dataset.attributes, stored.global_shape, dataset.verbatim});
  }
  spec.attributes = schema.attributes;
  spec.groups = schema.groups;
  spec.layout = schema.layout;
  spec.manifest = schema.manifest;
  return spec;
}

}  // namespace ckpt::fixture
