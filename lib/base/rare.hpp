#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace ckpt {

/// A std::optional for values that few of very many objects have: without a value it takes no more memory than a
/// pointer.
template <class T>
class Rare {
 public:
  Rare() noexcept = default;
  Rare(std::nullopt_t) noexcept {}
  Rare(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Rare(std::optional<T> value) : value_(value ? std::make_unique<T>(*std::move(value)) : nullptr) {}
  Rare(const Rare& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(Rare other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Rare() = default;

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

  friend bool operator==(const Rare& a, const Rare& b) { return a && b ? *a == *b : a.has_value() == b.has_value(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace ckpt
