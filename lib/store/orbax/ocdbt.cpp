#include "store/orbax/ocdbt.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "io/crc.hpp"
#include "io/posix_file.hpp"
#include "io/zstd.hpp"
#include "store/cursor.hpp"

namespace ckpt::orbax {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t frame_bytes = 4 + 8 + 4;  // magic, length, checksum: what has one size around a body

// Far above what tensorstore writes, and little enough that a hostile database exhausts nothing.
constexpr std::uint64_t most_manifest_bytes = 64ULL << 20;
constexpr std::uint64_t most_node_bytes = 1ULL << 30;
constexpr std::uint64_t most_decoded_bytes = 512ULL << 20;
constexpr std::uint64_t least_decoded_limit = 8ULL << 20;
constexpr std::uint64_t most_nodes = 1ULL << 20;
constexpr std::uint64_t most_keys = 1ULL << 26;
constexpr std::uint64_t most_key_bytes = 65535;

[[noreturn]] void refuse(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "", {found, expected, "the checkpoint is damaged: take another copy of it"});
}

/// Takes the parts of a manifest or a node, most of which lie column by column.
class Body {
 public:
  explicit Body(std::string bytes) : bytes_(std::make_unique<const std::string>(std::move(bytes))), rest_(*bytes_) {}

  std::uint64_t number() { return rest_.varint(); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(rest_.little(1)); }
  std::uint64_t fixed() { return rest_.little(8); }
  std::string_view text(std::uint64_t bytes) { return rest_.take(bytes); }
  /// Returns how many rows the next columns have: each takes a byte at least.
  std::uint64_t count() {
    const std::uint64_t count = number();
    if (count > rest_.left()) refuse("a count of " + std::to_string(count), "no more than the bytes that follow");
    return count;
  }
  std::vector<std::uint64_t> numbers(std::uint64_t count) {
    if (count > rest_.left()) refuse("a column that ends early", std::to_string(count) + " numbers");
    std::vector<std::uint64_t> column(count);
    for (std::uint64_t& each : column) each = number();
    return column;
  }
  /// Returns texts that begin with a part of the one before: the lengths of these parts, and the rest of each.
  std::vector<std::uint64_t> beginnings(std::uint64_t count) {
    std::vector<std::uint64_t> column = numbers(count == 0 ? 0 : count - 1);
    if (count > 0) column.insert(column.begin(), 0);
    return column;
  }
  void finish() const {
    if (!rest_.is_at_end()) refuse(std::to_string(rest_.left()) + " bytes after its end", "none");
  }

 private:
  std::unique_ptr<const std::string> bytes_;  // which stay where they are when this is moved
  Cursor rest_;
};

/// Returns what a manifest or a node holds: after it was unpacked, at most `most` bytes.
Body body_of(std::string_view all, std::string_view magic, std::uint64_t most) {
  if (all.size() < frame_bytes + 2 || !all.starts_with(magic)) refuse("other bytes", "those with which OCDBT begins");
  Cursor in(all.substr(magic.size(), all.size() - magic.size() - 4));
  if (const std::uint64_t said = in.little(8); said != all.size())
    refuse("a length of " + std::to_string(said), std::to_string(all.size()) + ", as it has");
  Cursor sum(all.substr(all.size() - 4));
  if (crc32c.of(all.substr(0, all.size() - 4)) != sum.little(4)) refuse("bytes of another CRC-32C", "those written");
  const std::uint64_t version = in.varint();
  const std::uint64_t packing = in.varint();
  if (version != 0 || packing > 1)
    throw Error(Kind::input, "",
                {"version " + std::to_string(version) + " with compression " + std::to_string(packing),
                 "version 0 with none or zstd (1)", "save the checkpoint with a tensorstore of 2026 or earlier"});
  const std::string_view stored = in.take(in.left());
  if (packing == 0 && stored.size() > most) refuse("a node of " + std::to_string(stored.size()) + " bytes", "less");
  return Body(packing == 0 ? std::string(stored) : unpacked_zstd(stored, most));
}

