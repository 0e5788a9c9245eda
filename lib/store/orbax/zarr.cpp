#include "store/orbax/zarr.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "store/element_words.hpp"
#include "store/npz/npy_header.hpp"
#include "store/number_words.hpp"
#include "tensor/known_types.hpp"

namespace ckpt::orbax {

namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse_metadata(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "", {found, expected, "is the checkpoint damaged?"});
}

/// Refuses what zarr allows and this program does not read.
[[noreturn]] void refuse_form(const std::string& what) {
  throw Error(Kind::input, "",
              {what,
               "a form that Orbax writes",
               "load the checkpoint with what wrote it, and save it with Orbax's defaults",
               {Advice::What::leave_out, ""}});
}

const Json& member(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) refuse_metadata("metadata without " + std::string(name), "zarr's");
  return *found;
}

std::string text(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) refuse_form(std::string(name) + " " + value.dump());
  return value.get<std::string>();
}

/// Returns the object `configuration` of a codec or grid, or an empty one.
Json configuration(const Json& object) {
  return object.is_object() ? object.value("configuration", Json::object()) : Json::object();
}

Shape numbers(const Json& list, const char* what) {
  if (!list.is_array()) refuse_metadata(std::string(what) + " " + list.dump(), "a list of numbers");
  Shape shape;
  for (const Json& each : list) {
    if (!each.is_number_unsigned()) refuse_metadata(std::string(what) + " " + list.dump(), "a list of whole numbers");
    shape.push_back(each.get<std::uint64_t>());
  }
  return shape;
}

/// Types of less than a byte, or of a form that nothing else here has, lie in one byte each. The mark says which they
/// are, as it does in other formats' files.
constexpr std::array in_bytes{
    "int4",          "uint4",         "int2",         "uint2", "float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz",
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"};

/// Returns the type of the byte in which an element of such a type lies; nothing for other types.
std::optional<DType> byte_type(std::string_view word) {
  if (std::find(in_bytes.begin(), in_bytes.end(), word) == in_bytes.end()) return std::nullopt;
  return number_type(word.starts_with("int") ? "i8" : "u8");
}

void set_type(ZarrArray& array, const std::string& word) {
  const bool is_numpys = !word.empty() && (word[0] == '<' || word[0] == '>' || word[0] == '|');
  auto type = byte_type(word);
  if (type)
    array.mark = word;
  else
    type = is_numpys ? npz::npy_type(word) : type_by_word(word);
  if (!type) refuse_form("elements of type " + word);
  array.dtype = *type;
}

/// Those that are written.
constexpr ElementWord rows[] = {{"|b1", "bool"},
                                {"|i1", "i8"},
                                {"<i2", "i16"},
                                {"<i4", "i32"},
                                {"<i8", "i64"},
                                {"|u1", "u8"},
                                {"<u2", "u16"},
                                {"<u4", "u32"},
                                {"<u8", "u64"},
                                {"<f2", "f16"},
                                {"<f4", "f32"},
                                {"<f8", "f64"},
                                {"<c8", "c64"},
                                {"<c16", "c128"},
                                {">i2", "i16be"},
                                {">i4", "i32be"},
                                {">i8", "i64be"},
                                {">u2", "u16be"},
                                {">u4", "u32be"},
                                {">u8", "u64be"},
                                {">f2", "f16be"},
                                {">f4", "f32be"},
                                {">f8", "f64be"},
                                {"bfloat16", "bf16"},
                                {"float8_e4m3fn", "f8_e4m3"},
                                {"float8_e5m2", "f8_e5m2"},
                                {"float8_e4m3fnuz", "f8_e4m3fnuz"},
                                {"float8_e5m2fnuz", "f8_e5m2fnuz"},
                                {"float8_e8m0fnu", "f8_e8m0"}};
static_assert(decides_each_type(rows, {"c32", "f4_e2m1x2", "int4x2", "hif8"}));

const ElementWords& words() {
  static const ElementWords all(rows);
  return all;
}

bool is_zero(const Json& fill) {
  if (fill.is_array()) return std::all_of(fill.begin(), fill.end(), is_zero);
  return fill.is_null() || (fill.is_number() && fill.get<double>() == 0) || (fill.is_boolean() && !fill.get<bool>());
}

/// `order`: the dimensions as they lie in a chunk, the slowest first.
Shape strides_of(const Shape& chunk, const std::vector<std::uint64_t>& order) {
  Shape strides(chunk.size());
  std::uint64_t next = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next = checked_mul(next, chunk[order[i]], "a chunk");
  }
  return strides;
}

std::vector<std::uint64_t> in_order(std::size_t rank, bool is_by_columns) {
  std::vector<std::uint64_t> order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = is_by_columns ? rank - 1 - d : d;
  return order;
}

