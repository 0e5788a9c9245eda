#pragma once

#include <set>
#include <string>

#include "layout/layout.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// The one of `formats` that an output has: the one asked for, else (empty) the one that the ending of its files' names
/// tells, else the first. Where the ending is that of two formats, the source's files (`sources`: the names of their
/// formats) decide.
const Format& output_format(const std::vector<Format>& formats, const std::string& wanted, const std::string& file_name,
                            const std::set<std::string>& sources = {});

/// A file's name whose ending (what is behind its last dot) is that of no format gets the first one. Throws usage where
/// the ending seems to be meant as another format's: misspelt, or with something behind it. Warns where it is some
/// other word.
void check_ending(const std::vector<Format>& formats, const std::string& file_name);

/// The layout with the format's ending on its files, where they have that of another of `formats`, and with a name of
/// its own where a template leaves the name open (`*`). `keeps_shared`: an ending that the format shares with another
/// stays.
Layout with_ending(Layout layout, const std::vector<Format>& formats, const Format& format, bool keeps_shared = false);

}  // namespace ckpt
