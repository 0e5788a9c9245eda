#include "io/block_clones.hpp"

#include <vector>

#include "catch.hpp"
#include "small_files.hpp"

namespace ckpt {
namespace {

constexpr std::uint64_t block = BlockClones::block;
constexpr std::uint64_t least = BlockClones::least_run;

TEST_CASE("Only whole blocks at one place of a block on both sides can be shared, and not few of them") {
  CHECK(BlockClones::whole_blocks(0, 0, least) == Interval{0, least});
  CHECK(BlockClones::whole_blocks(0, 0, least - 1) == Interval{});
  CHECK(BlockClones::whole_blocks(3 * block, 8 * block, least + 5) == Interval{8 * block, 8 * block + least});
  // The ends of a run that begins and ends within blocks are not whole.
  CHECK(BlockClones::whole_blocks(block + 8, 8, least + 2 * block) == Interval{block, least + 2 * block});
  CHECK(BlockClones::whole_blocks(block + 8, 8, least + block) == Interval{block, least + block});
  CHECK(BlockClones::whole_blocks(block + 8, 8, least + block - 9) == Interval{});
  CHECK(BlockClones::whole_blocks(8, 16, 10 * least) == Interval{});
  CHECK(BlockClones::whole_blocks(0, 0, 0) == Interval{});
  CHECK(BlockClones::whole_blocks(block - 1, 2 * block - 1, 2) == Interval{});
}

TEST_CASE("What is shared is what the source has, and a file system that shares nothing is asked once") {
  const fixture::TemporaryDirectory folder;
  const PosixFile source = PosixFile::create(folder / "source");
  std::vector<std::byte> data(3 * least);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>((i * 0x9E3779B97F4A7C15ULL) >> 56);
  source.write(block + 8, data);
  const PosixFile target = PosixFile::create(folder / "target");
  target.resize(4 * least);
  const BlockClones::Target opened(folder / "target");
  const PosixFile::Status status = source.status();
  const LocatedFile located{source.fd(), &source.path(), status.device, status.inode, status.bytes, true};
  BlockClones clones;
  const std::uint64_t place = 5 * block + 8;
  const Interval shared = clones.clone(located, block + 8, opened, place, data.size());
  if (shared.empty()) {
    CHECK(clones.clone(located, 0, opened, 0, least).empty());
    return;
  }
  CHECK(shared == BlockClones::whole_blocks(block + 8, place, data.size()));
  std::vector<std::byte> found(shared.size());
  target.read(shared.lo, found);
  CHECK(std::equal(found.begin(), found.end(), data.begin() + static_cast<std::ptrdiff_t>(shared.lo - place)));
  std::vector<std::byte> before(shared.lo);
  target.read(0, before);
  CHECK(before == std::vector<std::byte>(shared.lo));
  CHECK(clones.clone(located, status.bytes / block * block, opened, 0, 2 * least).empty());  // beyond the source's end
}

}  // namespace
}  // namespace ckpt
