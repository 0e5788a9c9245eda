#include "store/number_rules.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "store/number_words.hpp"
#include "store/store.hpp"

namespace ckpt {

namespace {

bool is_whole_number(const DType& dtype) {
  return dtype.kind == ElementKind::signed_integer || dtype.kind == ElementKind::unsigned_integer;
}

/// Returns whether the bytes may be other numbers: a type that the format itself has is taken at its word.
bool may_be_other(const StoredArray& array, const DType& number) {
  const DType& dtype = array.dtype;
  const bool is_said_by_mark = dtype.is_float() && !dtype.native.empty();
  return !array.verbatim && dtype.size == number.size && dtype.kind != number.kind &&
         (is_whole_number(dtype) || dtype.kind == ElementKind::other || is_said_by_mark);
}

/// Returns the most common float of this size in models, in the spelling of --as.
std::string likely_float(std::uint64_t bytes) {
  return bytes == 1 ? "f8_e4m3" : bytes == 2 ? "bf16" : "f" + std::to_string(8 * bytes);
}

bool names_a_type(const std::string& attribute) {
  const std::string name = lower_case(attribute);
  for (const char* part : {"type", "format", "encoding", "precision"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

/// A mark that seems to call integers floats.
struct FloatMark {
  std::string words;  ///< "dtype 'bf17'"
  std::string type;   ///< in the spelling of --as
};

/// Returns the first of these attributes that seems to call integers of this size floats.
std::optional<FloatMark> float_mark(const std::vector<Attribute>& attributes, std::uint64_t bytes) {
  for (const Attribute& attribute : attributes) {
    if (!names_a_type(attribute.name)) continue;
    const auto text = text_in(attribute.value);
    if (!text || !seems_float(*text, bytes)) continue;
    const auto known = type_by_word(*text);
    return FloatMark{attribute.name + " '" + printable(*text) + "'",
                     known ? std::string(known->name) : likely_float(bytes)};
  }
  return std::nullopt;
}

bool says_a_type(const std::vector<Attribute>& attributes) {
  return std::any_of(attributes.begin(), attributes.end(), [](const Attribute& attribute) {
    return names_a_type(attribute.name) && text_in(attribute.value);
  });
}

/// Returns the mark of the innermost group around a dataset that has one, the file's root last.
std::optional<FloatMark> mark_around(const Schema& schema, const StoredArray& array) {
  const auto mark_in = [&](const std::vector<Attribute>& attributes, const std::string& where) {
    auto mark = float_mark(attributes, array.dtype.size);
    if (mark) mark->words += " of " + where;
    return mark;
  };
  const std::string& name = array.name;
  for (std::size_t end = name.rfind('/'); end != std::string::npos && end > 0; end = name.rfind('/', end - 1)) {
    const std::string path = name.substr(0, end);
    const auto group = std::lower_bound(schema.groups.begin(), schema.groups.end(), path,
                                        [](const Group& each, const std::string& other) { return each.path < other; });
    if (group != schema.groups.end() && group->path == path && says_a_type(group->attributes))
      return mark_in(group->attributes, "group /" + printable(path));
  }
  return mark_in(schema.attributes, "the file");
}

/// Returns the mark of a dataset, or of what is around it. Marks around a dataset count in formats that lack some
/// floats of one and two bytes alone: others need none.
std::optional<FloatMark> mark_of(const Schema& schema, std::size_t i, bool lacks_small_floats) {
  constexpr std::uint64_t most_bytes = 2;
  const StoredArray& array = (*schema.arrays)[i];
  if (!is_whole_number(array.dtype) || array.verbatim) return std::nullopt;
  const std::vector<Attribute>& own = schema.datasets[i].attributes;
  if (says_a_type(own)) return float_mark(own, array.dtype.size);
  return lacks_small_floats && array.dtype.size <= most_bytes ? mark_around(schema, array) : std::nullopt;
}

struct MarkedDataset {
  std::size_t number;
  FloatMark mark;
};

/// Returns an --as argument for the first marked dataset, or for all, if all integers of its size are marked like it.
std::string example_of(const Schema& schema, const std::vector<MarkedDataset>& marked) {
  const std::vector<StoredArray>& arrays = *schema.arrays;
  const StoredArray& first = arrays[marked.front().number];
  const std::string& type = marked.front().mark.type;
  const auto is_like_first = [&](const StoredArray& array) {
    return is_whole_number(array.dtype) && !array.verbatim && array.dtype.size == first.dtype.size;
  };
  const auto all = std::count_if(arrays.begin(), arrays.end(), is_like_first);
  const auto alike = std::count_if(marked.begin(), marked.end(), [&](const MarkedDataset& each) {
    return is_like_first(arrays[each.number]) && each.mark.type == type;
  });
  return type + ":" + (all > 1 && all == alike ? "*" : first.name);
}

}  // namespace

FileCatalog NumberRules::applied(const std::string& file, FileCatalog catalog, const Store& format) {
  const std::lock_guard guard(lock_);
  Known& known = known_[catalog.schema.get()];
  if (!known.made) {
    known.given = catalog.schema;
    known.made = rules_.empty() ? catalog.schema : read_again(catalog.schema, format);
    warn_of_marks(file, *known.made, format);
  }
  catalog.schema = known.made;
  return catalog;
}

std::vector<bool> NumberRules::uses() const {
  const std::lock_guard guard(lock_);
  std::vector<bool> uses;
  for (const RuleState& each : rules_) uses.push_back(each.is_used);
  return uses;
}

const NumberRule* NumberRules::rule_for(const StoredArray& array) {
  const NumberRule* found = nullptr;
  for (RuleState& each : rules_) {
    if (!may_be_other(array, each.rule.dtype) || !each.rule.names(array.name)) continue;
    each.is_used = true;
    found = &each.rule;
  }
  return found;
}

std::shared_ptr<const Schema> NumberRules::read_again(const std::shared_ptr<const Schema>& schema,
                                                      const Store& format) {
  std::vector<StoredArray> arrays = *schema->arrays;
  std::shared_ptr<Schema> made;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const NumberRule* const rule = rule_for(arrays[i]);
    if (rule == nullptr) continue;
    if (!made) made = std::make_shared<Schema>(*schema);
    DType& dtype = arrays[i].dtype;
    dtype = format.read_as(rule->dtype, dtype);
    // The rule overrules what the dataset says about its type.
    std::erase_if(made->datasets[i].attributes,
                  [](const Attribute& attribute) { return attribute.name == dtype_attribute; });
  }
  if (!made) return schema;
  made->arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  return made;
}

void NumberRules::warn_of_marks(const std::string& file, const Schema& schema, const Store& format) {
  const bool lacks_floats = format.traits().lacks_small_floats;
  std::vector<std::string> found;
  std::vector<MarkedDataset> marked;
  for (std::size_t i = 0; i < schema.datasets.size(); ++i) {
    const StoredArray& array = (*schema.arrays)[i];
    auto mark = mark_of(schema, i, lacks_floats);
    if (!mark || !told_.insert(array.name).second) continue;
    found.push_back(printable(array.name) + " (" + array.dtype.name + ", attribute " + mark->words + ")");
    marked.push_back({i, *std::move(mark)});
  }
  if (!found.empty())
    log::warn(
        "{}: integers that an attribute seems to call floats are read as integers: {}; where they are a float's bits, "
        "say so with --as, for example --as {}",
        file, join(found), shell_word(example_of(schema, marked)));
}

}  // namespace ckpt
