#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "unit/store/hdf5_fixture.hpp"

/// Files of torch.save and hostile likenesses of them, byte by byte: pickles of protocol 2 in zip archives.
namespace ckpt::fixture {

/// A number of so many bytes, little-endian.
inline std::string little(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, number >>= 8) text += static_cast<char>(number & 0xff);
  return text;
}

// What a pickle is made of.
inline std::string text(const std::string& value) {
  return "X" + little(value.size(), 4) + value;
}
inline std::string integer(std::int64_t value) {
  return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8);
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const auto& item : items) all += item;
  return all + "t";
}
inline std::string numbers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  for (const auto value : values) items.push_back(integer(value));
  return tuple(items);
}
inline std::string call(const std::string& function, const std::vector<std::string>& arguments) {
  return function + tuple(arguments) + "R";
}
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string all = "}(";
  for (const auto& [key, value] : items) all += text(key) + value;
  return all + "u";
}
inline std::string pickle(const std::string& value) {
  return "\x80\x02" + value + ".";
}

inline std::string storage(const std::string& key, std::int64_t elements, const std::string& type = "FloatStorage") {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), integer(elements)}) + "Q";
}
inline std::string tensor(const std::string& from, std::int64_t offset, const std::vector<std::int64_t>& shape,
                          const std::vector<std::int64_t>& strides) {
  return call(global("torch._utils", "_rebuild_tensor_v2"), {from, integer(offset), numbers(shape), numbers(strides),
                                                             "\x89", call(global("collections", "OrderedDict"), {})});
}

/// An entry of a zip archive, and what its headers say otherwise than they should.
struct Entry {
  std::string name;
  std::string data;
  std::uint64_t method = 0;
  std::uint64_t flags = 0x0800;
  std::int64_t more_bytes = 0;   ///< than there are, as the directory says
  std::int64_t more_offset = 0;  ///< likewise
  std::string local_name = {};   ///< in its own header, where it differs
};

/// With data at multiples of 64 and a 64-bit record, as torch.save does; `wide`: with 64-bit fields everywhere.
inline std::string zip(const std::vector<Entry>& entries, bool wide = false) {
  const std::uint64_t overflown = 0xffffffff;
  std::string all;
  std::string directory;
  for (const Entry& entry : entries) {
    const std::uint64_t at = all.size();
    const std::uint64_t bytes = entry.data.size();
    const std::string& name = entry.local_name.empty() ? entry.name : entry.local_name;
    const std::string padding(63 - (at + 33 + name.size()) % 64, 'Z');
    const std::string sums = little(0, 12);  // sizes follow the data
    all += "PK\3\4" + little(0, 2) + little(entry.flags, 2) + little(entry.method, 2) + little(0, 4) + sums +
           little(name.size(), 2) + little(4 + padding.size(), 2) + name + "FB" + little(padding.size(), 2) + padding +
           entry.data + "PK\7\x8" + little(0, 4) + little(bytes, 4) + little(bytes, 4);
    const std::uint64_t said = bytes + static_cast<std::uint64_t>(entry.more_bytes);
    const std::uint64_t offset = at + static_cast<std::uint64_t>(entry.more_offset);
    const std::string extra =
        wide ? little(1, 2) + little(24, 2) + little(said, 8) + little(said, 8) + little(offset, 8) : "";
    directory += "PK\1\2" + little(0, 4) + little(entry.flags, 2) + little(entry.method, 2) + little(0, 8) +
                 little(wide ? overflown : said, 4) + little(wide ? overflown : said, 4) +
                 little(entry.name.size(), 2) + little(extra.size(), 2) + little(0, 10) +
                 little(wide ? overflown : offset, 4) + entry.name + extra;
  }
  const std::uint64_t begin = all.size();
  all += directory;
  const std::uint64_t count = wide ? 0xffff : entries.size();
  return all + "PK\6\6" + little(44, 8) + little(798, 2) + little(45, 2) + little(0, 8) + little(entries.size(), 8) +
         little(entries.size(), 8) + little(directory.size(), 8) + little(begin, 8) + "PK\6\7" + little(0, 4) +
         little(begin + directory.size(), 8) + little(1, 4) + "PK\5\6" + little(0, 4) + little(count, 2) +
         little(count, 2) + little(wide ? overflown : directory.size(), 4) + little(wide ? overflown : begin, 4) +
         little(0, 2);
}

/// What torch.save makes of a pickled object and its storages.
inline std::string torch_file(const std::string& object, const std::map<std::string, std::string>& storages = {},
                              bool wide = false) {
  std::vector<Entry> entries{{"a/data.pkl", pickle(object)}, {"a/byteorder", "little"}};
  for (const auto& [key, bytes] : storages) entries.push_back({"a/data/" + key, bytes});
  entries.push_back({"a/version", "3\n"});
  return zip(entries, wide);
}

}  // namespace ckpt::fixture
