#include <algorithm>

#include "io/posix_file.hpp"
#include "store/paddle/shard_file.hpp"
#include "store/paddle/text_input.hpp"

namespace ckpt {

namespace {

constexpr std::size_t counted_at_once = 1ULL << 20;

class ShardSchema {
 public:
  void add(const std::string& name, const char* dtype, Shape shape) {
    StoredArray array{name, number_type(dtype).value(), std::move(shape), std::nullopt, false};
    Dataset dataset;
    dataset.storage = numel(array.shape) == 0 ? Storage::empty : Storage::filtered;
    entries_.emplace_back(std::move(array), std::move(dataset));
  }

  void add_table(const std::string& name, std::uint64_t rows, std::uint64_t numbers) {
    add(name + "/keys", "u64", {rows});
    add(name + "/value", "f32", {rows, numbers});
  }

  std::shared_ptr<const Schema> take() {
    std::sort(entries_.begin(), entries_.end(),
              [](const auto& a, const auto& b) { return a.first.name < b.first.name; });
    std::vector<StoredArray> arrays;
    Schema schema;
    schema.format = paddle_text_format;
    for (auto& [array, dataset] : entries_) {
      arrays.push_back(std::move(array));
      schema.datasets.push_back(std::move(dataset));
    }
    schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
    return std::make_shared<const Schema>(std::move(schema));
  }

 private:
  std::vector<std::pair<StoredArray, Dataset>> entries_;
};

}  // namespace

ShardCount count_lines(const std::filesystem::path& file, const RowFields& fields, ShardOf shard) {
  ShardCount count;
  ShardReader reader(fields, shard);
  const PosixFile::Status status = read_text(file, counted_at_once, [&](std::string_view piece) {
    reader.feed(piece, [&](std::string_view, const CheckedLine& row) {
      if (row.dims != 0) ++count.tails[row.dims];
    });
  });
  with_file(file.string(), [&] { reader.finish(); });
  count.lines = reader.lines();
  count.version = {status.bytes, status.modified_ns};
  return count;
}

std::string tail_table(const std::string& table, const RowFields& fields, std::uint64_t embedx_dim) {
  return table + (fields.rows_have_dims() ? ".x" + std::to_string(embedx_dim) : ".x");
}

FileCatalog shard_catalog(const std::string& table, const RowFields& fields, const ShardCount& count,
                          const std::vector<std::uint64_t>& dims) {
  ShardSchema schema;
  schema.add_table(table, count.lines, fields.always().size());
  for (const std::uint64_t embedx_dim : dims) {
    const auto tails = count.tails.find(embedx_dim);
    schema.add_table(tail_table(table, fields, embedx_dim), tails == count.tails.end() ? 0 : tails->second,
                     fields.tail_size(embedx_dim));
  }
  return {schema.take(), count.version.bytes, count.version.modified_ns};
}

}  // namespace ckpt
