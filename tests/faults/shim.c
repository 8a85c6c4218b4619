/* What may befall the files of a process, put between it and the C library by LD_PRELOAD.
 *
 * Of every file below SHIM_FOLDER it numbers writes, reads and syncs; those whose numbers are in the control file fail
 * with EIO. A sync may take longer, and the clock may be wrong. Where there is a SHIM_TRACE, all that changes a file
 * or a name is appended to it in the order in which it was done, and what is sent on a socket before it is sent.
 *
 * The control file, SHIM_CONTROL, is shared memory: who holds it, too, arms a fault and reads the counts while the
 * process runs. `Control` in shim.py names the same fields.
 *
 * SQLite's -shm file is left out. It is mapped, no sync ever covers it, and SQLite makes it anew from the WAL after a
 * crash: nothing of it may survive one.
 *
 * Only Linux with the GNU C library. Names with a directory descriptor (unlinkat and so on) are not followed.
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call { WRITE, READ, SYNC, CALLS };

struct control {
    int64_t calls[CALLS];      /* how many there have been */
    int64_t fail_first[CALLS]; /* the number of the first that fails; 0: none does */
    int64_t fail_calls[CALLS]; /* how many fail, one after another */
    int64_t failed[CALLS];     /* how many have failed */
    int64_t torn;              /* whether a write that fails leaves its first half */
    int64_t sync_us;           /* how much longer a sync takes */
    int64_t clock_us;          /* how far the clock is ahead */
    int64_t stopped_us;        /* the moment at which the clock stands still; 0: it runs */
};

/* A record of the trace: this, then `length` bytes. `Kind` in shim.py says what each has. */
struct record {
    uint64_t file; /* the inode */
    uint64_t offset;
    uint32_t length;
    uint32_t kind;
};

struct file {
    char *name; /* below the folder, "" for the folder; NULL for what is none of ours */
    uint64_t inode;
    int folder;
};

static volatile struct control *control;
static char folder[PATH_MAX];
static size_t folder_length;
static int trace = -1;
static struct file files[65536];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER; /* one change at a time: the trace has them as they were */

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SHIM_FOLDER"), *held = getenv("SHIM_CONTROL"), *kept = getenv("SHIM_TRACE");
    if (!path || !held || !realpath(path, folder))
        return;
    folder_length = strlen(folder);
    if (kept)
        trace = (int)syscall(SYS_openat, AT_FDCWD, kept, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, held, O_RDWR | O_CLOEXEC);
    void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (shared == MAP_FAILED)
        abort();
    control = shared;
}

static void record(char kind, uint64_t file, uint64_t offset, const void *data, size_t length)
{
    if (trace < 0)
        return;
    struct record head = {file, offset, (uint32_t)length, (uint32_t)kind};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, length}};
    if (syscall(SYS_writev, trace, parts, 2) != (long)(sizeof head + length))
        abort();
}

/* Whether this call of its kind is one that fails; it is recorded, then. */
static int fails(enum call call, const struct file *file)
{
    int64_t number = __sync_add_and_fetch(&control->calls[call], 1), first = control->fail_first[call];
    if (!first || number < first || number - first >= control->fail_calls[call])
        return 0;
    __sync_add_and_fetch(&control->failed[call], 1);
    record('F', file->inode, call, file->name, strlen(file->name));
    return 1;
}

static struct file *kept(int fd)
{
    return control && fd >= 0 && fd < 65536 && files[fd].name ? &files[fd] : NULL;
}

/* The part of a path below the folder, or NULL. */
static const char *below(const char *path)
{
    if (!control || strncmp(path, folder, folder_length) != 0)
        return NULL;
    path += folder_length;
    if (*path == '\0')
        return path;
    size_t length = strlen(path);
    if (*path != '/' || (length > 4 && strcmp(path + length - 4, "-shm") == 0))
        return NULL;
    return path + 1;
}

/* Opening, and the names of files */

