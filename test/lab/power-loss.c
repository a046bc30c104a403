/*
 * What a disk forgets when the power fails: loaded into the server with LD_PRELOAD, this keeps, next
 * to every database file, a journal of how to undo the writes since its last fsync (promise 2). The
 * journal survives a kill -9, because it goes to the same page cache as the writes themselves.
 *
 * A record of `<file>.undo`: i64 size of the file before, i64 offset, i64 length, old bytes.
 *
 * Files of blobs are only ever appended to, so that of those it is enough to know how long they were at
 * their last fsync: Bun writes and creates files with system calls that nothing here sees, but what
 * it syncs, renames and unlinks goes through libc. `blobs.undo/journal` has a line for each, fields
 * divided by tabs, in the order in which they happened:
 *
 *   sync    inode  size         a file is on the disk up to there
 *   names   folder              so are the names in a folder
 *   rename  saved  from  to     about to happen
 *   unlink  saved  path         about to happen
 *
 * `blobs.undo/<saved>` is another name of the file that lost its own, or -1 when there was none: so
 * it can come back, and no new file gets its inode.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
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

/* The folder of blobs that a path is, or is in. */
static int find_blobs(const char *path, char *root) {
  const char *found = path[0] == '/' ? strstr(path, "/blobs") : NULL;
  if (found == NULL || (found[6] != '/' && found[6] != 0)) return 0;
  snprintf(root, PATH_MAX, "%.*s", (int)(found - path) + 6, path);
  return 1;
}

/* With the lock held. */
static void note(const char *root, const char *format, ...) {
  int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
  ssize_t (*real_write)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
  int (*real_close)(int) = dlsym(RTLD_NEXT, "close");
  char name[PATH_MAX + 16], line[2 * PATH_MAX + 64];
  snprintf(name, sizeof name, "%s.undo", root);
  if (mkdir(name, 0700) != 0 && errno != EEXIST) abort();
  snprintf(name, sizeof name, "%s.undo/journal", root);
  va_list list;
  va_start(list, format);
  int length = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  int journal = real_open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (journal < 0 || real_write(journal, line, (size_t)length) != length) abort();
  real_close(journal);
}

/* With the lock held, before `path` names something else or nothing. */
static int save(const char *root, const char *path) {
  static int count = 0;
  char name[PATH_MAX + 32];
  snprintf(name, sizeof name, "%s.undo", root);
  if (mkdir(name, 0700) != 0 && errno != EEXIST) abort();
  do snprintf(name, sizeof name, "%s.undo/%d", root, ++count);
  while (link(path, name) != 0 && errno == EEXIST);
  return access(name, F_OK) == 0 ? count : -1;
}

int rename(const char *from, const char *to) {
  int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
  char root[PATH_MAX];
  if (!find_blobs(to, root)) return real(from, to);
  pthread_mutex_lock(&lock);
  note(root, "rename\t%d\t%s\t%s\n", save(root, to), from, to);
  int result = real(from, to);
  pthread_mutex_unlock(&lock);
  return result;
}

int unlink(const char *path) {
  int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
  char root[PATH_MAX];
  if (!find_blobs(path, root)) return real(path);
  pthread_mutex_lock(&lock);
  note(root, "unlink\t%d\t%s\n", save(root, path), path);
  int result = real(path);
  pthread_mutex_unlock(&lock);
  return result;
}

/* Writes and names during a sync are not covered by it: sizes are taken before. */
static int sync_blob(int fd, int (*real)(int)) {
  char link[64], path[PATH_MAX], root[PATH_MAX];
  struct stat status;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return real(fd);
  path[length] = 0;
  if (!find_blobs(path, root) || fstat(fd, &status) != 0) return real(fd);
  if (!S_ISDIR(status.st_mode)) {
    int result = real(fd);
    pthread_mutex_lock(&lock);
    if (result == 0) note(root, "sync\t%lu\t%ld\n", status.st_ino, status.st_size);
    pthread_mutex_unlock(&lock);
    return result;
  }
  pthread_mutex_lock(&lock);
  int result = real(fd);
  if (result == 0) note(root, "names\t%s\n", path);
  pthread_mutex_unlock(&lock);
  return result;
}

/* Holding the lock: a write that comes during the fsync is not covered by it. */
#define SYNC(NAME)                                                                          \
  int NAME(int fd) {                                                                        \
    int (*real)(int) = dlsym(RTLD_NEXT, #NAME);                                             \
    if (journal_of(fd) < 0) return sync_blob(fd, real);                                     \
    pthread_mutex_lock(&lock);                                                              \
    int result = real(fd);                                                                  \
    if (result == 0) forget(fd);                                                            \
    pthread_mutex_unlock(&lock);                                                            \
    return result;                                                                          \
  }

SYNC(fsync)
SYNC(fdatasync)
