#pragma once

#include <set>
#include <string>

#include "layout/language/layout.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// An output's format among `formats`: the one asked for (`wanted`, unless empty), else by the ending of its files'
/// names, else that of the source's files (`sources`), if it is one that files of such an output can have, else the
/// first. If two formats share the ending, the formats of the source's files decide. `file_name` is empty where nobody
/// named the files.
const Format& output_format(const std::vector<Format>& formats, const std::string& wanted, const std::string& file_name,
                            const std::set<std::string>& sources = {});

/// Checks the name of a single file whose format nobody named. Throws usage if its ending (the part after its last dot)
/// belongs to no format, but seems to mean one: misspelt, with something after it, or another program's.
void check_ending(const std::vector<Format>& formats, const std::string& file_name);

/// Warns if the name of a single file has another format's ending, or, unless the user chose the format, an unknown
/// one. Names the format if the user chose none and the name has no ending.
void warn_of_ending(const std::vector<Format>& formats, const std::string& file_name, const Format& written,
                    bool is_chosen);

/// The layout with the format's ending on files that have the ending of another of `formats`, and with a name where a
/// template leaves the name open (`*`). `keeps_shared`: keeps an ending that the format shares with another.
Layout with_ending(Layout layout, const std::vector<Format>& formats, const Format& format, bool keeps_shared = false);

}  // namespace ckpt
