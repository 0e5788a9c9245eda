#include "store/paddle/shard_file.hpp"

#include <zlib.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "refused.hpp"
#include "store/stores.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

/// A shard's rows as text, and as datasets have them.
struct Model {
  std::string text;
  std::map<std::string, std::vector<std::byte>> datasets;

  template <class Value>
  void add(const std::string& dataset, Value value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    datasets[dataset].insert(datasets[dataset].end(), bytes.begin(), bytes.end());
  }
};

Model random_shard(std::mt19937_64& random, std::size_t rows, ShardOf shard) {
  Model model;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t key = row * shard.shards + shard.shard;
    model.text += std::to_string(key);
    model.add("t/keys", key);
    const auto number = [&](const std::string& dataset) {
      const float value = static_cast<float>(random() % 2000) / 8 - 100;
      model.text += ' ' + std::to_string(value);  // eighths: six decimals are exact
      model.add(dataset, value);
    };
    for (int i = 0; i < 6; ++i) number("t/value");
    if (random() % 3 == 0) {
      model.add("t.x/keys", key);
      for (int i = 0; i < 2; ++i) number("t.x/value");
    }
    model.text += '\n';
  }
  return model;
}

const RowFields& fields() {
  static const RowFields all({AccessorClass::sparse, 2, SgdRule::naive, SgdRule::naive});
  return all;
}

void write_gzip(const std::filesystem::path& file, const std::string& text) {
  gzFile out = gzopen(file.c_str(), "wb");
  REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  gzclose(out);
}

}  // namespace

