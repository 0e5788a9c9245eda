#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "layout/names/file_table.hpp"
#include "output/source_trees.hpp"
#include "plan/planner.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Long texts as values, by the source's datasets.
using HeldTexts = std::map<const Dataset*, Value>;

/// An array of the target that is a dataset of long texts in a file of the source.
struct ArrayTexts {
  ArrayId array = 0;
  FileNumber file = 0;
  const Dataset* dataset = nullptr;
};
std::vector<ArrayTexts> long_texts(const Checkpoint& source, const Planner& planner);

/// One empty text in place of each, which tells a format as much about what it can hold.
HeldTexts blank_texts(const std::vector<ArrayTexts>& texts);

/// What to write into each file of an output besides data, derived from the source's metadata and the plan alone. Both
/// must outlive it.
class FileSpecs {
 public:
  /// `manifest`: a single file's, with its final length; else empty. `trees`: those that the files take. Attributes
  /// come from the lowest card that has them. `dropped`: losing values with these names is not reported. `new_name`:
  /// renames values. `has_index`: whether the format has one (DirectoryIndex). `held`: long texts that do not go
  /// from file to file. `is_placed_as_source`: arrays begin where they can share blocks with the source's.
  FileSpecs(const Checkpoint& source, const Planner& planner, const ArrayFiles& where, const std::string& manifest,
            const SourceTrees& trees, const std::vector<Pattern>& dropped, const NewName& new_name, bool has_index,
            HeldTexts held = {}, bool is_placed_as_source = false);

  /// Adds an attribute to each file's root group unless the source's has one of that name.
  void add_attribute(const Attribute& attribute);
  /// Sets an attribute in each file's root group, also if the source's has one of that name.
  void set_attribute(const Attribute& attribute);

  /// Requests a checksum for each file. To be called before the first `of`.
  void add_checksum() noexcept { has_checksum_ = true; }

  /// The specification of a file with this tree. Files of one entry of `files` that hold the same shapes, as neighbours
  /// mostly do, share it if they share a tree. Threads may call it together.
  std::shared_ptr<const FileSpec> of(FileNumber file, SourceTrees::Tree tree);

  /// Frees the last specification, once all files are made.
  void forget_last() noexcept {
    spec_ = nullptr;
    forms_ = {};
  }

  /// What to report before anything is written: attributes that differ, or that no file can hold.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

  /// The names of the source's parameters in an array that files of this entry store under this name.
  std::vector<std::string> source_names(std::size_t entry, const std::string& stored) const;

  /// Lists what a format cannot hold, each once; throws input for tensors that it cannot hold.
  std::vector<std::string> losses(Store& store) const;

  /// The sum of the value of an array whose elements have no fixed size; nothing if no card has one.
  std::optional<PartialSum> sum_of_value(ArrayId array) const;

 private:
  /// The source of a target array's attributes, and of its value if it has one.
  struct ArraySource {
    std::vector<Attribute> attributes;
    const Dataset* first = nullptr;
    FileNumber file = 0;  ///< that has it
  };
  struct Form {
    InternedShape shape;
    BoxedOptional<Shape> origin;
    friend bool operator==(const Form&, const Form&) = default;
  };
  using Forms = std::vector<std::optional<Form>>;  // by array; nothing: not in the file

  ArraySource array_source(ParameterId parameter, const ArrayPlace& target, const ArrayFiles& from_files,
                           const std::vector<Position>& by_card);
  bool has_other_cards() const;
  FileSpec::Array array_spec(ArrayId array, const Form& form) const;
  FileSpec spec(std::size_t entry, const Forms& forms) const;
  Form form_of(ArrayId array, Position card) const;

  const Checkpoint& source_;
  const Planner& planner_;
  const ArrayFiles& where_;
  std::vector<std::string> warnings_;
  std::vector<std::string> lost_leaves_;                 // in words, if no file takes a tree
  std::vector<std::vector<Attribute>> root_attributes_;  // for the files of each entry
  std::vector<std::vector<Group>> groups_;               // for the files of each entry
  std::vector<ArraySource> array_sources_;               // by target array
  std::set<std::string> left_out_of_arrays_;             // names of attributes that no array keeps
  std::vector<std::optional<ArrayId>> tied_;             // by target array
  std::vector<std::optional<std::uint32_t>> in_block_;   // by target array: FileSpec::Array::place_in_block
  HeldTexts held_;
  NewName new_name_;
  std::string layout_text_;
  const std::string& manifest_text_;
  bool has_index_;
  bool has_checksum_ = false;

  std::mutex mutex_;
  std::size_t entry_ = 0;  // of the last file
  Forms forms_;            // of the last file's arrays
  std::shared_ptr<const FileSpec> spec_;
};

/// Reports `warnings` and everything that a format cannot hold; throws as `losses` does.
void warn_of_losses(const FileSpecs& specs, Store& store);

}  // namespace ckpt
