#include "jobs/average.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/printable.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "checkpoint/content_sums.hpp"
#include "diagnosis/check_source.hpp"
#include "jobs/check.hpp"
#include "jobs/dequantise.hpp"
#include "jobs/name_maps.hpp"
#include "jobs/types/memory_shares.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/placement/state_shapes.hpp"
#include "processes/gather_all.hpp"
#include "tensor/fingerprint.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

using Averaged = Averaging::Kind;

bool is_float(const DType& dtype) {
  const auto format = number_format(dtype);
  return format && format->is_float;
}

/// A floating-point type in this machine's byte order.
DType in_own_order(const DType& dtype) {
  return number_type(dtype.kind, dtype.size).value_or(dtype);
}

Error of_parameter(Kind kind, const std::string& name, Error::Text text) {
  return Error(kind, "parameter '" + name + "'", std::move(text)).of_parameter(name);
}

/// Patterns for the optimizer's state: what frameworks call it, and names that have those of parameters in them.
std::vector<Pattern> patterns_of_states(const Checkpoint& checkpoint, const std::set<std::string>& names) {
  std::vector<Pattern> patterns;
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(patterns, [&](const Pattern& pattern) { return pattern.matches(name); });
  };
  if (!checkpoint.masters().empty()) patterns.emplace_back("*/*");  // DeepSpeed's directories: all but the model
  // torch's and JAX's, TensorFlow's, Paddle's, and MindSpore's
  constexpr std::array<const char*, 17> frameworks{
      "optimizer[./_]*", "optim[./]*",       "opt_state[./]*",   "*exp_avg*",           "*/Adam",
      "*/Adam_1",        "*/Momentum",       "beta[12]_power",   "*/.OPTIMIZER_SLOT/*", "*_moment[12]_[0-9]",
      "*_pow_acc_[0-9]", "*_velocity_[0-9]", "master_weights/*", "adam_[mv].*",         "moments.*",
      "moment[12].*",    "accu_grads.*"};
  for (const char* const text : frameworks)
    if (const Pattern pattern{std::string(text)};
        std::ranges::any_of(names, [&](const std::string& name) { return pattern.matches(name); }))
      patterns.push_back(pattern);
  for (const std::string& text : state_patterns(names))
    if (!is_known(text)) patterns.emplace_back(text);
  return patterns;
}

/// " --drop 'layers.*.w' --drop b", for all names.
std::string drop_options(const std::vector<std::string>& names) {
  std::string options;
  for (const NameGroup& group : group_names(names)) options += " --drop " + shell_word(group.pattern);
  return options;
}

/// The fingerprints in a checkpoint's manifest; none if they are of other tensors than the job reads. Collective.
std::map<std::string, std::string> told_by(const Checkpoint& checkpoint, Communicator& processes) {
  const CarriedManifest& said = carried_manifest(checkpoint, processes);
  return checkpoint.dequantised() != nullptr ? std::map<std::string, std::string>() : said.fingerprints;
}

bool is_anywhere(const std::map<std::string, std::string>& told, Communicator& processes) {
  return processes.maximum(told.empty() ? 0 : 1) != 0;
}

/// Finds the first checkpoint's tensors in another one.
class Finder {
 public:
  /// `taken`: as for `average`.
  Finder(const Checkpoint& first, const Placement& of_first, const std::vector<std::optional<DType>>& taken,
         const AverageChoice& choice)
      : first_(first), of_first_(of_first), taken_(taken), choice_(choice), names_(choice.names) {}

