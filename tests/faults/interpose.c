// Stands between a program and the C library (LD_PRELOAD) and lets calls fail, for tests. Only calls on files whose
// path begins with FAULT_UNDER count.
//   FAULT_LOG=FILE               a line for each call: "pwrite /somewhere/out.partial/rank_0.h5"
//   FAULT_AT="pwrite 17 28"      the 17th pwrite of the process fails with errno 28
//   FAULT_AT="pwrite 17 short"   it moves half of its bytes
//   FAULT_AT="pwrite 17 flip"    a bit in the middle of what it writes is another one, and nobody is told
//   FAULT_AT="pwrite 17 run X"   the shell command X is run before it; $PPID is the process
//   FAULT_AT="memcpy 17 512"     the 17th copy of 512 bytes in memory has a bit that is another one
//   FAULT_AT="memcpy 17 512 swap"    the 17th and the next copy of 512 bytes go each to where the other should
//   FAULT_AT="memcpy 17 512 double"  the next one copies what the 17th has
//   FAULT_FOR=out.partial        FAULT_AT counts only calls on paths that hold this text
//   FAULT_RANK=1                 FAULT_AT holds for this process of several only
//   FAULT_LOCKS=none             files cannot be locked (ENOLCK), as on some network file systems
//   FAULT_LOCKS=own              every process has all the locks it asks for, as on different machines where each has its own
//   FAULT_DELAY_US=500           each pwrite of 64 KiB or more (of data, that is) takes so much longer
//   FAULT_FREE=4096              file systems say that they have so many bytes free
//   FAULT_NOWAIT=refused         no file system says what it has in memory (preadv2 with RWF_NOWAIT), as those of networks do not
//   FAULT_DEFLATE=17             a bit is another one in what zlib's 17th call gives, of those that give 64 bytes or more
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { goes_on = 0, is_short = -1, is_flipped = -2 };

static const char* under;
static const char* log_file;
static const char* only_for = "";
static long delay_us;
static const char* locks = "";
static const char* free_bytes;
static int refuses_nowait;
static int deflate_at;
static char function_at[16];
static int number_at;
static char action_at[PATH_MAX];
static size_t copy_size;
static char copied[4096];  // by the copy that is swapped or doubled
static void* copied_to;
static atomic_int seen;

static const char* variable(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value != NULL ? value : otherwise;
}

__attribute__((constructor)) static void start(void) {
  under = getenv("FAULT_UNDER");
  log_file = getenv("FAULT_LOG");
  only_for = variable("FAULT_FOR", "");
  delay_us = atol(variable("FAULT_DELAY_US", "0"));
  locks = variable("FAULT_LOCKS", "");
  free_bytes = getenv("FAULT_FREE");
  refuses_nowait = strcmp(variable("FAULT_NOWAIT", ""), "refused") == 0;
  deflate_at = atoi(variable("FAULT_DEFLATE", "0"));
  const char* rank = variable("FAULT_RANK", "");
  if (*rank != '\0' && strcmp(rank, variable("OMPI_COMM_WORLD_RANK", "")) != 0) return;
  sscanf(variable("FAULT_AT", ""), "%15s %d %4095[^\n]", function_at, &number_at, action_at);
  if (strcmp(function_at, "memcpy") == 0) copy_size = (size_t)atol(action_at);
}

static void note(const char* function, const char* path) {
  char line[PATH_MAX + 32];
  const int length = snprintf(line, sizeof line, "%s %s\n", function, path);
  const long fd = syscall(SYS_openat, -100, log_file, 02001 | 0100 | 02000000, 0666);  // O_WRONLY, O_APPEND, O_CREAT
  if (fd < 0) return;
  syscall(SYS_write, fd, line, length);
  syscall(SYS_close, fd);
}

static void shell(char* command) {
  char* const words[] = {"sh", "-c", command, NULL};
  char* const clean[] = {"PATH=/usr/bin:/bin", NULL};
  pid_t id = 0;
  if (posix_spawn(&id, "/bin/sh", NULL, NULL, words, clean) == 0) waitpid(id, NULL, 0);
}

