#include "cli/job_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "cli/synonyms.hpp"
#include "report/render.hpp"
#include "store/paddle/lines.hpp"
#include "store/stores.hpp"
#include "tensor/weighted_sum.hpp"

namespace ckpt::cli {

namespace {

constexpr std::uint64_t least_memory = 1ULL << 20;
constexpr std::uint64_t most_threads = 4096;
constexpr double most_stall_seconds = 86'400;

/// A value, and its origin for messages: "--memory", "environment variable CKPT_MEMORY".
struct Setting {
  std::string text;
  std::string origin;
};

Setting setting(const std::string& option, const std::string& given, const std::string& variable,
                const Environment& environment) {
  const auto found = environment.find(variable);
  if (!given.empty() || found == environment.end()) return {given, option};
  return {found->second, "environment variable " + variable};
}

/// The choice that the setting's word names.
template <class Value>
Value choose(const Setting& setting, const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) {
    if (word == setting.text) return value;
    words.push_back(word);
  }
  throw Error(Kind::usage, setting.origin, {"'" + setting.text + "'", "one of " + join(words), ""});
}

std::uint64_t parse_count(const Setting& setting, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = setting.text.data() + setting.text.size();
  const auto [rest, status] = std::from_chars(setting.text.data(), end, number);
  if (status != std::errc{} || rest != end || number == 0 || number > most)
    throw Error(Kind::usage, setting.origin,
                {"'" + setting.text + "'", "a whole number from 1 to " + std::to_string(most), ""});
  return number;
}

std::uint64_t parse_memory(const Setting& setting) {
  const std::uint64_t bytes = parse_bytes(setting.text, setting.origin);
  if (bytes < least_memory) throw Error(Kind::usage, setting.origin, {"'" + setting.text + "'", "at least 1MiB", ""});
  return bytes;
}

ExchangeKind parse_exchange(const Setting& setting) {
  return choose<ExchangeKind>(setting, {{"auto", ExchangeKind::automatic},
                                        {"direct", ExchangeKind::direct},
                                        {"mpi", ExchangeKind::mpi},
                                        {"nccl", ExchangeKind::nccl}});
}

Reflink parse_reflink(const Setting& setting) {
  return choose<Reflink>(setting, {{"auto", Reflink::automatic}, {"off", Reflink::off}});
}

DirectIo parse_direct_io(const Setting& setting) {
  return choose<DirectIo>(setting, {{"auto", DirectIo::automatic}, {"on", DirectIo::on}, {"off", DirectIo::off}});
}

std::optional<std::chrono::seconds> stall_limit_from(const Options& options, const Environment& environment) {
  const Setting it = setting("--stall-timeout", options.stall_timeout, "CKPT_STALL_TIMEOUT", environment);
  if (it.text.empty()) return std::nullopt;
  const double seconds = parse_duration(it.text, it.origin);
  if (seconds < 1 || seconds > most_stall_seconds)
    throw Error(Kind::usage, it.origin, {"'" + it.text + "'", "from 1 s to 24 h", ""});
  return std::chrono::seconds(static_cast<std::int64_t>(seconds));
}

Resources resources_from(const Options& options, const Environment& environment) {
  Resources resources;
  if (const auto it = setting("--memory", options.memory, "CKPT_MEMORY", environment); !it.text.empty())
    resources.memory_bytes = parse_memory(it);
  if (const auto it = setting("--device-memory", options.device_memory, "CKPT_DEVICE_MEMORY", environment);
      !it.text.empty())
    resources.device_memory_bytes = parse_memory(it);
  if (const auto limit = stall_limit_from(options, environment)) resources.stall_limit = *limit;
  resources.patience = patience_from(options, environment);
  if (const auto it = setting("--threads", options.threads, "CKPT_THREADS", environment); !it.text.empty())
    resources.threads = static_cast<unsigned>(parse_count(it, most_threads));
  if (const auto it = setting("--exchange", options.exchange, "CKPT_EXCHANGE", environment); !it.text.empty())
    resources.exchange = parse_exchange(it);
  return resources;
}

NameChoice names_from(const Options& options) {
  NameChoice names{parse_globs("--only", options.only), parse_globs("--drop", options.drop), {}};
  for (const auto& text : options.rename) names.rename.push_back(parse_rename(text));
  names.takes_masters = options.master_weights;
  if (names.takes_masters) names.drop.emplace_back("*/*");  // everything that is not the model's
  return names;
}

std::uint64_t parse_shard_size(const std::string& text) {
  const std::uint64_t bytes = parse_bytes(text, "--shard-size");
  if (bytes == 0) throw Error(Kind::usage, "--shard-size", {"'" + text + "'", "at least 1", ""});
  constexpr std::uint64_t usual = 1 << 20;
  if (bytes < usual && text.find_first_not_of("0123456789") == std::string::npos)
    log::warn("--shard-size {} is {}, so that each parameter gets a file of its own: did you mean {}GB?", text,
              counted(bytes, "byte"), text);
  return bytes;
}

/// Parses "bf16", "f32:*.norm.*", "bf16!:*.weight_scale".
CastRule parse_cast(const std::string& text) {
  const std::size_t colon = text.find(':');
  std::string word = text.substr(0, colon);
  const bool takes_tied = word.ends_with('!');
  if (takes_tied) word.pop_back();
  word = dtype_word(word);
  const std::string names = colon == std::string::npos ? "*" : text.substr(colon + 1);
  for (const char* dtype : {"f64", "f32", "f16", "bf16"})
    if (word == dtype) return {number_type(dtype).value(), parse_globs("--cast", {names}).front(), takes_tied};
  throw Error(Kind::usage, "--cast '" + text + "'",
              {"'" + word + "'", "one of f64, f32, f16, bf16", "write for example bf16, or 'f32:*.norm.*'"});
}

/// Parses "embedding: show >= 10"; the condition itself is understood only with the layout.
KeepRule parse_keep(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto is_blank = [](std::string_view part) { return part.find_first_not_of(' ') == std::string_view::npos; };
  if (colon == std::string::npos || colon == 0 || is_blank(std::string_view(text).substr(colon + 1)))
    throw Error(Kind::usage, "--keep '" + text + "'",
                {"not a table and a condition", "TABLE:CONDITION", "write for example 'embedding: show >= 10'"});
  const std::size_t begin = text.find_first_not_of(' ', colon + 1);
  return {parse_globs("--keep", {text.substr(0, colon)}).front(), text.substr(begin)};
}

std::optional<DType> dequantised_from(const Options& options) {
  if (options.dequantize.empty()) return std::nullopt;
  return choose<std::optional<DType>>(
      {dtype_word(options.dequantize), "--dequantize"},
      {{"bf16", number_type("bf16")}, {"f16", number_type("f16")}, {"f32", number_type("f32")}});
}

ReplicaCheck replicas_from(const Options& options) {
  if (options.replicas.empty()) return ReplicaCheck::sample;
  return choose<ReplicaCheck>(
      {options.replicas, "--replicas"},
      {{"trust", ReplicaCheck::trust}, {"sample", ReplicaCheck::sample}, {"full", ReplicaCheck::full}});
}

/// Whether a format's output is always a directory.
bool is_of_directories(const std::string& format) {
  const auto& all = formats();
  return std::any_of(all.begin(), all.end(),
                     [&](const Format& each) { return each.name == format && !each.index_name.empty(); });
}

/// A format by its name, or by an ending that is one format's alone: "pt", ".h5".
std::string parse_format(const std::string& text) {
  std::string word = lower_case(text);
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    if (!format.is_written) continue;
    if (format.name == word) return word;
    names.emplace_back(format.name);
  }
  const std::string ending = (word.starts_with('.') ? "" : ".") + word;
  const Format* const found = format_by_ending(formats(), ending);
  const bool is_shared =
      std::ranges::any_of(formats(), [&](const Format& each) { return each.shared_ending == ending; });
  const bool is_ending = ending.rfind('.') == 0;
  if (is_ending && found != nullptr && !is_shared && found->index_name.empty()) return std::string(found->name);
  const std::string remedy = is_shared ? ending + " files are mindspore's, and torch's where Lightning wrote them" : "";
  throw Error(Kind::usage, "--format", {"'" + text + "'", "one of " + join(names, names.size()), remedy});
}

