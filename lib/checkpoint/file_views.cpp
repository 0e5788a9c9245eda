#include "checkpoint/file_views.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "base/text.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

/// "2026-01-31 12:00:00.000000001 UTC": file systems distinguish times that differ in the last digit.
std::string time_text(std::int64_t since_epoch_ns) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t fraction = ((since_epoch_ns % second) + second) % second;
  const std::time_t whole = (since_epoch_ns - fraction) / second;
  std::tm calendar{};
  std::array<char, 64> text{};
  ::gmtime_r(&whole, &calendar);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &calendar);
  const std::string digits = std::to_string(second + fraction).substr(1);
  return text.data() + ("." + digits) + " UTC";
}

constexpr const char* if_shared =
    "if it is one file that all nodes share, start again in a minute, when all of them know of its last change";

class ViewMerger {
 public:
  ViewMerger(const std::vector<FileView>& views, const NamedFiles& names)
      : views_(views), names_(names), load_(views.size(), 0) {}

  MergedView all() {
    MergedView all;
    for (FileNumber file = 0; file < views_.front().files.size(); ++file) all.files.push_back(newest(file));
    for (const auto& files : names_.of_card) all.owners.push_back(take_owner(files, all.files));
    if (!differing_.empty()) all.warning = warning();
    all.differing = std::move(differing_);
    return all;
  }

 private:
  const SeenFile& seen(std::uint32_t process, FileNumber file) const { return views_[process].files[file]; }

  /// A file in its newest version: as the processes see it that see its last change.
  SeenFile newest(FileNumber file) {
    std::optional<std::uint32_t> newest;
    std::optional<std::uint32_t> oldest;
    for (std::uint32_t process = 0; process < views_.size(); ++process) {
      const SeenFile& here = seen(process, file);
      if (!here.is_seen()) continue;
      if (newest && here.bytes != seen(*newest, file).bytes) refuse_sizes(file, *newest, process);
      if (!newest || here.modified_ns > seen(*newest, file).modified_ns) newest = process;
      if (!oldest || here.modified_ns < seen(*oldest, file).modified_ns) oldest = process;
    }
    if (!newest) return {};
    if (seen(*newest, file) != seen(*oldest, file))
      differing_[file] = sight(*newest, file) + ", " + sight(*oldest, file);
    return seen(*newest, file);
  }

  /// The least loaded process that sees exactly these files; a file that no process sees does not count.
  std::uint32_t take_owner(const std::vector<FileNumber>& files, const std::vector<SeenFile>& newest) {
    std::uint64_t bytes = 0;
    for (const FileNumber file : files)
      if (newest[file].is_seen()) bytes += newest[file].bytes;
    const auto sees = [&](std::uint32_t process, FileNumber file) {
      return !newest[file].is_seen() || seen(process, file) == newest[file];
    };
    std::optional<std::uint32_t> owner;
    for (std::uint32_t process = 0; process < views_.size(); ++process)
      if ((!owner || load_[process] < load_[*owner]) &&
          std::all_of(files.begin(), files.end(), [&](FileNumber file) { return sees(process, file); }))
        owner = process;
    if (!owner) refuse_scattered(files);
    load_[*owner] += bytes;
    return *owner;
  }

  std::string name(std::uint32_t process) const {
    return "process " + std::to_string(process) + " (" + views_[process].host + ")";
  }

  std::string sight(std::uint32_t process, FileNumber file) const {
    return name(process) + " sees the version of " + time_text(seen(process, file).modified_ns);
  }

  [[noreturn]] void refuse_sizes(FileNumber file, std::uint32_t one, std::uint32_t other) const {
    const auto size = [&](std::uint32_t process) {
      return name(process) + " sees " + std::to_string(seen(process, file).bytes) + " bytes";
    };
    throw Error(Kind::input, names_.name_of(file),
                {size(one) + " and " + size(other), "the same file wherever it is seen",
                 "is an older checkpoint left on one of the nodes?"});
  }

  [[noreturn]] void refuse_scattered(const std::vector<FileNumber>& files) const {
    std::vector<std::string> names;
    for (const FileNumber file : files) names.push_back(names_.name_of(file));
    const auto older = std::ranges::find_if(files, [&](FileNumber file) { return differing_.contains(file); });
    const std::string why = older == files.end() ? "" : ": " + sights_of(*older);
    throw Error(Kind::input, names.front(),
                {"no process sees it together with the other files of its card (" + join(names) + ")" + why,
                 "one that sees them all: it reads a card's files", "copy them to one node's disk"});
  }

  /// "of rank_0.h5 process 0 sees the version of …, process 1 …", of a file that differs.
  std::string sights_of(FileNumber file) const { return "of " + names_.name_of(file) + " " + differing_.at(file); }

  std::string warning() const {
    const std::size_t more = differing_.size() - 1;
    const std::string others = more > 0 ? " (and so with " + std::to_string(more) + " more)" : "";
    return sights_of(differing_.begin()->first) + others + ": only the newest is read. Remove the older one; " +
           if_shared;
  }

  const std::vector<FileView>& views_;
  const NamedFiles& names_;
  std::vector<std::uint64_t> load_;
  std::map<FileNumber, std::string> differing_;  // the files whose times differ: who sees which
};

/// One number for all files; processes that see the same files compute the same number.
std::uint64_t digest(const std::vector<SeenFile>& files) {
  std::uint64_t digest = 14695981039346656037ULL;  // FNV-1a
  for (const SeenFile& file : files)
    for (const std::uint64_t word : {file.bytes, static_cast<std::uint64_t>(file.modified_ns)})
      digest = (digest ^ word) * 1099511628211ULL;
  return digest;
}

}  // namespace

MergedView merge_views(const std::vector<FileView>& views, const NamedFiles& names) {
  return ViewMerger(views, names).all();
}

MergedView merge_views(const std::vector<SeenFile>& mine, const NamedFiles& names, Communicator& processes) {
  const std::uint64_t own = digest(mine);
  const std::uint64_t largest = processes.maximum(own);
  const std::uint64_t smallest = ~processes.maximum(~own);
  if (largest == smallest) return {mine, {}, "", {}};
  const auto views = gather_all(FileView{host_name(), mine}, processes);
  MergedView together;
  agree(processes, [&] { together = merge_views(views, names); });
  return together;
}

Error differing_versions(const std::string& name, const std::string& sights) {
  Error error(
      Kind::input, name,
      {sights, "the same file wherever it is seen", std::string("copy the newer one over the older; ") + if_shared});
  return error.passing().in_file(name);
}

std::string agreed_text(const std::vector<std::string>& texts, const std::string& what, const Communicator& processes) {
  std::optional<std::size_t> first;
  for (std::size_t process = 0; process < texts.size(); ++process) {
    if (texts[process].empty()) continue;
    if (!first) first = process;
    if (texts[process] != texts[*first])
      throw Error(Kind::input, what,
                  {processes.name_of(static_cast<int>(*first)) + " and " +
                       processes.name_of(static_cast<int>(process)) + " see different ones",
                   "the same wherever it is seen", "is an older checkpoint left on one of the nodes?"});
  }
  return first ? texts[*first] : "";
}

}  // namespace ckpt
