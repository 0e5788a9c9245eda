#include <unordered_map>

#include "base/byte_stream.hpp"
#include "store/catalog.hpp"
#include "store/dataset_bytes.hpp"

namespace ckpt {

namespace {

constexpr const char* in_messages = "a catalog from another process";

std::string encode(const Schema& schema) {
  ByteWriter out;
  out.text(schema.format);
  dataset_bytes::put(out, schema.viewed);
  out.number(schema.arrays->size());
  for (const auto& array : *schema.arrays) dataset_bytes::put(out, array);
  for (const auto& dataset : schema.datasets) dataset_bytes::put(out, dataset);
  dataset_bytes::put(out, schema.attributes);
  out.number(schema.groups.size());
  for (const auto& group : schema.groups) {
    out.text(group.path);
    dataset_bytes::put(out, group.attributes);
  }
  out.flag(schema.has_tree);
  out.number(schema.leaves.size());
  for (const Leaf& leaf : schema.leaves) dataset_bytes::put(out, leaf);
  out.number(schema.tree_names.size());
  for (const auto& [name, in_tree] : schema.tree_names) {
    out.text(name);
    out.text(in_tree);
  }
  out.text(schema.kept_tree);
  out.text(schema.layout);
  out.text(schema.manifest);
  out.flag(schema.checksum.has_value());
  if (schema.checksum) {
    out.number(schema.checksum->lo);
    out.number(schema.checksum->hi);
  }
  return out.take();
}

std::shared_ptr<const Schema> decode_schema(std::string_view bytes) {
  ByteReader in(bytes, in_messages);
  auto schema = std::make_shared<Schema>();
  schema->format = in.text();
  schema->viewed = dataset_bytes::take_viewed(in);
  std::vector<StoredArray> arrays(in.count(sizeof(std::uint64_t)));
  for (auto& array : arrays) array = dataset_bytes::take_array(in);
  schema->datasets.resize(arrays.size());
  for (auto& dataset : schema->datasets) dataset = dataset_bytes::take_dataset(in, schema->viewed.size());
  schema->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  schema->attributes = dataset_bytes::take_attributes(in);
  schema->groups.resize(in.count(2 * sizeof(std::uint64_t)));
  for (auto& group : schema->groups) {
    group.path = in.text();
    group.attributes = dataset_bytes::take_attributes(in);
  }
  schema->has_tree = in.flag();
  schema->leaves.resize(in.count(4 * sizeof(std::uint64_t)));
  for (Leaf& leaf : schema->leaves) leaf = dataset_bytes::take_leaf(in);
  for (std::uint64_t i = in.count(2 * sizeof(std::uint64_t)); i > 0; --i) {
    std::string name = in.text();
    schema->tree_names.emplace_hint(schema->tree_names.end(), std::move(name), in.text());
  }
  schema->kept_tree = in.text();
  schema->layout = in.text();
  schema->manifest = in.text();
  if (in.flag()) {
    const std::uint64_t begin = in.number();
    schema->checksum = Interval{begin, in.number()};
  }
  in.finish();
  return schema;
}

/// Schemas of one message, each decoded once, and shared with equal ones of earlier messages.
using Pool = std::unordered_map<std::string_view, std::shared_ptr<const Schema>>;

void decode_message(std::string_view message, Pool& pool, std::vector<FileCatalog>& catalogs) {
  ByteReader in(message, in_messages);
  std::vector<std::shared_ptr<const Schema>> schemas(in.count(sizeof(std::uint64_t)));
  for (auto& schema : schemas) {
    const std::string_view bytes = in.raw(in.number());
    auto& pooled = pool[bytes];
    if (!pooled) pooled = decode_schema(bytes);
    schema = pooled;
  }
  const std::uint64_t files = in.count(4 * sizeof(std::uint64_t));
  for (std::uint64_t i = 0; i < files; ++i) {
    const std::uint64_t index = in.number();
    if (index >= schemas.size()) in.fail();
    const std::uint64_t bytes = in.number();
    catalogs.push_back({schemas[index], bytes, static_cast<std::int64_t>(in.number())});
    std::vector<FileCatalog::Version>& viewed = catalogs.back().viewed;
    viewed.resize(in.count(2 * sizeof(std::uint64_t)));
    if (!viewed.empty() && viewed.size() != schemas[index]->viewed.size()) in.fail();
    for (FileCatalog::Version& file : viewed) {
      file.bytes = in.number();
      file.modified_ns = static_cast<std::int64_t>(in.number());
    }
  }
  in.finish();
}

}  // namespace

std::string encode(const std::vector<FileCatalog>& catalogs) {
  std::unordered_map<const Schema*, std::uint64_t> indices;
  std::vector<const Schema*> schemas;
  for (const auto& catalog : catalogs)
    if (indices.emplace(catalog.schema.get(), schemas.size()).second) schemas.push_back(catalog.schema.get());

  ByteWriter out;
  out.number(schemas.size());
  for (const Schema* schema : schemas) out.text(encode(*schema));
  out.number(catalogs.size());
  for (const auto& catalog : catalogs) {
    out.number(indices.at(catalog.schema.get()));
    out.number(catalog.bytes);
    out.number(static_cast<std::uint64_t>(catalog.modified_ns));
    out.number(catalog.viewed.size());
    for (const FileCatalog::Version& file : catalog.viewed) {
      out.number(file.bytes);
      out.number(static_cast<std::uint64_t>(file.modified_ns));
    }
  }
  return out.take();
}

std::vector<FileCatalog> decode_catalogs(const std::vector<std::string>& messages) {
  Pool pool;
  std::vector<FileCatalog> catalogs;
  for (const auto& message : messages) decode_message(message, pool, catalogs);
  return catalogs;
}

std::string encode(const FileCatalog& catalog) {
  return encode(std::vector<FileCatalog>{catalog});
}

FileCatalog decode_catalog(const std::string& bytes) {
  std::vector<FileCatalog> catalogs = decode_catalogs({bytes});
  if (catalogs.size() != 1) ByteReader({}, in_messages).fail();
  return std::move(catalogs.front());
}

}  // namespace ckpt
