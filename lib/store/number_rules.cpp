#include "store/number_rules.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "store/hdf5/library.hpp"
#include "store/hdf5/marked_type.hpp"
#include "store/number_words.hpp"

namespace ckpt {

namespace {

bool is_whole_number(const DType& dtype) {
  return dtype.kind == ElementKind::signed_integer || dtype.kind == ElementKind::unsigned_integer;
}

/// Whether the bytes may be other numbers: what a format has a type for is what it says.
bool may_be_other(const StoredArray& array, const DType& number) {
  const DType& dtype = array.dtype;
  const bool is_said_by_mark = dtype.is_float() && !dtype.native.empty();
  return !array.verbatim && dtype.size == number.size && dtype.kind != number.kind &&
         (is_whole_number(dtype) || dtype.kind == ElementKind::other || is_said_by_mark);
}

/// The float of so many bytes that models have most, as --as names it.
std::string likely_float(std::uint64_t bytes) {
  return bytes == 1 ? "f8_e4m3" : bytes == 2 ? "bf16" : "f" + std::to_string(8 * bytes);
}

bool names_a_type(const std::string& attribute) {
  std::string name = attribute;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* part : {"type", "format", "encoding", "precision"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

/// "dtype 'bf17'": what of a dataset's attributes seems to call its integers floats.
std::string float_mark(const StoredArray& array, const Dataset& dataset) {
  if (!is_whole_number(array.dtype) || array.verbatim) return "";
  for (const Attribute& attribute : dataset.attributes) {
    if (!names_a_type(attribute.name)) continue;
    const auto text = text_in(attribute.value);
    if (text && seems_float(*text, array.dtype.size)) return attribute.name + " '" + printable(*text) + "'";
  }
  return "";
}

}  // namespace

FileCatalog NumberRules::applied(const std::string& file, FileCatalog catalog) {
  const std::lock_guard guard(lock_);
  Known& known = known_[catalog.schema.get()];
  if (!known.made) {
    known.given = catalog.schema;
    known.made = rules_.empty() ? catalog.schema : read_again(catalog.schema);
    warn_of_marks(file, *known.made);
  }
  catalog.schema = known.made;
  return catalog;
}

std::vector<bool> NumberRules::uses() const {
  const std::lock_guard guard(lock_);
  std::vector<bool> uses;
  for (const Used& each : rules_) uses.push_back(each.is_used);
  return uses;
}

const NumberRule* NumberRules::rule_for(const StoredArray& array) {
  const NumberRule* found = nullptr;
  for (Used& each : rules_) {
    if (!may_be_other(array, each.rule.dtype) || !each.rule.names(array.name)) continue;
    each.is_used = true;
    found = &each.rule;
  }
  return found;
}

std::shared_ptr<const Schema> NumberRules::read_again(const std::shared_ptr<const Schema>& schema) {
  std::vector<StoredArray> arrays = *schema->arrays;
  std::shared_ptr<Schema> made;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const NumberRule* const rule = rule_for(arrays[i]);
    if (rule == nullptr) continue;
    if (!made) made = std::make_shared<Schema>(*schema);
    DType& dtype = arrays[i].dtype;
    if (schema->format == "hdf5") {
      const hdf5::Lock lock;
      dtype = hdf5::stored_as(rule->dtype, dtype);
    } else {
      dtype = rule->dtype;
    }
    // What it says of its type was not so.
    std::erase_if(made->datasets[i].attributes,
                  [](const Attribute& attribute) { return attribute.name == hdf5::dtype_attribute; });
  }
  if (!made) return schema;
  made->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  return made;
}

void NumberRules::warn_of_marks(const std::string& file, const Schema& schema) {
  std::vector<std::string> found;
  std::string example;
  for (std::size_t i = 0; i < schema.datasets.size(); ++i) {
    const StoredArray& array = (*schema.arrays)[i];
    const std::string mark = float_mark(array, schema.datasets[i]);
    if (mark.empty() || !told_.insert(array.name).second) continue;
    if (found.empty()) example = likely_float(array.dtype.size) + ":" + array.name;
    found.push_back(printable(array.name) + " (" + array.dtype.name + ", attribute " + mark + ")");
  }
  if (!found.empty())
    spdlog::warn(
        "{}: integers that an attribute seems to call floats are read as integers: {}; where they are a float's bits, "
        "say so with --as, for example --as {}",
        file, join(found), shell_word(example));
}

}  // namespace ckpt
