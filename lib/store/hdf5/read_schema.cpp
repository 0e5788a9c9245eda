#include "store/hdf5/read_schema.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "store/hdf5/attributes.hpp"
#include "store/hdf5/explained.hpp"
#include "store/hdf5/global_heap.hpp"
#include "store/hdf5/mappings.hpp"
#include "store/hdf5/object_names.hpp"
#include "store/hdf5/read_dataset.hpp"
#include "store/kept_tree.hpp"
#include "tensor/box.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt::hdf5 {

namespace {

/// The minimum size in a file of an object's name.
constexpr std::uint64_t min_link_bytes = 8;
/// If a file is read in parts, a group with at least this many links for each part is divided. Every part walks the
/// smaller groups below the root, but only up to a limit of links.
constexpr std::uint64_t links_to_divide = 8;
constexpr std::uint64_t most_common_links = 1024;

struct Link {
  std::string name;
  H5L_type_t type;
  haddr_t address;          ///< address of the object, for a hard link
  std::size_t value_bytes;  ///< size of the link's target, for any other
};

herr_t take_link(hid_t, const char* name, const H5L_info_t* info, void* links) {
  const bool is_hard = info->type == H5L_TYPE_HARD;
  static_cast<std::vector<Link>*>(links)->push_back(
      {name, info->type, is_hard ? info->u.address : HADDR_UNDEF, is_hard ? 0 : info->u.val_size});
  return 0;
}

/// Makes every traversal of links stay within the file.
herr_t refuse_to_leave(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) {
  return -1;
}

hid_t within_the_file() {
  static const hid_t id = [] {
    auto properties = own<PropertyId>(H5Pcreate(H5P_LINK_ACCESS), "H5Pcreate");
    check(H5Pset_elink_cb(properties.get(), refuse_to_leave, nullptr), "H5Pset_elink_cb");
    return properties.release();
  }();
  return id;
}

/// Returns HDF5's last error.
Error failure_to_open() {
  try {
    fail("opening it");
  } catch (const Error& why) {
    return why;
  }
}

/// Returns the target of a soft link, or the object and file of an external link.
std::string goal_of(hid_t group, const Link& link) {
  std::string value(link.value_bytes, '\0');
  check(H5Lget_val(group, link.name.c_str(), value.data(), value.size(), H5P_DEFAULT), "where it leads");
  if (link.type == H5L_TYPE_SOFT) return value.substr(0, value.find('\0'));
  const char* file = nullptr;
  const char* object = nullptr;
  check(H5Lunpack_elink_val(value.data(), value.size(), nullptr, &file, &object), "where it leads");
  return file + std::string(": ") + object;
}

/// Returns the text of one of ckpt-reshard's own attributes; empty if there is none.
std::string take_text(std::vector<Attribute>& attributes, const char* name) {
  const auto attribute = take(attributes, name);
  if (!attribute) return "";
  const auto text = text_in(attribute->value);
  if (!text)
    throw Error(Kind::input, std::string("attribute ") + name,
                {"no single string", "one that these programs wrote", ""});
  return *text;
}

template <class Item>
void append(std::vector<Item>& all, const std::vector<Item>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

class Walk {
 public:
  Walk(const PosixFile& source, std::uint64_t file_bytes, GlobalHeap& heap, const Share& share)
      : source_(source), file_bytes_(file_bytes), heap_(heap), share_(share) {}

  SchemaReading run(hid_t file);
  /// Returns the current position of the walk: the object that an error is about.
  std::string here() const { return "/" + here_; }

 private:
  static haddr_t address_of(hid_t group);
  void visit_group(hid_t group, const std::string& path);
  void visit_links(hid_t group, const std::vector<Link>& links, const std::string& path);
  void visit_link(hid_t group, const Link& link, const std::string& path);
  void visit_soft(hid_t group, const Link& link, const std::string& path);
  void visit_opened(ObjectId object, const std::string& path);
  void visit_object(hid_t object, const std::string& path);
  void visit_dataset(hid_t dataset, const std::string& path);
  void add_unreadable(const std::string& path, const Error& why);
  void refuse_values();
  void leave_out(const std::vector<std::string>& names);
  /// Returns whether the current object belongs to this part.
  bool is_ours() const { return !is_common_ || share_.part == 0; }
  std::vector<Attribute> attributes_of(hid_t object);
  void number_viewed(const std::string& sizes, Schema& schema);

  const PosixFile& source_;
  std::uint64_t file_bytes_;
  GlobalHeap& heap_;
  Share share_;
  bool is_common_ = true;  ///< every part visits the current object, in the same order
  std::uint64_t common_links_ = 0;
  bool is_whole_ = true;
  std::uint64_t links_ = 0;
  std::string here_;
  std::vector<haddr_t> ancestors_;  ///< addresses of the groups being visited: hard links may form a cycle
  std::vector<CatalogEntry> entries_;
  ViewedSizes viewed_;
  std::vector<Group> groups_;
  std::vector<std::string> left_out_;
  std::vector<std::string> no_tensors_;
  bool is_by_soft_link_ = false;  ///< the current object is in a group that was reached by a soft link
};

void Walk::leave_out(const std::vector<std::string>& names) {
  for (const auto& name : names) left_out_.push_back(name + " of " + here());
}

/// Returns a group's attributes; none if another part has them.
std::vector<Attribute> Walk::attributes_of(hid_t object) {
  if (!is_ours()) return {};
  std::vector<std::string> names;
  auto attributes = read_attributes(object, heap_, names);
  leave_out(names);
  return attributes;
}

SchemaReading Walk::run(hid_t file) {
  const auto root = own<GroupId>(H5Gopen2(file, "/", H5P_DEFAULT), "opening the root group");
  auto schema = std::make_shared<Schema>();
  schema->format = "hdf5";
  std::vector<std::string> left_out;
  auto attributes = read_attributes(root.get(), heap_, left_out);
  const std::string sizes = take_text(attributes, viewed_attribute);
  if (is_ours()) {
    leave_out(left_out);
    schema->kept_tree = take_text(attributes, tree_attribute);
    schema->layout = take_text(attributes, layout_attribute);
    schema->manifest = take_text(attributes, manifest_attribute);
    schema->attributes = std::move(attributes);
  }
  visit_group(root.get(), "");
  refuse_values();
  number_viewed(sizes, *schema);

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
  return {std::move(schema), std::move(left_out_), std::move(no_tensors_), is_whole_, heap_.values()};
}

/// The limit of all files together.
std::uint64_t limit_of(const Share& share) {
  return std::max(share.most_value_bytes, share.most_value_bytes + share.values_before);
}

/// Afterwards, since only then it is known how much memory all would take.
void Walk::refuse_values() {
  const std::uint64_t after = checked_mul(heap_.values() + heap_.values() / 8, share_.files_after);  // some have more
  const std::uint64_t all = checked_add(checked_add(share_.wanted_before, heap_.values()), after);
  const Error why = too_many_values(limit_of(share_), all);
  for (CatalogEntry& entry : entries_)
    if (entry.is_over) entry = {unreadable(entry.array.name, explained(why, source_)), {}, {}, {}};
}

haddr_t Walk::address_of(hid_t group) {
  H5O_info_t info;
  check(H5Oget_info2(group, &info, H5O_INFO_BASIC), "a group's address");
  return info.addr;
}

void Walk::visit_group(hid_t group, const std::string& path) {
  if (ancestors_.size() == max_levels)
    throw Error(
        Kind::input, "",
        {"groups are nested deeper than " + std::to_string(max_levels) + " levels, which is not supported", "", ""});

  std::vector<Link> links;
  check(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, take_link, &links), "listing a group");
  links_ += links.size();
  if (links_ > file_bytes_ / min_link_bytes)
    throw Error(
        Kind::input, "",
        {"more names than a file of this size can hold", "", "do its groups contain one another through hard links?"});
  if (links_ > share_.most_links) is_whole_ = false;
  ancestors_.push_back(address_of(group));
  visit_links(group, links, path);
  ancestors_.pop_back();
}

void Walk::visit_links(hid_t group, const std::vector<Link>& links, const std::string& path) {
  Interval ours{0, links.size()};
  const bool was_common = is_common_;
  if (is_common_) common_links_ += links.size();
  if (is_common_ && (links.size() >= links_to_divide * share_.count || common_links_ > most_common_links)) {
    ours = {links.size() * share_.part / share_.count, links.size() * (share_.part + 1) / share_.count};
    is_common_ = false;
  }
  for (std::uint64_t i = ours.lo; i < ours.hi && is_whole_; ++i) {
    here_ = path.empty() ? links[i].name : path + "/" + links[i].name;
    visit_link(group, links[i], std::string(here_));
  }
  is_common_ = was_common;
}

void Walk::visit_link(hid_t group, const Link& link, const std::string& path) {
  if (link.name.empty() || link.name == "." || link.name.find('/') != std::string::npos)
    throw Error(Kind::input, "is no name of an object; is the file damaged?");
  switch (link.type) {
    case H5L_TYPE_HARD:
      return visit_opened(ObjectId(H5Oopen_by_addr(group, link.address)), path);
    case H5L_TYPE_SOFT:
      return visit_soft(group, link, path);
    case H5L_TYPE_EXTERNAL:
      return add_unreadable(path, {Kind::input,
                                   "",
                                   {"is a link to another file, which is not followed: " + goal_of(group, link), "",
                                    "copy what it leads to into this file"}});
    default:
      add_unreadable(path, {Kind::input, "is a link of an unknown kind"});
  }
}

void Walk::add_unreadable(const std::string& path, const Error& why) {
  if (is_ours()) entries_.push_back({unreadable(path, why), {}, {}, {}});
}

/// The target also gets the link's name, as with a hard link. Groups that link to one another would have too many
/// names: within a group that was reached by a soft link, no other soft link to a group is followed.
void Walk::visit_soft(hid_t group, const Link& link, const std::string& path) {
  ObjectId object(H5Oopen(group, link.name.c_str(), within_the_file()));
  if (!object) {
    const Error why = failure_to_open();
    if (why.kind() != Kind::input) throw Error(why);
    if (H5Oexists_by_name(group, link.name.c_str(), within_the_file()) > 0)
      return add_unreadable(path, explained(why, source_));
    H5Eclear2(H5E_DEFAULT);
    return add_unreadable(path, {Kind::input,
                                 "",
                                 {"is a soft link to nothing: " + goal_of(group, link),
                                  "a dataset or group of this file", "remove it with h5py's `del`"}});
  }
  const bool is_group = H5Iget_type(object.get()) == H5I_GROUP;
  if (is_group && is_by_soft_link_) {
    if (is_ours()) no_tensors_.push_back("/" + path + " (a soft link to " + goal_of(group, link) + ")");
    return;
  }
  const bool was_by_soft_link = is_by_soft_link_;
  is_by_soft_link_ = was_by_soft_link || is_group;
  visit_opened(std::move(object), path);
  is_by_soft_link_ = was_by_soft_link;
}

/// An object that cannot be opened gets only a name, unless the system has failed.
void Walk::visit_opened(ObjectId object, const std::string& path) {
  if (object) return visit_object(object.get(), path);
  const Error why = failure_to_open();
  if (why.kind() != Kind::input) throw Error(why);
  add_unreadable(path, explained(why, source_));
}

void Walk::visit_object(hid_t object, const std::string& path) {
  switch (H5Iget_type(object)) {
    case H5I_DATASET:
      return visit_dataset(object, path);
    case H5I_GROUP: {
      if (std::find(ancestors_.begin(), ancestors_.end(), address_of(object)) != ancestors_.end()) {
        if (is_ours()) no_tensors_.push_back("/" + path + " (a link to a group above it)");
        return;
      }
      auto attributes = attributes_of(object);
      if (!attributes.empty()) groups_.push_back({path, std::move(attributes)});
      return visit_group(object, path);
    }
    case H5I_DATATYPE:
      if (is_ours()) no_tensors_.push_back("/" + path + " (a named datatype)");
      return;
    default:
      if (is_ours()) no_tensors_.push_back("/" + path + " (an object of an unknown kind)");
  }
}

/// Numbers viewed files by name, so that the numbers do not depend on how the file is divided.
void Walk::number_viewed(const std::string& sizes, Schema& schema) {
  if (!sizes.empty()) add_sizes(sizes, viewed_);
  schema.viewed = files_of(viewed_);
  for (CatalogEntry& entry : entries_)
    for (std::size_t i = 0; i < entry.viewed.size(); ++i)
      entry.dataset.views[i].file = number_of(entry.viewed[i], schema.viewed);
}

void Walk::visit_dataset(hid_t dataset, const std::string& path) {
  if (!is_ours()) return;
  try {
    entries_.push_back(read_dataset(dataset, file_bytes_, heap_));
    entries_.back().array.name = path;
  } catch (const Error& why) {
    heap_.set_is_value(false);
    heap_.set_is_visited(false);
    if (why.kind() != Kind::input) throw;
    return add_unreadable(path, explained(why, source_));
  }
  for (const std::string& viewed : entries_.back().viewed) viewed_.try_emplace(viewed);
  leave_out(entries_.back().left_out);
}

}  // namespace

