#include <algorithm>
#include <random>
#include <thread>

#include "contracts/store_specs.hpp"
#include "io/outside_data.hpp"

namespace ckpt::contract {

void makes_the_same_bytes_again(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  const FileSpec spec = common_spec();
  const FileRoom room = store->create(under_test.file("a"), spec);
  store->create(under_test.file("b"), spec);
  const std::string bytes = under_test.bytes(under_test.file("a"));
  CHECK((under_test.bytes(under_test.file("b")) == bytes));
  const auto form = store->form(spec);
  std::string formed(form->room.bytes, '\0');
  for (const FileSegment& segment : form->segments) formed.replace(segment.offset, segment.bytes.size(), segment.bytes);
  CHECK((formed == bytes));
  std::vector<Interval> data;
  for (const FileExtents& extents : room.data) extents.append_to(data);
  CHECK(store->traits().ends_with_manifest ==
        std::all_of(data.begin(), data.end(), [&](const Interval& piece) { return piece.hi <= room.manifest->lo; }));
  under_test.put(under_test.file("c"), std::string(100'000, 'x'));  // one that is there makes no difference
  const FileRoom other = under_test.make()->create(under_test.file("c"), spec);
  CHECK((under_test.bytes(under_test.file("c")) == bytes));
  CHECK(other.data == room.data);
  CHECK(other.manifest == room.manifest);
  CHECK(other.metadata == room.metadata);
  CHECK(other.bytes == room.bytes);
}

void sums_what_is_no_data(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  FileSpec spec = common_spec();
  const FileRoom room = make(*store, under_test.file("a"), spec);
  REQUIRE(room.manifest);
  std::string manifest = spec.manifest;
  manifest.replace(manifest.size() - 10, 5, "other");
  const std::string in_file = store->manifest_bytes(manifest);
  REQUIRE(in_file.size() == room.manifest->size());
  const auto target = store->open_to_fill(under_test.file("a"), room);
  target->write(room.manifest->lo, std::as_bytes(std::span(in_file)));
  target->sync();
  target->drop_cached();
  CHECK(target->sum_rest() == room.metadata);
  std::string again(in_file.size(), '\0');
  target->read(room.manifest->lo, std::as_writable_bytes(std::span(again)));
  CHECK(again == in_file);

  const auto reader = under_test.make();
  const FileCatalog catalog = reader->catalog(under_test.file("a"));
  CHECK(catalog.schema->manifest == manifest);
  const auto source = reader->open(under_test.file("a"), catalog);
  CHECK(source->sum_rest(FileSegment{room.manifest->lo, in_file}) == room.metadata);
  CHECK_FALSE(source->sum_rest(std::nullopt) == room.metadata);
  CHECK(source->sum_rest(FileSegment{room.manifest->lo + 1, in_file}) == source->sum_rest(std::nullopt));
  CHECK(source->sum_rest(FileSegment{room.bytes - 1, in_file}) == source->sum_rest(std::nullopt));
  CHECK(source->sum_rest(FileSegment{~std::uint64_t{0}, in_file}) == source->sum_rest(std::nullopt));
  check_arrays(*reader, under_test.file("a"), spec);  // nothing of it lies in the data
}

void keeps_data_of_an_interrupted_run(const StoreUnderTest& under_test) {
  const FileSpec spec = common_spec();
  const auto file = under_test.file("a");
  const auto create_again = [&] { return under_test.make()->create_again(file, spec); };
  const auto first = create_again();  // nothing is there
  const FileRoom& room = first.room;
  CHECK_FALSE(first.is_kept);
  CHECK(under_test.make()->create(under_test.file("b"), spec).metadata == room.metadata);
  fill(*under_test.make(), file, spec, room);
  const std::string whole = under_test.bytes(file);

  const auto again = create_again();
  CHECK(again.is_kept);
  CHECK(again.room.data == room.data);
  CHECK((under_test.bytes(file) == whole));
  check_arrays(*under_test.make(), file, spec);

  under_test.put(file, whole.substr(0, whole.size() - 1));
  CHECK_FALSE(create_again().is_kept);
  CHECK((under_test.bytes(file) == under_test.bytes(under_test.file("b"))));

  std::string damaged = whole;
  damaged[4] = '!';
  under_test.put(file, damaged);  // metadata is made anew
  if (create_again().is_kept) CHECK((under_test.bytes(file) == whole));
  CHECK(under_test.make()->open_to_fill(file, room)->sum_rest() == room.metadata);
}

void reads_any_part(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  const FileSpec spec = common_spec();
  make(*store, under_test.file("a"), spec);
  const FileCatalog catalog = store->catalog(under_test.file("a"));
  const auto source = store->open(under_test.file("a"), catalog);
  const auto check_parts = [&](unsigned seed) {
    std::mt19937_64 dice(seed);
    bool all = true;
    for (int i = 0; i < 300; ++i) {
      const std::size_t each = dice() % spec.arrays.size();
      const std::string whole = data_of(each, data_bytes(spec.arrays[each]));
      const std::uint64_t lo = dice() % (whole.size() + 1);
      std::string part(dice() % (whole.size() - lo + 1), '\0');
      source->read(catalog.schema->find(spec.arrays[each].name), lo, std::as_writable_bytes(std::span(part)));
      all = all && part == whole.substr(lo, part.size());
    }
    return all;
  };
  CHECK(check_parts(1));
  std::vector<char> results(4);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i] { results[i] = static_cast<char>(check_parts(i) ? 1 : 0); });
  for (std::thread& thread : threads) thread.join();
  for (const char result : results) CHECK(result == 1);

  std::vector<std::byte> out(21);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{20}, std::uint64_t{21}, ~std::uint64_t{0} - 5})
    CHECK_THAT(refused([&] { source->read(catalog.schema->find("bias"), offset, out); }),
               Catch::Matchers::Contains("bias") && Catch::Matchers::Contains("a" + under_test.ending));
  for (const FileSpec::Array& each : spec.arrays) {
    const std::size_t index = catalog.schema->find(each.name);
    const auto mapped = source->located(index, 0);
    if (mapped) CHECK(mapped->extent == catalog.schema->datasets[index].extents.at(0));
    CHECK_FALSE(source->located(index, data_bytes(each)));
  }
}

