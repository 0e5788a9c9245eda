#include "base/interned.hpp"

#include "base/intern.hpp"

namespace ckpt {

namespace {

const std::string empty_text;

}  // namespace

InternedText::InternedText() noexcept : text_(&empty_text) {}

InternedText::InternedText(const std::string& text) : text_(text.empty() ? &empty_text : &intern(text)) {}

}  // namespace ckpt
