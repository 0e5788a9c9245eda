#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_stream.hpp"
#include "store/catalog.hpp"

// A catalog's arrays, attributes and values as bytes for another process (encode, decode_catalog). Every take_…
// function throws as ByteReader does.
namespace ckpt::dataset_bytes {

void put(ByteWriter& out, const std::vector<Attribute>& attributes);
void put(ByteWriter& out, const Leaf& leaf);
void put(ByteWriter& out, const StoredArray& array);
void put(ByteWriter& out, const std::vector<ViewedFile>& viewed);
void put(ByteWriter& out, const Dataset& dataset);

std::vector<Attribute> take_attributes(ByteReader& in);
Leaf take_leaf(ByteReader& in);
StoredArray take_array(ByteReader& in);
std::vector<ViewedFile> take_viewed(ByteReader& in);
/// `viewed_files`: the number of files in the catalog's list.
Dataset take_dataset(ByteReader& in, std::uint64_t viewed_files);

}  // namespace ckpt::dataset_bytes