void refuses_truncated_files(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  FileSpec spec = common_spec();
  make(*store, under_test.file("a"), spec);
  const std::string whole = under_test.bytes(under_test.file("a"));
  const auto cut = under_test.file("cut");
  for (std::uint64_t size = 0; size < whole.size(); size += size < 20 ? 1 : whole.size() / 23) {
    CAPTURE(size);
    under_test.put(cut, whole.substr(0, size));
    CHECK_THAT(refused([&] { under_test.make()->catalog(cut); }), Catch::Matchers::Contains("cut"));
  }
  under_test.put(cut, whole.substr(0, whole.size() - 1));
  CHECK_THAT(refused([&] { under_test.make()->catalog(cut); }), Catch::Matchers::Contains("cut"));
}

void survives_lying_files(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  FileSpec spec = common_spec();
  spec.manifest = "{}";  // more of what is damaged means something
  const FileRoom room = make(*store, under_test.file("a"), spec);
  const std::string whole = under_test.bytes(under_test.file("a"));
  std::vector<std::uint64_t> places;
  for (const Interval piece : outside(written_later(room), whole.size()))
    for (std::uint64_t at = piece.lo; at < piece.hi; ++at)
      if (whole[at] != '\0') places.push_back(at);
  REQUIRE(places.size() >= 80);
  std::mt19937 dice(5);
  std::shuffle(places.begin(), places.end(), dice);
  places.resize(80);
  for (const std::uint64_t place : places) {
    CAPTURE(place);
    std::string lying = whole;
    lying[place] = static_cast<char>(dice());
    under_test.put(under_test.file("lying"), lying);
    refused([&] {
      const auto reader = under_test.make();
      const FileCatalog catalog = reader->catalog(under_test.file("lying"));
      for (const Interval interval : data_intervals(*catalog.schema)) CHECK(interval.hi <= catalog.bytes);
      const auto source = reader->open(under_test.file("lying"), catalog);
      for (const StoredArray& each : *catalog.schema->arrays)
        if (!each.verbatim) read(*source, *catalog.schema, each.name);
    });
  }
}

void refuses_files_that_changed(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  make(*store, under_test.file("a"), common_spec());
  const FileCatalog catalog = store->catalog(under_test.file("a"));
  CHECK(refused([&] { store->open(under_test.file("a"), catalog); }).empty());
  under_test.put(under_test.file("a"), under_test.bytes(under_test.file("a")) + "x");
  CHECK_THAT(refused([&] { store->open(under_test.file("a"), catalog); }),
             Catch::Matchers::Contains("a" + under_test.ending));
}

void recognises_its_own_files(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  store->create(under_test.file("a"), common_spec());
  CHECK(store->recognises(under_test.file("a")));
  const std::vector<std::string> others{"", "x", std::string(3000, '\0'), "PK\3\4 and more", "{\"a\": 1}"};
  for (const std::string& other : others) {
    under_test.put(under_test.file("other"), other);
    CHECK_FALSE(store->recognises(under_test.file("other")));
    CHECK_THAT(refused([&] { store->catalog(under_test.file("other")); }), Catch::Matchers::Contains("other"));
  }
  CHECK_THAT(refused([&] { store->catalog(under_test.file("absent")); }), Catch::Matchers::Contains("absent"));
}

void looks_at_paths(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  CHECK_FALSE(store->look_at(under_test.file("absent")));
  make(*store, under_test.file("a"), common_spec());
  const auto file = store->look_at(under_test.file("a"));
  REQUIRE(file);
  CHECK(file->bytes == under_test.bytes(under_test.file("a")).size());
  CHECK_FALSE(file->is_directory);
  CHECK(file->modified_ns == store->catalog(under_test.file("a")).modified_ns);
  REQUIRE(store->look_at(under_test.folder));
  CHECK(store->look_at(under_test.folder)->is_directory);
  CHECK_FALSE(store->look_at(under_test.file("a") / "below"));
}

}  // namespace ckpt::contract