/// Parses "0.5=SRC", "1/3=SRC:LAYOUT". A path with a colon is followed by one.
WeightedPlace parse_weighted(const std::string& text) {
  const std::string origin = "--average " + shell_word(text);
  const std::size_t equals = text.find('=');
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    throw Error(Kind::usage, origin,
                {found, expected, "write for example 0.5=step_1000, or 1/3=step_1000:train64.json"});
  };
  if (equals == std::string::npos || equals + 1 == text.size()) refuse("no weight and checkpoint", "W=SRC[:LAYOUT]");
  const auto number = [&](std::string_view word) {
    double value = 0;
    const auto [rest, status] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (status != std::errc{} || rest != word.data() + word.size() || !std::isfinite(value))
      refuse("'" + std::string(word) + "'", "a weight: a number, or a fraction of two");
    return value;
  };
  WeightedPlace weighted;
  weighted.weight_text = text.substr(0, equals);
  const std::string_view weight = weighted.weight_text;
  const std::size_t slash = weight.find('/');
  weighted.weight = number(weight.substr(0, slash));
  if (slash != std::string_view::npos) weighted.weight /= number(weight.substr(slash + 1));
  const double size = std::abs(weighted.weight);
  if (size != 0 && !(size >= WeightedSum::least_weight && size <= WeightedSum::most_weight))
    refuse("the weight " + weighted.weight_text, "0, or from 1e-100 to 1e100, of either sign");
  const std::size_t colon = text.rfind(':');
  const bool has_layout = colon != std::string::npos && colon > equals;
  weighted.place.path = text.substr(equals + 1, has_layout ? colon - equals - 1 : std::string::npos);
  if (has_layout) weighted.layout = text.substr(colon + 1);
  if (weighted.place.path.empty()) refuse("no checkpoint", "W=SRC[:LAYOUT]");
  return weighted;
}