static int opened(int at, const char *path, int flags, mode_t mode)
{
    if (!control)
        return (int)syscall(SYS_openat, at, path, flags, mode);
    pthread_mutex_lock(&order);
    int new = flags & O_CREAT && syscall(SYS_faccessat, at, path, F_OK) != 0;
    int fd = (int)syscall(SYS_openat, at, path, flags, mode), error = errno;
    char link[64], target[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 || fd >= 65536 ? -1 : readlink(link, target, sizeof target - 1);
    if (length > 0) {
        target[length] = '\0';
        const char *name = below(target);
        struct stat is;
        if (name && fstat(fd, &is) == 0) {
            files[fd] = (struct file){strdup(name), is.st_ino, S_ISDIR(is.st_mode)};
            if (new)
                record('O', is.st_ino, 0, name, strlen(name));
            else if (flags & O_TRUNC)
                record('T', is.st_ino, 0, NULL, 0);
        }
    }
    pthread_mutex_unlock(&order);
    errno = error;
    return fd;
}

#define MODE(flags, mode)                                 \
    mode_t mode = 0;                                      \
    if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) { \
        va_list rest;                                     \
        va_start(rest, flags);                            \
        mode = va_arg(rest, mode_t);                      \
        va_end(rest);                                     \
    }

int open(const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opened(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opened(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...)
{
    MODE(flags, mode)
    return opened(at, path, flags, mode);
}

int close(int fd)
{
    if (kept(fd)) {
        char *name = files[fd].name;
        files[fd].name = NULL;
        free(name);
    }
    return (int)syscall(SYS_close, fd);
}

/* A change of one name, or of two; the record has them with a zero byte between. */
static int named(char kind, long number, const char *from, const char *to, long rest)
{
    const char *old = below(from), *new = to ? below(to) : NULL;
    if (!old)
        return (int)syscall(number, from, to ? (long)to : rest);
    char names[2 * PATH_MAX];
    size_t length = (size_t)snprintf(names, sizeof names, "%s", old);
    if (new)
        length += 1 + (size_t)snprintf(names + length + 1, sizeof names - length - 1, "%s", new);
    pthread_mutex_lock(&order);
    int done = (int)syscall(number, from, to ? (long)to : rest), error = errno;
    if (done == 0)
        record(kind, 0, 0, names, length);
    pthread_mutex_unlock(&order);
    errno = error;
    return done;
}

int unlink(const char *path)
{
    return named('U', SYS_unlink, path, NULL, 0);
}

int rename(const char *from, const char *to)
{
    return named('R', SYS_rename, from, to, 0);
}

int link(const char *from, const char *to)
{
    return named('L', SYS_link, from, to, 0);
}

int mkdir(const char *path, mode_t mode)
{
    return named('K', SYS_mkdir, path, NULL, mode);
}

/* Writing, and what is sent */

static void answered(int fd, const struct iovec *parts, size_t count)
{
    struct stat is;
    if (!control || trace < 0 || fstat(fd, &is) != 0 || !S_ISSOCK(is.st_mode))
        return;
    pthread_mutex_lock(&order);
    for (size_t part = 0; part < count; part++)
        record('A', is.st_ino, 0, parts[part].iov_base, parts[part].iov_len);
    pthread_mutex_unlock(&order);
}

/* Write to a file of ours; `at` is -1 where its own offset counts. */
static ssize_t written(int fd, struct file *file, const void *data, size_t length, off64_t at)
{
    pthread_mutex_lock(&order);
    int failing = fails(WRITE, file), error = EIO;
    size_t wanted = !failing ? length : control->torn ? length / 2 : 0;
    ssize_t done = wanted == 0 && failing ? 0
                   : at < 0               ? syscall(SYS_write, fd, data, wanted)
                                          : syscall(SYS_pwrite64, fd, data, wanted, at);
    if (done < 0)
        error = errno;
    else if (done > 0)
        record('W', file->inode, (uint64_t)(at < 0 ? lseek64(fd, 0, SEEK_CUR) - done : at), data, (size_t)done);
    pthread_mutex_unlock(&order);
    if (!failing && done >= 0)
        return done;
    errno = error;
    return -1;
}

ssize_t write(int fd, const void *data, size_t length)
{
    struct file *file = kept(fd);
    if (file)
        return written(fd, file, data, length, -1);
    answered(fd, &(struct iovec){(void *)data, length}, 1);
    return syscall(SYS_write, fd, data, length);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at)
{
    struct file *file = kept(fd);
    return file ? written(fd, file, data, length, at) : syscall(SYS_pwrite64, fd, data, length, at);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t at)
{
    return pwrite64(fd, data, length, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    struct file *file = kept(fd);
    ssize_t done = 0;
    if (!file) {
        answered(fd, parts, (size_t)count);
        return syscall(SYS_writev, fd, parts, count);
    }
    for (int part = 0; part < count; part++) {
        ssize_t more = written(fd, file, parts[part].iov_base, parts[part].iov_len, -1);
        if (more < 0)
            return done ? done : -1;
        done += more;
    }
    return done;
}

ssize_t send(int fd, const void *data, size_t length, int flags)
{
    answered(fd, &(struct iovec){(void *)data, length}, 1);
    return syscall(SYS_sendto, fd, data, length, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    answered(fd, message->msg_iov, message->msg_iovlen);
    return syscall(SYS_sendmsg, fd, message, flags);
}

int ftruncate64(int fd, off64_t length)
{
    struct file *file = kept(fd);
    if (!file)
        return (int)syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&order);
    int failing = fails(WRITE, file), done = failing ? -1 : (int)syscall(SYS_ftruncate, fd, length);
    int error = failing ? EIO : errno;
    if (done == 0)
        record('T', file->inode, (uint64_t)length, NULL, 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return done;
}

int ftruncate(int fd, off_t length)
{
    return ftruncate64(fd, length);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t at)
{
    struct file *file = flags & MAP_ANONYMOUS ? NULL : kept(fd);
    if (file && protection & PROT_WRITE && flags & MAP_SHARED) {
        pthread_mutex_lock(&order);
        record('M', file->inode, (uint64_t)at, file->name, strlen(file->name)); /* writes that nobody sees */
        pthread_mutex_unlock(&order);
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, at);
}

/* Reading */

static int unread(int fd)
{
    struct file *file = kept(fd);
    if (!file)
        return 0;
    pthread_mutex_lock(&order);
    int failing = fails(READ, file);
    pthread_mutex_unlock(&order);
    if (failing)
        errno = EIO;
    return failing;
}

ssize_t read(int fd, void *data, size_t length)
{
    return unread(fd) ? -1 : syscall(SYS_read, fd, data, length);
}

ssize_t pread64(int fd, void *data, size_t length, off64_t at)
{
    return unread(fd) ? -1 : syscall(SYS_pread64, fd, data, length, at);
}

ssize_t pread(int fd, void *data, size_t length, off_t at)
{
    return pread64(fd, data, length, at);
}

/* Syncing */

static int synced(int fd, long number)
{
    struct file *file = kept(fd);
    if (!file)
        return (int)syscall(number, fd);
    int64_t longer = control->sync_us;
    if (longer > 0)
        syscall(SYS_nanosleep, &(struct timespec){longer / 1000000, longer % 1000000 * 1000}, NULL);
    pthread_mutex_lock(&order);
    int failing = fails(SYNC, file), done = failing ? -1 : (int)syscall(number, fd);
    int error = failing ? EIO : errno;
    if (done == 0)
        record(file->folder ? 'D' : 'S', file->inode, 0, file->name, strlen(file->name));
    pthread_mutex_unlock(&order);
    errno = error;
    return done;
}

int fsync(int fd)
{
    return synced(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return synced(fd, SYS_fdatasync);
}

/* The clock on the wall; durations are measured by another, which nothing here touches */

static int64_t wall_us(struct timespec *now)
{
    if (control && control->stopped_us)
        return control->stopped_us;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, now);
    return (int64_t)now->tv_sec * 1000000 + now->tv_nsec / 1000 + (control ? control->clock_us : 0);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static __typeof__(&clock_gettime) real;
    if (!real)
        real = (__typeof__(real))dlsym(RTLD_NEXT, "clock_gettime");
    if (clock != CLOCK_REALTIME || !control || (control->clock_us == 0 && control->stopped_us == 0))
        return real(clock, now);
    int64_t us = wall_us(now);
    now->tv_sec = us / 1000000;
    now->tv_nsec = us % 1000000 * 1000;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec real;
    int64_t us = wall_us(&real);
    now->tv_sec = us / 1000000;
    now->tv_usec = us % 1000000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec real;
    time_t seconds = (time_t)(wall_us(&real) / 1000000);
    if (now)
        *now = seconds;
    return seconds;
}
