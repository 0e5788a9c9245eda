#include "output/existing_output.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/reference_json.hpp"
#include "io/small_text.hpp"
#include "layout/language/parse_json.hpp"
#include "layout/names/model_files.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "output/sidecars.hpp"
#include "store/stores.hpp"

namespace ckpt {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t enough_foreign = 4;  // to be named
constexpr std::uint64_t most_index_bytes = 256ULL << 20;

std::string kind_of(const fs::path& path, fs::file_type type) {
  std::error_code error;
  switch (type) {
    case fs::file_type::symlink:
      return "a symbolic link to " + fs::read_symlink(path, error).string();
    case fs::file_type::fifo:
      return "a FIFO";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    case fs::file_type::directory:
      return "a directory";
    default:
      return "";
  }
}

void add_names(const Layout& layout, std::set<std::string>& names) {
  for (std::string& name : file_names(layout)) names.insert(std::move(name));
  for (std::string& name : sidecar_names(layout)) names.insert(std::move(name));
}

/// The layout that a JSON file holds under `key`, if these programs wrote it (it has `mark`).
std::optional<Layout> layout_read(const fs::path& file, const char* mark, const char* key) {
  try {
    // Skips the parameters: there may be very many, and they do not matter.
    const auto json = parsing::parse_json(small_text(file, most_manifest_bytes, "a manifest"), file.string(),
                                          "parameters", [](const std::string&, const nlohmann::json&) {});
    if (!json.is_object() || !json.contains(mark) || !json.contains(key)) return std::nullopt;
    return parse_layout(json[key].dump(), file.string());
  } catch (const Error&) {
    return std::nullopt;  // damaged, or not ours
  }
}

/// Whether a file itself says that these programs wrote it.
bool carries_layout(const fs::path& file, Store& store) {
  try {
    return store.recognises(file) && !store.catalog(file).schema->layout.empty();
  } catch (const Error&) {
    return false;  // it cannot be read
  }
}

bool has_file_of(const Format& format, const std::set<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return format.beginning.empty() ? name.ends_with(format.ending) : name.starts_with(format.beginning);
  });
}

/// Whether a file of this name belongs to the index of these files.
bool is_companion_of(const std::string& file, const std::set<std::string>& names) {
  return std::ranges::any_of(formats(), [&](const Format& format) {
    if (format.index_name.empty() || !has_file_of(format, names)) return false;
    const std::unique_ptr<Store> store = format.make(0);
    const DirectoryIndex* const index = store->index();
    return index != nullptr && std::ranges::count(index->companions(), file) > 0;
  });
}

/// Whether a file is an index of these files: by its name if a format has one of that name, else by its content.
bool is_index_of(const fs::path& file, const std::set<std::string>& names) {
  for (const Format& format : formats())
    if (!format.index_name.empty() && file.filename() == format.index_name) return has_file_of(format, names);
  if (names.empty() || !file.native().ends_with(".index.json")) return false;
  try {
    const auto reference = parse_reference(small_text(file, most_index_bytes, "an index"), file.string());
    const auto* const index = std::get_if<WeightMap>(&reference);
    return index != nullptr && std::all_of(index->file_of.begin(), index->file_of.end(),
                                           [&](const auto& entry) { return names.contains(entry.second); });
  } catch (const Error&) {
    return false;  // not ours
  }
}

constexpr std::uintmax_t most_kept_bytes = 32 << 20;

/// Whether a file is one that people put beside a checkpoint: a configuration, a tokenizer, a text. An index is part of
/// the checkpoint.
bool may_stand_beside(const fs::path& file) {
  constexpr std::array<std::string_view, 12> endings{".json", ".txt", ".md",   ".model", ".jinja", ".tiktoken",
                                                     ".py",   ".yml", ".yaml", ".toml",  ".ini",   ".cfg"};
  std::error_code error;
  const std::string name = file.filename().string();
  return std::ranges::find(endings, file.extension().string()) != endings.end() && !name.ends_with(".index.json") &&
         name != manifest_name && fs::file_size(file, error) <= most_kept_bytes && !error;
}

/// Whether two small files are one, or hold the same bytes.
bool are_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  try {
    return fs::is_regular_file(fs::symlink_status(b, error)) && fs::file_size(a, error) == fs::file_size(b, error) &&
           !error && small_text(a, most_kept_bytes, "a file") == small_text(b, most_kept_bytes, "a file");
  } catch (const Error&) {
    return false;  // it cannot be read, so nobody can tell
  }
}

bool is_journal_file(const std::string& name) {
  return name == job_name || name == job_draft_name || name.find_first_not_of("0123456789") == std::string::npos;
}

/// Visits everything below a directory without following links. `is_own` recognises the output's own files; `may_keep`:
/// whether small files of others may stay.
template <class IsOwn>
void walk(const fs::path& place, bool may_keep, ExistingOutput& found, const IsOwn& is_own) {
  std::error_code error;
  found.directories.push_back(place);
  for (auto at = fs::recursive_directory_iterator(place, error); !error && at != fs::end(at); at.increment(error)) {
    const auto type = at->symlink_status(error).type();
    if (error) break;
    const std::string name = at->path().lexically_relative(place).string();
    if (type == fs::file_type::directory) {
      found.directories.push_back(at->path());
    } else if (type == fs::file_type::regular && is_own(name, at->path())) {
      found.files.push_back(at->path());
    } else if (type == fs::file_type::regular && may_keep && may_stand_beside(at->path())) {
      found.kept.emplace_back(name);
    } else {
      const std::string kind = kind_of(at->path(), type);
      found.foreign.push_back(kind.empty() ? name : name + " (" + kind + ")");
      if (found.foreign.size() > enough_foreign) return;
    }
  }
  if (error) throw system_error(place.string(), "cannot be looked through", error.value());
  if (!found.files.empty()) return;
  for (const fs::path& file : found.kept) found.foreign.push_back(file.string());  // they stand beside nothing
  found.kept.clear();
}

}  // namespace

