// Saves a table as PaddlePaddle's MemorySparseTable does: a file for each shard, a line for each row, each number
// through an ostream of its own accessor's order. It shares nothing with the library.
//   saver CLASS EMBEDX_DIM SHARD_NUM SERVERS ROWS DIRECTORY
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// Numbers of all sizes, whole ones and what six digits are too few for.
float number(std::uint64_t key, int field) {
  const std::uint64_t mixed = (key + 1) * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(field) * 0xbf58476d1ce4e5b9;
  switch (mixed >> 60) {
    case 0:
      return 0;
    case 1:
      return static_cast<float>(mixed & 0xfff);
    case 2:
      return static_cast<float>(mixed & 0xffffff);
    default:
      const float size = std::pow(10.F, static_cast<float>((mixed >> 32) % 40) - 30.F);
      return (static_cast<float>(mixed & 0xffffff) / 8388608.F - 1) * size;
  }
}

std::string row(const std::string& accessor, std::uint64_t key, int largest) {
  std::ostringstream os;
  int field = 0;
  const auto print = [&] { os << ' ' << number(key, field++); };
  const bool slot_first = accessor == "SparseAccessor" || accessor == "CtrCommonAccessor";
  const int dims =
      accessor == "CtrDymfAccessor" ? static_cast<int>(key % static_cast<std::uint64_t>(largest + 1)) : largest;
  if (slot_first) print();
  for (int i = 0; i < 5; ++i) print();  // unseen_days delta_score show click embed_w
  print();                              // embed_g2sum
  if (!slot_first) print();             // slot
  if (accessor == "CtrDymfAccessor") os << ' ' << static_cast<float>(dims);
  if (dims > 0 && key % 3 != 0)
    for (int i = 0; i <= dims; ++i) print();  // embedx_w and its g2sum, in either order
  return os.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const std::string accessor = argv[1];
  const int dims = std::stoi(argv[2]);
  const std::uint64_t shards = std::stoull(argv[3]);
  const std::uint64_t servers = std::stoull(argv[4]);
  const std::uint64_t rows = std::stoull(argv[5]);
  const std::uint64_t average = shards / servers + (shards % servers != 0 ? 1 : 0);
  std::vector<std::ofstream> files;
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    char name[64];
    std::snprintf(name, sizeof name, "/part-%03d-%05d", static_cast<int>(shard / average), static_cast<int>(shard));
    files.emplace_back(argv[6] + std::string(name));
  }
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::uint64_t key = i % 5 == 0 ? i : (i + 1) * 0x94d049bb133111eb;
    files[key % shards] << key << row(accessor, key, dims) << '\n';
  }
  for (const std::ofstream& file : files)
    if (!file) return 1;
}
