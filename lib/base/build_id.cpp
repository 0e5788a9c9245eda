#include "base/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace ckpt {

namespace {

using Bytes = std::span<const unsigned char>;

/// Returns the build's id from a segment of notes. Each note has a header, a name and a description; the latter two are
/// padded to words.
std::string id_in(Bytes notes) {
  constexpr std::string_view owner("GNU\0", 4);
  constexpr std::string_view digits = "0123456789abcdef";
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  for (ElfW(Nhdr) note{}; notes.size() >= sizeof note;) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    if (notes.size() < padded(note.n_namesz) + note.n_descsz) break;
    const bool is_build = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == owner.size() &&
                          std::memcmp(notes.data(), owner.data(), owner.size()) == 0;
    notes = notes.subspan(padded(note.n_namesz));
    std::string id;
    for (const unsigned char byte : notes.first(is_build ? note.n_descsz : 0))
      id.append({digits[byte >> 4U], digits[byte & 15U]});
    if (is_build) return id;
    notes = notes.subspan(std::min(padded(note.n_descsz), notes.size()));
  }
  return "";
}

/// Called for the program first.
int look_at(dl_phdr_info* object, std::size_t /*bytes*/, void* found) {
  for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr): where the loader says
    const auto* const at = reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment.p_vaddr);
    auto& id = *static_cast<std::string*>(found);
    if (id = id_in({at, segment.p_memsz}); !id.empty()) break;
  }
  return 1;  // no further object
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(look_at, &id);
  return id;
}

}  // namespace ckpt
