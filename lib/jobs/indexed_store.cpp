#include "jobs/indexed_store.hpp"

#include <algorithm>
#include <string>
#include <system_error>

namespace ckpt {

namespace {

/// Whether a format's index is in a checkpoint's directory.
bool has_index(const Checkpoint& checkpoint, const DirectoryIndex* index) {
  std::error_code none;
  return index != nullptr && std::filesystem::is_regular_file(checkpoint.path() / index->name(), none) &&
         index->recognises(checkpoint.path() / index->name());
}

std::string format_with_index(const Checkpoint& checkpoint, Stores& stores) {
  const auto& files = checkpoint.files();
  std::string of_data = files.empty() || !files.front().schema ? "" : files.front().schema->format;
  std::string found;
  for (const Format& format : stores.formats()) {
    const DirectoryIndex* const index = stores.named(format.name).index();
    if (index != nullptr && format.name == of_data) return of_data;
    if (found.empty() && has_index(checkpoint, index)) found = format.name;
  }
  return found;
}

}  // namespace

Store* indexed_store(const Checkpoint& checkpoint, Stores& stores, Communicator& processes) {
  std::string format;
  agree(processes, [&] {
    if (processes.rank() == 0) format = format_with_index(checkpoint, stores);
  });
  format = processes.broadcast(format, 0);
  return format.empty() ? nullptr : &stores.named(format);
}

}  // namespace ckpt
