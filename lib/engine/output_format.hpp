#pragma once

#include "engine/job.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// The format of a job's output: the one asked for, else the one that the ending of its files' names tells, else HDF5.
const Format& output_format(const Job& job, const Layout& target);

/// The layout with the format's ending on its files, where they have that of another format.
Layout with_ending(Layout layout, const Format& format);

}  // namespace ckpt
