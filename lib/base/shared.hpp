#pragma once

#include <memory>
#include <utility>

namespace ckpt {

/// A value that copies share, or none; two are equal where their values are.
template <class Value>
class Shared {
 public:
  Shared() = default;
  Shared(Value value) : value_(std::make_shared<const Value>(std::move(value))) {}

  explicit operator bool() const noexcept { return value_ != nullptr; }
  const Value& operator*() const noexcept { return *value_; }
  const Value* operator->() const noexcept { return value_.get(); }
  const Value* get() const noexcept { return value_.get(); }

  friend bool operator==(const Shared& a, const Shared& b) {
    return a.value_ == b.value_ || (a.value_ && b.value_ && *a.value_ == *b.value_);
  }

 private:
  std::shared_ptr<const Value> value_;
};

}  // namespace ckpt
