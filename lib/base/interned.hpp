#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ckpt {

/// A text that many objects share, such as the name of a tensor or of a dtype: a pointer to a string that is stored
/// once until the process ends. Copying and comparing for equality take no memory and no look-up. It is thread-safe.
class InternedText {
 public:
  InternedText() noexcept;
  // Implicit, so that a member of this type is assigned like a string.
  InternedText(const std::string& text);
  InternedText(std::string_view text) : InternedText(std::string(text)) {}
  InternedText(const char* text) : InternedText(std::string(text)) {}

  const std::string& str() const noexcept { return *text_; }
  operator const std::string&() const noexcept { return *text_; }
  operator std::string_view() const noexcept { return *text_; }
  bool empty() const noexcept { return text_->empty(); }
  std::size_t size() const noexcept { return text_->size(); }
  bool starts_with(std::string_view start) const noexcept { return text_->starts_with(start); }
  bool ends_with(std::string_view end) const noexcept { return text_->ends_with(end); }

  friend bool operator==(const InternedText& a, const InternedText& b) noexcept { return a.text_ == b.text_; }
  friend bool operator==(const InternedText& a, const std::string& b) noexcept { return *a.text_ == b; }
  friend bool operator==(const InternedText& a, std::string_view b) noexcept { return *a.text_ == b; }
  friend bool operator==(const InternedText& a, const char* b) noexcept { return *a.text_ == b; }
  /// Orders by characters.
  friend std::strong_ordering operator<=>(const InternedText& a, const InternedText& b) noexcept {
    return a.text_ == b.text_ ? std::strong_ordering::equal : *a.text_ <=> *b.text_;
  }
  friend std::strong_ordering operator<=>(const InternedText& a, const std::string& b) noexcept {
    return *a.text_ <=> b;
  }
  friend std::strong_ordering operator<=>(const InternedText& a, std::string_view b) noexcept {
    return std::string_view(*a.text_) <=> b;
  }
  friend std::string operator+(std::string a, const InternedText& b) { return std::move(a) + *b.text_; }
  friend std::string operator+(const InternedText& a, const std::string& b) { return *a.text_ + b; }
  friend std::string operator+(const InternedText& a, const char* b) { return *a.text_ + b; }

 private:
  const std::string* text_;
};

}  // namespace ckpt

template <>
struct std::hash<ckpt::InternedText> {
  std::size_t operator()(const ckpt::InternedText& text) const noexcept {
    return std::hash<const std::string*>()(&text.str());
  }
};
