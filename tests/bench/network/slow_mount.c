// A directory, seen through a mount (FUSE) that answers like storage behind a network: each request waits for its
// latency, as many at a time as are asked for. Files are read only.
//
//   slow_mount DIRECTORY MOUNT LATENCY_US REQUEST_BYTES REPORT    until fusermount3 -u MOUNT
//
// REPORT then says, as JSON, how many reads there were, their bytes, and how many were under way together: at most, and
// in the mean over the time in which there were any.
#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { most_in_flight = 256 };

static int root;
static uint64_t latency_ns;
static unsigned request_bytes;

static struct {
  pthread_mutex_t mutex;
  uint64_t reads, bytes, now, most;
  uint64_t busy_ns;     // in which there was a read under way
  uint64_t waited_ns;   // of all reads together
  uint64_t changed_at;  // when `now` was other than it is
} told = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

// One more read is under way, or one less.
static void count(int change, uint64_t bytes) {
  pthread_mutex_lock(&told.mutex);
  const uint64_t at = clock_ns();
  if (told.now != 0) {
    told.busy_ns += at - told.changed_at;
    told.waited_ns += told.now * (at - told.changed_at);
  }
  told.changed_at = at;
  told.now += (uint64_t)(int64_t)change;
  if (told.now > told.most) told.most = told.now;
  if (change < 0) ++told.reads;
  told.bytes += bytes;
  pthread_mutex_unlock(&told.mutex);
}

static void wait_until(uint64_t at) {
  const struct timespec time = {(time_t)(at / 1000000000U), (long)(at % 1000000000U)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) continue;
}

static const char* below(const char* path) {
  return path[1] == '\0' ? "." : path + 1;
}

static void* start(struct fuse_conn_info* connection, struct fuse_config* config) {
  config->use_ino = 1;
  config->kernel_cache = 1;  // as of a file that nobody changes meanwhile
  config->entry_timeout = config->attr_timeout = 3600;
  connection->max_background = most_in_flight;
  connection->congestion_threshold = most_in_flight;
  connection->max_read = request_bytes;
  return NULL;
}

static int get_status(const char* path, struct stat* status, struct fuse_file_info* file) {
  (void)file;
  return fstatat(root, below(path), status, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -errno;
}

static int open_file(const char* path, struct fuse_file_info* file) {
  if ((file->flags & O_ACCMODE) != O_RDONLY) return -EROFS;
  const int found = openat(root, below(path), O_RDONLY | O_CLOEXEC);
  if (found < 0) return -errno;
  file->fh = (uint64_t)found;
  return 0;
}

static int close_file(const char* path, struct fuse_file_info* file) {
  (void)path;
  close((int)file->fh);
  return 0;
}

static int read_file(const char* path, char* to, size_t bytes, off_t offset, struct fuse_file_info* file) {
  (void)path;
  const uint64_t begin = clock_ns();
  count(1, 0);
  const ssize_t found = pread((int)file->fh, to, bytes, offset);
  const int result = found < 0 ? -errno : (int)found;
  wait_until(begin + latency_ns);
  count(-1, found < 0 ? 0 : (uint64_t)found);
  return result;
}

static int list(const char* path, void* names, fuse_fill_dir_t add, off_t offset, struct fuse_file_info* file,
                enum fuse_readdir_flags flags) {
  (void)offset, (void)file, (void)flags;
  const int found = openat(root, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = found < 0 ? NULL : fdopendir(found);
  if (directory == NULL) return -errno;
  for (const struct dirent* entry = readdir(directory); entry != NULL; entry = readdir(directory))
    add(names, entry->d_name, NULL, 0, 0);
  closedir(directory);
  return 0;
}

static const struct fuse_operations operations = {
    .init = start, .getattr = get_status, .open = open_file, .release = close_file, .read = read_file, .readdir = list};

static int report(const char* path) {
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  fprintf(file, "{\"reads\": %llu, \"bytes\": %llu, \"most_in_flight\": %llu, \"mean_in_flight\": %.2f}\n",
          (unsigned long long)told.reads, (unsigned long long)told.bytes, (unsigned long long)told.most,
          told.busy_ns == 0 ? 0.0 : (double)told.waited_ns / (double)told.busy_ns);
  return fclose(file) == 0 ? 0 : 1;
}

int main(int count_of_words, char** words) {
  if (count_of_words != 6) {
    fputs("slow_mount DIRECTORY MOUNT LATENCY_US REQUEST_BYTES REPORT\n", stderr);
    return 2;
  }
  root = open(words[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) {
    perror(words[1]);
    return 1;
  }
  latency_ns = strtoull(words[3], NULL, 10) * 1000;
  request_bytes = (unsigned)strtoul(words[4], NULL, 10);
  char max_read[64];
  snprintf(max_read, sizeof max_read, "max_read=%u,ro", request_bytes);
  struct fuse_args arguments = FUSE_ARGS_INIT(0, NULL);
  fuse_opt_add_arg(&arguments, words[0]);
  fuse_opt_add_arg(&arguments, "-o");
  fuse_opt_add_arg(&arguments, max_read);
  struct fuse* mount = fuse_new(&arguments, &operations, sizeof operations, NULL);
  if (mount == NULL || fuse_mount(mount, words[2]) != 0) return 1;
  fuse_set_signal_handlers(fuse_get_session(mount));
  struct fuse_loop_config* threads = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(threads, most_in_flight);
  fuse_loop_cfg_set_idle_threads(threads, most_in_flight);
  const int failed = fuse_loop_mt(mount, threads);
  fuse_loop_cfg_destroy(threads);
  fuse_unmount(mount);
  fuse_destroy(mount);
  return report(words[5]) != 0 || failed < 0 ? 1 : 0;
}
