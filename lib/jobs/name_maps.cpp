#include "jobs/name_maps.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "frameworks/megatron_args.hpp"
#include "io/small_text.hpp"
#include "layout/names/naming.hpp"
#include "layout/names/pattern_index.hpp"
#include "processes/gather_all.hpp"
#include "store/dcp/dcp_directory.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_map_bytes = 64U << 20;

/// A map as words say it, "qwen3_moe.megatron", "my-map.json#megatron", apart from the side.
struct MapWord {
  std::string map;
  std::string side;
};

MapWord split_word(const std::string& word) {
  if (const std::size_t hash = word.rfind('#'); hash != std::string::npos)
    return {word.substr(0, hash), word.substr(hash + 1)};
  if (word.ends_with(".json")) return {word, ""};
  const std::size_t dot = word.rfind('.');
  if (dot == std::string::npos || word.find('/', dot) != std::string::npos) return {word, ""};
  return {word.substr(0, dot), word.substr(dot + 1)};
}

std::vector<std::filesystem::path> files_of_ready_maps() {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(ready_maps(), none))
    if (entry.path().extension() == ".json" && entry.path().stem() != "schema") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::filesystem::path path_of_map(const std::string& map, const std::filesystem::path& beside) {
  std::error_code none;
  for (const std::filesystem::path& path : {beside / map, beside / (map + ".json"), ready_maps() / (map + ".json")})
    if (std::filesystem::is_regular_file(path, none)) return path;
  std::vector<std::string> names;
  for (const auto& file : files_of_ready_maps()) names.push_back(file.stem().string());
  if (names.empty())
    throw Error(Kind::usage, "map of names '" + map + "'",
                {"there is none, and " + ready_maps().string() + " has no map", "the file of a map",
                 "set CKPT_NAMES to the folder layouts/names, which comes with the programs"});
  throw Error(Kind::usage, "map of names '" + map + "'",
              {"there is none", "the file of a map, or one of " + join(names, 32), ""});
}

/// The texts of a map and of those that it is based on, in the order in which they are opened.
using TextsOfMap = std::vector<OriginalText>;

/// Texts that process 0 has read: of each map that may count, of the map that follows it, and config.json.
struct MapTexts {
  std::vector<TextsOfMap> maps;
  TextsOfMap then;  ///< empty: none follows
  OriginalText config;
};

/// The first config.json beside these models; empty if there is none.
std::filesystem::path path_of_config(const std::vector<std::filesystem::path>& models) {
  for (std::filesystem::path model : models) {
    std::error_code none;
    if (!std::filesystem::is_directory(model, none)) model = model.parent_path();
    auto config = model / "config.json";
    if (std::filesystem::is_regular_file(config, none)) return config;
  }
  return {};
}

OriginalText config_in(const std::vector<std::filesystem::path>& models) {
  const auto config = path_of_config(models);
  if (config.empty()) return {};
  return {small_text(config, most_map_bytes, "a model's config.json"), config.string()};
}

ModelConfig model_config(const OriginalText& text) {
  return text.first.empty() ? ModelConfig() : ModelConfig(text.first, text.second);
}

NameMap read_map_file(const std::filesystem::path& path, TextsOfMap& texts) {
  const auto open = [&](const std::filesystem::path& file) {
    return texts.emplace_back(small_text(file, most_map_bytes, "a map of names"), file.filename().string());
  };
  const OriginalText first = open(path);
  return parse_name_map(first.first, first.second,
                        [&](const std::string& base) { return open(path_of_map(base, path.parent_path())); });
}

/// Calls visit(map, its texts, its file) for each map that comes with the programs.
template <class Visit>
void for_each_ready_map(const Visit& visit) {
  for (const auto& file : files_of_ready_maps()) {
    TextsOfMap texts;
    try {
      const NameMap map = read_map_file(file, texts);
      visit(map, texts, file);
    } catch (const Error&) {
      continue;  // for a newer program
    }
  }
}

