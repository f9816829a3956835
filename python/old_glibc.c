/* What newer C libraries have, for older ones: the wheel is built on a Linux of today and loads on those since
 * glibc 2.28 (Ubuntu 20.04, RHEL 8). CMakeLists.txt binds these names, which libstdc++ asks for, to this file, and
 * the functions that only moved between libraries to their oldest version. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct stat;

/* From 2.33 on functions of their own. 1 is the layout of x86-64's struct stat. */
extern int __xstat(int layout, const char *path, struct stat *result);
extern int __lxstat(int layout, const char *path, struct stat *result);
extern int __fxstat(int layout, int file, struct stat *result);

int stat(const char *path, struct stat *result) { return __xstat(1, path, result); }
int lstat(const char *path, struct stat *result) { return __lxstat(1, path, result); }
int fstat64(int file, struct stat *result) { return __fxstat(1, file, result); }

/* From 2.36 on. Only std::random_device would call it. */
uint32_t arc4random(void) {
    uint32_t number;
    if (syscall(SYS_getrandom, &number, sizeof number, 0) != sizeof number) abort();
    return number;
}

/* From 2.32 on: whether reference counts may do without atomic instructions. */
char __libc_single_threaded = 0;
