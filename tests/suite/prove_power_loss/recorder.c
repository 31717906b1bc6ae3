// Loaded before a program's libraries (LD_PRELOAD), it writes down what the program does to the files below RECORD_ROOT, in the
// order in which it does it: to the file RECORD_LOG, a record for each call that has succeeded.
#define _GNU_SOURCE
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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static const char *root;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("RECORD_LOG");
    root = getenv("RECORD_ROOT");
    if (path && root)
        log_fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_below(const char *path) {
    return log_fd >= 0 && strncmp(path, root, strlen(root)) == 0;
}

// A path as it is from the root of the file system on.
static const char *whole(int folder, const char *path, char *into) {
    if (path[0] == '/')
        return path;
    char base[PATH_MAX], link[64];
    ssize_t length = 0;
    if (folder == AT_FDCWD) {
        if (getcwd(base, sizeof base))
            length = strlen(base);
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        length = readlink(link, base, sizeof base - 1);
    }
    snprintf(into, PATH_MAX, "%.*s/%s", (int)length, base, path);
    return into;
}

// The inode of a regular file below the root, 0 for anything else.
static uint64_t inode(int fd, char *path, int *is_folder) {
    char link[64];
    struct stat found;
    if (log_fd < 0 || fstat(fd, &found))
        return 0;
    if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    if (is_folder)
        *is_folder = S_ISDIR(found.st_mode);
    return is_below(path) ? found.st_ino : 0;
}

// A kind, an inode, an offset or length, and two texts or contents.
static void record(char kind, uint64_t ino, uint64_t at, const void *one, uint64_t one_length, const void *two, uint64_t two_length) {
    struct __attribute__((packed)) { char kind; uint64_t ino, at, one, two; } head = {kind, ino, at, one_length, two_length};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)one, one_length}, {(void *)two, two_length}};
    syscall(SYS_writev, log_fd, parts, 3);
}

static void record_paths(char kind, uint64_t ino, const char *one, const char *two) {
    record(kind, ino, 0, one, strlen(one), two, two ? strlen(two) : 0);
}

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char buffer[PATH_MAX];
    const char *name = whole(folder, path, buffer);
    if (!is_below(name) || !(flags & (O_CREAT | O_TRUNC)))
        return syscall(SYS_openat, folder, path, flags, mode);
    struct stat found;
    pthread_mutex_lock(&order);
    int is_new = stat(name, &found) != 0;
    int fd = syscall(SYS_openat, folder, path, flags, mode);
    int failure = errno;
    if (fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode)) {
        if (is_new)
            record_paths('C', found.st_ino, name, 0);
        else if (flags & O_TRUNC)
            record('T', found.st_ino, 0, 0, 0, 0, 0);
    }
    pthread_mutex_unlock(&order);
    errno = failure;
    return fd;
}

static mode_t mode_of(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name) int name(const char *path, int flags, ...) { \
    va_list arguments; va_start(arguments, flags); mode_t mode = mode_of(flags, arguments); va_end(arguments); \
    return opened(AT_FDCWD, path, flags, mode); }
#define OPENAT(name) int name(int folder, const char *path, int flags, ...) { \
    va_list arguments; va_start(arguments, flags); mode_t mode = mode_of(flags, arguments); va_end(arguments); \
    return opened(folder, path, flags, mode); }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

// A write to a known place, or (-1) to where the file stands.
static ssize_t written(int fd, const void *bytes, size_t length, off64_t at) {
    char path[PATH_MAX];
    uint64_t ino = inode(fd, path, 0);
    if (!ino)
        return at < 0 ? syscall(SYS_write, fd, bytes, length) : syscall(SYS_pwrite64, fd, bytes, length, at);
    pthread_mutex_lock(&order);
    ssize_t done = at < 0 ? syscall(SYS_write, fd, bytes, length) : syscall(SYS_pwrite64, fd, bytes, length, at);
    int failure = errno;
    if (done > 0)
        record('W', ino, at < 0 ? lseek64(fd, 0, SEEK_CUR) - done : at, bytes, done, 0, 0);
    pthread_mutex_unlock(&order);
    errno = failure;
    return done;
}

ssize_t write(int fd, const void *bytes, size_t length) { return written(fd, bytes, length, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return written(fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return written(fd, bytes, length, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    ssize_t all = 0;
    for (int part = 0; part < count; part++) {
        ssize_t done = written(fd, parts[part].iov_base, parts[part].iov_len, -1);
        if (done < 0)
            return all ? all : done;
        all += done;
        if ((size_t)done < parts[part].iov_len)
            break;
    }
    return all;
}

// What copies within the kernel is said not to be there.
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t length, unsigned flags) {
    (void)in, (void)in_at, (void)out, (void)out_at, (void)length, (void)flags;
    errno = ENOSYS;
    return -1;
}

static int truncated(int fd, off64_t length) {
    char path[PATH_MAX];
    uint64_t ino = inode(fd, path, 0);
    pthread_mutex_lock(&order);
    int outcome = syscall(SYS_ftruncate, fd, length), failure = errno;
    if (!outcome && ino)
        record('T', ino, length, 0, 0, 0, 0);
    pthread_mutex_unlock(&order);
    errno = failure;
    return outcome;
}
int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncated(fd, length); }

// What was written before is on the disk; what is written meanwhile waits.
static int synced(int fd, int number) {
    char path[PATH_MAX];
    int is_folder = 0;
    uint64_t ino = inode(fd, path, &is_folder);
    pthread_mutex_lock(&order);
    // The disk of a test is as slow as any other, and what counts here is the order.
    int outcome = ino ? 0 : syscall(number, fd), failure = errno;
    if (!outcome && ino)
        record_paths(is_folder ? 'D' : 'S', ino, path, 0);
    pthread_mutex_unlock(&order);
    errno = failure;
    return outcome;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

static int named(char kind, const char *one, const char *two, int number, int from, const char *a, int to, const char *b, int flags) {
    pthread_mutex_lock(&order);
    int outcome = number == SYS_unlinkat || number == SYS_mkdirat ? syscall(number, from, a, flags) : syscall(number, from, a, to, b, flags);
    int failure = errno;
    if (!outcome && (is_below(one) || (two && is_below(two))))
        record_paths(kind, 0, one, two);
    pthread_mutex_unlock(&order);
    errno = failure;
    return outcome;
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags) {
    char one[PATH_MAX], two[PATH_MAX];
    return named('R', whole(from, a, one), whole(to, b, two), SYS_renameat2, from, a, to, b, flags);
}
int renameat(int from, const char *a, int to, const char *b) { return renameat2(from, a, to, b, 0); }
int rename(const char *a, const char *b) { return renameat2(AT_FDCWD, a, AT_FDCWD, b, 0); }
int linkat(int from, const char *a, int to, const char *b, int flags) {
    char one[PATH_MAX], two[PATH_MAX];
    return named('L', whole(from, a, one), whole(to, b, two), SYS_linkat, from, a, to, b, flags);
}
int link(const char *a, const char *b) { return linkat(AT_FDCWD, a, AT_FDCWD, b, 0); }
int unlinkat(int folder, const char *path, int flags) {
    char one[PATH_MAX];
    return named('U', whole(folder, path, one), 0, SYS_unlinkat, folder, path, 0, 0, flags);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdirat(int folder, const char *path, mode_t mode) {
    char one[PATH_MAX];
    return named('M', whole(folder, path, one), 0, SYS_mkdirat, folder, path, 0, 0, mode);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
