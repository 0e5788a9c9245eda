#include "diagnosis/same_step.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "frameworks/tree_fit.hpp"
#include "layout/names/naming.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

using Words = std::vector<std::string>;

/// "global_step", "globalStep" and "Global-Step" are the words "global" and "step".
Words words_of(std::string_view name) {
  Words words;
  bool goes_on = false;
  bool was_lower = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool is_upper = std::isupper(letter) != 0;
    if (std::isalpha(letter) == 0) {
      goes_on = was_lower = false;
      continue;
    }
    if (!goes_on || (is_upper && was_lower)) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(letter));
    goes_on = true;
    was_lower = !is_upper;
  }
  return words;
}

template <std::size_t n>
bool is_among(const std::string& word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The words that count, and those that may stand beside them. "time per step" and "warmup steps" are something else.
constexpr std::array<std::string_view, 10> counted{"step",       "steps", "epoch", "epochs", "iteration",
                                                   "iterations", "iter",  "iters", "update", "updates"};
constexpr std::array<std::string_view, 26> beside{
    "global", "current",   "cur",   "last",     "latest", "train",  "training",   "trainer",  "trained",
    "total",  "completed", "done",  "finished", "num",    "number", "n",          "no",       "nr",
    "count",  "idx",       "index", "id",       "saved",  "ckpt",   "checkpoint", "optimizer"};
/// What else frameworks count over all cards, and how they say so: "consumed_train_samples", "tokens_seen".
constexpr std::array<std::string_view, 5> samples{"samples", "tokens", "examples", "batches", "sequences"};
constexpr std::array<std::string_view, 5> of_all_cards{"consumed", "global", "trained", "seen", "processed"};
/// Parts of a path below which each card's own things are.
constexpr std::array<std::string_view, 12> of_each_card{"rng",        "random",   "generator", "loader",
                                                        "dataloader", "sampler",  "dataset",   "datasets",
                                                        "iterator",   "prefetch", "rank",      "worker"};

constexpr std::uint64_t most_numbers = 8;
constexpr std::size_t most_json_depth = 32;

/// A value's number as text, or its few numbers; nothing for other values. The value may be a text, since some formats
/// have no other attributes.
std::optional<std::string> number_text(const Value& value) {
  if (const auto text = text_in(value)) {
    double number = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
    const bool is_number = read.ec == std::errc() && read.ptr == text->data() + text->size();
    return is_number ? text : std::nullopt;
  }
  const auto format = number_format(value.dtype);
  const std::uint64_t count = value.count();
  if (!format || format->kind == ElementKind::boolean || count == 0 || count > most_numbers ||
      value.bytes.size() != count * format->size)
    return std::nullopt;
  std::vector<std::string> numbers;
  for (std::uint64_t i = 0; i < count; ++i)
    numbers.push_back(
        element_text(value.dtype, reinterpret_cast<const std::byte*>(value.bytes.data() + i * format->size)));
  return join(numbers, most_numbers);
}

/// The JSON object in an attribute's text, in formats whose attributes can only be texts; nothing for other values.
std::optional<nlohmann::json> object_in(const Value& value) {
  const auto text = text_in(value);
  if (!text || !text->starts_with('{')) return std::nullopt;
  try {
    JsonRules rules;
    rules.expected = "an object";
    rules.max_depth = most_json_depth;
    return parse_json(*text, "", rules);
  } catch (const Error&) {
    return std::nullopt;  // a text that only begins like an object
  }
}

class Steps {
 public:
  explicit Steps(const Checkpoint& checkpoint) : checkpoint_(checkpoint), naming_(checkpoint.layout()) {}

  void add(FileNumber file) {
    const Schema& schema = *checkpoint_.file(file).schema;
    const std::string& prefix = checkpoint_.layout().files.entries()[checkpoint_.table().entry(file)].prefix;
    // Values about the whole file are compared with files of other kinds, too.
    for (const Attribute& attribute : schema.attributes) add(file, attribute.name, attribute.value);
    for (const Group& group : schema.groups)
      for (const Attribute& attribute : group.attributes)
        add(file, prefix + group.path + "/" + attribute.name, attribute.value);
    for (std::size_t i = 0; i < schema.datasets.size(); ++i)
      for (const Attribute& attribute : schema.datasets[i].attributes)
        add(file, prefix + (*schema.arrays)[i].name + "/" + attribute.name, attribute.value);
    for (const Leaf& leaf : schema.leaves) add(file, prefix + leaf.name, leaf.what, leaf.digest);
    for (const Attribute& attribute : schema.attributes)
      if (is_progress_name(attribute.name) && number_text(attribute.value))
        statements_[{checkpoint_.table().entry(file), attribute.name}].insert(&schema);
  }

  /// Warns of files that lack a step which others of their kind have. In a DCP directory one rank writes it for all.
  void warn_of_missing_step() const {
    for (const auto& [what, schemas] : statements_) {
      const auto& [entry, name] = what;
      if (is_allowed(name)) continue;
      std::vector<std::string> lacking;
      std::string other;
      for (FileNumber file = 0; file < checkpoint_.files().size(); ++file) {
        if (checkpoint_.table().entry(file) != entry || !checkpoint_.is_there(file)) continue;
        const Schema* const schema = checkpoint_.file(file).schema.get();
        if (schema->format == torch::dcp_format) return;
        if (!schemas.contains(schema))
          lacking.push_back(checkpoint_.file_name(file));
        else if (other.empty())
          other = checkpoint_.file_name(file);
      }
      if (!lacking.empty())
        log::warn("{}: no {}, which {} says; are the files of one save?", join(lacking), name, other);
    }
  }

 private:
  struct StatedValue {
    FileNumber file = 0;
    std::string value;
    std::uint64_t digest = 0;
  };

  void add(FileNumber file, const std::string& path, const Value& value) {
    if (is_progress_name(path)) {
      if (auto number = number_text(value)) add(file, path, std::move(*number), 0);
    } else if (const auto object = object_in(value)) {
      add(file, path, *object);
    }
  }

  void add(FileNumber file, const std::string& path, const nlohmann::json& object) {
    for (const auto& [key, value] : object.items()) {
      const std::string below = path + "/" + key;
      if (value.is_object())
        add(file, below, value);
      else if (value.is_number() && is_progress_name(below))
        add(file, below, value.dump(), 0);
    }
  }

  void add(FileNumber file, const std::string& path, std::string value, std::uint64_t digest) {
    if (!is_progress_name(path) || follows_from_ranks(path)) return;
    const auto [known, is_new] = first_.try_emplace(path, StatedValue{file, value, digest});
    const StatedValue& other = known->second;
    if (is_new || (other.value == value && other.digest == digest) || is_allowed(path)) return;
    const std::string name = checkpoint_.file_name(file);
    throw Error(Kind::input, name,
                {"its " + path + " is " + (digest == 0 ? value : "another"),
                 (digest == 0 ? other.value + ", as " : "that which ") + checkpoint_.file_name(other.file) +
                     (digest == 0 ? " says" : " has"),
                 "the files are of different saves: take a checkpoint whose save was not interrupted",
                 {Advice::What::mix_steps, ""}})
        .in_file(name)
        .of_parameter(path);
  }

  bool is_allowed(const std::string& path) const {
    const auto decision = naming_.decide(naming_.renamed(path));
    return decision && decision->keys.replicas == Replicas::first;
  }

  const Checkpoint& checkpoint_;
  Naming naming_;
  std::map<std::string, StatedValue> first_;
  std::map<std::pair<std::size_t, std::string>, std::set<const Schema*>> statements_;  // by entry and root attribute
};

}  // namespace