/// The map of this name; if the words in a layout are of another map, with a side that this one lacks, also that one.
/// Without a name, all maps that come with the programs and are for the model: none, if the source is to have the
/// model's own names.
MapTexts read_texts(const std::string& map, const MapWord& of_source, const MapWord& of_target,
                    const std::vector<std::filesystem::path>& models) {
  MapTexts texts{.maps = {}, .then = {}, .config = config_in(models)};
  if (!map.empty()) {
    const NameMap chosen = read_map_file(path_of_map(map, ""), texts.maps.emplace_back());
    const auto is_of_another = [&](const MapWord& word) {
      return word.map != map && !word.side.empty() && !chosen.side(word.side);
    };
    if (is_of_another(of_target)) {
      static_cast<void>(read_map_file(path_of_map(of_target.map, ""), texts.then));
    } else if (is_of_another(of_source)) {
      texts.then = std::exchange(texts.maps.front(), {});
      static_cast<void>(read_map_file(path_of_map(of_source.map, ""), texts.maps.front()));
    }
    return texts;
  }
  const ModelConfig config = model_config(texts.config);
  for (const std::string& type : config.model_types()) {
    for_each_ready_map([&](const NameMap& ready, TextsOfMap& of_map, const std::filesystem::path&) {
      if (std::ranges::find(ready.models, type) != ready.models.end()) texts.maps.push_back(std::move(of_map));
    });
    if (!texts.maps.empty()) break;  // else for the text model in this one
  }
  return texts;
}

/// Whether the layout's own "pad" pads a dimension of a parameter.
bool pads(const Naming& naming, const std::string& name, std::size_t dim) {
  const auto decision = naming.decide(name);
  return decision && decision->keys.pad && decision->keys.pad->contains(dim);
}

/// Whether the layout's rules or indices name layers by number (false) or stacked (true).
std::optional<bool> speaks_stacked(const Layout& layout, const StackedNames& stack) {
  std::vector<std::string> texts;
  for (const IndexRule& rule : layout.indices) texts.push_back(rule.in.text());
  for (const Rule& rule : layout.parameters)
    for (const Pattern& pattern : rule.names) texts.push_back(pattern.text());
  std::optional<bool> is_stacked;
  for (const std::string& text : texts) {
    const std::size_t at = text.find(stack.stacked);
    if (at == std::string::npos || at + stack.stacked.size() == text.size()) continue;
    const char next = text[at + stack.stacked.size()];
    if (std::string_view("{*?[0123456789").find(next) != std::string_view::npos) return false;
    is_stacked = true;
  }
  return is_stacked;
}

/// The names that a layout's rules and indices have in particular: patterns whose literal text is no longer than a
/// name's last part ("*.weight") have those of any spelling. It refers to the layout.
class SpokenNames {
 public:
  explicit SpokenNames(const Layout& layout) {
    std::vector<const Pattern*> patterns;
    for (const Rule& rule : layout.parameters)
      for (const Pattern& pattern : rule.names) patterns.push_back(&pattern);
    for (const IndexRule& rule : layout.indices) patterns.push_back(&rule.in);
    for (const Pattern* const pattern : patterns) {
      const auto [first, last, inner] = pattern->pieces();
      std::size_t& literal = literals_.emplace_back(first.size() + last.size());
      for (const std::string_view text : inner) literal += text.size();
    }
    index_ = PatternIndex(std::move(patterns));
  }

  bool have(const std::string& name) const {
    const std::size_t last_part = name.size() - std::min(name.rfind('.'), name.size());
    auto found = index_.first(name);
    while (found && literals_[*found] <= last_part) found = index_.first(name, *found + 1);
    return found.has_value();
  }

 private:
  PatternIndex index_;
  std::vector<std::size_t> literals_;
};

NameMap parsed(const TextsOfMap& texts) {
  std::size_t next = 1;
  return parse_name_map(texts.front().first, texts.front().second,
                        [&](const std::string&) { return texts.at(next++); });
}

std::optional<MapSide> named_side(const NameMap& map, const std::string& side, const std::string& where) {
  if (side.empty()) return std::nullopt;
  const auto found = map.side(side);
  if (!found)
    throw Error(
        Kind::usage, where,
        {map.origin + " has no side \"" + side + "\"", "\"" + map.sides[0] + "\" or \"" + map.sides[1] + "\"", ""});
  return found;
}

/// Returns the user's sizes that a map knows, and those that neither map knows: their error names this one.
std::map<std::string, std::uint64_t> sizes_for(const NameMap& map, const NameMap& other,
                                               std::map<std::string, std::uint64_t> given) {
  const auto names = MapSizes::names(map);
  const auto others = MapSizes::names(other);
  std::erase_if(given, [&](const auto& size) { return !names.contains(size.first) && others.contains(size.first); });
  return given;
}