/// Paths stay within the directory: others could make this program read, and copy, any file of the machine.
void check_path(std::string_view path) {
  const auto is_bad = [](std::string_view part) { return part.empty() || part == "." || part == ".."; };
  bool bad = path.find('\0') != std::string_view::npos;
  for (std::size_t at = 0; at <= path.size() && !bad;) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    bad = is_bad(path.substr(at, end - at));
    at = end + 1;
  }
  if (bad) refuse("the path \"" + std::string(path) + "\"", "one within the checkpoint");
}

/// The files of a manifest or a node.
struct FileTable {
  struct File {
    std::string base;  ///< what the paths of a node begin with that lies in it
    std::string path;
  };
  std::vector<File> files;

  /// A version without values names a file, too: one without a name. So paths are checked where they are used.
  const File& at(std::uint64_t number) const {
    if (number >= files.size())
      refuse("file " + std::to_string(number), "one of the " + std::to_string(files.size()) + " listed");
    check_path(files[number].path);
    return files[number];
  }
};

FileTable file_table(Body& body, const std::string& base) {
  const std::uint64_t count = body.count();
  const auto begins = body.beginnings(count);
  const auto lengths = body.numbers(count);
  const auto bases = body.numbers(count);
  FileTable table;
  std::string path;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (begins[i] > path.size() || lengths[i] > most_key_bytes) refuse("a path that continues none", "one of a file");
    path = path.substr(0, begins[i]).append(body.text(lengths[i]));
    if (bases[i] > path.size() || base.size() + path.size() > most_key_bytes) refuse("an impossible path", "a file's");
    table.files.push_back({base + path.substr(0, bases[i]), base + path});
  }
  return table;
}

struct Config {
  bool is_numbered = false;
  std::uint64_t most_decoded = 0;
};

Config config_in(Body& body) {
  Config config;
  body.text(16);  // the database's random number
  const std::uint8_t kind = body.byte();
  if (kind > 1) refuse("a manifest of kind " + std::to_string(kind), "0 or 1");
  config.is_numbered = kind == 1;
  body.number();  // up to how many bytes a value is inline
  config.most_decoded = body.number();
  body.byte();                           // the arity of the tree of versions
  if (body.number() == 1) body.text(4);  // zstd's level
  return config;
}

/// The root of the B+tree in the newest version.
struct Root {
  FileTable table;
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint8_t height = 0;
  std::uint64_t keys = 0;
};

Root newest_root(Body& body) {
  Root root{file_table(body, "")};
  const std::uint64_t count = body.count();
  if (count == 0) refuse("no version", "one at least");
  body.numbers(count);  // generations
  std::string heights(body.text(count));
  root.height = static_cast<std::uint8_t>(heights.back());
  const std::array members{&root.file, &root.offset, &root.bytes, &root.keys};
  for (std::uint64_t* const member : members) *member = body.numbers(count).back();
  body.numbers(count);               // bytes of the tree
  body.numbers(count);               // bytes of the values outside of it
  body.text(checked_mul(count, 8));  // times
  const std::uint64_t older = body.count();
  for (int column = 0; column < 5; ++column) body.numbers(older);
  body.text(checked_mul(older, 9));  // times and heights
  body.finish();
  return root;
}

class Database {
 public:
  explicit Database(const fs::path& directory) : directory_(directory) {}

  KeyValues read() {
    Body manifest = read_manifest(ocdbt_manifest);
    Config config = config_in(manifest);
    std::string name = ocdbt_manifest;
    if (config.is_numbered) {
      manifest.finish();
      name = newest_numbered();
      manifest = read_manifest(name);
      config = config_in(manifest);
    }
    most_decoded_ = std::clamp(config.most_decoded, least_decoded_limit, most_decoded_bytes / 2) * 2;
    std::optional<Root> root;
    with_file((directory_ / name).string(), [&] { root = newest_root(manifest); });
    constexpr std::uint64_t none = ~std::uint64_t{0};  // an empty tree has no node
    if (root->offset != none && root->bytes != none && root->bytes != 0) {
      const auto& file = root->table.at(root->file);
      read_node({file.path, file.base, root->offset, root->bytes, root->height, ""});
    }
    if (found_.entries.size() != root->keys)
      throw Error(Kind::input, (directory_ / name).string(),
                  {std::to_string(found_.entries.size()) + " values", std::to_string(root->keys) + ", as it says",
                   "the checkpoint is damaged: take another copy of it"});
    return std::move(found_);
  }

