#include "store/hdf5/explained.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/shell_word.hpp"
#include "store/hdf5/library.hpp"

namespace ckpt::hdf5 {

namespace {

/// HDF5's messages about a version of an object that it does not know.
constexpr std::array unknown_versions{"bad version number", "bad superblock version number", "unknown version",
                                      "unsupported version", "wrong version number"};
constexpr std::string_view open_mark = "already open for write";
constexpr std::string_view unwritten_root = "bad object header version number";
/// A mark in the superblock of a family's first file, and how many of the file's first bytes to search for it.
constexpr std::string_view family_mark = "NCSAfami";
constexpr std::uint64_t superblock_bytes = 256;

bool says(const Error& said, std::string_view words) {
  return said.text().found.find(words) != std::string::npos;
}

/// Returns the path of a copy: "a.h5" → "a.NEW.h5".
std::string beside(const std::string& path, const std::string& word) {
  const std::size_t dot = path.rfind('.');
  const std::size_t slash = path.rfind('/');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return has_ending ? path.substr(0, dot) + "." + word + path.substr(dot) : path + "." + word;
}

/// Returns a command that rewrites everything in a file in forms that this HDF5 reads; h5py's `copy` would keep forms
/// that are too new. `how`: additional arguments for opening the file.
std::string rewriting(const std::string& from, const std::string& to, const std::string& how = "") {
  return "python3 -c \"import h5py, sys; s = h5py.File(sys.argv[1]" + how +
         "); t = h5py.File(sys.argv[2], 'w', libver=('earliest', 'v110')); "
         "c = lambda a, b: [b.attrs.update(a.attrs)] + [b.__setitem__(n, l) if not isinstance(l, h5py.HardLink) else "
         "c(a[n], b.create_group(n)) if isinstance(a[n], h5py.Group) else "
         "b.create_dataset(n, data=a[n][()], dtype=a[n].dtype).attrs.update(a[n].attrs) "
         "for n in a for l in [a.get(n, getlink=True)]]; c(s, t)\" " +
         shell_word(from) + " " + shell_word(to);
}

/// "rank_0_00000.h5" → "rank_0_%05d.h5": the last digits of the name number a family's files.
std::string family_pattern(const std::string& path) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t name = path.rfind('/') + 1;
  std::size_t end = path.size();
  while (end > name && !is_digit(path[end - 1])) --end;
  if (const std::size_t dot = path.rfind('.'); dot != std::string::npos && end > dot && dot > name) {
    end = dot;  // ignores the 5 of ".h5"
    while (end > name && !is_digit(path[end - 1])) --end;
  }
  std::size_t begin = end;
  while (begin > name && is_digit(path[begin - 1])) --begin;
  if (begin == end) return "";
  const std::string width = end - begin > 1 ? "0" + std::to_string(end - begin) : "";
  return path.substr(0, begin) + "%" + width + "d" + path.substr(end);
}

}  // namespace

Error explained(const Error& said, const PosixFile& source) {
  if (std::none_of(unknown_versions.begin(), unknown_versions.end(),
                   [&](const char* each) { return says(said, each); }))
    return said;
  return {Kind::input,
          "",
          {"it is stored in a form that this HDF5 does not know (" + said.text().found + ")",
           "one of HDF5 " + version() + " or before",
           "where a newer HDF5 has made the file, write it again: " +
               rewriting(source.path(), beside(source.path(), "v110"))}};
}

Error explained_opening(const Error& said, const PosixFile& source) {
  const std::uint64_t bytes = std::min(source.status().bytes, superblock_bytes);
  if (source.text(0, bytes).find(family_mark) != std::string::npos) {
    const std::string pattern = family_pattern(source.path());
    return {Kind::input,
            "",
            {"it is one of several files that are one file of HDF5 together (driver \"family\")",
             "a file that holds everything",
             pattern.empty() ? "put them together with h5py, which opens them with driver='family'"
                             : "put them together: " + rewriting(pattern, beside(source.path(), "whole"),
                                                                 ", driver='family', memb_size=0")}};
  }
  if (says(said, open_mark))
    return {Kind::input,
            "",
            {"it is marked as open for writing",
             "a file that has been closed",
             "where its writer was killed, take the checkpoint before it, or what it had flushed, with h5clear -s " +
                 shell_word(source.path()),
             {Advice::What::wait_for_writer, ""}}};
  if (says(said, unwritten_root))
    return {Kind::input,
            "",
            {"it has never been closed: what it holds is not written yet (" + said.text().found + ")",
             "a file that has been closed",
             "where its writer was killed, take the checkpoint before it",
             {Advice::What::wait_for_writer, ""}}};
  return explained(said, source);
}

}  // namespace ckpt::hdf5
