#include <algorithm>
#include <set>

#include "contracts/store_specs.hpp"
#include "store/element_words.hpp"
#include "store/kept_tree.hpp"
#include "tensor/known_types.hpp"

namespace ckpt::contract {

namespace {

/// Every type of numbers, those that are only moved, and one that has no more than a name.
std::vector<DType> each_type() {
  std::vector<DType> types;
  for (const KnownType& each : known_types)
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      if (order == ByteOrder::little || each.size > 1) types.push_back(*number_type(each.kind, each.size, order));
  for (const MovedType& each : moved_types) types.push_back(opaque_type(each.name));
  types.push_back({ElementKind::other, ByteOrder::little, 3, "a type of its own", "known to nobody"});
  return types;
}

}  // namespace

void keeps_what_it_is_given(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  const FileSpec spec = common_spec();
  REQUIRE(store->losses(spec).empty());
  const FileRoom room = make(*store, under_test.file("a"), spec);
  REQUIRE(room.data.size() == spec.arrays.size());
  for (const auto& reader : {under_test.make(), under_test.make()}) {
    check_arrays(*reader, under_test.file("a"), spec);
    const FileCatalog catalog = reader->catalog(under_test.file("a"));
    CHECK(catalog.bytes == room.bytes);
    CHECK(catalog.bytes == under_test.bytes(under_test.file("a")).size());
    CHECK(catalog.schema->format == store->name());
    CHECK(same(catalog.schema->attributes, spec.attributes));
    CHECK(catalog.schema->layout == spec.layout);
    CHECK(catalog.schema->manifest == spec.manifest);
    CHECK(std::is_sorted(catalog.schema->arrays->begin(), catalog.schema->arrays->end(),
                         [](const StoredArray& a, const StoredArray& b) { return a.name < b.name; }));
    for (std::size_t i = 0; i < spec.arrays.size(); ++i)
      CHECK(catalog.schema->datasets[catalog.schema->find(spec.arrays[i].name)].extents == room.data[i]);
    const FileCatalog sent = decode_catalog(encode(catalog));
    CHECK(sent.bytes == catalog.bytes);
    CHECK(sent.modified_ns == catalog.modified_ns);
    CHECK((encode(sent) == encode(catalog)));
  }
}

void keeps_trees_or_has_none(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  FileSpec spec = common_spec();
  make(*store, under_test.file("a"), spec);
  CHECK(store->catalog(under_test.file("a")).schema->kept_tree.empty());
  if (!store->traits().keeps_trees) return;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{1} << 20U}) {
    CAPTURE(bytes);
    const std::string text = kept_tree_text("torch", std::string(bytes, '\xff'));
    spec.tree = std::make_shared<const std::string>(text);
    make(*store, under_test.file("b"), spec);
    const FileCatalog catalog = under_test.make()->catalog(under_test.file("b"));
    CHECK((catalog.schema->kept_tree == text));
    CHECK((decode_catalog(encode(catalog)).schema->kept_tree == text));
    CHECK(same(catalog.schema->attributes, spec.attributes));
    CHECK(catalog.schema->manifest == spec.manifest);
    check_arrays(*under_test.make(), under_test.file("b"), spec);
  }
}

void holds_each_type_or_refuses_it(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  std::set<std::string> held;
  for (const DType& type : each_type()) {
    FileSpec spec;
    spec.arrays = {array("w", type, {2, 3})};
    INFO(type.name.str());
    std::vector<std::string> lost;
    const std::string refusal = refused([&] { lost = store->losses(spec); });
    CHECK(lost.empty());
    if (!refusal.empty()) {
      CHECK_THAT(refusal, Catch::Matchers::Contains("/w") && Catch::Matchers::Contains(type.name));
      continue;
    }
    make(*store, under_test.file("a"), spec);
    check_arrays(*under_test.make(), under_test.file("a"), spec);
    held.insert(type.name.str());
  }
  const std::set<std::string> of_models{"bool", "i8", "i16", "i32", "i64", "u8", "f16", "f32", "f64", "bf16"};
  CHECK(std::includes(held.begin(), held.end(), of_models.begin(), of_models.end()));
}

void holds_each_shape(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  FileSpec spec;
  spec.arrays = {array("0-d", "f32", {}),
                 array("1-d", "f32", {7}),
                 array("32-d", "f32", Shape(max_rank, 1)),
                 array("empty", "f32", {0}),
                 array("empty, of a shape", "f32", {5, 0, 1ULL << 40}),
                 array("long and thin", "u8", {1, 5000, 1})};
  spec.arrays[3].global_shape = Shape{1ULL << 50};
  make(*store, under_test.file("a"), spec);
  check_arrays(*under_test.make(), under_test.file("a"), spec);
}