 private:
  struct Node {
    std::string path;
    std::string base;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint8_t height;
    std::string prefix;  ///< of its keys
  };
  struct OpenFile {
    std::uint64_t bytes;
    std::uint32_t number;  ///< in found_.files
  };

  Body read_manifest(const std::string& name) const {
    const PosixFile file = PosixFile::open_for_reading(directory_ / name);
    return with_file(file.path(), [&] {
      const std::uint64_t bytes = file.status().bytes;
      if (bytes > most_manifest_bytes) refuse(std::to_string(bytes) + " bytes", "at most 64 MiB");
      return body_of(file.text(0, bytes), ocdbt_manifest_magic, most_manifest_bytes);
    });
  }

  /// The manifest with the largest number, in hexadecimal digits of equal count.
  std::string newest_numbered() const {
    constexpr std::string_view beginning = "manifest.";
    constexpr std::size_t digits = 16;
    std::string newest;
    std::error_code error;
    for (fs::directory_iterator it(directory_, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.size() == beginning.size() + digits && name.starts_with(beginning) &&
          name.find_first_not_of("0123456789abcdef", beginning.size()) == std::string::npos)
        newest = std::max(newest, name);
    }
    if (newest.empty())
      throw Error(Kind::input, (directory_ / ocdbt_manifest).string(),
                  {"says that numbered manifests lie beside it", "one at least", "copy them, too"});
    return newest;
  }

  OpenFile& opened(const std::string& path) {
    const auto found = open_.find(path);
    if (found != open_.end()) return found->second;
    const fs::path file = directory_ / path;
    std::error_code error;
    if (!fs::exists(file, error))
      throw Error(Kind::input, file.string(),
                  {"no such file, which " + std::string(ocdbt_manifest) + " names", "",
                   "copy it into " + shell_word(directory_.string())})
          .in_file(file.string());
    const std::uint64_t bytes = PosixFile::open_for_reading(file).status().bytes;
    found_.files.push_back(path);
    return open_.emplace(path, OpenFile{bytes, static_cast<std::uint32_t>(found_.files.size() - 1)}).first->second;
  }

  void check_place(const std::string& path, std::uint64_t file_bytes, std::uint64_t offset, std::uint64_t bytes) const {
    if (offset <= file_bytes && bytes <= file_bytes - offset) return;
    throw Error(Kind::input, (directory_ / path).string(),
                {"has " + std::to_string(file_bytes) + " bytes",
                 std::to_string(bytes) + " from byte " + std::to_string(offset) + " on",
                 "was the file cut off when it was copied? Copy it again"});
  }

  void read_node(const Node& node) {
    if (++nodes_ > most_nodes) refuse("more than a million nodes", "fewer");
    check_place(node.path, opened(node.path).bytes, node.offset, node.bytes);
    const std::string file = (directory_ / node.path).string();
    with_file(file, [&] {
      if (node.bytes > most_node_bytes) refuse("a node of " + std::to_string(node.bytes) + " bytes", "at most 1 GiB");
    });
    const std::string stored = PosixFile::open_for_reading(file).text(node.offset, node.bytes);
    FileTable table;
    std::vector<Node> children;
    std::vector<LeafValue> values;
    with_file(file, [&] {
      with_context("node at byte " + std::to_string(node.offset), [&] {
        Body body = body_of(stored, ocdbt_node_magic, most_decoded_);
        if (const std::uint8_t height = body.byte(); height != node.height)
          refuse("a node of height " + std::to_string(height), std::to_string(node.height) + ", as its parent says");
        table = file_table(body, node.base);
        if (node.height > 0)
          children = children_in(body, table, node);
        else
          values = values_in(body, table, node);
        body.finish();
      });
    });
    add(values, table);
    for (const Node& child : children) read_node(child);
  }

  struct Keys {
    std::vector<std::string> keys;
    std::vector<std::uint64_t> common;  ///< of interior nodes: how much of a key all those below begin with
  };

