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

class Store;

/// Says that integers or opaque bytes, selected by the names of their datasets, are numbers of another type than their
/// file declares.
struct NumberRule {
  DType dtype;
  std::string text;  ///< for messages: "bf16:*.weight"
  std::function<bool(const std::string& dataset)> names;
};

/// Applies rules to catalogs, and checks what datasets say about their own types. Threads may share an object.
class NumberRules {
 public:
  void add(NumberRule rule) { rules_.push_back({std::move(rule), false}); }

  /// Returns the catalog with the rules applied: the last rule that matches a dataset decides. Files that share a
  /// schema still share one afterwards. Warns, once for each dataset, about integers whose attributes, or those of the
  /// groups around them, seem to call them floats in a way that is not understood.
  /// `format`: that of the file.
  FileCatalog applied(const std::string& file, FileCatalog catalog, const Store& format);

  /// Returns, for each rule, whether any dataset was read by it.
  std::vector<bool> uses() const;

 private:
  struct Known {
    std::shared_ptr<const Schema> given;  // kept alive, so that no other schema gets its address
    std::shared_ptr<const Schema> made;
  };
  struct RuleState {
    NumberRule rule;
    bool is_used;
  };

  std::shared_ptr<const Schema> read_again(const std::shared_ptr<const Schema>& schema, const Store& format);
  const NumberRule* rule_for(const StoredArray& array);
  void warn_of_marks(const std::string& file, const Schema& schema, const Store& format);

  std::vector<RuleState> rules_;
  mutable std::mutex lock_;
  std::map<const Schema*, Known> known_;
  std::set<std::string> told_;  // datasets
};

}  // namespace ckpt
