#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace ckpt {

/// A std::optional for values that few of very many objects have: without a value it takes no more memory than a
/// pointer.
template <class T>
class BoxedOptional {
 public:
  BoxedOptional() noexcept = default;
  BoxedOptional(std::nullopt_t) noexcept {}
  BoxedOptional(T value) : value_(std::make_unique<T>(std::move(value))) {}
  BoxedOptional(std::optional<T> value) : value_(value ? std::make_unique<T>(*std::move(value)) : nullptr) {}
  BoxedOptional(const BoxedOptional& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  BoxedOptional(BoxedOptional&&) noexcept = default;
  BoxedOptional& operator=(BoxedOptional other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~BoxedOptional() = default;

  template <class... Parts>
  T& emplace(Parts&&... parts) {
    value_ = std::make_unique<T>(std::forward<Parts>(parts)...);
    return *value_;
  }
  void reset() noexcept { value_.reset(); }

  bool has_value() const noexcept { return value_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  const T& operator*() const noexcept { return *value_; }
  T& operator*() noexcept { return *value_; }
  const T* operator->() const noexcept { return value_.get(); }
  T* operator->() noexcept { return value_.get(); }
  operator std::optional<T>() const { return has_value() ? std::optional<T>(*value_) : std::nullopt; }
  T value_or(T other) const { return has_value() ? *value_ : std::move(other); }

  friend bool operator==(const BoxedOptional& a, const BoxedOptional& b) {
    return a && b ? *a == *b : a.has_value() == b.has_value();
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace ckpt