/// The files of layouts and the reference, which nothing may overwrite. A pipe (a shell's `<(…)`) is none.
std::vector<std::filesystem::path> files_read(const Options& options) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const std::string& file :
       {options.source_layout, options.target_layout, options.delta_layout, options.expectation.reference})
    if (!file.empty() && file != "-" && !std::filesystem::is_fifo(file, none)) files.emplace_back(file);
  for (const std::string& text : options.average)
    if (std::string file = parse_weighted(text).layout; !file.empty()) files.emplace_back(std::move(file));
  return files;
}

double parse_bound(std::string_view text, const std::string& whole) {
  double bound = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, bound);
  if (status != std::errc{} || rest != end || !std::isfinite(bound) || bound < 0)
    throw Error(Kind::usage, "--tolerance",
                {"'" + whole + "'", "REL or REL,ABS", "write for example 1e-2, or 5e-4,3e-8"});
  return bound;
}

}  // namespace

Environment read_environment() {
  Environment environment;
  for (const char* name :
       {"CKPT_DEVICE_MEMORY", "CKPT_EXCHANGE", "CKPT_MEMORY", "CKPT_STALL_TIMEOUT", "CKPT_THREADS"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') environment[name] = value;
  }
  return environment;
}

std::vector<std::pair<std::string, std::uint64_t>> axis_sizes(const std::string& option, std::string_view text) {
  std::vector<std::pair<std::string, std::uint64_t>> sizes;
  while (true) {
    const std::string_view entry = text.substr(0, text.find(','));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0)
      throw Error(Kind::usage, option, {"'" + std::string(entry) + "'", "AXIS=N", "write for example dp=7,tp=8"});
    const std::string axis(entry.substr(0, equals));
    const std::uint64_t size = parse_count({std::string(entry.substr(equals + 1)), option + " " + axis}, max_cards);
    if (std::any_of(sizes.begin(), sizes.end(), [&](const auto& known) { return known.first == axis; }))
      throw Error(Kind::usage, option, {"axis " + axis + " is given twice", "once", ""});
    sizes.emplace_back(axis, size);
    if (entry.size() == text.size()) return sizes;
    text.remove_prefix(entry.size() + 1);
  }
}

