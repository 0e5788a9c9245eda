#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "store/store.hpp"

// What every Store promises, as functions: the same cases over each of them.
namespace ckpt::contract {

/// A store that is tested, and its files as somebody else sees them.
struct StoreUnderTest {
  std::string name;
  std::function<std::unique_ptr<Store>()> make;  ///< another each time; all see the same files
  std::filesystem::path folder;
  std::string ending;
  std::function<std::string(const std::filesystem::path&)> bytes;
  std::function<void(const std::filesystem::path&, const std::string&)> put;

  std::filesystem::path file(const std::string& stem) const { return folder / (stem + ending); }
};

/// What is declared is read back: names, types, shapes, values, layout, manifest; data is where it was put.
void keeps_what_it_is_given(const StoreUnderTest& store);
/// A store that keeps trees gives one back as it was, however long; where none was given there is none.
void keeps_trees_or_has_none(const StoreUnderTest& store);
/// Each type that there is a name for is held as it is, or refused before a file is made.
void holds_each_type_or_refuses_it(const StoreUnderTest& store);
/// Shapes from 0-d to 32-d, with and without elements.
void holds_each_shape(const StoreUnderTest& store);
/// A name that `check_names` lets pass is read back as it was.
void holds_each_name_or_refuses_it(const StoreUnderTest& store);
/// A value that it does not keep is named by `losses`.
void keeps_each_value_or_names_it(const StoreUnderTest& store);
/// 10^5 arrays.
void holds_very_many_arrays(const StoreUnderTest& store);
/// Files that say the same share what they say, whatever data they hold.
void shares_what_files_say(const StoreUnderTest& store);
/// A file of nothing.
void holds_no_array(const StoreUnderTest& store);

/// The bytes are a function of the specification alone.
void makes_the_same_bytes_again(const StoreUnderTest& store);
/// What was written lies in the file's room and nowhere else, and metadata comes to its sum, from either side.
void sums_what_is_no_data(const StoreUnderTest& store);
/// `create_again` keeps the data of the same file, and of no other.
void keeps_data_of_an_interrupted_run(const StoreUnderTest& store);

/// Any part of any array can be read; nothing behind its end; by several threads.
void reads_any_part(const StoreUnderTest& store);
/// Of a file that has been cut anywhere, nothing is read.
void refuses_truncated_files(const StoreUnderTest& store);
/// A file with some other bytes is refused, or read as a file that can be: never beyond its end.
void survives_lying_files(const StoreUnderTest& store);
/// A file that changed since it was catalogued is not opened.
void refuses_files_that_changed(const StoreUnderTest& store);
/// A file of another format is not taken for its own.
void recognises_its_own_files(const StoreUnderTest& store);
/// Files, directories, and what is not there.
void looks_at_paths(const StoreUnderTest& store);

}  // namespace ckpt::contract
