#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interned.hpp"

/// A text that is held once, as a text. fmt 9 would convert it, later versions do not.
template <>
struct fmt::formatter<ckpt::InternedText> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const ckpt::InternedText& text, fmt::format_context& context) const {
    return std::copy(text.str().begin(), text.str().end(), context.out());
  }
};

/// Messages on standard error. Before `start`, messages from info on are printed.
namespace ckpt::log {

enum class Level { debug, info, warning, error, off };

/// From now on, messages from `least` on are printed as "ckpt-merge: warning: text", each on one line.
void start(std::string program, Level least);

/// Silences this process: nothing is printed, and nothing captured.
void mute();

/// Return all messages of that level since the process began, including those that were not printed.
std::vector<std::string> warnings();
std::vector<std::string> errors();

/// Runs `work` before each message that is printed; an empty function ends that.
void before_messages(std::function<void()> work);

void put(Level level, std::string_view text);

inline void debug(std::string_view text) {
  put(Level::debug, text);
}
inline void info(std::string_view text) {
  put(Level::info, text);
}
inline void warn(std::string_view text) {
  put(Level::warning, text);
}
inline void error(std::string_view text) {
  put(Level::error, text);
}

// With values, the text is a format that is checked at compile time. Only fmt's core is included here: a logging
// library that formats by itself would be instantiated again in every unit that has a message.
template <class First, class... Rest>
void debug(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  put(Level::debug, fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}
template <class First, class... Rest>
void info(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  put(Level::info, fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}
template <class First, class... Rest>
void warn(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  put(Level::warning, fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}
template <class First, class... Rest>
void error(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  put(Level::error, fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}

}  // namespace ckpt::log