static int fault(const char* function, const char* path) {
  const int before = errno;
  if (under == NULL || path == NULL || strncmp(path, under, strlen(under)) != 0) return goes_on;
  if (log_file != NULL) note(function, path);
  errno = before;
  if (strcmp(function, function_at) != 0 || strstr(path, only_for) == NULL) return goes_on;
  if (atomic_fetch_add(&seen, 1) + 1 != number_at) return goes_on;
  if (strcmp(action_at, "short") == 0) return is_short;
  if (strcmp(action_at, "flip") == 0) return is_flipped;
  if (strncmp(action_at, "run ", 4) == 0) return shell(action_at + 4), goes_on;
  return atoi(action_at);
}

static int fault_of(const char* function, int fd) {
  if (under == NULL || fd < 0) return goes_on;
  char name[32];
  char path[PATH_MAX];
  const int before = errno;
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(name, path, sizeof path - 1);
  errno = before;
  if (length < 0) return goes_on;
  path[length] = '\0';
  return fault(function, path);
}

static int fault_of_write(int fd, size_t count) {
  if (delay_us > 0 && count >= 65536) usleep((useconds_t)delay_us);
  return fault_of("pwrite", fd);
}

// Done by memmove, which is nobody's but the C library's: what dlsym does to find the real one copies memory itself.
void* memcpy(void* restrict to, const void* restrict from, size_t count) {
  memmove(to, from, count);
  if (copy_size == 0 || count != copy_size) return to;
  const int number = atomic_fetch_add(&seen, 1) + 1;
  const bool is_swap = strstr(action_at, "swap") != NULL;
  if (!is_swap && strstr(action_at, "double") == NULL) {
    if (number == number_at) ((char*)to)[count / 2] ^= 1;
  } else if (number == number_at && count <= sizeof copied) {
    memmove(copied, from, count);
    copied_to = to;
  } else if (number == number_at + 1 && copied_to != NULL) {
    if (is_swap) memmove(copied_to, from, count);
    memmove(to, copied, count);
  }
  return to;
}

static const void* flipped(const void* data, size_t count) {
  // Where its page begins: direct writes need that. Never freed: it happens once.
  const size_t page = 4096, shift = (uintptr_t)data % page;
  char* copy = aligned_alloc(page, (shift + count + page - 1) / page * page);
  if (copy == NULL) abort();
  copy += shift;
  memcpy(copy, data, count);
  copy[count / 2] ^= 1;
  return copy;
}

// The function NAME, counted as WHAT; FAULT says what happens, and SPOIL changes the arguments where it is not an error.
#define WRAP(type, name, parameters, arguments, fault_now, spoil)   \
  type name parameters {                                            \
    static type(*real) parameters;                                  \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name);     \
    const int what = fault_now;                                     \
    if (what > 0) {                                                 \
      errno = what;                                                 \
      return (type)-1;                                              \
    }                                                               \
    if (what < 0) spoil;                                            \
    return real arguments;                                          \
  }
#define HALVE count = (count + 1) / 2
#define SPOIL (what == is_short ? (void)(HALVE) : (void)(data = flipped(data, count)))
#define NOTHING (void)0

WRAP(ssize_t, write, (int fd, const void* data, size_t count), (fd, data, count), fault_of("write", fd), HALVE)
WRAP(ssize_t, pwrite, (int fd, const void* data, size_t count, off_t offset), (fd, data, count, offset),
     fault_of_write(fd, count), SPOIL)
WRAP(ssize_t, pwrite64, (int fd, const void* data, size_t count, off64_t offset), (fd, data, count, offset),
     fault_of_write(fd, count), SPOIL)
WRAP(ssize_t, pread, (int fd, void* data, size_t count, off_t offset), (fd, data, count, offset), fault_of("pread", fd),
     HALVE)
WRAP(ssize_t, pread64, (int fd, void* data, size_t count, off64_t offset), (fd, data, count, offset),
     fault_of("pread", fd), HALVE)
static int fault_of_question(int fd, int flags) {
  const int what = fault_of("preadv2", fd);
  return refuses_nowait && (flags & RWF_NOWAIT) != 0 ? EOPNOTSUPP : what;
}
WRAP(ssize_t, preadv2, (int fd, const struct iovec* data, int count, off_t offset, int flags),
     (fd, data, count, offset, flags), fault_of_question(fd, flags), NOTHING)
