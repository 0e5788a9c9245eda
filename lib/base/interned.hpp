#pragma once

#include <string>
#include <string_view>

namespace ckpt {

/// One of few texts that very many objects hold, such as the name of a dtype: a pointer to a string that is kept once
/// until the process ends. Copying and comparing take no memory and no look-up. Threads may use it.
class InternedText {
 public:
  InternedText() noexcept;
  // Implicit, so that a member of this type is written as a string is.
  InternedText(const std::string& text);
  InternedText(std::string_view text) : InternedText(std::string(text)) {}
  InternedText(const char* text) : InternedText(std::string(text)) {}

  const std::string& str() const noexcept { return *text_; }
  operator const std::string&() const noexcept { return *text_; }
  operator std::string_view() const noexcept { return *text_; }
  bool empty() const noexcept { return text_->empty(); }

  friend bool operator==(const InternedText& a, const InternedText& b) noexcept { return a.text_ == b.text_; }
  friend bool operator==(const InternedText& a, const std::string& b) noexcept { return *a.text_ == b; }
  friend bool operator==(const InternedText& a, std::string_view b) noexcept { return *a.text_ == b; }
  friend bool operator==(const InternedText& a, const char* b) noexcept { return *a.text_ == b; }
  friend std::string operator+(std::string a, const InternedText& b) { return std::move(a) + *b.text_; }
  friend std::string operator+(const InternedText& a, const std::string& b) { return *a.text_ + b; }
  friend std::string operator+(const InternedText& a, const char* b) { return *a.text_ + b; }

 private:
  const std::string* text_;
};

}  // namespace ckpt