void check_grid(const ZarrArray& array) {
  if (array.grid.size() != array.shape.size())
    refuse_metadata("chunks " + to_string(array.grid),
                    "as many dimensions as the array " + to_string(array.shape) + " has");
  if (std::count(array.grid.begin(), array.grid.end(), std::uint64_t{0}) != 0)
    refuse_metadata("chunks " + to_string(array.grid), "chunks that hold elements");
  value_count(array);
  checked_mul(numel(array.shape), array.dtype.size, "an array");
  checked_mul(numel(array.grid), array.dtype.size, "a chunk");
  if (!array.sharding) return;
  const Shape& inner = array.sharding->chunk;
  bool divides = inner.size() == array.grid.size();
  for (std::size_t d = 0; divides && d < inner.size(); ++d) divides = inner[d] != 0 && array.grid[d] % inner[d] == 0;
  if (!divides) refuse_metadata("chunks " + to_string(inner), "ones that divide " + to_string(array.grid));
  constexpr std::uint64_t most_in_shard = 1U << 20;  // whose index has 16 MiB
  if (numel(array.grid) / numel(inner) > most_in_shard) refuse_form("shards of more than 2^20 chunks");
}

ZarrArray zarr2(const Json& json) {
  ZarrArray array;
  if (!member(json, "dtype").is_string()) refuse_form("elements of several fields");
  set_type(array, text(json, "dtype"));
  array.shape = numbers(member(json, "shape"), "shape");
  array.grid = numbers(member(json, "chunks"), "chunks");
  check_grid(array);
  const std::string order = text(json, "order");
  if (order != "C" && order != "F") refuse_metadata("order " + order, "C or F");
  array.strides = strides_of(array.grid, in_order(array.grid.size(), order == "F"));
  if (const auto filters = json.find("filters"); filters != json.end() && !filters->is_null() && !filters->empty())
    refuse_form("filters " + filters->dump());
  const Json& compressor = member(json, "compressor");
  if (!compressor.is_null()) {
    const std::string name = text(compressor, "id");
    if (name != "zstd" && name != "gzip" && name != "zlib") refuse_form("chunks compressed by " + name);
    array.codecs.packing = name == "zstd" ? Packing::zstd : name == "gzip" ? Packing::gzip : Packing::zlib;
  }
  array.key_separator = json.value("dimension_separator", ".");
  array.has_zero_fill = is_zero(member(json, "fill_value"));
  return array;
}

/// Reads the codecs of a chunk: those that turn it, `bytes`, and what packs and sums these.
void add_codecs(const Json& codecs, ZarrArray& array) {
  if (!codecs.is_array()) refuse_metadata("codecs " + codecs.dump(), "a list");
  const Shape& chunk = array.chunk();
  std::vector<std::uint64_t> order = in_order(chunk.size(), false);
  bool has_bytes = false;
  for (const Json& codec : codecs) {
    const std::string name = text(codec, "name");
    const Json options = configuration(codec);
    if (name == "transpose" && !has_bytes) {
      const Json said = member(options, "order");
      const auto turn = said.is_string() ? in_order(chunk.size(), said == "F") : [&] {
        const Shape list = numbers(said, "transpose");
        return std::vector<std::uint64_t>(list.begin(), list.end());
      }();
      if (!std::is_permutation(turn.begin(), turn.end(), order.begin(), order.end()))
        refuse_metadata("transpose " + said.dump(), "each dimension once");
      std::vector<std::uint64_t> turned;
      for (const std::uint64_t d : turn) turned.push_back(order[d]);
      order = std::move(turned);
    } else if (name == "bytes" && !has_bytes) {
      has_bytes = true;
      if (options.value("endian", "little") == "big" && array.dtype.size > 1) {
        const auto swapped = number_type(array.dtype.kind, array.dtype.size, ByteOrder::big);
        if (!swapped) refuse_form("bytes of " + array.dtype.name.str() + " in big-endian order");
        array.dtype = *swapped;
      }
    } else if (name == "crc32c" && has_bytes) {
      bool& is_summed =
          array.codecs.packing == Packing::none ? array.codecs.is_summed_inside : array.codecs.is_summed_outside;
      if (std::exchange(is_summed, true)) refuse_form("two checksums");
    } else if ((name == "zstd" || name == "gzip") && has_bytes && array.codecs.packing == Packing::none) {
      array.codecs.packing = name == "zstd" ? Packing::zstd : Packing::gzip;
    } else {
      refuse_form("the codec " + name);
    }
  }
  if (!has_bytes) refuse_form("codecs without bytes");
  array.strides = strides_of(chunk, order);
}

ZarrSharding sharding_in(const Json& options) {
  ZarrSharding sharding{numbers(member(options, "chunk_shape"), "chunk_shape")};
  const std::string place = options.value("index_location", "end");
  if (place != "start" && place != "end") refuse_metadata("index_location " + place, "start or end");
  sharding.is_index_first = place == "start";
  std::vector<std::string> codecs;
  const Json& listed = member(options, "index_codecs");
  if (!listed.is_array()) refuse_metadata("index_codecs " + listed.dump(), "a list");
  for (const Json& codec : listed) {
    codecs.push_back(text(codec, "name"));
    if (configuration(codec).value("endian", "little") != "little") refuse_form("an index in big-endian order");
  }
  sharding.is_index_summed = codecs.size() > 1;
  if (codecs != std::vector<std::string>{"bytes"} && codecs != std::vector<std::string>{"bytes", "crc32c"})
    refuse_form("an index with the codecs " + listed.dump());
  return sharding;
}