  AveragedSource find(const WeightedPlace& place, SourceStore& store, Communicator& processes) const {
    AveragedSource other{
        .checkpoint = Checkpoint::open(with_threads(place.place, choice_.resources, processes), store, processes),
        .name = place.place.path.string(),
        .weight = place.weight};
    agree(processes, [&] {
      other.checkpoint.take_first_copies(choice_.first_copies);
      if (!other.checkpoint.is_shared())
        throw Error(
            Kind::input, other.name,
            {"not every process sees the same files of it", "all but the first checkpoint where each process sees them",
             "name it first, put it on a file system that all share, or run one process"});
    });
    if (choice_.dequantised)
      dequantise(other.checkpoint, number_type("f32").value(), choice_.names,
                 choice_.is_told ? choice_.dequantised : std::nullopt, store, processes);
    const bool may_map = choice_.map || choice_.is_like_model || !first_.layout().names.empty();
    agree(processes, [&] {
      Resolved resolved =
          may_map ? resolve(other.checkpoint)
                  : resolve(other.checkpoint, [&](const std::string& name) { return names_.is_kept(name); });
      for (const std::string& warning : resolved.warnings) log::warn(warning);
      other.placement = std::move(resolved.placement);
    });
    refuse_codes(other.checkpoint, other.placement, processes);
    NameChoice all;
    if (may_map && !has_all(other.placement)) all.mapping = mapping_from(other.checkpoint, processes);
    agree(processes, [&] { pair(other, select(all, other.placement)); });
    other.told = told_by(other.checkpoint, processes);
    other.is_told = is_anywhere(other.told, processes);
    return other;
  }

  std::vector<Averaged> kinds() const {
    std::vector<Averaged> kinds(taken_.size(), Averaged::own);
    for (ParameterId p = 0; p < taken_.size(); ++p)
      if (const Tensor& tensor = of_first_.tensors()[p]; taken_[p] && !tensor.verbatim)
        kinds[p] = is_float(tensor.dtype) ? Averaged::sum : Averaged::equal;
    return kinds;
  }

 private:
  bool has_all(const Placement& placement) const {
    for (ParameterId p = 0; p < taken_.size(); ++p)
      if (taken_[p] && !placement.find(of_first_.tensors()[p].name)) return false;
    return true;
  }

  /// The map from another checkpoint's names to the first one's.
  std::shared_ptr<const NameMapping> mapping_from(const Checkpoint& other, Communicator& processes) const {
    MapWish wish;
    for (const Tensor& tensor : of_first_.tensors()) wish.names.push_back(tensor.name);
    const auto placement = std::make_shared<const Placement>(of_first_);
    wish.shape = [placement](const std::string& name) -> std::optional<Shape> {
      const auto found = placement->find(name);
      return found ? std::optional(Shape(placement->tensors()[*found].shape)) : std::nullopt;
    };
    MapChoice map = choice_.map;
    map.side.clear();  // it is the first one's
    MapPlaces places{&other.layout(), &first_.layout(), choice_.is_like_model, choice_.models};
    places.models.push_back(first_.path());
    places.models.push_back(other.path());
    return load_mapping(map, places, std::move(wish), processes);
  }

  void pair(AveragedSource& other, const Selection& selection) const {
    other.source_of.resize(taken_.size());
    if (!selection.links.empty()) other.links.resize(taken_.size());
    other.equal = selection.equal;
    std::vector<std::string> missing;
    for (ParameterId p = 0; p < taken_.size(); ++p) {
      const Tensor& tensor = of_first_.tensors()[p];
      if (!taken_[p] || tensor.verbatim) continue;
      const auto found = selection.find(tensor.name);
      if (!found) {
        missing.push_back(tensor.name);
        continue;
      }
      check_like(other, tensor, selection.tensors[*found]);
      other.source_of[p] = selection.source_of[*found];
      if (selection.links.empty()) continue;
      other.links[p] = selection.links[*found];
      if (other.links[p] && other.links[p]->scaling())
        throw of_parameter(Kind::usage, tensor.name,
                           {"the map of names recomputes it from that of " + other.name, "a move of elements",
                            "convert " + other.name + " alone, and average the output"});
    }
    if (!missing.empty()) refuse_names(other.name, first_.path().string(), missing);
    MapSource more{{}, false};
    const auto patterns = patterns_of_states(other.checkpoint, names_of(other.placement));
    const auto states = PatternIndex::of(patterns);
    for (ParameterId i = 0; i < selection.tensors.size(); ++i)
      if (const Tensor& tensor = selection.tensors[i]; !of_first_.find(tensor.name) && names_.is_kept(tensor.name) &&
                                                       !(!choice_.names.has_only() && states.first(tensor.name)))
        more.tensors.emplace_back(tensor, i);
    std::vector<std::string> refused;
    for (const auto& tensor : more.tensors)
      if (!choice_.names.names_sides() || is_of_taken_side(tensor, more)) refused.push_back(tensor.first.name);
    if (!refused.empty()) refuse_names(first_.path().string(), other.name, refused);
  }

