#include "checkpoint/dequantised_files.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "io/small_text.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/index_census.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/naming.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

using Form = QuantisedWeight::Form;

constexpr std::uint64_t most_text_bytes = 64 << 10;  // they have some 300
constexpr std::uint64_t most_config_bytes = 64 << 20;

bool is_text_of_weight(const StoredArray& array) {
  return array.name.str().find(".quant_state.") != std::string::npos && !array.verbatim &&
         array.dtype.kind == ElementKind::unsigned_integer && array.dtype.size == 1 && array.shape.size() == 1 &&
         array.shape[0] <= most_text_bytes;
}

using Texts = std::map<std::pair<FileNumber, std::uint64_t>, std::string>;

/// The texts in files that this process sees.
Texts texts_in(const Checkpoint& checkpoint, SourceStore& store) {
  Texts texts;
  for (FileNumber number = 0; number < checkpoint.files().size(); ++number) {
    if (!checkpoint.is_there(number)) continue;
    const std::vector<StoredArray>& arrays = *checkpoint.file(number).schema->arrays;
    std::unique_ptr<SourceFile> file;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (!is_text_of_weight(arrays[i])) continue;
      if (!file) file = checkpoint.open_file(number, store);
      std::string& text = texts[{number, i}];
      text.resize(arrays[i].shape[0]);
      file->read(i, 0, std::as_writable_bytes(std::span(text)));
    }
  }
  return texts;
}

}  // namespace

QuantisationConfig quantisation_config(const Checkpoint& checkpoint, Communicator& processes) {
  const auto path = (checkpoint.is_single_file() ? checkpoint.path().parent_path() : checkpoint.path()) / "config.json";
  std::string json;
  agree(processes, [&] {
    std::error_code none;
    if (processes.rank() == 0 && std::filesystem::is_regular_file(path, none))
      json = small_text(path, most_config_bytes, "a model's config.json");
  });
  json = value_of(0, json, processes);
  QuantisationConfig config;
  agree(processes, [&] {
    if (!json.empty()) config = QuantisationConfig::parse(json, path.string());
  });
  return config;
}

Dequantisation Dequantisation::of(const DType& dtype, const Checkpoint& checkpoint, SourceStore& store,
                                  Communicator& processes) {
  Dequantisation how{dtype, quantisation_config(checkpoint, processes), {}, {}};
  Texts mine;
  agree(processes, [&] {
    if (processes.rank() == 0 || !checkpoint.is_shared()) mine = texts_in(checkpoint, store);
  });
  for (Texts& texts : gather_all(mine, processes)) how.texts.merge(texts);
  return how;
}

/// Looks at files together: those of one card, or all.
class DequantisedFiles::Builder {
 public:
  Builder(const Checkpoint& stored, const Dequantisation& how, DequantisedFiles& made)
      : stored_(stored), how_(how), made_(made), naming_(stored.layout()) {}

