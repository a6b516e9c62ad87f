/* Shifts the wall clock of a process by CLOCK_OFFSET_MS milliseconds. The monotonic clock is not changed. For LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long long offset_ns(void) {
  static long long offset;
  static int known;
  if (!known) {
    const char *text = getenv("CLOCK_OFFSET_MS");
    offset = text == NULL ? 0 : atoll(text) * 1000000;
    known = 1;
  }
  return offset;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, at);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  long long ns = at->tv_sec * 1000000000LL + at->tv_nsec + offset_ns();
  at->tv_sec = ns / 1000000000LL;
  at->tv_nsec = ns % 1000000000LL;
  return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}
