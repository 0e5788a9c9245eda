#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "checkpoint/checkpoint.hpp"
#include "layout/file_table.hpp"
#include "plan/planner.hpp"
#include "store/store.hpp"

namespace ckpt {

/// An output whose arrays have no data of their own but show the source's, where they lie there. Worked out from the
/// plan alone; the checkpoint and the planner must outlive it.
class Views {
 public:
  /// `output`: where it is to stand in the end. Throws usage for a source of another format than `store`, or a format
  /// that cannot show anything.
  Views(const Checkpoint& source, const Planner& planner, const Store& store, const std::filesystem::path& output,
        bool is_single_file);

  /// The specification of a file with what its arrays show. Throws usage, naming the parameter, for what elements that
  /// are only shown cannot be: cast, in another order, in very many pieces, or shown by the source itself. Threads may
  /// call it together.
  std::shared_ptr<const FileSpec> shown(FileNumber file, const FileSpec& spec) const;

 private:
  using Numbers = std::map<FileNumber, std::uint32_t>;  // of the source's files in a specification

  std::filesystem::path directory_of(FileNumber file) const;
  std::vector<View> views_of(ArrayId array, Position card, Numbers& numbers) const;
  void add(const Transfer& transfer, const Extents& shape, Numbers& numbers, std::vector<View>& views) const;

  const Checkpoint& source_;
  const Planner& planner_;
  ArrayFiles from_;
  ArrayFiles where_;
  std::filesystem::path output_;  // without links
  bool is_single_file_;
};

}  // namespace ckpt