void check_same_step(const Checkpoint& checkpoint) {
  Steps steps(checkpoint);
  std::set<std::pair<const Schema*, std::size_t>> seen;  // with its entry of `files`
  for (const Position card : checkpoint.layout().mesh.by_card())
    for (const FileNumber file : checkpoint.table().owned_by(card))
      if (checkpoint.is_there(file) &&
          seen.emplace(checkpoint.file(file).schema.get(), checkpoint.table().entry(file)).second)
        steps.add(file);
  steps.warn_of_missing_step();
}

bool is_progress_name(std::string_view path) {
  for (const std::string& word : words_of(path))
    if (is_among(word, of_each_card)) return false;
  const std::size_t slash = path.find_last_of("/.");
  const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const Words words = words_of(last);
  const auto has = [&](const auto& these) {
    return std::any_of(words.begin(), words.end(), [&](const auto& word) { return is_among(word, these); });
  };
  const auto has_no_other_than = [&](const auto& these, const auto& those) {
    return std::all_of(words.begin(), words.end(), [&](const auto& word) {
      return is_among(word, these) || is_among(word, those) || is_among(word, beside);
    });
  };
  return (has(counted) && has_no_other_than(counted, counted)) ||
         (has(samples) && has(of_all_cards) && has_no_other_than(samples, of_all_cards));
}

}  // namespace ckpt
