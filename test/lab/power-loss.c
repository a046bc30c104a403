/*
 * What a disk forgets when the power fails: loaded into the server with LD_PRELOAD, this keeps, next
 * to every database file, a journal of how to undo the writes since its last fsync (promise 2). The
 * journal survives a kill -9, because it goes to the same page cache as the writes themselves.
 *
 * A record of `<file>.undo`: i64 size of the file before, i64 offset, i64 length, old bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 4096

static int journals[FILES]; /* by descriptor of the file: its journal, plus 1 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_watched(const char *path) {
  const char *name = strrchr(path, '/');
  name = name == NULL ? path : name + 1;
  return strcmp(name, "database.sqlite") == 0 || strcmp(name, "database.sqlite-wal") == 0;
}

static int watch(int fd, const char *path) {
  if (fd < 0 || fd >= FILES || !is_watched(path)) return fd;
  int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%s.undo", path);
  int journal = real_open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (journal < 0) abort();
  journals[fd] = journal + 1;
  return fd;
}

static int journal_of(int fd) { return fd >= 0 && fd < FILES ? journals[fd] - 1 : -1; }

/* Called with the lock held, before bytes from `offset` on are overwritten or cut off. */
static void remember(int fd, int64_t offset, int64_t length) {
  struct stat status;
  if (fstat(fd, &status) != 0) abort();
  int64_t kept = status.st_size - offset;
  if (kept < 0) kept = 0;
  if (kept > length) kept = length;
  size_t size = 24 + (size_t)kept;
  char *record = malloc(size);
  if (record == NULL) abort();
  int64_t head[3] = {status.st_size, offset, kept};
  memcpy(record, head, sizeof head);
  int64_t done = 0;
  while (done < kept) {
    ssize_t count = pread(fd, record + 24 + done, (size_t)(kept - done), offset + done);
    if (count <= 0) abort();
    done += count;
  }
  ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
  if (real_write(journal_of(fd), record, size) != (ssize_t)size) abort();
  free(record);
}

static void forget(int fd) {
  int (*real_truncate)(int, off64_t) = dlsym(RTLD_NEXT, "ftruncate64");
  if (real_truncate(journal_of(fd), 0) != 0) abort();
}

#define OPEN(NAME)                                                                          \
  int NAME(const char *path, int flags, ...) {                                              \
    va_list list;                                                                           \
    va_start(list, flags);                                                                  \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;                       \
    va_end(list);                                                                           \
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #NAME);                          \
    pthread_mutex_lock(&lock);                                                              \
    int fd = watch(real(path, flags, mode), path);                                          \
    pthread_mutex_unlock(&lock);                                                            \
    return fd;                                                                              \
  }

#include <stdarg.h>
OPEN(open)
OPEN(open64)

int close(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "close");
  pthread_mutex_lock(&lock);
  int journal = journal_of(fd);
  if (journal >= 0) {
    journals[fd] = 0;
    real(journal);
  }
  int result = real(fd);
  pthread_mutex_unlock(&lock);
  return result;
}

#define PWRITE(NAME, OFFSET)                                                                \
  ssize_t NAME(int fd, const void *bytes, size_t size, OFFSET offset) {                     \
    ssize_t (*real)(int, const void *, size_t, OFFSET) = dlsym(RTLD_NEXT, #NAME);           \
    if (journal_of(fd) < 0) return real(fd, bytes, size, offset);                           \
    pthread_mutex_lock(&lock);                                                              \
    remember(fd, offset, (int64_t)size);                                                    \
    ssize_t result = real(fd, bytes, size, offset);                                         \
    pthread_mutex_unlock(&lock);                                                            \
    return result;                                                                          \
  }

PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

/* SQLite never writes to these files at the position of the descriptor; were it to, we would lie. */
ssize_t write(int fd, const void *bytes, size_t size) {
  ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
  if (journal_of(fd) >= 0) abort();
  return real(fd, bytes, size);
}

#define TRUNCATE(NAME, OFFSET)                                                              \
  int NAME(int fd, OFFSET size) {                                                           \
    int (*real)(int, OFFSET) = dlsym(RTLD_NEXT, #NAME);                                     \
    if (journal_of(fd) < 0) return real(fd, size);                                          \
    pthread_mutex_lock(&lock);                                                              \
    remember(fd, size, INT64_MAX);                                                          \
    int result = real(fd, size);                                                            \
    pthread_mutex_unlock(&lock);                                                            \
    return result;                                                                          \
  }

TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

/* Holding the lock: a write that comes during the fsync is not covered by it. */
#define SYNC(NAME)                                                                          \
  int NAME(int fd) {                                                                        \
    int (*real)(int) = dlsym(RTLD_NEXT, #NAME);                                             \
    if (journal_of(fd) < 0) return real(fd);                                                \
    pthread_mutex_lock(&lock);                                                              \
    int result = real(fd);                                                                  \
    if (result == 0) forget(fd);                                                            \
    pthread_mutex_unlock(&lock);                                                            \
    return result;                                                                          \
  }

SYNC(fsync)
SYNC(fdatasync)
