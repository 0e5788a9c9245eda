#include "checkpoint/lost_files.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace ckpt {

namespace {

class Search {
 public:
  explicit Search(const Checkpoint& checkpoint) : checkpoint_(checkpoint), mesh_(checkpoint.layout().mesh) {
    for (const FileNumber file : checkpoint.missing()) entries_.insert(checkpoint.table().entry(file));
  }

  void run() const {
    const Layout& layout = checkpoint_.layout();
    for (const IndexRule& rule : layout.indices)
      for (std::uint64_t stage = 0; stage < mesh_.combinations(rule.axes); ++stage)
        check([&](Position card) { return mesh_.combination_at(rule.axes, card) == stage; },
              "indices \"" + rule.in.text() + "\"");
    std::set<At> seen;
    for (const Rule& rule : layout.parameters)
      if (rule.keys.at && seen.insert(*rule.keys.at).second) check_at(*rule.keys.at, rule.names.front().text());
    for (const Bucket& bucket : layout.buckets)
      if (bucket.at && seen.insert(*bucket.at).second) check_at(*bucket.at, bucket.name);
  }

 private:
  void check_at(const At& at, const std::string& name) const {
    const auto is_meant = [&](Position card) {
      return std::all_of(at.begin(), at.end(), [&](const auto& entry) {
        const auto& [axis, coordinates] = entry;
        return std::find(coordinates.begin(), coordinates.end(), mesh_.coordinate(card, axis)) != coordinates.end();
      });
    };
    check(is_meant, "\"at\" of \"" + name + "\"");
  }

  /// Throws where all the files of an entry that these cards have are missing.
  void check(const std::function<bool(Position)>& is_meant, const std::string& why) const {
    for (const std::size_t entry : entries_) {
      std::optional<FileNumber> lost;
      bool is_any_there = false;
      for (Position card = 0; card < mesh_.size() && !is_any_there; ++card) {
        if (!is_meant(card)) continue;
        const FileNumber file = checkpoint_.table().of(card, entry);
        if (checkpoint_.is_there(file))
          is_any_there = true;
        else if (!lost)
          lost = file;
      }
      if (!lost || is_any_there) continue;
      const std::string name = checkpoint_.file_name(*lost);
      throw Error(
          Kind::input, name,
          {"no such file", "it may hold what no other file does (" + checkpoint_.layout().origin + ": " + why + ")",
           "restore it, or take its entry out of \"files\" if it never was"})
          .in_file(name);
    }
  }

  const Checkpoint& checkpoint_;
  const Mesh& mesh_;
  std::set<std::size_t> entries_;  // of which files are missing
};

}  // namespace

void check_none_is_lost(const Checkpoint& checkpoint) {
  if (!checkpoint.missing().empty()) Search(checkpoint).run();
}

}  // namespace ckpt