ZarrArray zarr3(const Json& json) {
  ZarrArray array;
  if (!member(json, "data_type").is_string()) refuse_form("elements of type " + json["data_type"].dump());
  set_type(array, text(json, "data_type"));
  array.shape = numbers(member(json, "shape"), "shape");
  const Json& grid = member(json, "chunk_grid");
  if (text(grid, "name") != "regular") refuse_form("chunks on the grid " + text(grid, "name"));
  array.grid = numbers(member(configuration(grid), "chunk_shape"), "chunk_shape");
  if (const auto others = json.find("storage_transformers"); others != json.end() && !others->empty())
    refuse_form("storage transformers");
  const Json& keys = member(json, "chunk_key_encoding");
  const std::string encoding = text(keys, "name");
  if (encoding != "default" && encoding != "v2") refuse_form("chunks whose keys are " + encoding);
  array.key_beginning = encoding == "default" ? "c" : "";
  array.key_separator = configuration(keys).value("separator", encoding == "default" ? "/" : ".");
  const Json& codecs = member(json, "codecs");
  const bool is_sharded = codecs.is_array() && !codecs.empty() && text(codecs.front(), "name") == "sharding_indexed";
  if (is_sharded) {
    if (codecs.size() != 1) refuse_form("codecs around shards");
    array.sharding = sharding_in(configuration(codecs.front()));
  }
  check_grid(array);
  add_codecs(is_sharded ? member(configuration(codecs.front()), "codecs") : codecs, array);
  array.has_zero_fill = is_zero(member(json, "fill_value"));
  return array;
}

}  // namespace

std::uint64_t ZarrArray::chunk_bytes() const {
  return checked_mul(numel(chunk()), dtype.size, "a chunk");
}

/// A chunk's elements lie within it, wherever this comes from.
bool ZarrArray::is_consistent() const {
  const std::size_t rank = shape.size();
  if (grid.size() != rank || chunk().size() != rank || strides.size() != rank) return false;
  std::uint64_t last = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (chunk()[d] == 0 || grid[d] == 0 || grid[d] % chunk()[d] != 0) return false;
    last = checked_add(last, checked_mul(chunk()[d] - 1, strides[d]));
  }
  return last < numel(chunk());
}

std::optional<ZarrArray> zarr_array(const std::string& text_of_json) {
  if (text_of_json.size() > most_json_bytes) refuse_metadata("metadata of more than 1 MiB", "less");
  const Json json =
      parse_json(text_of_json, "its metadata", {Kind::input, "the metadata of an array", "is it damaged?"});
  try {
    const Json& version = member(json, "zarr_format");
    if (version == 3 && text(json, "node_type") == "group") return std::nullopt;
    if (version != 2 && version != 3) refuse_form("zarr's format " + version.dump());
    return version == 2 ? zarr2(json) : zarr3(json);
  } catch (const Json::exception& error) {
    refuse_metadata("metadata of another form (" + std::string(error.what()) + ")", "zarr's");
  }
}

std::string zarr2_type(const DType& dtype, const std::string& mark) {
  DType plain = dtype;
  plain.native = "";
  return byte_type(mark) == plain ? mark : std::string(words().word(plain));
}

std::uint64_t value_count(const ZarrArray& array) {
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < array.shape.size(); ++d)
    count = checked_mul(count, ceil_div(array.shape[d], array.grid[d]), "an array's number of chunks");
  return count;
}

std::optional<std::uint64_t> value_number(const ZarrArray& array, std::string_view key) {
  if (!key.starts_with(array.key_beginning)) return std::nullopt;
  key.remove_prefix(array.key_beginning.size());
  const std::size_t rank = array.shape.size();
  if (rank == 0)
    return key == (array.key_beginning.empty() ? "0" : "") ? std::optional<std::uint64_t>(0) : std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d > 0 || !array.key_beginning.empty()) {
      if (!key.starts_with(array.key_separator)) return std::nullopt;
      key.remove_prefix(array.key_separator.size());
    }
    std::uint64_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    const auto digits = static_cast<std::size_t>(end - key.data());
    const std::uint64_t count = ceil_div(array.shape[d], array.grid[d]);
    if (error != std::errc() || index >= count || (digits > 1 && key.front() == '0')) return std::nullopt;
    key.remove_prefix(digits);
    number = number * count + index;
  }
  return key.empty() ? std::optional(number) : std::nullopt;
}

std::string value_key(const ZarrArray& array, std::uint64_t number) {
  const std::size_t rank = array.shape.size();
  if (rank == 0) return array.key_beginning.empty() ? "0" : array.key_beginning;
  std::string key;
  for (std::size_t d = rank; d-- > 0;) {
    const std::uint64_t count = ceil_div(array.shape[d], array.grid[d]);
    const bool is_first = d == 0 && array.key_beginning.empty();
    key = (is_first ? "" : array.key_separator) + std::to_string(number % count) + key;
    number /= count;
  }
  return array.key_beginning + key;
}

}  // namespace ckpt::orbax
