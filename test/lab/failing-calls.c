/*
 * Fails one system call on the files of a database: loaded with LD_PRELOAD, this counts the calls of
 * open, write, truncate and fsync, and lets number FAILING_CALL of them fail, once, with FAILING_ERROR
 * (promise 5). It writes how many there were to the file FAILING_COUNT. With FAILING_KILLS the process is killed before
 * that call instead, which may be one that renames or removes a file too, and drafts of the files are watched as well
 * (promise 57).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 4096

static char watched[FILES]; /* by descriptor */
static long calls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long number_of(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? 0 : atol(value);
}

static int kills(void) { return getenv("FAILING_KILLS") != NULL; }

static int is_watched(int fd) { return fd >= 0 && fd < FILES && watched[fd]; }

static int is_database(const char *path) {
  const char *name = strrchr(path, '/');
  name = name == NULL ? path : name + 1;
  if (kills()) return strncmp(name, "database.sqlite", 15) == 0;
  return strcmp(name, "database.sqlite") == 0 || strcmp(name, "database.sqlite-wal") == 0;
}

/* Each time, because the program may end without running what it should at its exit. */
static void note(void) {
  const char *path = getenv("FAILING_COUNT");
  FILE *file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld", calls);
  fclose(file);
}

/* True for the call that is to fail; its error is set. */
static int fails(void) {
  pthread_mutex_lock(&lock);
  long call = ++calls;
  note();
  pthread_mutex_unlock(&lock);
  if (call != number_of("FAILING_CALL")) return 0;
  if (kills()) kill(getpid(), SIGKILL);
  errno = (int)number_of("FAILING_ERROR");
  return 1;
}

#define OPEN(NAME)                                                                          \
  int NAME(const char *path, int flags, ...) {                                              \
    va_list list;                                                                           \
    va_start(list, flags);                                                                  \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;                       \
    va_end(list);                                                                           \
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #NAME);                          \
    int is_one = is_database(path);                                                         \
    if (is_one && fails()) return -1;                                                       \
    int fd = real(path, flags, mode);                                                       \
    if (fd >= 0 && fd < FILES) watched[fd] = is_one;                                        \
    return fd;                                                                              \
  }

OPEN(open)
OPEN(open64)

#define PWRITE(NAME, OFFSET)                                                                \
  ssize_t NAME(int fd, const void *bytes, size_t size, OFFSET offset) {                     \
    ssize_t (*real)(int, const void *, size_t, OFFSET) = dlsym(RTLD_NEXT, #NAME);           \
    return is_watched(fd) && fails() ? -1 : real(fd, bytes, size, offset);                  \
  }

PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(NAME, OFFSET)                                                              \
  int NAME(int fd, OFFSET size) {                                                           \
    int (*real)(int, OFFSET) = dlsym(RTLD_NEXT, #NAME);                                     \
    return is_watched(fd) && fails() ? -1 : real(fd, size);                                 \
  }

TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(NAME)                                                                          \
  int NAME(int fd) {                                                                        \
    int (*real)(int) = dlsym(RTLD_NEXT, #NAME);                                             \
    return is_watched(fd) && fails() ? -1 : real(fd);                                       \
  }

SYNC(fsync)
SYNC(fdatasync)

#define NAMES(RESULT, NAME, PARAMETERS, VALUES)                                             \
  RESULT NAME PARAMETERS {                                                                  \
    RESULT(*real) PARAMETERS = dlsym(RTLD_NEXT, #NAME);                                     \
    if (kills() && is_database(path)) fails();                                              \
    return real VALUES;                                                                     \
  }

NAMES(int, rename, (const char *path, const char *to), (path, to))
NAMES(int, unlink, (const char *path), (path))
