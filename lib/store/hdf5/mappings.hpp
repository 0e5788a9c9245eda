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
  std::vector<View> views;         ///< without their `file`; a whole dataset's `theirs` has neither shape nor stripes
  std::vector<std::string> files;  ///< that they show, parallel
};

/// What a dataset's creation properties say. HDF5 keeps no shape of what is shown: that of `theirs` ends where its
/// elements do. Throws input for mappings that are no regular hyperslabs of a fixed size. No other file is opened.
Mappings read_mappings(hid_t creation);

/// Adds them to the creation properties of a virtual dataset. `viewed`: the files that the views refer to.
void write_mappings(hid_t creation, const std::vector<View>& views, const std::vector<ViewedFile>& viewed);

/// Throws input where what no view of an array shows would read as anything but zeros, or is more than any padding.
/// Elements are of so many bytes.
void check_unmapped(hid_t creation, const std::vector<View>& views, const Extents& shape, std::uint64_t element);

/// The files that are shown, by their paths, with their sizes where these are known.
using ViewedSizes = std::map<std::string, std::optional<std::uint64_t>>;
std::vector<ViewedFile> files_of(const ViewedSizes& sizes);
/// The index of a file among those that `files_of` gave.
std::uint32_t number_of(const std::string& path, const std::vector<ViewedFile>& files);

/// The sizes as an attribute's text; and back, of the files that are there: throws input for another text.
std::string viewed_text(const std::vector<ViewedFile>& viewed);
void add_sizes(const std::string& text, ViewedSizes& sizes);

}  // namespace ckpt::hdf5