std::map<std::string, std::uint64_t> parse_mesh(std::string_view text) {
  const auto sizes = axis_sizes("--to-mesh", text);
  return {sizes.begin(), sizes.end()};
}

Rename parse_rename(const std::string& text) {
  const std::string origin = "--rename '" + text + "'";
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error(Kind::usage, origin, {"not a renaming", "OLD=NEW", "write for example 'model.{x}={x}'"});
  return with_context(origin, [&] {
    Rename rename{Pattern(text.substr(0, equals)), Pattern(text.substr(equals + 1))};
    if (rename.name.has_wildcard())
      throw Error(Kind::usage, "",
                  {"NEW has a wildcard", "captures of OLD and literal text", "write {x} on both sides"});
    for (const auto& capture : rename.name.captures()) {
      if (!rename.stored.captures().contains(capture))
        throw Error(Kind::usage, "", {"NEW has {" + capture + "}", "a capture of OLD", ""});
    }
    return rename;
  });
}

MapChoice parse_map(const std::string& names, const std::vector<std::string>& sizes) {
  MapChoice choice;
  const std::size_t hash = names.rfind('#');
  choice.map = names.substr(0, hash);
  if (hash != std::string::npos) choice.side = names.substr(hash + 1);
  if (hash != std::string::npos && (choice.map.empty() || choice.side.empty()))
    throw Error(Kind::usage, "--names '" + names + "'",
                {"no map and side", "MAP or MAP#SIDE", "write for example llama#hf"});
  for (const std::string& text : sizes) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(Kind::usage, "--size '" + text + "'", {"no size", "NAME=N", "write for example --size g=8"});
    const std::string name = text.substr(0, equals);
    const auto most = ~std::uint64_t{0} >> 1;
    if (!choice.sizes.emplace(name, parse_count({text.substr(equals + 1), "--size " + name}, most)).second)
      throw Error(Kind::usage, "--size " + name, {"given twice", "once", ""});
  }
  return choice;
}

Tolerance parse_tolerance(const std::string& text) {
  const std::size_t comma = text.find(',');
  Tolerance tolerance{parse_bound(std::string_view(text).substr(0, comma), text), 0};
  if (comma != std::string::npos) tolerance.absolute = parse_bound(std::string_view(text).substr(comma + 1), text);
  return tolerance;
}

std::chrono::seconds patience_from(const Options& options, const Environment& environment) {
  constexpr std::chrono::seconds least{5};  // a process that gets no processor for some seconds is not lost
  return std::max(least, stall_limit_from(options, environment).value_or(Communicator::default_patience));
}