WRAP(ssize_t, preadv64v2, (int fd, const struct iovec* data, int count, off64_t offset, int flags),
     (fd, data, count, offset, flags), fault_of_question(fd, flags), NOTHING)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), fault_of("ftruncate", fd), NOTHING)
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size), fault_of("ftruncate", fd), NOTHING)
WRAP(int, fallocate, (int fd, int mode, off_t offset, off_t size), (fd, mode, offset, size), fault_of("fallocate", fd),
     NOTHING)
WRAP(int, fallocate64, (int fd, int mode, off64_t offset, off64_t size), (fd, mode, offset, size),
     fault_of("fallocate", fd), NOTHING)
WRAP(int, fsync, (int fd), (fd), fault_of("fsync", fd), NOTHING)
WRAP(int, rename, (const char* from, const char* to), (from, to), fault("rename", from), NOTHING)
WRAP(int, renameat2, (int at, const char* from, int to_at, const char* to, unsigned flags),
     (at, from, to_at, to, flags), fault("renameat2", from), NOTHING)
// The programs ask the kernel itself for what older C libraries lack.
long syscall(long number, ...) {
  static long (*real)(long, ...);
  if (real == NULL) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  long of[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; ++i) of[i] = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_renameat2)
    return renameat2((int)of[0], (const char*)of[1], (int)of[2], (const char*)of[3], (unsigned)of[4]);
  if (number == SYS_preadv2)
    return preadv2((int)of[0], (const struct iovec*)of[1], (int)of[2], (off_t)of[3], (int)of[5]);
  return real(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}
WRAP(void*, mmap, (void* at, size_t size, int protection, int flags, int fd, off_t offset),
     (at, size, protection, flags, fd, offset), fault_of("mmap", fd), NOTHING)
WRAP(int, mkdir, (const char* path, mode_t mode), (path, mode), fault("mkdir", path), NOTHING)
// Without fcntl.h, where they are variadic.
static int control(const char* name, int fd, int command, void* argument) {
  static int (*real)(int, int, ...);
  enum { get_lock = 36, set_lock = 37, is_free = 2 };  // F_OFD_GETLK, F_OFD_SETLK, F_UNLCK
  if (*locks != '\0' && (command == get_lock || command == set_lock)) {
    if (strcmp(locks, "own") == 0) {
      if (command == get_lock) *(short*)argument = is_free;  // flock's first member is l_type
      return 0;
    }
    errno = ENOLCK;
    return -1;
  }
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, name);
  return real(fd, command, argument);
}
#define WRAP_CONTROL(name)                                  \
  int name(int fd, int command, ...) {                      \
    va_list arguments;                                      \
    va_start(arguments, command);                           \
    void* const argument = va_arg(arguments, void*);        \
    va_end(arguments);                                      \
    return control(#name, fd, command, argument);           \
  }
WRAP_CONTROL(fcntl)
WRAP_CONTROL(fcntl64)
WRAP(int, open, (const char* path, int flags, mode_t mode), (path, flags, mode), fault("open", path), NOTHING)
WRAP(int, open64, (const char* path, int flags, mode_t mode), (path, flags, mode), fault("open", path), NOTHING)
// Without sys/ioctl.h, where it is variadic. Only the sharing of blocks counts.
int ioctl(int fd, unsigned long request, ...) {
  static int (*real)(int, unsigned long, ...);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "ioctl");
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const int what = request == FICLONERANGE ? fault_of("ioctl", fd) : goes_on;
  if (what > 0) {
    errno = what;
    return -1;
  }
  return real(fd, request, argument);
}

#define WRAP_SPACE(name, kind)                                                         \
  int name(const char* path, struct kind* space) {                                     \
    static int (*real)(const char*, struct kind*);                                     \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name);                        \
    const int failed = real(path, space);                                              \
    if (failed == 0 && free_bytes != NULL && strncmp(path, under, strlen(under)) == 0) \
      space->f_bavail = (unsigned long)atol(free_bytes) / space->f_frsize;             \
    return failed;                                                                     \
  }
WRAP_SPACE(statvfs, statvfs)
WRAP_SPACE(statvfs64, statvfs64)

int deflate(z_streamp stream, int flush) {
  static int (*real)(z_streamp, int);
  static atomic_int given;
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "deflate");
  Bytef* const from = stream->next_out;
  const int result = real(stream, flush);
  if (stream->next_out - from >= 64 && atomic_fetch_add(&given, 1) + 1 == deflate_at)
    from[(stream->next_out - from) / 2] ^= 1;
  return result;
}