  static Keys keys_in(Body& body, bool is_interior) {
    const std::uint64_t count = body.count();
    if (count == 0 || count > most_nodes) refuse(std::to_string(count) + " entries", "1 to 2^20");
    const auto begins = body.beginnings(count);
    const auto lengths = body.numbers(count);
    Keys found;
    if (is_interior) found.common = body.numbers(count);
    std::string key;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (begins[i] > key.size() || lengths[i] > most_key_bytes) refuse("a key that continues none", "one of an array");
      std::string next = key.substr(0, begins[i]).append(body.text(lengths[i]));
      if (next.size() > most_key_bytes || (is_interior && found.common[i] > next.size()) || (i > 0 && next <= key))
        refuse("keys that do not ascend", "ascending ones");
      key = std::move(next);
      found.keys.push_back(key);
    }
    return found;
  }

  static std::vector<Node> children_in(Body& body, const FileTable& table, const Node& node) {
    const Keys keys = keys_in(body, true);
    const std::uint64_t count = keys.keys.size();
    const auto files = body.numbers(count);
    const auto offsets = body.numbers(count);
    const auto bytes = body.numbers(count);
    for (int statistic = 0; statistic < 3; ++statistic) body.numbers(count);
    std::vector<Node> children;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto& file = table.at(files[i]);
      children.push_back({file.path, file.base, offsets[i], bytes[i], static_cast<std::uint8_t>(node.height - 1),
                          node.prefix + keys.keys[i].substr(0, keys.common[i])});
      if (children.back().prefix.size() > most_key_bytes) refuse("a key of more than 65535 bytes", "a shorter one");
    }
    return children;
  }

  struct LeafValue {
    std::string key;
    std::uint64_t bytes;
    std::optional<std::uint64_t> file;  ///< in the node's table; nothing: inline
    std::uint64_t offset;               ///< in that file, or in found_.inlined
  };

  std::vector<LeafValue> values_in(Body& body, const FileTable& table, const Node& node) {
    Keys keys = keys_in(body, false);
    const std::uint64_t count = keys.keys.size();
    if (count > most_keys - found_.entries.size()) refuse("more than 2^26 keys", "fewer");
    const auto lengths = body.numbers(count);
    const std::string kinds(body.text(count));
    if (kinds.find_first_not_of(std::string_view("\0\1", 2)) != std::string::npos)
      refuse("a value of an unknown kind", "one in the node (0) or in a file (1)");
    const auto outside = static_cast<std::uint64_t>(std::count(kinds.begin(), kinds.end(), '\1'));
    const auto files = body.numbers(outside);
    const auto offsets = body.numbers(outside);
    std::vector<LeafValue> values;
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      LeafValue value{node.prefix + keys.keys[i], lengths[i], std::nullopt, found_.inlined.size()};
      const std::string& before = !values.empty() ? values.back().key : last_key();
      if (value.key <= before && !(values.empty() && found_.entries.empty()))
        refuse("keys that do not ascend", "ascending ones");
      if (kinds[i] == 0) {
        found_.inlined.append(body.text(lengths[i]));
      } else {
        table.at(files[next]);
        value.file = files[next];
        value.offset = offsets[next++];
      }
      values.push_back(std::move(value));
    }
    return values;
  }

  const std::string& last_key() const {
    static const std::string none;
    return found_.entries.empty() ? none : found_.entries.back().key;
  }

  /// Adds a leaf's values, which must lie within their files.
  void add(std::vector<LeafValue>& values, const FileTable& table) {
    std::vector<const OpenFile*> known(table.files.size());
    for (LeafValue& value : values) {
      Place place{Place::inlined, value.offset, value.bytes};
      if (value.file) {
        const std::string& path = table.at(*value.file).path;
        const OpenFile*& file = known[*value.file];
        if (file == nullptr) file = &opened(path);
        check_place(path, file->bytes, place.offset, place.bytes);
        place.file = file->number;
      }
      found_.entries.push_back({std::move(value.key), place});
    }
  }

  const fs::path& directory_;
  std::uint64_t most_decoded_ = 0;
  std::uint64_t nodes_ = 0;
  std::map<std::string, OpenFile> open_;  // whose elements stay where they are
  KeyValues found_;
};

}  // namespace

KeyValues read_ocdbt(const fs::path& directory) {
  return Database(directory).read();
}

std::string value_of(const fs::path& directory, const KeyValues& all, const Place& place) {
  if (place.file == Place::inlined) return all.inlined.substr(place.offset, place.bytes);
  return PosixFile::open_for_reading(directory / all.files.at(place.file)).text(place.offset, place.bytes);
}

}  // namespace ckpt::orbax
