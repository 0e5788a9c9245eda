#include "store/hdf5/mappings.hpp"

#include <algorithm>
#include <array>

#include "base/json.hpp"
#include "store/hdf5/attributes.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/mapping_block.hpp"

namespace ckpt::hdf5 {

namespace {

using Numbers = std::array<hsize_t, H5S_MAX_RANK>;

/// Unmapped zeros cost a file nothing: more of them than this, and more than there is data, is an attack on the
/// reader's disk and time.
constexpr std::uint64_t harmless_unmapped_bytes = 1U << 30;

[[noreturn]] void refuse_mapping(const std::string& found) {
  throw Error(
      Kind::input, "",
      {found, "mappings of regular hyperslabs of a fixed size", "copy it into a dataset of its own with h5repack"});
}

/// Returns the text from `get(buffer, size)`, which returns the length if the buffer is null.
template <class Get>
std::string text_from(Get&& get) {
  const ssize_t size = check(get(nullptr, std::size_t{0}), "a mapping's name");
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  check(get(text.data(), text.size()), "a mapping's name");
  text.pop_back();
  return text;
}

std::string unescaped(const std::string& name) {
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '%' && (++i == name.size() || name[i] != '%'))
      refuse_mapping("its mappings are to " + name + ", a name for each block");
    plain.push_back(name[i]);
  }
  return plain;
}

/// Returns the elements that a mapping's space selects; without stripes: all.
Hyperslab selected(const SpaceId& space) {
  const H5S_sel_type kind = check(H5Sget_select_type(space.get()), "a mapping's selection");
  if (kind == H5S_SEL_ALL) return {};
  if (kind != H5S_SEL_HYPERSLABS || check(H5Sis_regular_hyperslab(space.get()), "a mapping's selection") == 0)
    refuse_mapping("its mappings select other elements than a regular hyperslab's");
  Numbers extents{};
  Numbers start{};
  Numbers stride{};
  Numbers count{};
  Numbers block{};
  const int rank = check(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), "a mapping's shape");
  check(H5Sget_regular_hyperslab(space.get(), start.data(), stride.data(), count.data(), block.data()),
        "a mapping's selection");
  Hyperslab hyperslab;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    if (count[d] == H5S_UNLIMITED || block[d] == H5S_UNLIMITED) refuse_mapping("its mappings grow with their sources");
    hyperslab.stripes.push_back({start[d], count[d] == 1 ? 1 : stride[d], count[d], block[d]});
    hyperslab.shape.push_back(extents[d]);
  }
  if (!is_valid(hyperslab)) refuse_mapping("its mappings select elements that are not there");
  return hyperslab;
}

/// A space that is reused for one hyperslab after another: making one takes HDF5 as long as the rest of a mapping.
class Selection {
 public:
  hid_t of(const Hyperslab& hyperslab) {
    if (!space_ || hyperslab.shape != shape_) {
      space_ = make_space(hyperslab.shape);
      shape_ = hyperslab.shape;
    }
    if (hyperslab.stripes.empty()) return space_.get();
    Numbers start{};
    Numbers stride{};
    Numbers count{};
    Numbers block{};
    for (std::size_t d = 0; d < hyperslab.stripes.size(); ++d) {
      const Hyperslab::Stripe& stripe = hyperslab.stripes[d];
      start[d] = stripe.start;
      stride[d] = std::max(stripe.stride, stripe.block);
      count[d] = stripe.count;
      block[d] = stripe.block;
    }
    check(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start.data(), stride.data(), count.data(), block.data()),
          "selecting what a mapping shows");
    return space_.get();
  }

 private:
  SpaceId space_;
  Shape shape_;
};

}  // namespace

Mappings read_mappings(hid_t creation) {
  std::size_t count = 0;
  check(H5Pget_virtual_count(creation, &count), "its mappings");
  Mappings mappings;
  for (std::size_t i = 0; i < count; ++i) {
    View view;
    view.ours = selected(own<SpaceId>(H5Pget_virtual_vspace(creation, i), "a mapping"));
    view.theirs = selected(own<SpaceId>(H5Pget_virtual_srcspace(creation, i), "a mapping"));
    view.dataset = unescaped(
        text_from([&](char* text, std::size_t size) { return H5Pget_virtual_dsetname(creation, i, text, size); }));
    if (view.dataset.starts_with('/')) view.dataset.erase(0, 1);
    mappings.files.push_back(unescaped(
        text_from([&](char* text, std::size_t size) { return H5Pget_virtual_filename(creation, i, text, size); })));
    mappings.views.push_back(std::move(view));
  }
  return mappings;
}

void write_mappings(hid_t creation, const std::vector<View>& views, const std::vector<ViewedFile>& viewed) {
  Selection ours;
  Selection theirs;
  for (const View& view : views)
    check(H5Pset_virtual(creation, ours.of(view.ours), escaped(viewed.at(view.file).path).c_str(),
                         escaped("/" + view.dataset).c_str(), theirs.of(view.theirs)),
          "H5Pset_virtual");
}

void check_unmapped(hid_t creation, const std::vector<View>& views, const Shape& shape, std::uint64_t element) {
  std::uint64_t mapped = 0;
  for (const View& view : views) mapped = checked_add(mapped, numel(view.ours), "the elements that it shows");
  const std::uint64_t elements = numel(shape);
  if (mapped > elements) refuse_mapping("its mappings cover one another");
  const std::uint64_t unmapped = checked_mul(elements, element, "its number of bytes") - mapped * element;
  if (unmapped > harmless_unmapped_bytes && elements - mapped > mapped)
    throw Error(Kind::input, "",
                {"shows no data for " + std::to_string(unmapped) + " of its bytes", "data for half of them at least",
                 "is the file damaged?"});
  H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
  check(H5Pfill_value_defined(creation, &kind), "its fill value");
  if (unmapped > 0 && kind == H5D_FILL_VALUE_USER_DEFINED)
    throw Error(Kind::input, "",
                {"shows no data for some of its elements, and has a fill value of its own for them",
                 "data for all, or zeros", "copy it into a dataset of its own with h5repack"});
}

std::vector<ViewedFile> files_of(const ViewedSizes& sizes) {
  std::vector<ViewedFile> files;
  for (const auto& [path, bytes] : sizes) files.push_back({path, bytes});
  return files;
}

std::uint32_t number_of(const std::string& path, const std::vector<ViewedFile>& files) {
  const auto place = std::lower_bound(files.begin(), files.end(), path,
                                      [](const ViewedFile& file, const std::string& key) { return file.path < key; });
  return static_cast<std::uint32_t>(place - files.begin());
}

std::string viewed_text(const std::vector<ViewedFile>& viewed) {
  nlohmann::json sizes = nlohmann::json::object();
  for (const ViewedFile& file : viewed)
    if (file.bytes) sizes[file.path] = *file.bytes;
  return sizes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void add_sizes(const std::string& text, ViewedSizes& sizes) {
  const std::string origin = std::string("attribute ") + viewed_attribute;
  const nlohmann::json found = parse_json(text, origin, {Kind::input, "the sizes of files", ""});
  for (const auto& [path, bytes] : found.items()) {
    if (!bytes.is_number_unsigned())
      throw Error(Kind::input, origin, {"no sizes of files", "what these programs wrote", ""});
    if (const auto known = sizes.find(path); known != sizes.end()) known->second = bytes.get<std::uint64_t>();
  }
}

}  // namespace ckpt::hdf5