void ExistingOutput::check_own(const fs::path& place, const std::string& remedy) const {
  if (foreign.empty()) return;
  throw Error(Kind::io, place.string(),
              {"there is what no job of these programs wrote: " + join(foreign, enough_foreign),
               "a checkpoint, which alone is replaced or cleared", remedy});
}

void ExistingOutput::remove() const {
  const auto remove_one = [](const fs::path& path) {
    std::error_code error;
    fs::remove(path, error);
    if (error && error != std::errc::directory_not_empty)
      throw system_error(path.string(), "cannot be removed", error.value());
  };
  std::for_each(files.begin(), files.end(), remove_one);
  if (!kept.empty())
    for (const fs::path& name : kept) remove_one(directories.front() / name);
  std::for_each(directories.rbegin(), directories.rend(), remove_one);
}

OwnFiles::OwnFiles(const Layout& target, bool is_single_file, const std::vector<std::string>& sidecars, Store& store)
    : is_single_file_(is_single_file), store_(store) {
  if (is_single_file) return;
  names_ = file_names(target);
  names_.insert(names_.end(), sidecars.begin(), sidecars.end());
}

std::optional<Layout> OwnFiles::layout_in(const fs::path& file, const char* mark, const char* key) const {
  struct stat found {};
  if (::lstat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  const auto in_ns = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  };
  const std::array<std::uint64_t, 5> identity{found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size),
                                              in_ns(found.st_mtim), in_ns(found.st_ctim)};
  const auto known = std::ranges::find_if(said_, [&](const Said& said) { return said.identity == identity; });
  if (known != said_.end()) return known->layout;
  return said_.emplace_back(Said{identity, layout_read(file, mark, key)}).layout;
}

/// Whether a file is of the kind that is to be written, or has nothing to lose.
bool OwnFiles::is_own_file(const fs::path& file) const {
  std::error_code error;
  return fs::file_size(file, error) == 0 || store_.recognises(file) ||
         (store_.index() != nullptr && file.filename() == store_.index()->name() && store_.index()->recognises(file));
}

ExistingOutput OwnFiles::output(const fs::path& place) const {
  ExistingOutput found;
  look(place, nullptr, found);
  return found;
}

ExistingOutput OwnFiles::partial(const OutputPlaces& places) const {
  ExistingOutput found;
  look(places.partial, &places.target, found);
  std::error_code error;
  if (is_there(places.journal)) {
    if (fs::symlink_status(places.journal, error).type() == fs::file_type::directory)
      walk(places.journal, false, found,
           [](const std::string& name, const fs::path&) { return is_journal_file(name); });
    else
      found.foreign.push_back(places.journal.filename().string());
  }
  return found;
}

void OwnFiles::look(const fs::path& place, const fs::path* replaced, ExistingOutput& found) const {
  std::error_code error;
  const auto type = fs::symlink_status(place, error).type();
  if (type == fs::file_type::not_found) return;
  if (type == fs::file_type::directory) return look_into(place, replaced, found);
  const bool is_partial = replaced != nullptr;
  bool is_own = false;
  if (type == fs::file_type::regular) {
    // A killed job may leave a file that is not yet of its kind: its journal says whose it is.
    is_own = is_single_file_ || is_partial
                 ? is_own_file(place) || (is_partial && is_there(place.string() + journal_name))
                 : carries_layout(place, store_);
  }
  if (is_own) {
    found.files.push_back(place);
  } else {
    const std::string kind = kind_of(place, type);
    found.foreign.push_back(kind.empty() ? "a file of another kind" : kind);
  }
}

void OwnFiles::look_into(const fs::path& place, const fs::path* replaced, ExistingOutput& found) const {
  const bool is_partial = replaced != nullptr;
  std::set<std::string> written;  // by these programs, as a manifest or journal says
  const auto manifest = layout_in(place / manifest_name, "ckpt_manifest", "layout");
  if (manifest) add_names(*manifest, written);
  const fs::path journal = place / journal_name;
  if (is_partial)
    if (const auto job = layout_in(journal / job_name, "ckpt_journal", "to")) {
      add_names(*job, written);
      written.insert(model_index_name(fs::path(*written.begin()).extension().native()));  // perhaps half of it
    }
  if (!is_partial && is_single_file_ && !manifest) {
    found.foreign.emplace_back("a directory");
    return;
  }
  const bool is_marked = is_partial && is_there(journal);
  const std::set<std::string> wanted(names_.begin(), names_.end());
  walk(place, !is_partial, found, [&](const std::string& name, const fs::path& file) {
    if (name == manifest_name) return manifest.has_value() || is_marked;
    if (written.contains(name) || is_index_of(file, written) || is_companion_of(name, written)) return true;
    if (wanted.contains(name)) return is_marked || is_own_file(file);
    if (is_partial && may_stand_beside(file) && are_same(file, *replaced / name)) return true;  // it was taken over
    const fs::path relative(name);
    return is_marked && relative.parent_path() == journal_name && is_journal_file(relative.filename().string());
  });
}

}  // namespace ckpt
