#include "checkpoint/files_on_hosts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "io/crc.hpp"
#include "io/posix_file.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_listed = 100'000;
constexpr std::uint64_t sample_bytes = 4096;

/// Whether hosts may see different files, and this process speaks for its own.
bool speaks_for_host(const Communicator& processes) {
  return !processes.host_of(0).empty() && processes.local_rank() == 0;
}

/// Visits the names of the files in and below a directory, on process 0 of each host, until `visit` returns false;
/// those of hidden folders do not count.
template <class Visit>
void for_each_file_of_host(const fs::path& directory, const Communicator& processes, const Visit& visit) {
  if (!speaks_for_host(processes)) return;
  std::error_code error;
  constexpr auto readable = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(directory, readable, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) {
      if (it->path().filename().string().starts_with('.')) it.disable_recursion_pending();
    } else if (it->is_regular_file(ignored) && !visit(it->path().lexically_relative(directory).string())) {
      return;
    }
  }
}

/// The names themselves, for messages.
std::vector<std::string> files_of_host(const fs::path& directory, const Communicator& processes) {
  std::vector<std::string> names;
  for_each_file_of_host(directory, processes, [&](std::string name) {
    names.push_back(std::move(name));
    return names.size() < most_listed;
  });
  std::sort(names.begin(), names.end());
  return names;
}

/// One number for each name.
std::vector<std::uint64_t> keys_of_host(const fs::path& directory, const Communicator& processes) {
  std::vector<std::uint64_t> keys;
  for_each_file_of_host(directory, processes, [&](const std::string& name) {
    keys.push_back(std::hash<std::string>{}(name));
    return true;
  });
  return keys;
}

std::vector<std::string> lacking_in(const std::vector<std::string>& all, const std::vector<std::string>& here) {
  std::vector<std::string> lacking;
  std::set_difference(all.begin(), all.end(), here.begin(), here.end(), std::back_inserter(lacking));
  return lacking;
}

/// "h2 has 1 file that h1 lacks: __1_0.distcp", and how h1 gets it.
struct Lack {
  std::string words;
  std::string command;
};

Lack lack_of(const std::vector<std::string>& names, const std::string& owner, const std::string& host,
             const fs::path& directory) {
  const std::string place = fs::absolute(directory / "").lexically_normal().string();
  return {owner + " has " + std::to_string(names.size()) + (names.size() == 1 ? " file" : " files") + " that " + host +
              " lacks: " + join(names, 3),
          "on " + host + ": rsync -a " + shell_word(owner + ":" + place) + " " + shell_word(place)};
}

/// What `host` lacks of the files that others have.
std::vector<Lack> lacks_of(std::size_t host, const std::vector<std::vector<std::string>>& names,
                           const fs::path& directory, const Communicator& processes) {
  std::vector<Lack> lacks;
  std::vector<std::string> known = names[host];
  for (std::size_t other = 0; other < names.size(); ++other) {
    const std::vector<std::string> lacking = lacking_in(names[other], known);
    if (lacking.empty()) continue;
    lacks.push_back(lack_of(lacking, processes.host_of(static_cast<int>(other)),
                            processes.host_of(static_cast<int>(host)), directory));
    known.insert(known.end(), lacking.begin(), lacking.end());
    std::sort(known.begin(), known.end());
  }
  return lacks;
}

/// The process that speaks for the host with most files.
std::size_t fullest(const std::vector<std::vector<std::string>>& names) {
  const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  return static_cast<std::size_t>(std::ranges::max_element(names, fewer) - names.begin());
}

/// Returns the files that the host with most of them lacks, or that each host lacks. Collective.
std::vector<Lack> lacks_on(NeededOn needed, const fs::path& directory, Communicator& processes) {
  const auto names = gather_all(files_of_host(directory, processes), processes);
  const std::size_t most = fullest(names);
  std::vector<Lack> lacks;
  std::uint32_t hosts = 0;
  const std::vector<std::uint32_t> number = host_numbers(processes);
  for (std::size_t p = 0; p < number.size(); ++p) {
    const bool is_first = number[p] == hosts;  // of its host, and speaks for it
    if (is_first) ++hosts;
    if (needed == NeededOn::one_host ? p != most : !is_first) continue;
    std::ranges::move(lacks_of(p, names, directory, processes), std::back_inserter(lacks));
  }
  return lacks;
}

/// "h2 has 1 file that h1 lacks: …, h1 has …", and what to do about it.
Lack all_of(const std::vector<Lack>& lacks, NeededOn needed) {
  std::vector<std::string> words;
  std::vector<std::string> commands;
  for (const Lack& lack : lacks) {
    words.push_back(lack.words);
    commands.push_back(lack.command);
  }
  const char* const where = needed == NeededOn::one_host ? "one host" : "each host";
  return {join(words, 3), where + std::string(" must see all files of this directory; ") + join(commands, 3)};
}

/// The error with what hosts lack of the directory's files. Collective.
Error naming_files(const Error& error, const fs::path& directory, NeededOn needed, Communicator& processes) {
  const std::vector<Lack> lacks = lacks_on(needed, directory, processes);
  if (lacks.empty()) return error;
  Lack lack = all_of(lacks, needed);
  Error::Parts said = error.to_wire();
  auto& text = std::get<Error::Text>(said);
  text.found += "; " + lack.words;
  text.remedy += (text.remedy.empty() ? "" : "; ") + lack.command;
  text.advice = {};
  return Error(std::move(said));
}

