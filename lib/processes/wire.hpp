#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_stream.hpp"

namespace ckpt {

/// Serializes values for other processes of a job: numbers, text, and lists, pairs, maps and optionals of them. A
/// struct lists its members: `static auto fields(auto& self) { return std::tie(self.a, self.b); }`.
namespace wire {

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class T>
concept Structure = requires(T& value) {
  T::fields(value);
};

template <Plain T>
void put(ByteWriter& out, const T& value) {
  out.raw({reinterpret_cast<const char*>(&value), sizeof value});
}
template <Plain T>
void get(ByteReader& in, T& value) {
  std::memcpy(&value, in.raw(sizeof value).data(), sizeof value);
}

inline void put(ByteWriter& out, const std::string& value) {
  out.text(value);
}
inline void get(ByteReader& in, std::string& value) {
  value = in.text();
}

template <class A, class B>
void put(ByteWriter& out, const std::pair<A, B>& value);
template <class A, class B>
void get(ByteReader& in, std::pair<A, B>& value);
template <class T>
void put(ByteWriter& out, const std::optional<T>& value);
template <class T>
void get(ByteReader& in, std::optional<T>& value);
template <class T>
void put(ByteWriter& out, const std::vector<T>& values);
template <class T>
void get(ByteReader& in, std::vector<T>& values);
template <class K, class V>
void put(ByteWriter& out, const std::map<K, V>& values);
template <class K, class V>
void get(ByteReader& in, std::map<K, V>& values);

template <Structure T>
void put(ByteWriter& out, const T& value) {
  std::apply([&](const auto&... fields) { (put(out, fields), ...); }, T::fields(value));
}
template <Structure T>
void get(ByteReader& in, T& value) {
  std::apply([&](auto&... fields) { (get(in, fields), ...); }, T::fields(value));
}

template <class A, class B>
void put(ByteWriter& out, const std::pair<A, B>& value) {
  put(out, value.first);
  put(out, value.second);
}
template <class A, class B>
void get(ByteReader& in, std::pair<A, B>& value) {
  get(in, value.first);
  get(in, value.second);
}

template <class T>
void put(ByteWriter& out, const std::optional<T>& value) {
  out.flag(value.has_value());
  if (value) put(out, *value);
}
template <class T>
void get(ByteReader& in, std::optional<T>& value) {
  value.reset();
  if (in.flag()) get(in, value.emplace());
}

template <class T>
void put(ByteWriter& out, const std::vector<T>& values) {
  out.number(values.size());
  for (const T& value : values) put(out, value);
}
template <class T>
void get(ByteReader& in, std::vector<T>& values) {
  values.clear();
  for (std::uint64_t left = in.count(1); left > 0; --left) {
    T value{};
    get(in, value);
    values.push_back(std::move(value));
  }
}

template <class K, class V>
void put(ByteWriter& out, const std::map<K, V>& values) {
  out.number(values.size());
  for (const auto& [key, value] : values) {
    put(out, key);
    put(out, value);
  }
}
template <class K, class V>
void get(ByteReader& in, std::map<K, V>& values) {
  values.clear();
  for (std::uint64_t left = in.count(1); left > 0; --left) {
    std::pair<K, V> entry{};
    get(in, entry);
    values.insert(std::move(entry));
  }
}

template <class T>
std::string packed(const T& value) {
  ByteWriter out;
  put(out, value);
  return out.take();
}

/// Throws input if the bytes are not such a value: another process runs another version of the program.
template <class T>
T unpacked(const std::string& bytes) {
  ByteReader in(bytes, "a message of another process");
  T value{};
  get(in, value);
  in.finish();
  return value;
}

}  // namespace wire

}  // namespace ckpt
