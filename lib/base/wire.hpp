#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/error.hpp"

/// Values as bytes, in this machine's byte order: for other processes of the job and for keys in memory, never for
/// files. Numbers, texts, lists, maps, optionals, tuples and structs of them need no code of their own; `Writer::put`
/// lists all forms. The bytes may come from a process that a hostile file has taken over: reading them back gives a
/// value in which everything is valid, or one Error.
///
/// An enumeration names its last value: `constexpr Color last_of(Color) { return Color::blue; }`. A class says what is
/// sent instead of it, `to_wire() const`, and has a constructor that takes that. A struct may check itself when it is
/// read: `bool is_consistent() const`.
namespace ckpt::wire {

/// Converts to anything: counts the members of a struct.
struct Anything {
  template <class T>
  operator T() const;
};

template <class T, class... Given>
consteval std::size_t member_count() {
  if constexpr (requires { T{Given()..., Anything()}; })
    return member_count<T, Given..., Anything>();
  else
    return sizeof...(Given);
}

template <class T>
concept Tuple = requires {
  std::tuple_size<T>::value;
};

/// Returns references to the members of a struct or tuple.
template <class T>
auto members_of(T& value) {
  using Struct = std::remove_const_t<T>;
  if constexpr (Tuple<Struct>) {
    return std::apply([](auto&... each) { return std::tie(each...); }, value);
  } else {
    static_assert(std::is_aggregate_v<Struct>, "a class needs to_wire");
    constexpr std::size_t count = member_count<Struct>();
    static_assert(count >= 1 && count <= 13, "a struct of so many members needs a line below");
    // clang-format off
    if constexpr (count == 1) { auto& [a] = value; return std::tie(a); }
    if constexpr (count == 2) { auto& [a, b] = value; return std::tie(a, b); }
    if constexpr (count == 3) { auto& [a, b, c] = value; return std::tie(a, b, c); }
    if constexpr (count == 4) { auto& [a, b, c, d] = value; return std::tie(a, b, c, d); }
    if constexpr (count == 5) { auto& [a, b, c, d, e] = value; return std::tie(a, b, c, d, e); }
    if constexpr (count == 6) { auto& [a, b, c, d, e, f] = value; return std::tie(a, b, c, d, e, f); }
    if constexpr (count == 7) { auto& [a, b, c, d, e, f, g] = value; return std::tie(a, b, c, d, e, f, g); }
    if constexpr (count == 8) { auto& [a, b, c, d, e, f, g, h] = value; return std::tie(a, b, c, d, e, f, g, h); }
    if constexpr (count == 9) { auto& [a, b, c, d, e, f, g, h, i] = value; return std::tie(a, b, c, d, e, f, g, h, i); }
    if constexpr (count == 10) {
      auto& [a, b, c, d, e, f, g, h, i, j] = value; return std::tie(a, b, c, d, e, f, g, h, i, j); }
    if constexpr (count == 11) {
      auto& [a, b, c, d, e, f, g, h, i, j, k] = value; return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
    if constexpr (count == 12) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
    if constexpr (count == 13) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m); }
    // clang-format on
  }
}

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;
/// A std::string, one that is interned, or a view into the message.
template <class T>
concept Text = std::convertible_to<const T&, std::string_view> && std::constructible_from<T, std::string_view>;
template <class T>
concept Optional = requires(T value) {
  value.has_value(), value.reset(), *value;
};
template <class T>
concept Shared = requires {
  requires std::same_as<T, std::shared_ptr<typename T::element_type>>;
};
template <class T>
concept Map = requires {
  typename T::mapped_type;
};
template <class T>
concept List = std::ranges::range<T> && requires(T list) {
  list.push_back(*std::begin(list));
};
/// A list whose bytes can be copied at once.
template <class T>
concept Numbers = List<T> && std::ranges::contiguous_range<T> && Number<std::ranges::range_value_t<T>>;

