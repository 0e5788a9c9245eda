#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "store/store.hpp"

namespace ckpt {

/// Some of a file's datasets, numbered anew.
class PartOfFile : public SourceFile {
 public:
  /// `places`: the datasets, as indices into those of the whole file.
  PartOfFile(std::unique_ptr<SourceFile> whole, std::vector<std::size_t> places)
      : whole_(std::move(whole)), places_(std::move(places)) {}

  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    whole_->read(places_.at(dataset), offset, out);
  }
  void check(std::size_t dataset) override { whole_->check(places_.at(dataset)); }
  std::optional<StoredSum> stored_sum(std::size_t dataset) const override {
    return whole_->stored_sum(places_.at(dataset));
  }
  void compare(std::size_t dataset, std::uint32_t sum) const override { whole_->compare(places_.at(dataset), sum); }
  std::optional<StridedForm> strided(std::size_t dataset) const override {
    return whole_->strided(places_.at(dataset));
  }
  void read_as_stored(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    whole_->read_as_stored(places_.at(dataset), offset, out);
  }
  bool will_need(std::size_t dataset, Interval bytes) override { return whole_->will_need(places_.at(dataset), bytes); }
  std::optional<LocatedExtent> located(std::size_t dataset, std::uint64_t offset) const override {
    return whole_->located(places_.at(dataset), offset);
  }
  PartialSum sum_rest(const std::optional<FileSegment>& left_out) override { return whole_->sum_rest(left_out); }

 protected:
  SourceFile& whole() const noexcept { return *whole_; }

 private:
  std::unique_ptr<SourceFile> whole_;
  std::vector<std::size_t> places_;
};

}  // namespace ckpt