FileId open_file(const std::string& path) {
  const auto access = file_access();
  return own<FileId>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "opening it");
}

namespace {

/// Returns a name for the file that is open: its path may lead to another file by now, or to none that this process
/// sees.
std::string name_of(const PosixFile& source) {
  const std::string name = "/proc/self/fd/" + std::to_string(source.fd());
  return ::access(name.c_str(), F_OK) == 0 ? name : source.path();
}

FileId opened(const PosixFile& source) {
  try {
    return open_file(name_of(source));
  } catch (const Error& why) {
    throw explained_opening(why, source);
  }
}

}  // namespace

SchemaReading read_schema(const Lock&, const PosixFile& source, std::uint64_t file_bytes, const Share& share) {
  const auto file = opened(source);
  GlobalHeap heap(source, file_bytes, file.get(), share.most_value_bytes, most_text_bytes(limit_of(share)));
  Walk walk(source, file_bytes, heap, share);
  try {
    return walk.run(file.get());
  } catch (Error& error) {
    error.within(walk.here());
    throw;
  }
}

SchemaReading joined(const std::vector<SchemaReading>& parts) {
  if (parts.size() == 1) return parts.front();
  struct Place {
    const StoredArray* array;
    const Dataset* dataset;
    const std::vector<ViewedFile>* viewed;  // in this part's numbering
  };
  std::vector<Place> places;
  ViewedSizes viewed;
  auto schema = std::make_shared<Schema>();
  schema->format = "hdf5";
  SchemaReading all;
  for (const SchemaReading& part : parts) {
    const std::vector<StoredArray>& arrays = *part.schema->arrays;
    const auto middle = static_cast<std::ptrdiff_t>(places.size());
    for (std::size_t i = 0; i < arrays.size(); ++i)
      places.push_back({&arrays[i], &part.schema->datasets[i], &part.schema->viewed});
    std::inplace_merge(places.begin(), places.begin() + middle, places.end(),
                       [](const Place& a, const Place& b) { return a.array->name < b.array->name; });
    for (const ViewedFile& file : part.schema->viewed) {
      auto& bytes = viewed[file.path];
      if (file.bytes) bytes = file.bytes;
    }
    append(schema->groups, part.schema->groups);
    append(all.left_out, part.left_out);
    append(all.no_tensors, part.no_tensors);
    all.values = checked_add(all.values, part.values);
  }
  std::sort(schema->groups.begin(), schema->groups.end(),
            [](const Group& a, const Group& b) { return a.path < b.path; });
  const Schema& first = *parts.front().schema;
  schema->attributes = first.attributes;
  schema->layout = first.layout;
  schema->manifest = first.manifest;
  schema->viewed = files_of(viewed);
  auto arrays = std::make_shared<std::vector<StoredArray>>();
  arrays->reserve(places.size());
  schema->datasets.reserve(places.size());
  for (const Place& place : places) {
    arrays->push_back(*place.array);
    schema->datasets.push_back(*place.dataset);
    for (View& view : schema->datasets.back().views)
      view.file = number_of((*place.viewed)[view.file].path, schema->viewed);
  }
  schema->arrays = std::move(arrays);
  all.schema = std::move(schema);
  return all;
}

}  // namespace ckpt::hdf5
