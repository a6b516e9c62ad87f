/* Makes each FAULT_EVERY-th fsync or fdatasync of a database file (its name contains "state.db") fail with EIO. For LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int fd) {
  static atomic_int calls;
  char link[64], path[4096];
  const char *every = getenv("FAULT_EVERY");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (every == NULL || length < 0) return 0;
  path[length] = 0;
  if (strstr(path, "state.db") == NULL) return 0;
  return atomic_fetch_add(&calls, 1) % atoi(every) == atoi(every) - 1;
}

#define REPLACE(name)                                          \
  int name(int fd) {                                           \
    if (fails(fd)) {                                           \
      errno = EIO;                                             \
      return -1;                                               \
    }                                                          \
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, #name);  \
    return real(fd);                                           \
  }

REPLACE(fsync)
REPLACE(fdatasync)
