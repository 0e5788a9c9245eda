#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ckpt {

/// Divides a text that arrives in pieces into lines. Between two pieces it keeps one line.
class LineCutter {
 public:
  /// Calls `take` with each complete line, its newline included, until it returns false. Returns how many bytes of the
  /// piece were taken.
  template <class Take>
  std::size_t feed(std::string_view piece, const Take& take) {
    std::size_t begin = 0;
    for (std::size_t end = piece.find('\n'); end != piece.npos; end = piece.find('\n', begin)) {
      std::string_view line = piece.substr(begin, end + 1 - begin);
      if (!begun_.empty()) line = begun_.append(line);
      begin = end + 1;
      const bool wants_more = take(line);
      begun_.clear();
      if (!wants_more) return begin;
    }
    begun_.append(piece.substr(begin));
    return piece.size();
  }

  /// Returns the incomplete line at the end.
  const std::string& begun() const noexcept { return begun_; }

 private:
  std::string begun_;
};

}  // namespace ckpt