/// Sums samples of files that lie on file systems of this machine.
class Samples {
 public:
  /// The sum of a file's beginning, middle and end, above 2^32; 0 if it lies elsewhere or cannot be read.
  std::uint64_t of(const fs::path& path) {
    const auto [known, is_new] = is_local_.try_emplace(path.parent_path(), true);
    if (!known->second) return 0;
    try {
      const PosixFile file = PosixFile::open_for_reading(path);
      if (is_new) known->second = file.is_local();
      return known->second ? sum_of(file) : 0;
    } catch (const Error&) {
      return 0;  // reading it says more
    }
  }

 private:
  static std::uint64_t sum_of(const PosixFile& file) {
    const std::uint64_t bytes = file.status().bytes;
    const std::uint64_t last = bytes - std::min(bytes, sample_bytes);
    std::array<std::byte, sample_bytes> block{};
    std::uint32_t sum = 0;
    for (const std::uint64_t at : {std::uint64_t{0}, last / 2, last})
      sum = crc32c.of(std::span(block).first(file.read_up_to(at, block)), sum);
    return (std::uint64_t{1} << 32) | sum;
  }

  std::map<fs::path, bool> is_local_;  // by directory: a network's storage need not open every file once more
};

}  // namespace

std::vector<std::uint64_t> readers_of_directory(const fs::path& directory, bool may_read, Communicator& processes) {
  constexpr std::uint64_t no_reader = ~std::uint64_t{0};
  const std::uint64_t files = may_read ? keys_of_host(directory, processes).size() : no_reader;
  std::vector<std::uint64_t> mine(1);
  mine.front() = files;
  const auto all = gather_all(mine, processes);
  std::vector<std::uint64_t> readers;
  for (std::uint64_t process = 0; process < all.size(); ++process)
    if (all[process].front() != no_reader) readers.push_back(process);
  const auto counts = [&](std::uint64_t process) { return all[process].front() != 0; };  // it speaks for its host
  std::vector<std::uint64_t> of_hosts;
  std::ranges::copy_if(readers, std::back_inserter(of_hosts), counts);
  const auto more = [&](std::uint64_t a, std::uint64_t b) { return all[a].front() > all[b].front(); };
  std::ranges::stable_sort(of_hosts, more);
  if (of_hosts.size() > 1 && more(of_hosts.front(), of_hosts.back())) return of_hosts;
  if (readers.size() > 1) readers.erase(readers.begin() + 1, readers.end());
  return readers;
}

bool sees_all_files(const fs::path& directory, Communicator& processes) {
  if (processes.host_of(0).empty()) return true;
  std::vector<std::uint64_t> keys = keys_of_host(directory, processes);
  const std::vector<std::uint32_t> host = host_numbers(processes);
  const auto speaker_of = [&](std::size_t process) {
    return static_cast<std::size_t>(std::ranges::find(host, host[process]) - host.begin());
  };
  struct Seen {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;
    bool operator==(const Seen&) const = default;
  };
  const auto seen =
      gather_all(Seen{keys.size(), std::accumulate(keys.begin(), keys.end(), std::uint64_t{0})}, processes);
  std::size_t p = 0;
  while (p < seen.size() && seen[speaker_of(p)] == seen.front()) ++p;
  if (p == seen.size()) return true;
  const auto all = gather_all(std::move(keys), processes);
  std::set<std::uint64_t> anywhere;
  for (const auto& theirs : all) anywhere.insert(theirs.begin(), theirs.end());
  const auto is_whole = [&](const std::vector<std::uint64_t>& theirs) { return theirs.size() == anywhere.size(); };
  if (std::ranges::any_of(all, is_whole)) return is_whole(all[speaker_of(static_cast<std::size_t>(processes.rank()))]);
  const Lack lack = all_of(lacks_on(NeededOn::one_host, directory, processes), NeededOn::one_host);
  processes.set_failed_together(true);  // all have found it
  throw Error(Kind::input, directory.string(),
              {"no host sees all of its files: " + lack.words, "all of them on one host", lack.command});
}

void with_hosts_of_files(const fs::path& directory, NeededOn needed, Communicator& processes,
                         const std::function<void()>& step) {
  std::optional<Error> failure;
  try {
    step();
    return;
  } catch (const Error& error) {
    if (error.kind() != Kind::input || processes.host_of(0).empty() || !processes.failed_together()) throw;
    failure = naming_files(error, directory, needed, processes);
  }
  processes.set_failed_together(true);  // all have made the same error
  throw Error(*failure);
}

void check_alike_on_hosts(const std::vector<fs::path>& paths, const std::vector<bool>& is_seen,
                          Communicator& processes) {
  if (processes.host_of(0).empty()) return;
  std::vector<std::uint64_t> mine;  // only those who speak for a host, and have local files, send any
  Samples samples;
  if (speaks_for_host(processes))
    for (std::size_t i = 0; i < paths.size(); ++i) mine.push_back(is_seen[i] ? samples.of(paths[i]) : 0);
  if (std::ranges::count(mine, 0U) == std::ssize(mine)) mine.clear();
  std::vector<std::uint64_t> first(paths.size());
  std::vector<int> first_host(paths.size());
  const auto all = gather_all(mine, processes);
  for (int p = 0; p < processes.size(); ++p) {
    const auto& theirs = all[static_cast<std::size_t>(p)];
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      if (theirs[i] == 0 || theirs[i] == first[i]) continue;
      if (first[i] == 0) {
        first[i] = theirs[i];
        first_host[i] = p;
        continue;
      }
      processes.set_failed_together(true);  // all have found it
      throw Error(Kind::input, paths[i].string(),
                  {"it has the same size and time on " + processes.host_of(first_host[i]) + " and " +
                       processes.host_of(p) + ", and another content",
                   "one file wherever it is seen", "remove it from the host where it is of another checkpoint"});
    }
  }
}

}  // namespace ckpt
