#include "frameworks/corner_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "frameworks/rank_pieces.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_missing = 1000;

}  // namespace

std::optional<RankFamily> corner_family(const std::vector<std::string>& names,
                                        const std::vector<FileCatalog>& catalogs) {
  RankFamily family;
  std::vector<std::string> ours;
  std::vector<std::string> others;
  bool says_any = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    says_any = says_any || says_corners(*catalogs[i].schema);
    const bool is_ours = is_of_corners(*catalogs[i].schema);
    (is_ours ? ours : others).push_back(names[i]);
    if (is_ours) family.files.push_back({ours.size() - 1, i});
  }
  if (!says_any) return std::nullopt;
  if (!others.empty())
    log::info("passed over, as they say of no pieces where they belong: {} beside {}", join(others, 4), join(ours, 2));
  family.before = "rank_";  // other files are not DCP's: they have no corners
  family.behind = ".safetensors";
  return family;
}

std::vector<std::string> missing_shards(const RankFamily& family, const std::vector<std::string>& names) {
  static const std::regex form(R"((.*)shard-(\d{5})-model-(\d{5})-of-(\d{5})\.safetensors)");
  std::set<std::string> found;
  std::string folder;
  std::uint64_t shards = 0;
  std::uint64_t models = 0;
  for (const RankFamily::File& each : family.files) {
    std::smatch number;
    if (!std::regex_match(names[each.file], number, form)) return {};
    folder = number[1];
    shards = std::max<std::uint64_t>(shards, std::stoull(number[2]));
    models = std::max<std::uint64_t>(models, std::stoull(number[4]));
    found.insert(names[each.file]);
  }
  std::vector<std::string> missing;
  for (std::uint64_t shard = 1; shard <= shards && missing.size() < most_missing; ++shard)
    for (std::uint64_t model = 1; model <= models && missing.size() < most_missing; ++model)
      if (std::string name =
              fmt::format("{}shard-{:05}-model-{:05}-of-{:05}.safetensors", folder, shard, model, models);
          !found.contains(name))
        missing.push_back(std::move(name));
  return missing;
}

}  // namespace ckpt