/// Two maps, one after the other: they have a side in common, which the first makes. `sides`: which one the source may
/// be said to have; some may be empty.
std::shared_ptr<const NameMapping> mapping_of_two(NameMap first, NameMap second, const OriginalText& text_of_config,
                                                  const MapChoice& choice, const std::vector<std::string>& sides,
                                                  MapWish wish) {
  const ModelConfig config = model_config(text_of_config);
  const auto of_first = sizes_for(first, second, choice.sizes);
  const auto of_second = sizes_for(second, first, choice.sizes);
  std::array<std::vector<std::unique_ptr<SizedMap>>, 2> maps;
  SizedMap& one = *maps[0].emplace_back(std::make_unique<SizedMap>(std::move(first), config, of_first));
  SizedMap& other = *maps[1].emplace_back(std::make_unique<SizedMap>(std::move(second), config, of_second));
  for (const MapSide side : {0, 1})
    if (const auto same = other.map.side(one.map.sides[side])) {
      one.to = side;
      other.from = same;
      other.to = other_side(*same);
    }
  if (!choice.side.empty() && !other.map.side(choice.side)) one.from = named_side(one.map, choice.side, "--names");
  for (const std::string& side : sides)
    if (!one.from) one.from = one.map.side(side);
  if (!one.to || one.from == one.to)
    throw Error(Kind::usage, "--names",
                {one.map.origin + " and then " + other.map.origin +
                     (one.to ? ", for names of \"" + one.map.sides[*one.to] + "\", which both have" : ""),
                 "two maps with a side in common, which the source does not have", "one of them may do"});
  MapWish between;
  between.has_states = wish.has_states;
  between.allows_arithmetic = wish.allows_arithmetic;
  between.is_padded = [](const std::string&, std::size_t) { return true; };  // nobody stores what is between
  return std::make_shared<const NameMapping>(
      std::move(maps[0]), std::move(between), text_of_config,
      std::make_unique<const NameMapping>(std::move(maps[1]), std::move(wish), text_of_config));
}

}  // namespace

std::filesystem::path ready_maps() {
  if (const char* const given = std::getenv("CKPT_NAMES"); given != nullptr && *given != '\0') return given;
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  const auto installed = program.parent_path() / "share/ckpt-reshard/layouts/names";
  if (std::filesystem::is_directory(installed, none)) return installed;
  return program.parent_path().parent_path().parent_path() / "layouts/names";  // of a build tree
}

std::vector<MapFit> fits_of_ready_maps(const std::vector<std::string>& names) {
  std::vector<MapFit> fits;
  for_each_ready_map([&](const NameMap& map, const TextsOfMap&, const std::filesystem::path& file) {
    const std::array<std::uint64_t, 2> taken = names_taken(map, names);
    for (const MapSide side : {0, 1})
      if (taken[side] != 0)
        fits.push_back({file.stem().string(), map.sides[side], map.sides[other_side(side)], map.models, taken[side],
                        map.rules.size()});
  });
  std::ranges::stable_sort(fits, std::less(), [](const MapFit& fit) { return std::pair(~fit.taken, fit.rules); });
  return fits;
}

Error::Text missing_map(const NameMapping& mapping, const std::vector<std::string>& names,
                        const std::vector<std::string>& wanted) {
  if (mapping.has_maps()) return {};
  if (files_of_ready_maps().empty())
    return {"no map of names is in " + ready_maps().string(), "the maps that come with the programs",
            "set CKPT_NAMES to their folder layouts/names"};
  const std::vector<MapFit> fits = fits_of_ready_maps(names);
  std::vector<std::string> maps;
  for (const MapFit& of_wanted : fits_of_ready_maps(wanted))
    for (const MapFit& fit : fits)
      if (fit.map == of_wanted.map && fit.side == of_wanted.other_side && fit.taken == fits.front().taken &&
          2 * fit.taken > names.size())
        maps.push_back(fit.map);
  if (maps.empty()) return {};
  std::string found = "there is no config.json, which says the map of names";
  if (const OriginalText& config = mapping.config(); !config.second.empty()) {
    const auto types = model_config(config).model_types();
    found = types.empty() ? config.second + " has no model_type, which says the map of names"
                          : "no map of names is for the model_type '" + join(types) + "' of " + config.second;
  }
  const std::string others = maps.size() == 1 ? "" : ", as others do: " + join({maps.begin() + 1, maps.end()}, 3);
  return {found, "one that has " + join(names, 3),
          "give --names " + maps.front() + ", which takes " + std::to_string(fits.front().taken) + " of " +
              std::to_string(names.size()) + " names" + others};
}

bool may_say_map(const MapPlaces& places, Communicator& processes) {
  const bool is_in_layouts = !places.source->names.empty() || !places.target->names.empty();
  return value_of(0, std::uint8_t{is_in_layouts || !path_of_config(places.models).empty()}, processes) != 0;
}

