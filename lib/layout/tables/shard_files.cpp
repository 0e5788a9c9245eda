#include "layout/tables/shard_files.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

std::string padded(std::uint64_t number, std::size_t digits) {
  const auto text = std::to_string(number);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

/// Removes a number from the front of a name and returns it.
std::optional<std::uint64_t> take_number(std::string_view& rest) {
  std::uint64_t number = 0;
  const auto [stop, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (problem != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
  return number;
}

/// Returns the shard of a file's name; nothing if Paddle would not give such a name.
std::optional<std::uint64_t> shard_of(const std::string& name) {
  std::string_view rest = name;
  if (!rest.starts_with("part-")) return std::nullopt;
  rest.remove_prefix(5);
  const auto server = take_number(rest);
  if (!server || !rest.starts_with('-')) return std::nullopt;
  rest.remove_prefix(1);
  const auto shard = take_number(rest);
  if (!shard || name != shard_file_name(*server, *shard, rest == ".gz")) return std::nullopt;
  return shard;
}

void check_complete(const std::vector<std::string>& files) {
  std::vector<std::string> missing;
  for (std::size_t shard = 0; shard < files.size(); ++shard)
    if (files[shard].empty()) missing.push_back(std::to_string(shard));
  if (missing.empty()) return;
  throw Error(
      Kind::input, "",
      {"no file of shard " + join(missing),
       "one for each of " + std::to_string(files.size()) + " shards, as shard_num says, also for one without rows",
       "is shard_num of the layout the one that the table was saved with? Otherwise copy the files again"});
}

}  // namespace

std::string shard_file_name(std::uint64_t server, std::uint64_t shard, bool is_gzip) {
  return "part-" + padded(server, 3) + "-" + padded(shard, 5) + (is_gzip ? ".gz" : "");
}

std::vector<std::string> shard_files(const std::vector<std::string>& names, std::uint64_t shards) {
  std::vector<std::string> files(static_cast<std::size_t>(shards));
  for (const auto& name : names) {
    const auto shard = shard_of(name);
    if (!shard)
      throw Error(Kind::input, printable(name),
                  {"no file of a shard", "names like " + shard_file_name(0, 0, false),
                   "move it elsewhere: Paddle would load it as a shard"});
    if (*shard >= shards)
      throw Error(Kind::input, name,
                  {"shard " + std::to_string(*shard), "one below shard_num, " + std::to_string(shards),
                   "is shard_num of the layout the one that the table was saved with?"});
    auto& file = files[static_cast<std::size_t>(*shard)];
    if (!file.empty())
      throw Error(Kind::input, name,
                  {"shard " + std::to_string(*shard) + " has the file " + file + " as well", "one file for each shard",
                   "remove the older one: a save with other servers, or without compression, leaves it"});
    file = name;
  }
  check_complete(files);
  return files;
}

}  // namespace ckpt
