#include "base/interned.hpp"

#include <mutex>
#include <unordered_set>

namespace ckpt {

namespace {

/// The texts, which are never removed: a pointer to one stays good.
const std::string& kept_once(const std::string& text) {
  static std::mutex mutex;
  static std::unordered_set<std::string> texts;
  const std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

const std::string empty_text;

}  // namespace

InternedText::InternedText() noexcept : text_(&empty_text) {}

InternedText::InternedText(const std::string& text) : text_(text.empty() ? &empty_text : &kept_once(text)) {}

}  // namespace ckpt
