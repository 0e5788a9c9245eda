#pragma once

#include "catch.hpp"
#include "store/torch/torch_store.hpp"
#include "unit/store/torch_fixture.hpp"

/// Torch files read, and refused.
namespace ckpt::fixture {

/// Sixteen bytes: four elements of four.
inline const std::string abcd = "aaaabbbbccccdddd";

/// A file that is catalogued, and the bytes of its tensors.
class ReadTorch {
 public:
  explicit ReadTorch(const std::string& bytes) {
    put_bytes(folder_ / "a.pt", bytes);
    const auto store = torch_store();
    REQUIRE(store->recognises(folder_ / "a.pt"));
    catalog_ = store->catalog(folder_ / "a.pt");
    source_ = store->open(folder_ / "a.pt", catalog_);
  }
  const Schema& schema() const { return *catalog_.schema; }
  const StoredArray& array(const std::string& name) const { return schema().arrays->at(schema().find(name)); }
  const Dataset& dataset(const std::string& name) const { return schema().datasets.at(schema().find(name)); }
  std::string data(const std::string& name) const { return data_of(*source_, catalog_, name); }

 private:
  TemporaryDirectory folder_;
  FileCatalog catalog_;
  std::unique_ptr<SourceFile> source_;
};

inline std::string refused_torch(const std::string& bytes) {
  const TemporaryDirectory folder;
  put_bytes(folder / "a.pt", bytes);
  std::string said = refusal(*torch_store(), folder / "a.pt");
  CHECK_THAT(said, Catch::Matchers::Contains("a.pt"));
  return said;
}

/// A file of one tensor "w" of storage 0.
inline std::string refused_tensor(const std::string& value) {
  std::string said = refused_torch(torch_file(dict({{"w", value}}), {{"0", abcd}}));
  CHECK_THAT(said, Catch::Matchers::Contains("/w"));
  return said;
}

inline std::string utils(const std::string& function, const std::vector<std::string>& arguments) {
  return call(global("torch._utils", function), arguments);
}

}  // namespace ckpt::fixture