  /// Whether patterns for a side of the map take a tensor of `all`, which have the first one's names, or something that
  /// is made of it.
  bool is_of_taken_side(const std::pair<Tensor, ParameterId>& tensor, const MapSource& all) const {
    const NameChoice& names = choice_.names;
    const std::array<std::string, 2> sides = names.mapping->sides_of(all);
    if (!names.is_kept(sides[0], tensor.first.name, true)) return false;
    if (sides[0] == sides[1]) return true;
    bool is_any = false;
    try {
      static_cast<void>(names.mapping->convert({{tensor}, false}, [&](const std::string& name) {
        is_any = is_any || names.is_kept(sides[1], name, false);
        return false;
      }));
    } catch (const Error&) {
      return true;  // no rule takes it alone
    }
    return is_any;
  }

  [[noreturn]] static void refuse_names(const std::string& lacking, const std::string& having,
                                        const std::vector<std::string>& names) {
    throw Error(
        Kind::input, lacking,
        {"it lacks " + join(names) + ", which " + having + " has", "the same parameters in all that are averaged",
         "leave them out with" + drop_options(names) + ", or give --names a map between their names"});
  }

  void check_like(const AveragedSource& other, const Tensor& tensor, const Tensor& found) const {
    const auto refuse = [&](const std::string& own, const std::string& others, const char* what) {
      throw of_parameter(
          Kind::input, tensor.name,
          {others + " in " + other.name, own + ", as in " + first_.path().string(),
           std::string("averages are of one ") + what + ": leave it out with --drop " + shell_word(tensor.name)});
    };
    if (!(tensor.shape == found.shape)) refuse(to_string(tensor.shape), to_string(found.shape), "shape");
    if (is_float(tensor.dtype) && is_float(found.dtype)) return;
    if (tensor.dtype != found.dtype) refuse(tensor.dtype.name, found.dtype.name, "kind of numbers");
  }

  const Checkpoint& first_;
  const Placement& of_first_;
  const std::vector<std::optional<DType>>& taken_;
  const AverageChoice& choice_;
  NameFilter names_;
};

/// Numbers of 8 bits are codes, mostly, and their averages would hardly differ from the first one's.
void refuse_narrow(const std::vector<Averaged>& kinds, const std::vector<std::optional<DType>>& taken,
                   const Placement& placement) {
  for (ParameterId p = 0; p < taken.size(); ++p) {
    if (kinds[p] != Averaged::sum || taken[p]->size > 1) continue;
    const std::string& name = placement.tensors()[p].name;
    throw of_parameter(Kind::usage, name,
                       {"its average would be " + taken[p]->name.str(), "f64, f32, f16 or bf16",
                        "give --cast " + shell_word("bf16!:" + name)});
  }
}

void tell(const std::vector<WeightedPlace>& places) {
  std::string terms;
  double sum = 0;
  for (const WeightedPlace& each : places) {
    terms += (terms.empty() ? "" : " + ") + each.weight_text + " * " + each.place.path.string();
    sum += each.weight;
  }
  log::info("the average is {}; the weights add up to {}", terms, sum);
}

/// Names of parameters; empty where files differ by more than these.
using Changes = std::set<std::string>;

