#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A format that is read and not written (Format::is_written): nobody asks its store for a new file.
class ReadOnlyStore : public Store {
 public:
  void check_names(const std::vector<std::string>& /*datasets*/,
                   const std::vector<std::string>& /*groups*/) const final {}
  std::vector<std::string> losses(const FileSpec& /*spec*/) const final { refuse(); }
  std::shared_ptr<const NewFile> form(const FileSpec& /*spec*/) final { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Kind::usage, std::string(name()),
                {"files of this format are only read", "a format that is written", ""});
  }
};

}  // namespace ckpt