  void build() {
    std::vector<std::vector<FileNumber>> groups;
    std::vector<FileNumber> all(stored_.files().size());
    std::iota(all.begin(), all.end(), FileNumber{0});
    if (have_names_once(all))
      groups.push_back(std::move(all));
    else
      for (Position card = 0; card < stored_.layout().mesh.size(); ++card)
        if (auto owned = stored_.table().owned_by(card); !owned.empty()) groups.push_back(std::move(owned));
    are_cut_ = groups.size() > 1;
    count_indices();
    made_.files_.resize(stored_.files().size());
    made_.catalogs_ = stored_.files();
    using Declared = std::vector<std::tuple<std::size_t, const Schema*, std::vector<std::string>>>;
    std::map<Declared, std::size_t> known;  // files that declare the same, texts included
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Declared key;
      for (const FileNumber file : groups[i])
        key.emplace_back(stored_.table().entry(file), stored_.file(file).schema.get(), texts_of(file));
      const auto [first, is_new] = known.try_emplace(std::move(key), i);
      if (is_new)
        shown_.emplace(i, show(groups[i]));
      else
        show_alike(groups[first->second], groups[i]);
      take_names(shown_.at(first->second), groups[i]);
    }
    made_.layout_ = stored_.layout();
    std::vector<Rule>& all_rules = made_.layout_.parameters;
    for (auto& [text, rule] : rules_) made_.rules_.push_back(std::move(rule));
    all_rules.insert(all_rules.begin(), made_.rules_.begin(), made_.rules_.end());
    made_.summary_ = all_.summary();
    made_.left_out_ = {left_out_.begin(), left_out_.end()};
  }

 private:
  /// A tensor's place: the index of its file among those examined together, and its dataset in that file.
  struct Place {
    std::size_t file = 0;
    std::size_t dataset = 0;

    friend auto operator<=>(const Place&, const Place&) = default;
  };

  const StoredArray& array(const std::vector<FileNumber>& files, Place place) const {
    return (*stored_.file(files[place.file]).schema->arrays)[place.dataset];
  }

  bool have_names_once(const std::vector<FileNumber>& files) const {
    std::set<std::string> names;
    for (const FileNumber file : files)
      for (const StoredArray& array : *stored_.file(file).schema->arrays)
        if (!names.insert(name_of(file, array)).second) return false;
    return true;
  }

  std::string name_of(FileNumber file, const StoredArray& array) const {
    return stored_.layout().files.stored_name(stored_.table().entry(file), array.name);
  }

  /// Files that were looked at together.
  struct Shown {
    QuantisedWeights found;
    std::map<std::string, Place> places;  ///< of all tensors, by name
    std::map<std::string, std::shared_ptr<const StoredWeight>> weights;
  };

  std::vector<std::string> texts_of(FileNumber file) const {
    std::vector<std::string> texts;
    for (auto text = how_.texts.lower_bound({file, 0}); text != how_.texts.end() && text->first.first == file; ++text)
      texts.push_back(text->second);
    return texts;
  }

  /// Names that a card numbers locally become logical names only with the totals of all cards.
  void count_indices() {
    if (stored_.layout().indices.empty()) return;
    IndexCensus census(stored_.layout());
    for (FileNumber file = 0; file < stored_.files().size(); ++file)
      for (const StoredArray& array : *stored_.file(file).schema->arrays)
        census.note_stored(naming_.renamed(name_of(file, array)), coordinates_of(file));
    naming_.count_to(census.totals());
  }

  std::vector<std::uint64_t> coordinates_of(FileNumber file) const {
    return stored_.layout().mesh.coordinates(stored_.table().owner(file));
  }

  /// The logical name of a tensor in a card's file.
  std::string logical(const std::string& name, FileNumber file) const {
    return naming_.counted(naming_.renamed(name), coordinates_of(file));
  }

  Shown show(const std::vector<FileNumber>& files) {
    Shown result;
    places_.clear();
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::vector<StoredArray>& arrays = *stored_.file(files[i]).schema->arrays;
      for (std::size_t dataset = 0; dataset < arrays.size(); ++dataset) {
        const StoredArray& array = arrays[dataset];
        const std::string name = name_of(files[i], array);
        if (array.refusal || !places_.try_emplace(name, Place{i, dataset}).second) continue;
        tensors.push_back({name, array.dtype, array.shape, array.verbatim});
      }
    }
    result.found = quantised_weights(tensors, how_.config, [&](const std::string& name) {
      const Place place = places_.at(name);
      const auto text = how_.texts.find({files[place.file], place.dataset});
      return text == how_.texts.end() ? std::string() : text->second;
    });

    std::set<Place> hidden;
    std::map<Place, std::shared_ptr<const StoredWeight>> shown;
    for (const std::string& stray : result.found.strays) hidden.insert(places_.at(stray));
    for (const QuantisedWeight& weight : result.found.weights) {
      weight.for_each_tensor([&](const std::string& name) { hidden.insert(places_.at(name)); });
      for (const std::string& other : weight.others) hidden.insert(places_.at(other));
      const auto stored = stored_weight(files, weight);
      shown.emplace(places_.at(weight.codes), stored);
      result.weights.emplace(weight.codes, stored);
    }
    const auto among = std::make_shared<const std::vector<FileNumber>>(files);
    for (std::size_t i = 0; i < files.size(); ++i) show_file(among, i, hidden, shown);
    result.places = places_;
    return result;
  }

  /// Takes what was found, in the same files or in others that declare the same, under its logical names.
  void take_names(const Shown& shown, const std::vector<FileNumber>& files) {
    const auto name_in = [&](const std::string& name, const std::string& beside) {
      return logical(name, files[shown.places.at(beside).file]);
    };
    for (const auto& [name, error] : shown.found.problems)
      if (const std::string named = name_in(name, name); !how_.keep || how_.keep(named))
        throw Error(error).of_parameter(named);
    const auto hide = [&](const std::string& name) {
      made_.hidden_.insert(name_in(name, name));
      if (name.find(".quant_state.") == std::string::npos && !name.ends_with("weight_format"))
        left_out_.insert(name_in(name, name));
    };
    for (const std::string& stray : shown.found.strays) hide(stray);
    for (const QuantisedWeight& weight : shown.found.weights) {
      const std::string name = name_in(weight.name, weight.codes);
      add_rule(weight, name, [&](const std::string& each) { return naming_.decide(name_in(each, each)); });
      weight.for_each_tensor([&](const std::string& each) { made_.hidden_.insert(name_in(each, each)); });
      for (const std::string& other : weight.others) hide(other);
      made_.weights_of_codes_.emplace(name_in(weight.codes, weight.codes), name);
      made_.names_[shown.weights.at(weight.codes).get()].insert(name);
      if (made_.units_.try_emplace(name, weight.unit).second) all_.weights.push_back(weight);
    }
  }

  void show_alike(const std::vector<FileNumber>& like, const std::vector<FileNumber>& files) {
    const auto among = std::make_shared<const std::vector<FileNumber>>(files);
    for (std::size_t i = 0; i < files.size(); ++i) {
      made_.catalogs_[files[i]].schema = made_.catalogs_[like[i]].schema;
      made_.files_[files[i]] = {among, i, made_.files_[like[i]].view};
    }
  }

  /// A weight of another name than its codes is cut as they are.
  template <class Decide>
  void add_rule(const QuantisedWeight& weight, const std::string& name, const Decide& decide) {
    const bool lies_as_codes = weight.form == Form::blocks && weight.packing == CodePacking::bytes;
    if (lies_as_codes || (weight.form == Form::bitsandbytes && !are_cut_)) return;
    const auto decision = decide(weight.codes);
    if (!decision) return;
    Keys keys = decision->keys.without_cuts();
    keys.shape.reset();  // the codes'
    if (are_cut_) take_cut(weight, decision->keys, keys, decide);
    const Layout& layout = stored_.layout();
    Rule& rule = rules_.try_emplace(to_json(keys, layout.mesh), Rule{{}, keys, {}, {}}).first->second;
    rule.names.emplace_back(literal(name));
  }

  /// Gives a weight the cut of its codes. Throws input unless that is a plain one, which its scales have, too.
  template <class Decide>
  void take_cut(const QuantisedWeight& weight, const Keys& codes, Keys& keys, const Decide& decide) const {
    const auto split = codes.split.value_or(std::vector<std::vector<Axis>>{});
    const bool is_cut = std::ranges::any_of(split, [](const std::vector<Axis>& axes) { return !axes.empty(); });
    bool is_plain = !codes.parts && !codes.pad && !codes.flat && !codes.shape && !codes.permute && !codes.boxes &&
                    !codes.sizes && (weight.form != Form::bitsandbytes || !is_cut);
    for (const std::string& name : {weight.scales, weight.zeros})
      if (!name.empty()) {
        const auto other = decide(name);
        is_plain = is_plain && other && same_split(split, other->keys.split.value_or(std::vector<std::vector<Axis>>{}));
      }
    if (!is_plain)
      throw Error(Kind::input, "parameter '" + weight.name + "'",
                  {"its " + weight.what + " lies in several cards' files",
                   "\"split\" for its codes, and the same for its scales and zero points",
                   "merge it without --dequantize, then that output with it"});
    keys.uneven = codes.uneven;
    keys.split.emplace(weight.shape.size());
    const std::vector<std::size_t> turned = weight.form == Form::blocks  ? std::vector<std::size_t>{0, 1, 2, 3}
                                            : weight.form == Form::mxfp4 ? std::vector<std::size_t>{0, 2, 1}
                                                                         : std::vector<std::size_t>{1, 0};
    for (std::size_t d = 0; d < keys.split->size() && d < turned.size(); ++d)
      if (turned[d] < split.size()) (*keys.split)[d] = split[turned[d]];
  }

  /// Dimensions beyond the end of either are not cut.
  static bool same_split(std::vector<std::vector<Axis>> a, std::vector<std::vector<Axis>> b) {
    a.resize(std::max(a.size(), b.size()));
    b.resize(a.size());
    return a == b;
  }

  StoredPart part(const std::vector<FileNumber>& files, const std::string& name) const {
    const Place place = places_.at(name);
    const StoredArray& found = array(files, place);
    return {place.file, place.dataset, found.dtype, Shape(found.shape)};
  }

  std::shared_ptr<const StoredWeight> stored_weight(const std::vector<FileNumber>& files,
                                                    const QuantisedWeight& weight) const {
    const auto weight_part = [&](const std::string& name) {
      return name.empty() ? std::nullopt : std::optional(part(files, name));
    };
    auto stored = std::make_shared<StoredWeight>();
    stored->form = weight;
    stored->dtype = how_.dtype;
    stored->codes = part(files, weight.codes);
    stored->scales = part(files, weight.scales);
    stored->factor = weight_part(weight.factor);
    stored->zeros = weight_part(weight.zeros);
    stored->groups = weight_part(weight.groups);
    stored->numbers = weight_part(weight.numbers);
    stored->outer_scales = weight_part(weight.outer_scales);
    stored->outer_numbers = weight_part(weight.outer_numbers);
    return stored;
  }

  void show_file(const std::shared_ptr<const std::vector<FileNumber>>& among, std::size_t own,
                 const std::set<Place>& hidden, const std::map<Place, std::shared_ptr<const StoredWeight>>& shown) {
    const FileNumber number = (*among)[own];
    const Schema& stored = *stored_.file(number).schema;
    std::map<std::string, std::pair<std::size_t, std::shared_ptr<const StoredWeight>>> names;
    for (std::size_t i = 0; i < stored.arrays->size(); ++i) {
      const auto weight = shown.find({own, i});
      if (weight == shown.end() && hidden.contains({own, i})) continue;
      const bool is_weight = weight != shown.end();
      const std::string name =
          is_weight ? stored_.layout().files.name_within(weight->second->form.name) : (*stored.arrays)[i].name.str();
      if (!names.try_emplace(name, i, is_weight ? weight->second : nullptr).second)
        throw Error(Kind::input, stored_.file_name(number) + ": /" + name,
                    {"it is there beside codes of the same weight", "one of them", ""});
    }
    Schema schema = stored;
    schema.datasets.clear();
    std::vector<StoredArray> arrays;
    auto view = std::make_shared<DequantisedFile::View>();
    for (auto& [name, place] : names) {
      auto& [i, weight] = place;
      arrays.push_back((*stored.arrays)[i]);
      schema.datasets.push_back(stored.datasets[i]);
      if (weight) {
        show_weight(*among, *weight, arrays.back(), schema.datasets.back());
        arrays.back().name = name;
      }
      view->places.push_back(i);
      view->weights.push_back(std::move(weight));
    }
    schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
    made_.catalogs_[number].schema = std::make_shared<const Schema>(std::move(schema));
    made_.files_[number] = {among, own, std::move(view)};
  }

  /// Turns the description of codes into that of a weight.
  void show_weight(const std::vector<FileNumber>& among, const StoredWeight& weight, StoredArray& array,
                   Dataset& dataset) const {
    const bool lies_as_codes = array.shape == weight.form.shape;
    array.dtype = weight.dtype;
    array.shape = weight.form.shape;
    Dataset shown;
    shown.storage = numel(weight.form.shape) == 0 ? Storage::empty : Storage::filtered;
    for (Attribute& attribute : dataset.attributes)
      if (attribute.name != "dtype") shown.attributes.push_back(std::move(attribute));
    if (lies_as_codes)
      shown.piece = std::move(dataset.piece);
    else
      array.global_shape.reset();
    weight.form.for_each_tensor([&](const std::string& name) {
      const Place place = places_.at(name);
      const Dataset& of = stored_.file(among[place.file]).schema->datasets[place.dataset];
      shown.chunk_bytes = std::max(shown.chunk_bytes, of.chunk_bytes);
      shown.decoding_bytes = std::max(shown.decoding_bytes, of.decoding_bytes);
    });
    if (const auto rows = decoded_rows(weight.form, weight.dtype)) {
      shown.chunk_bytes = std::max(shown.chunk_bytes, rows->size.bytes);
      shown.decoding_bytes = std::max(shown.decoding_bytes, rows->size.decoding);
    }
    shown.decoding_bytes *= 2;  // a format's own chunks have half of the memory
    dataset = std::move(shown);
  }

  const Checkpoint& stored_;
  const Dequantisation& how_;
  DequantisedFiles& made_;
  Naming naming_;
  bool are_cut_ = false;
  std::map<std::string, Place> places_;  // of the tensors in the files that are looked at
  std::map<std::size_t, Shown> shown_;   // by the first group of files that declare the same
  std::map<std::string, Rule> rules_;    // by their keys' text
  QuantisedWeights all_;
  std::set<std::string> left_out_;
};

DequantisedFiles::DequantisedFiles(Checkpoint stored, const Dequantisation& how)
    : stored_(std::move(stored)), how_(how) {
  Builder(stored_, how, *this).build();
  how_.keep = nullptr;
}

std::vector<std::string> DequantisedFiles::overflowed() const {
  std::vector<std::string> found;
  for (const auto& [weight, names] : names_)
    if (weight->has_overflowed.test()) found.insert(found.end(), names.begin(), names.end());
  return found;
}

std::unique_ptr<SourceFile> DequantisedFiles::open(FileNumber number, SourceStore& store) const {
  const File& file = files_[number];
  return std::make_unique<DequantisedFile>(
      file.own, number, file.view,
      [this, among = file.among, &store](std::size_t i) { return stored_.open_file((*among)[i], store); }, *chunks_);
}

}  // namespace ckpt
