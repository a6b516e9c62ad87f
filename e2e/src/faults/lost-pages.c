/*
 * A disk whose failed syncs lose pages, as on Linux: a page that a failed sync could not write counts as written, later
 * syncs skip it, and a power cut loses it. Keeps in IMAGE_DIR the disk's contents of the database files (".db" in the name)
 * below DATA_DIR. While the file FAIL_FILE exists, syncs fail. For LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096
#define PATHS 256
#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

struct entry {
  char path[512];
  unsigned char *dirty; /* one byte for each page */
  size_t pages;
};

static struct entry entries[PATHS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_watched(const char *path) {
  const char *data = getenv("DATA_DIR");
  return data != NULL && strncmp(path, data, strlen(data)) == 0 && strstr(path, ".db") != NULL;
}

/* The path of an open file, if it is watched. */
static int path_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, 511);
  if (length < 0) return 0;
  path[length] = 0;
  return is_watched(path);
}

static void image_of(const char *path, char *image) {
  snprintf(image, 1024, "%s/%s", getenv("IMAGE_DIR"), strrchr(path, '/') + 1);
}

static struct entry *entry_of(const char *path) {
  struct entry *free_one = NULL;
  for (int at = 0; at < PATHS; at++) {
    if (strcmp(entries[at].path, path) == 0) return &entries[at];
    if (free_one == NULL && entries[at].path[0] == 0) free_one = &entries[at];
  }
  if (free_one == NULL) abort();
  snprintf(free_one->path, sizeof free_one->path, "%s", path);
  return free_one;
}

static void forget(struct entry *entry) {
  free(entry->dirty);
  memset(entry, 0, sizeof *entry);
}

static void mark(int fd, off_t offset, ssize_t length) {
  char path[512];
  if (length <= 0 || !path_of(fd, path)) return;
  pthread_mutex_lock(&lock);
  struct entry *entry = entry_of(path);
  size_t last = (offset + length - 1) / PAGE;
  if (last >= entry->pages) {
    entry->dirty = realloc(entry->dirty, last + 1024);
    memset(entry->dirty + entry->pages, 0, last + 1024 - entry->pages);
    entry->pages = last + 1024;
  }
  for (size_t page = offset / PAGE; page <= last; page++) entry->dirty[page] = 1;
  pthread_mutex_unlock(&lock);
}

static void copy_page(int fd, int image, size_t page) {
  char content[PAGE];
  ssize_t length = pread(fd, content, PAGE, (off_t)page * PAGE);
  if (length > 0 && REAL(ssize_t, pwrite64, int, const void *, size_t, off_t)(image, content, length, (off_t)page * PAGE) != length) abort();
}

static int sync_file(int fd, int (*real)(int)) {
  char path[512], image_path[1024];
  if (!path_of(fd, path)) return real(fd);
  int fails = access(getenv("FAIL_FILE"), F_OK) == 0;
  int result = fails ? -1 : real(fd);
  pthread_mutex_lock(&lock);
  struct entry *entry = entry_of(path);
  if (!fails) {
    image_of(path, image_path);
    int image = open(image_path, O_WRONLY | O_CREAT, 0600);
    struct stat stats;
    if (image >= 0 && fstat(fd, &stats) == 0) {
      for (size_t page = 0; page < entry->pages; page++)
        if (entry->dirty[page]) copy_page(fd, image, page);
      if (REAL(int, ftruncate64, int, off_t)(image, stats.st_size) != 0) abort();
    }
    if (image >= 0) close(image);
  }
  if (entry->pages > 0) memset(entry->dirty, 0, entry->pages);
  pthread_mutex_unlock(&lock);
  if (fails) errno = EIO;
  return result;
}

int fsync(int fd) { return sync_file(fd, REAL(int, fsync, int)); }
int fdatasync(int fd) { return sync_file(fd, REAL(int, fdatasync, int)); }

#define WRITE_AT(name)                                                                                   \
  ssize_t name(int fd, const void *content, size_t length, off_t offset) {                               \
    ssize_t written = REAL(ssize_t, name, int, const void *, size_t, off_t)(fd, content, length, offset); \
    mark(fd, offset, written);                                                                           \
    return written;                                                                                      \
  }
WRITE_AT(pwrite)
WRITE_AT(pwrite64)

ssize_t write(int fd, const void *content, size_t length) {
  ssize_t written = REAL(ssize_t, write, int, const void *, size_t)(fd, content, length);
  if (written > 0) {
    int error = errno;
    off_t end = lseek(fd, 0, SEEK_CUR);
    errno = error;
    if (end >= written) mark(fd, end - written, written);
  }
  return written;
}

#define TRUNCATE(name)                                                    \
  int name(int fd, off_t length) {                                        \
    char path[512], image[1024];                                          \
    int result = REAL(int, name, int, off_t)(fd, length);                 \
    if (result == 0 && path_of(fd, path)) {                               \
      image_of(path, image);                                              \
      if (access(image, F_OK) == 0 && truncate(image, length) != 0) abort(); \
    }                                                                     \
    return result;                                                        \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int unlink(const char *path) {
  int result = REAL(int, unlink, const char *)(path);
  if (result == 0 && is_watched(path)) {
    char image[1024];
    image_of(path, image);
    REAL(int, unlink, const char *)(image);
    pthread_mutex_lock(&lock);
    forget(entry_of(path));
    pthread_mutex_unlock(&lock);
  }
  return result;
}

int rename(const char *from, const char *to) {
  int (*real)(const char *, const char *) = REAL(int, rename, const char *, const char *);
  int result = real(from, to);
  if (result == 0 && is_watched(from)) {
    char image_from[1024], image_to[1024];
    image_of(from, image_from);
    image_of(to, image_to);
    real(image_from, image_to);
    pthread_mutex_lock(&lock);
    forget(entry_of(to));
    struct entry *entry = entry_of(from);
    snprintf(entry->path, sizeof entry->path, "%s", to);
    pthread_mutex_unlock(&lock);
  }
  return result;
}
