#pragma once

#include <set>
#include <string>

#include "layout/language/layout.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// An output's format among `formats`: the one asked for (`wanted`, unless empty), else by the ending of its files'
/// names, else the first. If two formats share the ending, the formats of the source's files (`sources`) decide.
const Format& output_format(const std::vector<Format>& formats, const std::string& wanted, const std::string& file_name,
                            const std::set<std::string>& sources = {});

/// A file whose ending (the part after its last dot) belongs to no format gets the first one. Throws usage if the
/// ending seems to mean another format: misspelt, or with something after it. Warns if it is some other word.
void check_ending(const std::vector<Format>& formats, const std::string& file_name);

/// The layout with the format's ending on files that have the ending of another of `formats`, and with a name where a
/// template leaves the name open (`*`). `keeps_shared`: keeps an ending that the format shares with another.
Layout with_ending(Layout layout, const std::vector<Format>& formats, const Format& format, bool keeps_shared = false);

}  // namespace ckpt