/// Appends values to a string of bytes.
class Writer {
 public:
  template <class T>
  void put(const T& value) {
    if constexpr (Number<T> || std::same_as<T, bool>) {
      raw({reinterpret_cast<const char*>(&value), sizeof value});
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (Text<T>) {
      const std::string_view text = value;
      put(std::uint64_t{text.size()});
      raw(text);
    } else if constexpr (Optional<T>) {
      put(value.has_value());
      if (value) put(*value);
    } else if constexpr (Shared<T>) {
      put(*value);
    } else if constexpr (Numbers<T>) {
      put(std::uint64_t{value.size()});
      raw({reinterpret_cast<const char*>(value.data()), value.size() * sizeof *value.data()});
    } else if constexpr (List<T> || Map<T>) {
      put(std::uint64_t{value.size()});
      for (const auto& each : value) put(static_cast<const typename T::value_type&>(each));  // a bit is no bool
    } else if constexpr (requires { value.to_wire(); }) {
      put(value.to_wire());
    } else {
      std::apply([&](const auto&... members) { (put(members), ...); }, members_of(value));
    }
  }
  void raw(std::string_view bytes) { bytes_.append(bytes); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the values back, in the same order. The bytes and `what` must outlive it. Throws input, "WHAT is damaged", if
/// the bytes do not hold the value requested; a false count never takes more memory than the message.
class Reader {
 public:
  Reader(std::string_view bytes, std::string_view what) : rest_(bytes), what_(what) {}

  template <class T>
  T take() {
    if constexpr (Number<T>) {
      T value;
      std::memcpy(&value, raw(sizeof value).data(), sizeof value);
      return value;
    } else if constexpr (std::same_as<T, bool>) {
      return take_up_to<unsigned char>(1) == 1;
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(take_up_to(static_cast<std::underlying_type_t<T>>(last_of(T{}))));
    } else if constexpr (Text<T>) {
      return T(raw(take<std::uint64_t>()));
    } else if constexpr (Optional<T>) {
      return take<bool>() ? T(take<std::remove_cvref_t<decltype(*std::declval<T>())>>()) : T();
    } else if constexpr (Shared<T>) {
      return std::make_shared<typename T::element_type>(take<std::remove_const_t<typename T::element_type>>());
    } else if constexpr (Numbers<T>) {
      T list;
      const std::uint64_t count = take_count(sizeof *list.begin());
      list.resize(count);
      const std::string_view bytes = raw(count * sizeof *list.begin());
      if (count > 0) std::memcpy(std::to_address(list.begin()), bytes.data(), bytes.size());
      return list;
    } else if constexpr (List<T>) {
      T list;
      std::uint64_t left = take_count(1);
      list.reserve(std::min<std::uint64_t>(left, rest_.size() / sizeof(typename T::value_type)));
      for (; left > 0; --left) list.push_back(take<typename T::value_type>());
      return list;
    } else if constexpr (Map<T>) {
      T map;
      for (std::uint64_t left = take_count(1); left > 0; --left)
        map.insert(map.end(), take<std::pair<typename T::key_type, typename T::mapped_type>>());
      return map;
    } else if constexpr (requires(const T& value) { value.to_wire(); }) {
      return T(take<std::remove_cvref_t<decltype(std::declval<const T&>().to_wire())>>());
    } else {
      return take_members<T>(static_cast<decltype(members_of(std::declval<T&>()))*>(nullptr));
    }
  }

  /// Reads values that were put one after another.
  template <class... T>
  void take_into(const std::tuple<T&...>& values) {
    std::apply([&](auto&... each) { ((each = take<T>()), ...); }, values);
  }

  std::string_view raw(std::uint64_t size) {
    if (size > rest_.size()) fail();
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::uint64_t left() const noexcept { return rest_.size(); }
  void finish() const {
    if (!rest_.empty()) fail();
  }
  [[noreturn]] void fail() const { throw Error(Kind::input, std::string(what_) + " is damaged"); }

 private:
  template <class T>
  T take_up_to(T last) {
    const T value = take<T>();
    if (static_cast<std::make_unsigned_t<T>>(value) > static_cast<std::make_unsigned_t<T>>(last)) fail();
    return value;
  }
  /// Reads the number of items that follow, each of at least `item_size` bytes.
  std::uint64_t take_count(std::uint64_t item_size) {
    const auto count = take<std::uint64_t>();
    if (count > rest_.size() / item_size) fail();
    return count;
  }
  template <class T, class... Members>
  T take_members(std::tuple<Members&...>* /*types*/) {
    T value{take<Members>()...};  // braces: in this order
    if constexpr (requires { value.is_consistent(); })
      if (!value.is_consistent()) fail();
    return value;
  }

  std::string_view rest_;
  std::string_view what_;
};

template <class... T>
std::string packed(const T&... values) {
  Writer out;
  (out.put(values), ...);
  return out.take();
}

/// Returns the one value that the bytes are; several that were packed are a std::tuple. Throws as Reader does.
template <class T>
T unpacked(std::string_view bytes, std::string_view what = "a message of another process") {
  Reader in(bytes, what);
  T value = in.take<T>();
  in.finish();
  return value;
}

}  // namespace ckpt::wire
