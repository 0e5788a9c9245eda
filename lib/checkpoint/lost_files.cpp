#include "checkpoint/lost_files.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/interrupt.hpp"
#include "layout/names/entry_names.hpp"
#include "layout/names/rule_name.hpp"

namespace ckpt {

namespace {

class Search {
 public:
  explicit Search(const Checkpoint& checkpoint) : checkpoint_(checkpoint), mesh_(checkpoint.layout().mesh) {
    for (const FileNumber file : checkpoint.missing()) entries_.insert(checkpoint.table().entry(file));
  }

  void run() const {
    const Layout& layout = checkpoint_.layout();
    const EntryNames names(layout);
    for (const std::size_t entry : entries_) {
      for (const IndexRule& rule : layout.indices) {
        const auto stage_of = [&](Position card) { return mesh_.combination_at(rule.axes, card); };
        if (names.may_hold(entry, rule.in))
          check(entry, mesh_.combinations(rule.axes), stage_of, "indices \"" + rule.in.text() + "\"");
      }
      std::set<At> seen;
      for (const Rule& rule : layout.parameters)
        if (rule.keys.at && !seen.contains(*rule.keys.at) && names.may_hold(entry, rule)) {
          seen.insert(*rule.keys.at);
          check_at(entry, *rule.keys.at, patterns_of(rule));
        }
      for (const Bucket& bucket : layout.buckets)
        if (bucket.at && names.may_hold(entry, bucket.name) && seen.insert(*bucket.at).second)
          check_at(entry, *bucket.at, bucket.name);
    }
  }

 private:
  void check_at(std::size_t entry, const At& at, const std::string& name) const {
    const auto is_meant = [&](Position card) {
      return std::all_of(at.begin(), at.end(), [&](const auto& meant) {
        return std::binary_search(meant.second.begin(), meant.second.end(), mesh_.coordinate(card, meant.first));
      });
    };
    check(
        entry, 1, [&](Position card) { return is_meant(card) ? 0 : nowhere; }, "\"at\" of \"" + name + "\"");
  }

  /// Divides the cards into groups, each of which may be the only holder of some parameters. Throws if a group lacks
  /// all its files of the entry.
  void check(std::size_t entry, std::uint64_t groups, const std::function<std::uint64_t(Position)>& group_of,
             const std::string& why) const {
    check_interrupt();
    std::vector<bool> has_file(groups, false);
    std::vector<std::optional<FileNumber>> lost(groups);
    for (Position card = 0; card < mesh_.size(); ++card) {
      const std::uint64_t group = group_of(card);
      if (group == nowhere) continue;
      const FileNumber file = checkpoint_.table().of(card, entry);
      if (checkpoint_.is_there(file))
        has_file[group] = true;
      else if (!lost[group])
        lost[group] = file;
    }
    for (std::uint64_t group = 0; group < groups; ++group)
      if (lost[group] && !has_file[group]) refuse(checkpoint_.file_name(*lost[group]), why);
  }

  [[noreturn]] void refuse(const std::string& file, const std::string& why) const {
    throw Error(
        Kind::input, file,
        {"no such file, and it may hold what no other file does (" + checkpoint_.layout().origin + ": " + why + ")", "",
         "restore it, or take its entry out of \"files\" if it never was"})
        .in_file(file);
  }

  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  const Checkpoint& checkpoint_;
  const Mesh& mesh_;
  std::set<std::size_t> entries_;  // with missing files
};

}  // namespace

void check_none_is_lost(const Checkpoint& checkpoint) {
  if (!checkpoint.missing().empty()) Search(checkpoint).run();
}

}  // namespace ckpt
