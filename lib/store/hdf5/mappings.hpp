#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/hdf5/library.hpp"
#include "store/view.hpp"

namespace ckpt::hdf5 {

/// A virtual dataset's mappings.
struct Mappings {
  std::vector<View> views;         ///< without `file`; the `theirs` of a whole dataset has neither shape nor stripes
  std::vector<std::string> files;  ///< the file that each view shows, parallel to `views`
};

/// Reads the mappings in a dataset's creation properties. HDF5 does not store the shape of the dataset that is shown:
/// the shape of `theirs` ends at its last elements. Throws input for mappings that are not regular hyperslabs of a
/// fixed size. Opens no other file.
Mappings read_mappings(hid_t creation);

/// Adds views to the creation properties of a virtual dataset. `viewed`: the files that the views refer to.
void write_mappings(hid_t creation, const std::vector<View>& views, const std::vector<ViewedFile>& viewed);

/// Throws input if the elements of an array that no view covers would read as anything but zeros, or are more than
/// padding could explain. `element`: bytes of one.
void check_unmapped(hid_t creation, const std::vector<View>& views, const Shape& shape, std::uint64_t element);

/// Viewed files by path, each with its size if known.
using ViewedSizes = std::map<std::string, std::optional<std::uint64_t>>;
std::vector<ViewedFile> files_of(const ViewedSizes& sizes);
/// Returns the index of a file in the list from `files_of`.
std::uint32_t number_of(const std::string& path, const std::vector<ViewedFile>& files);

/// Convert the sizes to an attribute's text, and back for the files that are listed. Parsing throws input for any other
/// text.
std::string viewed_text(const std::vector<ViewedFile>& viewed);
void add_sizes(const std::string& text, ViewedSizes& sizes);

}  // namespace ckpt::hdf5
