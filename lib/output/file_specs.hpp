#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "layout/file_table.hpp"
#include "output/source_trees.hpp"
#include "plan/planner.hpp"
#include "store/store.hpp"

namespace ckpt {

/// What is to be written into each file of an output, besides data: worked out from the source's metadata and the plan
/// alone. Both must outlive it.
class FileSpecs {
 public:
  /// `manifest`: that of a single file, as long as it will be; else empty. `trees`: those that the files take.
  /// Attributes are those of the lowest card that has them. `dropped`: values of these names are not told of where they
  /// are lost. `new_name`: what becomes of values. `has_index`: the format does (Store::index_name).
  FileSpecs(const Checkpoint& source, const Planner& planner, const ArrayFiles& where, const std::string& manifest,
            const SourceTrees& trees, const std::vector<Pattern>& dropped, const NewName& new_name, bool has_index);

  /// An attribute that the root group of each file is to have where the source's has none of that name.
  void add_attribute(const Attribute& attribute);
  /// The same, also where the source's has one.
  void set_attribute(const Attribute& attribute);

  /// Each file is to have a checksum. Before the first `of`.
  void add_checksum() noexcept { has_checksum_ = true; }

  /// The specification of a file with this tree. Files of one entry of `files` that hold the same shapes, as neighbours
  /// mostly do, share it where they share a tree. Threads may call it together.
  std::shared_ptr<const FileSpec> of(FileNumber file, SourceTrees::Tree tree);

  /// Frees the last specification, once all files are made.
  void forget_last() noexcept {
    spec_ = nullptr;
    forms_ = {};
  }

  /// What is to be told of before anything is written: attributes that differ, or that no file has room for.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

  /// Says what a format cannot hold of all this, each once; throws input for tensors that it cannot.
  std::vector<std::string> losses(Store& store) const;

  /// The value of an array whose elements have no fixed size; null where no card has one.
  const Value* value_of(ArrayId array) const;

 private:
  /// Where a target array's attributes (and its value, if it has one) come from.
  struct ArraySource {
    std::vector<Attribute> attributes;
    const Dataset* first = nullptr;
  };
  struct Form {
    Shape shape;
    Rare<Extents> corner;
    friend bool operator==(const Form&, const Form&) = default;
  };
  using Forms = std::vector<std::optional<Form>>;  // by array; nothing: not in the file

  ArraySource array_source(ParameterId parameter, const ArrayPlace& target, const ArrayFiles& from_files,
                           const std::vector<Position>& by_card);
  FileSpec::Array array_spec(ArrayId array, const Form& form) const;
  FileSpec spec(std::size_t entry, const Forms& forms) const;
  Form form_of(ArrayId array, Position card) const;

  const Checkpoint& source_;
  const Planner& planner_;
  const ArrayFiles& where_;
  std::vector<std::string> warnings_;
  std::vector<std::string> lost_leaves_;                 // in words, where no file takes a tree
  std::vector<std::vector<Attribute>> root_attributes_;  // for the files of each entry
  std::vector<std::vector<Group>> groups_;               // for the files of each entry
  std::vector<ArraySource> array_sources_;               // by target array
  std::vector<std::optional<ArrayId>> tied_;             // likewise
  NewName new_name_;
  std::string layout_text_;
  const std::string& manifest_text_;
  bool has_index_;
  bool has_checksum_ = false;

  std::mutex mutex_;
  std::size_t entry_ = 0;  // of the last file
  Forms forms_;            // of its arrays
  std::shared_ptr<const FileSpec> spec_;
};

/// Tells of `warnings`, and of what a format cannot hold; throws as `losses` does.
void warn_of_losses(const FileSpecs& specs, Store& store);

}  // namespace ckpt
