#include "common/job_options.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

constexpr std::uint64_t least_memory = 1ULL << 20;
constexpr std::uint64_t most_threads = 4096;
constexpr std::uint64_t most_stall_seconds = 86'400;

/// A value and where it was given, for messages: "--memory", "environment variable CKPT_MEMORY".
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

/// The value of the word that `setting` holds.
template <class Value>
Value choose(const Setting& setting, const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) {
    if (word == setting.text) return value;
    words.push_back(word);
  }
  throw Error(Kind::usage, setting.origin, {"'" + setting.text + "'", "expected one of " + join(words), ""});
}

std::uint64_t parse_count(const Setting& setting, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = setting.text.data() + setting.text.size();
  const auto [rest, status] = std::from_chars(setting.text.data(), end, number);
  if (status != std::errc{} || rest != end || number == 0 || number > most)
    throw Error(Kind::usage, setting.origin,
                {"'" + setting.text + "'", "expected a whole number from 1 to " + std::to_string(most), ""});
  return number;
}

std::uint64_t parse_memory(const Setting& setting) {
  const std::uint64_t bytes = parse_bytes(setting.text, setting.origin);
  if (bytes < least_memory)
    throw Error(Kind::usage, setting.origin, {"'" + setting.text + "'", "expected at least 1MiB", ""});
  return bytes;
}

ExchangeKind parse_exchange(const Setting& setting) {
  return choose<ExchangeKind>(setting, {{"auto", ExchangeKind::automatic},
                                        {"direct", ExchangeKind::direct},
                                        {"mpi", ExchangeKind::mpi},
                                        {"nccl", ExchangeKind::nccl}});
}

std::vector<Pattern> parse_globs(const std::string& option, const std::vector<std::string>& texts) {
  std::vector<Pattern> patterns;
  patterns.reserve(texts.size());
  for (const auto& text : texts)
    patterns.push_back(with_context(fmt::format("{} '{}'", option, text), [&] { return Pattern(text); }));
  return patterns;
}

void set_running(Job& job, const Options& options, const Environment& environment) {
  if (const auto it = setting("--memory", options.memory, "CKPT_MEMORY", environment); !it.text.empty())
    job.memory_bytes = parse_memory(it);
  if (const auto it = setting("--device-memory", options.device_memory, "CKPT_DEVICE_MEMORY", environment);
      !it.text.empty())
    job.device_memory_bytes = parse_memory(it);
  if (const auto it = setting("--stall-timeout", options.stall_timeout, "CKPT_STALL_TIMEOUT", environment);
      !it.text.empty())
    job.stall_limit = std::chrono::seconds(parse_count(it, most_stall_seconds));
  if (const auto it = setting("--threads", options.threads, "CKPT_THREADS", environment); !it.text.empty())
    job.threads = static_cast<unsigned>(parse_count(it, most_threads));
  if (const auto it = setting("--exchange", options.exchange, "CKPT_EXCHANGE", environment); !it.text.empty())
    job.exchange = parse_exchange(it);
  if (!options.replicas.empty())
    job.replicas = choose<ReplicaCheck>(
        {options.replicas, "--replicas"},
        {{"trust", ReplicaCheck::trust}, {"sample", ReplicaCheck::sample}, {"full", ReplicaCheck::full}});
  if (!options.verify.empty())
    job.verify = choose<Verify>({options.verify, "--verify"},
                                {{"none", Verify::none}, {"written", Verify::written}, {"reread", Verify::reread}});
  if (!options.format.empty()) {
    std::vector<std::pair<std::string, std::string>> names;
    for (const Format& format : formats()) names.emplace_back(format.name, format.name);
    job.format = choose<std::string>({options.format, "--format"}, names);
  }
  job.dry_run = options.dry_run;
  job.force = options.force;
  job.resume = options.resume;
  job.fsync = !options.no_fsync;
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

std::map<std::string, std::uint64_t> parse_mesh(std::string_view text) {
  std::map<std::string, std::uint64_t> mesh;
  while (true) {
    const std::string_view entry = text.substr(0, text.find(','));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0)
      throw Error(Kind::usage, "--to-mesh",
                  {"'" + std::string(entry) + "'", "expected AXIS=N", "write for example dp=7,tp=8"});
    const std::string axis(entry.substr(0, equals));
    const std::uint64_t size = parse_count({std::string(entry.substr(equals + 1)), "--to-mesh " + axis}, max_cards);
    if (!mesh.emplace(axis, size).second)
      throw Error(Kind::usage, "--to-mesh", {"axis " + axis + " is given twice", "expected once", ""});
    if (entry.size() == text.size()) return mesh;
    text.remove_prefix(entry.size() + 1);
  }
}

Rename parse_rename(const std::string& text) {
  const std::string origin = "--rename '" + text + "'";
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error(Kind::usage, origin, {"not a renaming", "expected OLD=NEW", "write for example 'model.{x}={x}'"});
  return with_context(origin, [&] {
    Rename rename{Pattern(text.substr(0, equals)), Pattern(text.substr(equals + 1))};
    if (rename.name.has_wildcard())
      throw Error(Kind::usage, "",
                  {"NEW has a wildcard", "expected captures of OLD and literal text", "write {x} on both sides"});
    for (const auto& capture : rename.name.captures()) {
      if (!rename.stored.captures().contains(capture))
        throw Error(Kind::usage, "", {"NEW has {" + capture + "}", "expected a capture of OLD", ""});
    }
    return rename;
  });
}

Job job_from(const Program& program, const Options& options, const Environment& environment) {
  Job job;
  job.source = options.source;
  job.output = options.output;
  if (!options.to_mesh.empty()) job.target.mesh = parse_mesh(options.to_mesh);
  if (!options.cards.empty()) job.target.cards = parse_count({options.cards, "--cards"}, max_cards);
  job.target.single_file = program.verb == Verb::merge;
  job.only = parse_globs("--only", options.only);
  job.drop = parse_globs("--drop", options.drop);
  for (const auto& text : options.rename) job.rename.push_back(parse_rename(text));
  set_running(job, options, environment);
  return job;
}

}  // namespace ckpt::cli
