#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "checkpoint/checkpoint.hpp"
#include "layout/names/file_table.hpp"
#include "plan/planner.hpp"
#include "store/store.hpp"

namespace ckpt {

/// An output whose arrays have no data of their own but show the source's data in place. Derived from the plan alone;
/// the checkpoint and the planner must outlive it.
class Views {
 public:
  /// `output`: its final path. Throws usage if the source has another format than `store`, or the format cannot show
  /// anything.
  Views(const Checkpoint& source, const Planner& planner, const Store& store, const std::filesystem::path& output,
        bool is_single_file);

  /// The specification of a file with what its arrays show. Throws usage, naming the parameter, if its elements cannot
  /// just be shown: they are cast, in another order, in very many pieces, or shown by the source itself. Threads may
  /// call it together.
  std::shared_ptr<const FileSpec> shown(FileNumber file, const FileSpec& spec) const;

 private:
  using Numbers = std::map<FileNumber, std::uint32_t>;  // of the source's files in a specification

  std::filesystem::path directory_of(FileNumber file) const;
  std::vector<View> views_of(ArrayId array, Position card, Numbers& numbers) const;
  void add(const Transfer& transfer, const Shape& shape, Numbers& numbers, std::vector<View>& views) const;

  const Checkpoint& source_;
  const Planner& planner_;
  ArrayFiles from_;
  ArrayFiles where_;
  std::filesystem::path output_;  // without links
  bool is_single_file_;
};

}  // namespace ckpt