std::shared_ptr<const NameMapping> load_mapping(const MapChoice& choice, const MapPlaces& places, MapWish wish,
                                                Communicator& processes) {
  const MapWord of_source = split_word(places.source == nullptr ? "" : places.source->names);
  const MapWord of_target = split_word(places.target == nullptr ? "" : places.target->names);
  const std::string map = choice ? choice.map : of_target.map;
  if (map.empty() && !places.is_like_model) {
    agree(processes, [&] {
      if (!choice.sizes.empty())
        throw Error(Kind::usage, "--size",
                    {"given without a map of names", "--names MAP too, or \"names\" in the output's layout", ""});
    });
    return nullptr;
  }
  MapTexts texts;
  agree(processes, [&] {
    if (processes.rank() == 0) texts = read_texts(map, of_source, of_target, places.models);
  });
  texts.maps = value_of(0, texts.maps, processes);
  texts.then = value_of(0, texts.then, processes);
  texts.config = value_of(0, texts.config, processes);
  wish.allows_arithmetic = choice.allows_arithmetic;
  std::shared_ptr<const NameMapping> mapping;
  agree(processes, [&] {
    if (places.target != nullptr) {
      const auto layout = std::make_shared<const Layout>(*places.target);
      const auto naming = std::make_shared<const Naming>(*layout);
      wish.is_padded = [layout, naming](const std::string& name, std::size_t dim) { return pads(*naming, name, dim); };
      wish.is_stacked = [layout](const StackedNames& stack) { return speaks_stacked(*layout, stack); };
      const auto spoken = std::make_shared<const SpokenNames>(*layout);
      wish.is_named = [layout, spoken](const std::string& name) { return spoken->have(name); };
    }
    if (!texts.then.empty()) {
      NameMap first = parsed(texts.maps.front());
      NameMap second = parsed(texts.then);
      const auto check_side = [&](const MapWord& word, const Layout* layout, const NameMap& of_word) {
        if (!first.side(word.side) && !second.side(word.side))
          static_cast<void>(named_side(of_word, word.side, layout == nullptr ? "" : layout->origin));
      };
      check_side(of_source, places.source, first);
      check_side(of_target, places.target, second);
      mapping = mapping_of_two(std::move(first), std::move(second), texts.config, choice, {choice.side, of_source.side},
                               std::move(wish));
      return;
    }
    const ModelConfig config = model_config(texts.config);
    std::vector<std::unique_ptr<SizedMap>> maps;
    for (const TextsOfMap& of_map : texts.maps) {
      auto sized = std::make_unique<SizedMap>(parsed(of_map), config, choice.sizes);
      const auto side_in = [&](const MapWord& word, const Layout* layout) {
        return word.map == map ? named_side(sized->map, word.side, layout == nullptr ? "" : layout->origin)
                               : sized->map.side(word.side);
      };
      sized->from = named_side(sized->map, choice.side, "--names");
      sized->to = side_in(of_target, places.target);
      if (!sized->from) sized->from = side_in(of_source, places.source);
      if (!sized->to && !wish.names.empty()) sized->to = side_of_names(sized->map, wish.names);
      if (!sized->to && sized->from) sized->to = other_side(*sized->from);
      const bool is_same = sized->from && sized->from == sized->to;  // both layouts say these names
      if (is_same && !places.are_sides_named) return;
      maps.push_back(std::move(sized));
    }
    const auto makes_wished = [](const auto& each) { return each->to.has_value(); };
    if (std::ranges::any_of(maps, makes_wished)) std::erase_if(maps, std::not_fn(makes_wished));
    mapping = std::make_shared<const NameMapping>(std::move(maps), std::move(wish), texts.config);
  });
  return mapping;
}

void check_trainer(const NameMapping& mapping, const std::vector<std::string>& recut_states, const Checkpoint& source,
                   SourceStore& store) {
  for (FileNumber file = 0; file < source.table().count(); ++file) {
    if (!source.is_there(file)) continue;
    const std::vector<Leaf>& leaves = source.file(file).schema->leaves;
    const auto leaf = std::ranges::find(leaves, "args", &Leaf::name);
    if (leaf == leaves.end()) continue;
    const auto path = source.file_path(file);
    // One that the file does not carry is in the file that torch_dist has beside its data.
    const auto args =
        megatron_args(store.tree(leaf->is_carried ? path : path.parent_path() / std::string(torch::torch_dist_tree)));
    if (!args) return;  // all files of a checkpoint have them, or none
    mapping.check_sizes(ModelConfig(args->config, "Megatron's arguments in " + source.path().string()));
    if (args->optimizer.find("muon") != std::string::npos && !recut_states.empty())
      log::warn("Muon updates each matrix as a whole, and only one side of the map fuses: {}", join(recut_states));
    return;
  }
}

}  // namespace ckpt