TEST_CASE("a shard's text is read as datasets, in any stretches") {
  std::mt19937_64 random(3);
  const fixture::TemporaryDirectory directory;
  for (const bool is_gzip : {false, true}) {
    const ShardOf shard{3, 10};
    const Model model = random_shard(random, 20'000, shard);
    const auto file = directory / (is_gzip ? "part.gz" : "part");
    if (is_gzip)
      write_gzip(file, model.text);
    else
      fixture::write_text(file, model.text);
    const ShardCount count = count_lines(file, fields(), shard);
    CHECK(count.lines == 20'000);
    const FileCatalog catalog = shard_catalog("t", fields(), count, {2});
    REQUIRE(catalog.schema->arrays->size() == 4);
    Stores stores;
    const auto open = stores.reading().open(file, catalog);
    for (int round = 0; round < (is_gzip ? 8 : 60); ++round)
      for (std::size_t i = 0; i < 4; ++i) {
        const StoredArray& array = (*catalog.schema->arrays)[i];
        const std::vector<std::byte>& expected = model.datasets.at(array.name);
        REQUIRE(bytes_of(array) == expected.size());
        const std::size_t begin = random() % expected.size();
        std::vector<std::byte> found(std::min<std::size_t>(expected.size() - begin, 1 + random() % 300'000));
        open->read(i, begin, found);
        CHECK(std::memcmp(found.data(), expected.data() + begin, found.size()) == 0);
      }
  }
}

namespace {

/// Bytes that this process has read so far, from whatever file.
std::uint64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  REQUIRE(file >> name >> bytes);
  return bytes;
}

}  // namespace

TEST_CASE("rows that are read one stretch after the other are inflated once for each dataset") {
  std::mt19937_64 random(5);
  const fixture::TemporaryDirectory directory;
  const ShardOf shard{3, 10};
  const Model model = random_shard(random, 60'000, shard);
  const auto file = directory / "part.gz";
  write_gzip(file, model.text);
  const FileCatalog catalog = shard_catalog("t", fields(), count_lines(file, fields(), shard), {2});
  const auto open = open_shard(file, catalog, resting_readings());
  const std::uint64_t before = bytes_read();
  constexpr std::size_t stretches = 50;
  for (const std::string name : {"t/keys", "t/value"}) {
    const std::vector<std::byte>& expected = model.datasets.at(name);
    const std::size_t each = expected.size() / stretches;  // whole rows
    std::vector<std::byte> found(each);
    for (std::size_t at = 0; at < expected.size(); at += each) {
      open->read(catalog.schema->find(name), at, found);
      REQUIRE(std::memcmp(found.data(), expected.data() + at, each) == 0);
    }
  }
  // 64 KiB at most of each stretch are read again, for what was not inflated is not kept.
  CHECK(bytes_read() - before < 2 * (std::filesystem::file_size(file) + stretches * (70ULL << 10)));
}

TEST_CASE("more files are read in turn than readings may rest, and the last ones go on") {
  std::mt19937_64 random(6);
  const fixture::TemporaryDirectory directory;
  const ShardOf shard{3, 10};
  const Model model = random_shard(random, 9'000, shard);
  const auto file = directory / "part.gz";
  write_gzip(file, model.text);
  const FileCatalog catalog = shard_catalog("t", fields(), count_lines(file, fields(), shard), {2});
  const std::vector<std::byte>& expected = model.datasets.at("t/keys");
  const auto rests = resting_readings();
  const auto read_in_turn = [&](std::size_t files) {
    std::vector<std::unique_ptr<SourceFile>> open;
    for (std::size_t i = 0; i < files; ++i) open.push_back(open_shard(file, catalog, rests));
    const std::uint64_t before = bytes_read();
    constexpr std::size_t turns = 6;
    std::vector<std::byte> found(expected.size() / turns);
    for (std::size_t turn = 0; turn < turns; ++turn)
      for (const auto& each : open) {
        each->read(catalog.schema->find("t/keys"), turn * found.size(), found);
        REQUIRE(std::memcmp(found.data(), expected.data() + turn * found.size(), found.size()) == 0);
      }
    return static_cast<double>(bytes_read() - before) / static_cast<double>(files);
  };
  const double one = read_in_turn(1);
  CHECK(read_in_turn(64) < 1.01 * one);
  CHECK(read_in_turn(100) > 1.01 * one);          // some have begun anew
  CHECK(read_in_turn(64) < 1.01 * one);           // closed files have given their places back
  std::vector<std::unique_ptr<SourceFile>> left;  // in their middle
  std::vector<std::byte> some(expected.size() / 2 / sizeof(std::uint64_t) * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < 100; ++i) {
    left.push_back(open_shard(file, catalog, rests));
    left.back()->read(catalog.schema->find("t/keys"), 0, some);
  }
  CHECK(read_in_turn(1) < 1.01 * one);
}

TEST_CASE("tails of several dimensions are tables of their own") {
  const fixture::TemporaryDirectory directory;
  const RowFields dymf({AccessorClass::ctr_dymf, 8, SgdRule::naive, SgdRule::adagrad});
  const auto file = directory / "part";
  // unseen_days delta_score show click embed_w slot mf_dim, then g2sum and the weights
  fixture::write_text(file,
                      "1 0 0 0 0 0 7 2 9 0.5 0.25\n2 0 0 0 0 0 7 0\n3 0 0 0 0 0 7 4 9 1 2 3 4\n4 0 0 0 0 0 7 2\n");
  const ShardCount count = count_lines(file, dymf, {0, 1});
  CHECK(count.tails == std::map<std::uint64_t, std::uint64_t>{{2, 1}, {4, 1}});
  const FileCatalog catalog = shard_catalog("t", dymf, count, {2, 3, 4});
  CHECK(catalog.schema->find("t.x2/value") < catalog.schema->datasets.size());
  const auto open = open_shard(file, catalog, resting_readings());
  const auto keys_of = [&](const std::string& table) {
    const std::size_t dataset = catalog.schema->find(table + "/keys");
    std::vector<std::uint64_t> keys((*catalog.schema->arrays)[dataset].shape[0]);
    open->read(dataset, 0, std::as_writable_bytes(std::span(keys)));
    return keys;
  };
  CHECK(keys_of("t") == std::vector<std::uint64_t>{1, 2, 3, 4});
  CHECK(keys_of("t.x2") == std::vector<std::uint64_t>{1});
  CHECK(keys_of("t.x3").empty());
  CHECK(keys_of("t.x4") == std::vector<std::uint64_t>{3});
  std::vector<float> values(5);
  open->read(catalog.schema->find("t.x4/value"), 0, std::as_writable_bytes(std::span(values)));
  CHECK(values == std::vector<float>{9, 1, 2, 3, 4});
}

TEST_CASE("a shard that is not what was counted is refused") {
  const fixture::TemporaryDirectory directory;
  const auto file = directory / "part";
  fixture::write_text(file, "1 0 0 0 0 0 7\n2 0 0 0 0 0 7\n");
  const FileCatalog catalog = shard_catalog("t", fields(), count_lines(file, fields(), {0, 1}), {2});
  const auto open = open_shard(file, catalog, resting_readings());
  std::vector<std::uint64_t> keys(2);
  const auto read = [&] { open->read(catalog.schema->find("t/keys"), 0, std::as_writable_bytes(std::span(keys))); };
  fixture::write_text(file, "1 0 0 0 0 0 7\n");
  CHECK_THAT(fixture::refused(read), Contains("it ends before all rows of t/keys"));
  fixture::write_text(file, "x 0 0 0 0 0 7\n2 0 0 0 0 0 7\n");
  CHECK_THAT(fixture::refused(read), Contains("it changed while it was read"));
  fixture::write_text(file, "1 0 0 0 0 0 7\n");
  CHECK_THAT(fixture::refused([&] { open_shard(file, catalog, resting_readings()); }),
             Contains("not the file whose lines were counted"));
}