void holds_each_name_or_refuses_it(const StoreUnderTest& under_test) {
  using namespace std::string_literals;
  const auto store = under_test.make();
  const std::vector<std::string> names{"w",
                                       "a/b/c",
                                       "a b",
                                       "\xc3\xbc.\xe6\xa8\xa1",
                                       "quoted \"name\"",
                                       "back\\slash",
                                       "new\nline",
                                       "tab\t",
                                       "~",
                                       "\x7f",
                                       "a:b,c=d",
                                       "__metadata__",
                                       "ckpt_layout",
                                       "/w",
                                       "w/",
                                       "a//b",
                                       "",
                                       ".",
                                       "..",
                                       "a/./b",
                                       "a/../b",
                                       "null\0byte"s,
                                       "caf\xe9",
                                       "\xed\xa0\x80",
                                       std::string(5000, 'n'),
                                       "\xef\xbf\xbf",
                                       "\xef\xbb\xbfw"};
  std::size_t held = 0;
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::string refusal = refused([&] { store->check_names({"other", name}, {}); });
    if (!refusal.empty()) {
      CHECK_THAT(refusal, Catch::Matchers::Contains("name"));
      continue;
    }
    FileSpec spec;
    spec.arrays = {array("other", "f32", {1}), array(name, "f32", {3})};
    make(*store, under_test.file("a"), spec);
    check_arrays(*under_test.make(), under_test.file("a"), spec);
    ++held;
  }
  CHECK(held >= 11);
}

void keeps_each_value_or_names_it(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  Value matrix;
  matrix.dtype = *number_type("f64");
  matrix.shape = Shape{2, 2};
  matrix.bytes = std::string(32, '\x3f');
  const std::vector<Attribute> values{{"empty text", text_value("")},
                                      {"integer", integers_value({7})},
                                      {"matrix", matrix},
                                      {"no integers", integers_value({})},
                                      {"not UTF-8", text_value("caf\xe9")},
                                      {"text", text_value("a text\nof two lines")}};
  for (const Attribute& value : values) {
    FileSpec spec = common_spec();
    spec.attributes = {value};
    CAPTURE(value.name);
    const auto lost = store->losses(spec);
    make(*store, under_test.file("a"), spec);
    check_arrays(*under_test.make(), under_test.file("a"), spec);
    const auto found = under_test.make()->catalog(under_test.file("a")).schema->attributes;
    if (lost.empty()) {
      CHECK(same(found, spec.attributes));
    } else {
      REQUIRE(lost.size() == 1);
      CHECK_THAT(lost[0], Catch::Matchers::Contains(value.name));
      CHECK(found.empty());
    }
  }
  FileSpec spec = common_spec();
  spec.arrays[1].attributes = {{"unit", text_value("m")}};
  spec.groups = {{"optimizer", {{"kind", text_value("adam")}}}};
  const auto lost = store->losses(spec);
  make(*store, under_test.file("a"), spec);
  const auto schema = under_test.make()->catalog(under_test.file("a")).schema;
  const auto is_lost = [&](const std::string& what) {
    return std::any_of(lost.begin(), lost.end(), [&](const auto& each) { return each.find(what) != each.npos; });
  };
  const bool has_group = schema->groups.size() == 1 && schema->groups[0].path == "optimizer" &&
                         same(schema->groups[0].attributes, spec.groups[0].attributes);
  CHECK(has_group != is_lost("optimizer"));
  const auto& of_bias = schema->datasets[schema->find("bias")].attributes;
  CHECK(same(of_bias, spec.arrays[1].attributes) != is_lost("bias"));
}

void holds_very_many_arrays(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  FileSpec spec;
  for (int i = 0; i < 100'000; ++i) spec.arrays.push_back(array("layer." + std::to_string(i) + ".w", "f32", {2}));
  const FileRoom room = store->create(under_test.file("a"), spec);
  const std::string value = "01234567";
  store->open_to_fill(under_test.file("a"), room)
      ->write(room.data.at(77'777).offset(), std::as_bytes(std::span(value).first(8)));
  const auto reader = under_test.make();
  const FileCatalog catalog = reader->catalog(under_test.file("a"));
  REQUIRE(catalog.schema->arrays->size() == 100'000);
  const auto source = reader->open(under_test.file("a"), catalog);
  if (room.data[77'777].count() == 1) CHECK(read(*source, *catalog.schema, "layer.77777.w") == value);
  CHECK(read(*source, *catalog.schema, "layer.77776.w") == std::string(8, '\0'));
  CHECK(source->sum_rest(std::nullopt) == room.metadata);
}

void shares_what_files_say(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  FileSpec spec = common_spec();
  make(*store, under_test.file("a"), spec);
  store->create(under_test.file("b"), spec);
  spec.arrays[0].name = spec.arrays[0].name + "s";
  make(*store, under_test.file("c"), spec);
  const auto reader = under_test.make();
  const auto first = reader->catalog(under_test.file("a")).schema;
  CHECK(reader->catalog(under_test.file("c")).schema != first);
  CHECK(reader->catalog(under_test.file("b")).schema == first);
}

void holds_no_array(const StoreUnderTest& under_test) {
  const auto store = under_test.make();
  make(*store, under_test.file("a"), {});
  CHECK(store->recognises(under_test.file("a")));
  check_arrays(*under_test.make(), under_test.file("a"), {});
  const auto schema = under_test.make()->catalog(under_test.file("a")).schema;
  CHECK(schema->attributes.empty());
  CHECK(schema->layout.empty());
  CHECK(schema->manifest.empty());
}

}  // namespace ckpt::contract
