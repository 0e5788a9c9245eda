#include "store/orbax/write_ocdbt.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "io/crc.hpp"
#include "store/orbax/ocdbt.hpp"

namespace ckpt::orbax {

namespace {

/// The largest size of a node before it is packed that readers are told to expect.
constexpr std::uint64_t said_node_bytes = 100'000'000;
constexpr std::uint64_t most_inlined_bytes = 1024;
constexpr char arity_log2 = 4;

void put_fixed(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

std::string enveloped(std::string_view magic, const std::string& body) {
  constexpr unsigned length_bytes = 8;
  constexpr unsigned crc_bytes = 4;
  const std::string form(2, '\0');  // version 0, not compressed
  std::string all(magic);
  put_fixed(all, magic.size() + length_bytes + form.size() + body.size() + crc_bytes, length_bytes);
  all += form + body;
  put_fixed(all, crc32c.of(all), crc_bytes);
  return all;
}

/// Puts texts of which each begins with a part of the one before it: these parts' lengths, the others', `between`, and
/// then the other parts themselves.
void put_texts(std::string& out, const std::vector<std::string_view>& texts, const std::string& between) {
  std::vector<std::size_t> same(texts.size());
  for (std::size_t i = 1; i < texts.size(); ++i) {
    const auto [ours, theirs] =
        std::mismatch(texts[i].begin(), texts[i].end(), texts[i - 1].begin(), texts[i - 1].end());
    same[i] = static_cast<std::size_t>(ours - texts[i].begin());
    put(out, same[i]);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) put(out, texts[i].size() - same[i]);
  out += between;
  for (std::size_t i = 0; i < texts.size(); ++i) out += texts[i].substr(same[i]);
}

/// A table of files whose paths have no base in common.
void put_files(std::string& out, const std::vector<std::string>& files) {
  put(out, files.size());
  put_texts(out, {files.begin(), files.end()}, std::string(files.size(), '\0'));
}

std::string leaf(const std::vector<WrittenEntry>& entries, const std::vector<std::string>& files) {
  std::string body(1, '\0');  // its height
  put_files(body, files);
  put(body, entries.size());
  std::vector<std::string_view> keys;
  for (const WrittenEntry& entry : entries) keys.push_back(entry.key);
  put_texts(body, keys, "");
  for (const WrittenEntry& entry : entries) put(body, entry.file ? entry.bytes : entry.inlined.size());
  for (const WrittenEntry& entry : entries) body += entry.file ? '\1' : '\0';
  for (const WrittenEntry& entry : entries)
    if (entry.file) put(body, *entry.file);
  for (const WrittenEntry& entry : entries)
    if (entry.file) put(body, entry.offset);
  for (const WrittenEntry& entry : entries) body += entry.inlined;
  return body;
}

}  // namespace

OcdbtTexts ocdbt_texts(std::vector<WrittenEntry> entries, const std::vector<std::string>& files,
                       const std::string& node_file) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  const auto twice =
      std::adjacent_find(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.key == b.key; });
  if (twice != entries.end())
    throw Error(Kind::input, "/" + twice->key, {"is there twice", "once", "", {Advice::What::rename, ""}});
  std::uint64_t outside = 0;
  for (const WrittenEntry& entry : entries) outside += entry.file ? entry.bytes : 0;
  OcdbtTexts texts;
  texts.node = enveloped(ocdbt_node_magic, leaf(entries, files));
  std::string body(16, '\0');  // instead of a random number: the same data makes the same files
  body += '\0';                // a manifest that is not numbered
  put(body, most_inlined_bytes);
  put(body, std::max<std::uint64_t>(said_node_bytes, texts.node.size()));
  body += arity_log2;
  put(body, 0);  // what is written later into the database is not compressed
  put_files(body, {node_file});
  const std::uint64_t keys = entries.size();
  for (const std::uint64_t each : {std::uint64_t{1}, std::uint64_t{1}}) put(body, each);  // one version, the first
  body += '\0';                                                                           // its height
  for (const std::uint64_t each : {std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{texts.node.size()}, keys,
                                   std::uint64_t{texts.node.size()}, outside})
    put(body, each);
  put_fixed(body, 1, 8);  // time, in milliseconds
  put(body, 0);           // no older versions
  texts.manifest = enveloped(ocdbt_manifest_magic, body);
  return texts;
}

}  // namespace ckpt::orbax
