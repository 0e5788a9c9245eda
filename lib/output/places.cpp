#include "output/places.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "io/posix_file.hpp"
#include "store/store.hpp"

namespace ckpt {

namespace fs = std::filesystem;

namespace {

fs::path with_suffix(fs::path path, const char* suffix) {
  return path += suffix;
}

fs::path without_slash(fs::path path) {
  while (!path.has_filename() && path.has_parent_path() && path != path.parent_path()) path = path.parent_path();
  return path;
}

bool begins_with(const fs::path& path, const fs::path& start) {
  return std::mismatch(start.begin(), start.end(), path.begin(), path.end()).first == start.end();
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (error && status.type() == fs::file_type::none)
    throw system_error(path.string(), "cannot be looked at", error.value());
  return fs::exists(status);
}

fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);  // works for a relative path that does not exist, too
  fs::path real = error ? fs::path() : fs::weakly_canonical(whole, error);
  if (error) throw system_error(path.string(), "cannot be looked at", error.value());
  return real;
}

bool is_within(const fs::path& inner, const fs::path& outer) {
  const fs::path path = resolved(inner);
  if (begins_with(path, resolved(outer))) return true;
  std::error_code error;
  if (!fs::exists(outer, error)) return false;
  // The same directory may be mounted in two places.
  for (fs::path at = path;; at = at.parent_path()) {
    if (fs::equivalent(at, outer, error)) return true;
    if (at == at.parent_path()) return false;
  }
}

OutputPlaces::OutputPlaces(const fs::path& output) : target(without_slash(output)) {
  const fs::path name = target.filename();
  if (name.empty() || name == "." || name == "..")
    throw Error(Kind::usage, "output '" + output.string() + "'",
                {"it ends in no name", "the name of a file or directory that is to be made or replaced",
                 "give the name itself"});
  partial = with_suffix(target, ".partial");
  lock = with_suffix(partial, ".lock");
  journal = with_suffix(partial, ".journal");
}

void OutputPlaces::check_lengths(const std::vector<std::string>& files) const {
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const long known = ::pathconf(parent.c_str(), _PC_NAME_MAX);
  const std::size_t most = known > 0 ? static_cast<std::size_t>(known) : NAME_MAX;
  const auto check = [&](const fs::path& path, const std::string& what, const std::string& as_well) {
    for (const fs::path& part : path)
      if (part.native().size() > most)
        throw Error(Kind::io, what,
                    {"a name of " + std::to_string(part.native().size()) + " bytes" + as_well,
                     "at most " + std::to_string(most) + ", which the file system allows", "choose a shorter one"});
    if (path.native().size() >= PATH_MAX)
      throw Error(Kind::io, what,
                  {"a path of " + std::to_string(path.native().size()) + " bytes" + as_well,
                   "at most " + std::to_string(PATH_MAX - 1) + ", which the system allows", "choose a shorter one"});
  };
  check(journal, target.string(), " with \".partial.journal\" behind it, which the job needs");
  for (const std::string& file : files) check(partial / file, target.string(), " for " + file + " in it");
}

OverlapCheck::OverlapCheck(const OutputPlaces& places) {
  std::error_code error;
  for (const fs::path& path : places.all()) places_.push_back({path, resolved(path), fs::is_regular_file(path, error)});
}

fs::path OverlapCheck::resolved_file(const fs::path& file) {
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::regular) return resolved(file);
  const auto [directory, is_new] = directories_.try_emplace(file.parent_path());
  if (is_new) directory->second = resolved(file.has_parent_path() ? file.parent_path() : fs::path("."));
  return directory->second / file.filename();
}

void OverlapCheck::check(const fs::path& file) {
  const fs::path real = resolved_file(file);
  const bool is_new = looked_at_.insert(real.parent_path()).second;
  for (const Place& place : places_) {
    std::error_code error;
    const bool is_same = real == place.real || (place.is_file && fs::equivalent(real, place.real, error));
    if (!is_same && !(is_new && is_within(real.parent_path(), place.path))) continue;
    const bool is_plain = real == fs::absolute(file).lexically_normal();
    throw Error(Kind::usage, places_.front().path.string(),
                {"the output would lie over " + file.string() + ", which the job reads" +
                     (is_plain ? "" : " (it leads to " + real.string() + ")"),
                 "", "write to another place"});
  }
}

void sync_directory(const fs::path& directory) {
  const Fd fd(retried([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) throw system_error(directory.string(), "cannot be opened", errno);
  if (retried([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL && errno != ENOTSUP)
    throw system_error(directory.string(), "cannot be flushed", errno);
}

}  // namespace ckpt
