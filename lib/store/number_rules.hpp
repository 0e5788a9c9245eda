#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "store/catalog.hpp"

namespace ckpt {

/// Integers and opaque bytes that are numbers of another type than their file says, by the names of their datasets.
struct NumberRule {
  DType dtype;
  std::string text;  ///< for messages: "bf16:*.weight"
  std::function<bool(const std::string& dataset)> names;
};

/// Holds catalogs against rules, and against what their datasets say of themselves. Threads may use one together.
class NumberRules {
 public:
  void add(NumberRule rule) { rules_.push_back({std::move(rule), false}); }

  /// The catalog as the rules have it: the last that names a dataset decides. Files that share a schema go on to share
  /// one. Warns of integers whose attributes, or those of the groups around them, seem to call them floats and are not
  /// understood, of each dataset once.
  FileCatalog applied(const std::string& file, FileCatalog catalog);

  /// For each rule, whether a dataset has been read as it says.
  std::vector<bool> uses() const;

 private:
  struct Known {
    std::shared_ptr<const Schema> given;  // kept, so that no other one comes to lie where it lay
    std::shared_ptr<const Schema> made;
  };
  struct Used {
    NumberRule rule;
    bool is_used;
  };

  std::shared_ptr<const Schema> read_again(const std::shared_ptr<const Schema>& schema);
  const NumberRule* rule_for(const StoredArray& array);
  void warn_of_marks(const std::string& file, const Schema& schema);

  std::vector<Used> rules_;
  mutable std::mutex lock_;
  std::map<const Schema*, Known> known_;
  std::set<std::string> told_;  // datasets
};

}  // namespace ckpt