/// What of a checkpoint is not as its manifest says; nothing if all is. Collective.
std::optional<Changes> changes_of(const std::filesystem::path& path, const Resources& resources, Stores& stores,
                                  Communicator& processes) {
  Counters counters;
  Integrity found;
  try {
    found = check_integrity({.checkpoint = {path, {}}, .resources = resources}, stores, processes, counters);
  } catch (const Error& error) {  // a layout was given because the manifest's does not serve
    if ((error.kind() != Kind::input && error.kind() != Kind::layout) || !processes.failed_together()) throw;
    processes.set_failed_together(false);
    return Changes{};
  }
  Changes changed;
  bool are_files = found.bytes == 0;  // they are lost, or cut: nothing was read
  for (const Damage& damage : found.damages) {
    changed.insert(damage.parameters.begin(), damage.parameters.end());
    are_files = are_files || damage.what == Damage::What::swapped || damage.what == Damage::What::unreadable;
  }
  if (changed.empty() && (!are_files || found.damages.empty())) return std::nullopt;
  return changed;
}

/// Returns whether this job has read all that it takes of a source, and it is what the source's manifest says.
bool is_as_told(const AveragedFiles& files, std::size_t source, const std::vector<PartialSum>& sums) {
  const Averaging& how = files.how();
  const AveragedSource* const other = source == 0 ? nullptr : &how.others[source - 1];
  const auto& told = other == nullptr ? how.told : other->told;
  for (ParameterId p = 0; p < how.kinds.size(); ++p) {
    if (how.kinds[p] == Averaged::own) continue;
    const Tensor& tensor =
        other == nullptr ? how.placement.tensors()[p] : other->placement.tensors()[other->source_of[p]];
    const auto was = told.find(tensor.name);
    if (was == told.end() || sums[p].bytes != tensor.bytes()) return false;
    if (to_string(fingerprint(sums[p], describe_tensor(tensor.name, tensor.dtype.name, tensor.shape))) != was->second)
      return false;
  }
  return true;
}

}  // namespace

void average(Checkpoint& first, Placement placement, const std::vector<std::optional<DType>>& taken,
             const AverageChoice& choice, SourceStore& store, Communicator& processes) {
  Averaging how{.name = first.path().string(), .weight = choice.places.front().weight};
  refuse_codes(first, placement, processes);
  const Finder finder(first, placement, taken, choice);
  how.kinds = finder.kinds();
  for (std::size_t i = 1; i < choice.places.size(); ++i)
    how.others.push_back(finder.find(choice.places[i], store, processes));
  agree(processes, [&] { refuse_narrow(how.kinds, taken, placement); });
  for (ParameterId p = 0; p < taken.size(); ++p)
    how.dtypes.push_back(how.kinds[p] == Averaged::sum ? in_own_order(*taken[p]) : placement.tensors()[p].dtype);
  how.memory_bytes = averaging_memory(choice.resources.memory_bytes);
  how.threads = thread_count(choice.resources, processes);
  how.most_open = std::max<std::size_t>(1, open_files_allowed(choice.resources, processes) / choice.places.size());
  how.placement = std::move(placement);
  how.told = told_by(first, processes);
  how.is_told = is_anywhere(how.told, processes);
  agree(processes, [&] {
    first.average(std::move(how), store);
    const auto process = static_cast<std::uint32_t>(processes.rank());
    first.averaged()->check_equal(first.own_files(process, static_cast<std::uint32_t>(processes.size())), store);
    if (choice.is_told) tell(choice.places);
  });
}