ReshardJob reshard_job(const Program& program, const Options& options, const Environment& environment) {
  ReshardJob job;
  job.source.path = options.source;
  for (const std::string& text : options.average) job.average.push_back(parse_weighted(text));
  if (!job.average.empty()) job.source.path = job.average.front().place.path;
  for (const std::string& delta : options.delta) job.deltas.push_back({delta, {}});
  job.output.path = options.output;
  job.output.force = options.force;
  job.output.resume = options.resume;
  job.output.fsync = !options.no_fsync;
  if (!options.direct_io.empty()) job.output.direct_io = parse_direct_io({options.direct_io, "--direct-io"});
  if (!options.reflink.empty()) job.output.reflink = parse_reflink({options.reflink, "--reflink"});
  if (!options.format.empty()) job.format = parse_format(options.format);
  const bool is_merged = program.verb == Verb::merge && options.shard_size.empty() && options.like.empty();
  job.output.is_single_file = is_merged && !is_of_directories(job.format);
  if (job.output.is_single_file && options.output.ends_with('/'))
    throw Error(Kind::usage, "-o " + shell_word(options.output),
                {"the name of a directory", "that of the file to write",
                 "give one, for example -o " + shell_word(options.output + "merged.h5")});
  if (is_merged) job.target.layout = single_card();
  if (!options.shard_size.empty()) job.target.file_bytes = parse_shard_size(options.shard_size);
  job.target.is_like_expected = !options.like.empty();
  if (job.target.is_like_expected) job.target.file_bytes = ~std::uint64_t{0};
  if (!options.to_mesh.empty()) job.target.mesh = parse_mesh(options.to_mesh);
  if (!options.cards.empty()) job.target.cards = parse_count({options.cards, "--cards"}, max_cards);
  job.target.must_cut = program.verb == Verb::split;
  if (!options.uneven.empty())
    job.target.uneven =
        choose<Uneven>({options.uneven, "--uneven"}, {{"ceil", Uneven::ceil}, {"balanced", Uneven::balanced}});
  job.spared_files = files_read(options);
  job.names = names_from(options);
  job.map = parse_map(options.names, options.sizes);
  job.map.allows_arithmetic = options.allow_arithmetic;
  job.first_copies = parse_globs("--first", options.first);
  for (const std::string& text : options.cast) job.casts.push_back(parse_cast(text));
  job.dequantised = dequantised_from(options);
  for (const std::string& text : options.keep) job.keeps.push_back(parse_keep(text));
  job.expectation = parse_expectation(options.expectation);
  if (job.expectation) {
    job.expectation->allowances.any_dtype = !job.casts.empty() || job.target.is_like_expected;
    job.expectation->dequantised = job.dequantised;
  }
  job.unlike = parse_globs("--unlike", options.unlike);
  job.replicas = replicas_from(options);
  job.mixes_steps = job.replicas == ReplicaCheck::trust;
  job.is_view = options.view;
  if (job.is_view) job.verify = Verify::none;
  if (job.is_view && options.replicas.empty()) job.replicas = ReplicaCheck::trust;
  if (!options.verify.empty())
    job.verify = choose<Verify>({options.verify, "--verify"},
                                {{"none", Verify::none}, {"written", Verify::written}, {"reread", Verify::reread}});
  job.has_checksums = options.crc;
  if (!options.digits.empty())
    job.text_digits = choose<int>({options.digits, "--digits"}, {{"6", paddle_digits}, {"9", exact_digits}});
  if (job.target.file_bytes && job.format.empty()) job.format = "safetensors";
  if (job.target.file_bytes && is_of_directories(job.format))
    throw Error(Kind::usage, "--shard-size",
                {"a directory of files with an index of its own (--format " + job.format + ")",
                 "a format whose files are read by themselves", "leave --shard-size out"});
  if (!options.leaves.empty())
    job.keeps_trees = choose<bool>({options.leaves, "--leaves"}, {{"json", false}, {"tree", true}});
  job.dry_run = options.dry_run;
  job.is_strict = options.strict;
  job.resources = resources_from(options, environment);
  return job;
}

CompareJob compare_job(const Options& options, const Environment& environment) {
  CompareJob job;
  job.a.path = options.source;
  for (const std::string& text : options.average) job.average.push_back(parse_weighted(text));
  if (!job.average.empty()) job.a.path = job.average.front().place.path;
  job.b.path = options.output;
  job.names = names_from(options);
  job.map = parse_map(options.names, options.sizes);
  job.map.allows_arithmetic = options.allow_arithmetic;
  job.first_copies = parse_globs("--first", options.first);
  job.dequantised = dequantised_from(options);
  job.expectation = parse_expectation(options.expectation);
  job.replicas = replicas_from(options);
  if (!options.tolerance.empty()) job.tolerance = parse_tolerance(options.tolerance);
  job.resources = resources_from(options, environment);
  return job;
}

CheckJob check_job(const Options& options, const Environment& environment) {
  return {{options.source, {}},
          resources_from(options, environment),
          parse_expectation(options.expectation),
          options.fingerprints};
}

}  // namespace ckpt::cli
