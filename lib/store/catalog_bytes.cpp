#include <unordered_map>

#include "base/wire.hpp"
#include "store/catalog.hpp"

namespace ckpt {

namespace {

constexpr const char* in_messages = "a catalog from another process";

/// A FileCatalog in a message, which has each schema only once.
struct SentFile {
  std::uint64_t schema = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::vector<FileCatalog::Version> viewed;
};

/// Schemas of one message, each decoded once, and shared with equal ones of earlier messages.
using Pool = std::unordered_map<std::string_view, std::shared_ptr<const Schema>>;

void decode_message(std::string_view message, Pool& pool, std::vector<FileCatalog>& catalogs) {
  wire::Reader in(message, in_messages);
  std::vector<std::shared_ptr<const Schema>> schemas;
  for (const std::string_view bytes : in.take<std::vector<std::string_view>>()) {
    auto& pooled = pool[bytes];
    if (!pooled) pooled = wire::unpacked<std::shared_ptr<const Schema>>(bytes, in_messages);
    schemas.push_back(pooled);
  }
  for (SentFile& file : in.take<std::vector<SentFile>>()) {
    if (file.schema >= schemas.size()) in.fail();
    const auto& schema = schemas[file.schema];
    if (!file.viewed.empty() && file.viewed.size() != schema->viewed.size()) in.fail();
    catalogs.push_back({schema, file.bytes, file.modified_ns, std::move(file.viewed)});
  }
  in.finish();
}

}  // namespace

std::string encode(const std::vector<FileCatalog>& catalogs) {
  std::unordered_map<const Schema*, std::uint64_t> indices;
  std::vector<std::string> schemas;
  std::vector<SentFile> files;
  for (const auto& [schema, bytes, modified_ns, viewed] : catalogs) {
    const auto [index, is_new] = indices.emplace(schema.get(), schemas.size());
    if (is_new) schemas.push_back(wire::packed(*schema));
    files.push_back({index->second, bytes, modified_ns, viewed});
  }
  return wire::packed(schemas, files);
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
  if (catalogs.size() != 1) wire::Reader({}, in_messages).fail();
  return std::move(catalogs.front());
}

}  // namespace ckpt