void check_others(const AveragedFiles& files, ReplicaCheck extent, unsigned threads, std::size_t most_open,
                  SourceStore& store, Exchange& exchange, Communicator& processes) {
  const Averaging& how = files.how();
  for (const AveragedSource& other : how.others) {
    const Readers readers(other.placement, {});
    SourceReader reader(other.checkpoint, other.placement, store, how.memory_bytes / 2 / how.others.size(),
                        std::max<std::size_t>(1, most_open / how.others.size()));
    std::vector<bool> is_taken(other.placement.tensors().size(), false);
    for (ParameterId p = 0; p < how.kinds.size(); ++p) {
      if (how.kinds[p] == Averaged::own) continue;
      is_taken[other.source_of[p]] = true;
      if (!other.links.empty() && other.links[p])
        other.links[p]->for_each_source([&](ParameterId from) { is_taken[from] = true; });
    }
    std::vector<Equality> equal = other.placement.equalities();
    for (const auto& [parameter, same] : other.equal) equal.push_back({parameter, same});
    std::erase_if(equal, [&](const Equality& pair) { return !is_taken[pair.parameter] || !is_taken[pair.other]; });
    const ReplicatedFiles replicated{.checkpoint = other.checkpoint,
                                     .placement = other.placement,
                                     .reader = reader,
                                     .owners = {},
                                     .is_taken = is_taken,
                                     .extent = extent,
                                     .threads = threads};
    check_source({replicated, readers, store, std::move(equal), most_open}, exchange, processes);
  }
}

void warn_of_changed_sources(const AveragedFiles& files, const Resources& resources, Stores& stores,
                             Communicator& processes) {
  const std::vector<const Checkpoint*> sources = files.sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Checkpoint* const source = sources[i];
    const CarriedManifest& said = carried_manifest(*source, processes);
    const bool says_something = said.is_there && (!said.is_sealed || !said.fingerprints.empty());
    if (processes.maximum(says_something ? 1 : 0) == 0) continue;
    const std::vector<PartialSum> sums = added_up(files.sums(i), processes);
    bool is_same = true;  // where another process has read the same manifest, that one compares
    agree(processes, [&] {
      if (said.differing) throw Error(*said.differing);
      if (!said.is_sealed || said.is_read_here) is_same = said.is_sealed && is_as_told(files, i, sums);
    });
    if (processes.maximum(is_same ? 0 : 1) == 0) continue;
    const std::optional<Changes> changes = changes_of(source->path(), resources, stores, processes);
    if (changes && processes.rank() == 0)
      log::warn("{}", changed_warning(source->path().string(), {changes->begin(), changes->end()}));
  }
}

void leave_out_states(const Checkpoint& first, NameChoice& names, bool is_told, Communicator& processes) {
  if (names.has_only()) return;
  agree(processes, [&] {
    const NameFilter filter(names);
    std::set<std::string> kept;
    static_cast<void>(resolve(first, [&](const std::string& name) {
      if (filter.is_kept(name)) kept.insert(name);
      return false;
    }));
    std::vector<std::string> left_out;
    const std::vector<Pattern> patterns = patterns_of_states(first, kept);
    for (const Pattern& pattern : patterns) left_out.push_back(pattern.text());
    names.drop.insert(names.drop.end(), patterns.begin(), patterns.end());
    if (is_told && !left_out.empty())
      log::info("the optimizer's state is left out: {}; --only '*' averages it, too", join(left_out));
  });
}

std::string averaged_json(const Checkpoint& averaged, const std::vector<WeightedPlace>& places,
                          Communicator& processes) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    const std::map<std::string, std::string> none;
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::string list;
      const CarriedManifest* const said = averaged.averaged()->sources()[i]->manifest().get();
      for (const auto& [name, fingerprint] : said == nullptr ? none : said->fingerprints)
        list += name + " " + fingerprint + "\n";
      auto& source = all.emplace_back();
      source["path"] = printable(places[i].place.path.string());
      source["weight"] = places[i].weight;
      if (!list.empty())
        source["fingerprint"] = to_string(fingerprint(sum_of(std::as_bytes(std::span(list)), 0), "parameters"));
    }
  });
  return value_of(0, all.dump(), processes);
}

}  // namespace ckpt
