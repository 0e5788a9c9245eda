#include "store/hdf5/read_schema.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "store/hdf5/attributes.hpp"
#include "store/hdf5/object_names.hpp"
#include "store/hdf5/read_dataset.hpp"

namespace ckpt::hdf5 {

namespace {

/// A name of an object takes at least so many bytes of a file.
constexpr std::uint64_t min_link_bytes = 8;

struct Link {
  std::string name;
  H5L_type_t type;
};

herr_t take_link(hid_t, const char* name, const H5L_info_t* info, void* links) {
  static_cast<std::vector<Link>*>(links)->push_back({name, info->type});
  return 0;
}

/// The text of one of the project's own attributes; empty where there is none.
std::string take_text(std::vector<Attribute>& attributes, const char* name) {
  const auto attribute = take(attributes, name);
  if (!attribute) return "";
  const auto text = text_in(attribute->value);
  if (!text)
    throw Error(Kind::input, std::string("attribute ") + name,
                {"no single string", "expected one that these programs wrote", ""});
  return *text;
}

class Walk {
 public:
  Walk(std::uint64_t file_bytes, GlobalHeap& heap) : file_bytes_(file_bytes), heap_(heap) {}

  SchemaReading run(hid_t file);
  /// Where the walk is: the object that an error is about.
  std::string here() const { return "/" + here_; }

 private:
  void visit_group(hid_t group, const std::string& path);
  void visit_link(hid_t group, const Link& link, const std::string& path);
  void visit_object(hid_t group, const Link& link, const std::string& path);
  void visit_dataset(hid_t dataset, const std::string& path);
  void leave_out(const std::vector<std::string>& names);

  std::uint64_t file_bytes_;
  GlobalHeap& heap_;
  std::uint64_t links_ = 0;
  std::string here_;
  std::vector<haddr_t> ancestors_;  ///< the groups that are being visited, by address: hard links may form a cycle
  std::vector<CatalogEntry> entries_;
  std::vector<Group> groups_;
  std::vector<std::string> left_out_;  ///< attributes that are not in the schema: "ATTRIBUTE of /OBJECT"
  std::vector<Remark> remarks_;
};

void Walk::leave_out(const std::vector<std::string>& names) {
  for (const auto& name : names) left_out_.push_back(name + " of " + here());
}

SchemaReading Walk::run(hid_t file) {
  const auto root = own<GroupId>(H5Gopen2(file, "/", H5P_DEFAULT), "opening the root group");
  auto schema = std::make_shared<Schema>();
  schema->format = "hdf5";
  std::vector<std::string> names;
  schema->attributes = read_attributes(root.get(), heap_, names);
  leave_out(names);
  schema->layout = take_text(schema->attributes, layout_attribute);
  schema->manifest = take_text(schema->attributes, manifest_attribute);
  visit_group(root.get(), "");

  std::sort(entries_.begin(), entries_.end(),
            [](const CatalogEntry& a, const CatalogEntry& b) { return a.array.name < b.array.name; });
  std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) { return a.path < b.path; });
  auto arrays = std::make_shared<std::vector<StoredArray>>();
  for (auto& entry : entries_) {
    arrays->push_back(std::move(entry.array));
    schema->datasets.push_back(std::move(entry.dataset));
  }
  schema->arrays = std::move(arrays);
  schema->groups = std::move(groups_);
  if (!left_out_.empty())
    remarks_.push_back({true, "attributes that refer to objects of the file are left out: " + join(left_out_)});
  return {std::move(schema), std::move(remarks_)};
}

void Walk::visit_group(hid_t group, const std::string& path) {
  H5O_info_t info;
  check(H5Oget_info2(group, &info, H5O_INFO_BASIC), "a group's address");
  if (std::find(ancestors_.begin(), ancestors_.end(), info.addr) != ancestors_.end()) return;
  if (ancestors_.size() == max_levels)
    throw Error(
        Kind::input, "",
        {"groups are nested deeper than " + std::to_string(max_levels) + " levels", "which is not supported", ""});

  std::vector<Link> links;
  check(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, take_link, &links), "listing a group");
  links_ += links.size();
  if (links_ > file_bytes_ / min_link_bytes)
    throw Error(
        Kind::input, "",
        {"more names than a file of this size can hold", "", "do its groups contain one another through hard links?"});
  ancestors_.push_back(info.addr);
  for (const auto& link : links) {
    here_ = path.empty() ? link.name : path + "/" + link.name;
    visit_link(group, link, std::string(here_));
  }
  ancestors_.pop_back();
}

void Walk::visit_link(hid_t group, const Link& link, const std::string& path) {
  if (link.name.empty() || link.name == "." || link.name.find('/') != std::string::npos)
    throw Error(Kind::input, "is no name of an object; is the file damaged?");
  switch (link.type) {
    case H5L_TYPE_HARD:
      return visit_object(group, link, path);
    case H5L_TYPE_SOFT:
      // Its path goes by links of this file, which this walk goes along itself: whatever it leads to has another name.
      if (H5Oexists_by_name(group, link.name.c_str(), H5P_DEFAULT) > 0) return;
      throw Error(Kind::input, "",
                  {"is a soft link to nothing", "expected a dataset or group", "remove it with h5py's `del`"});
    case H5L_TYPE_EXTERNAL:
      throw Error(Kind::input, "",
                  {"is a link to another file", "which is not followed", "copy what it leads to into this file"});
    default:
      throw Error(Kind::input, "is a link of an unknown kind");
  }
}

void Walk::visit_object(hid_t group, const Link& link, const std::string& path) {
  const auto object = own<ObjectId>(H5Oopen(group, link.name.c_str(), H5P_DEFAULT), "opening it");
  switch (H5Iget_type(object.get())) {
    case H5I_DATASET:
      return visit_dataset(object.get(), path);
    case H5I_GROUP: {
      std::vector<std::string> names;
      auto attributes = read_attributes(object.get(), heap_, names);
      leave_out(names);
      if (!attributes.empty()) groups_.push_back({path, std::move(attributes)});
      return visit_group(object.get(), path);
    }
    default:
      remarks_.push_back({false, "/" + path + " is left out: a named datatype, no tensor"});
  }
}

void Walk::visit_dataset(hid_t dataset, const std::string& path) {
  entries_.push_back(read_dataset(dataset, file_bytes_, heap_));
  entries_.back().array.name = path;
  leave_out(entries_.back().left_out);
}

}  // namespace

FileId open_file(const std::string& path) {
  const auto access = file_access();
  return own<FileId>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "opening it");
}

namespace {

/// A name of the very file that is open: under its path there may be another by now, or none that this process sees.
std::string name_of(const PosixFile& source) {
  const std::string name = "/proc/self/fd/" + std::to_string(source.fd());
  return ::access(name.c_str(), F_OK) == 0 ? name : source.path();
}

}  // namespace

SchemaReading read_schema(const Lock&, const PosixFile& source, std::uint64_t file_bytes) {
  const auto file = open_file(name_of(source));
  GlobalHeap heap(source, file_bytes, file.get());
  Walk walk(file_bytes, heap);
  try {
    return walk.run(file.get());
  } catch (Error& error) {
    error.within(walk.here());
    throw;
  }
}

}  // namespace ckpt::hdf5
