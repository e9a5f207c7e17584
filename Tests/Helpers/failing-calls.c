// Lets one chosen system call fail, for programs that run with this library in LD_PRELOAD (Linux).
//
// It counts the calls on files below a directory, or on connected sockets, and lets the n-th one fail with an error, or
// transfer half of its bytes. A program that finds the functions failing_calls_… with dlsym arms it again for each
// step; other programs set the variables FAILING_CALLS_PREFIX, _KINDS, _NUMBER, _ERROR, _MODE and _LOG (a file).
//
//     cc -shared -fPIC -O1 -o failing-calls.so failing-calls.c -ldl

#define _GNU_SOURCE
// The checked variants (__open64_2, __read_chk) are separate symbols, which this file defines itself.
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, RENAME = 16, UNLINK = 32, TRUNCATE = 64, LOCK = 128, MAP = 256,
    MAKE_DIRECTORY = 512, STATUS = 1024, CONNECT = 2048, SEND = 4096, RECEIVE = 8192
};

// What happens to the n-th call.
enum { FAIL_ONCE = 0, FAIL_FROM_THEN_ON = 1, TRANSFER_HALF = 2 };

#define MAXIMUM_DESCRIPTORS 65536
#define LOG_BYTES (4 << 20)

static _Atomic(char *) paths[MAXIMUM_DESCRIPTORS];
static _Atomic(char) connected[MAXIMUM_DESCRIPTORS];
static char prefix[PATH_MAX];
static size_t prefix_length;
static unsigned armed_kinds;
static long armed_number;
static int armed_error;
static int armed_mode;
static atomic_int is_armed;
static atomic_long count;
static atomic_long failed;
static char *text;
static atomic_size_t text_length;
static int log_file = -1;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

static void append(const char *line, size_t length) {
    if (log_file >= 0) {
        static ssize_t (*write_log)(int, const void *, size_t);
        if (!write_log) write_log = REAL(write);
        write_log(log_file, line, length);
    }
    if (!text) return;
    size_t start = atomic_fetch_add(&text_length, length);
    if (start + length < LOG_BYTES) memcpy(text + start, line, length);
}

// The calls are logged after they have returned, in the order of their ends.
static void note(const char *name, const char *path, const char *other, long result, int error) {
    if (!atomic_load(&is_armed)) return;
    char line[2 * PATH_MAX + 100];
    int length = snprintf(
        line, sizeof line, "%s\t%s\t%s\t%ld\t%d\n", name, path ? path : "", other ? other : "", result,
        result < 0 ? error : 0
    );
    append(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

static int is_watched(const char *path) {
    return prefix_length && path && strncmp(path, prefix, prefix_length) == 0;
}

static char *path_of(int descriptor) {
    return descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS ? atomic_load(&paths[descriptor]) : NULL;
}

static int is_connected(int descriptor) {
    return descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS && atomic_load(&connected[descriptor]);
}

static void remember(int descriptor, const char *path) {
    if (descriptor < 0 || descriptor >= MAXIMUM_DESCRIPTORS) return;
    // Never freed, because another thread may be using the old path.
    atomic_store(&paths[descriptor], is_watched(path) ? strdup(path) : NULL);
    atomic_store(&connected[descriptor], 0);
}

// Whether this call is the one that fails.
static int is_due(unsigned kind) {
    if (!atomic_load(&is_armed) || !(armed_kinds & kind)) return 0;
    long number = atomic_fetch_add(&count, 1) + 1;
    int is_due = armed_mode == FAIL_FROM_THEN_ON ? number >= armed_number : number == armed_number;
    if (is_due) atomic_fetch_add(&failed, 1);
    return is_due;
}

// MARK: Arming

void failing_calls_arm(const char *directory, unsigned kinds, long number, int error, int mode) {
    atomic_store(&is_armed, 0);
    snprintf(prefix, sizeof prefix, "%s", directory);
    prefix_length = strlen(prefix);
    armed_kinds = kinds;
    armed_number = number;
    armed_error = error;
    armed_mode = mode;
    atomic_store(&count, 0);
    atomic_store(&failed, 0);
    if (!text) text = calloc(LOG_BYTES, 1);
    size_t used = atomic_exchange(&text_length, 0);
    if (text) memset(text, 0, used < LOG_BYTES ? used : LOG_BYTES);
    atomic_store(&is_armed, 1);
}

// Returns the number of calls that failed.
long failing_calls_disarm(void) {
    atomic_store(&is_armed, 0);
    return atomic_load(&failed);
}

// Returns the number of calls to which the fault applied.
long failing_calls_count(void) {
    return atomic_load(&count);
}

// Adds a line of the program to the log.
void failing_calls_note(const char *line) {
    note("note", line, NULL, 0, 0);
}

const char *failing_calls_log(void) {
    return text ? text : "";
}

__attribute__((constructor)) static void arm_from_environment(void) {
    const char *kinds = getenv("FAILING_CALLS_KINDS");
    if (!kinds) return;
    const char *directory = getenv("FAILING_CALLS_PREFIX"), *number = getenv("FAILING_CALLS_NUMBER");
    const char *error = getenv("FAILING_CALLS_ERROR"), *mode = getenv("FAILING_CALLS_MODE");
    const char *file = getenv("FAILING_CALLS_LOG");
    if (file) log_file = REAL(open)(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    failing_calls_arm(
        directory ? directory : "", (unsigned)atol(kinds), number ? atol(number) : 0, error ? atoi(error) : EIO,
        mode ? atoi(mode) : FAIL_ONCE
    );
}

// MARK: Names

#define FINISH(name, path, other, call)                                                                                \
    do {                                                                                                               \
        __typeof__(call) result = (call);                                                                              \
        int code = errno;                                                                                              \
        note(name, path, other, (long)result, code);                                                                   \
        errno = code;                                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define FAIL(name, path, other)                                                                                        \
    do {                                                                                                               \
        note(name "!", path, other, -1, armed_error);                                                                  \
        errno = armed_error;                                                                                           \
        return -1;                                                                                                     \
    } while (0)

static int opened(const char *path, int flags, int descriptor) {
    int code = errno;
    remember(descriptor, path);
    if (is_watched(path)) note(flags & O_CREAT ? "create" : "open", path, NULL, descriptor, code);
    errno = code;
    return descriptor;
}

// A full disk opens the files that exist.
static int fails_to_open(const char *path, int flags) {
    if (!is_watched(path) || (armed_error == ENOSPC && !(flags & O_CREAT))) return 0;
    if (!is_due(OPEN)) return 0;
    note(flags & O_CREAT ? "create!" : "open!", path, NULL, -1, armed_error);
    errno = armed_error;
    return 1;
}

#define MODE_ARGUMENT                                                                                                  \
    mode_t mode = 0;                                                                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                               \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode = va_arg(list, mode_t);                                                                                   \
        va_end(list);                                                                                                  \
    }

#define DEFINE_OPEN(name)                                                                                              \
    int name(const char *path, int flags, ...) {                                                                       \
        MODE_ARGUMENT                                                                                                  \
        if (fails_to_open(path, flags)) return -1;                                                                     \
        return opened(path, flags, REAL(name)(path, flags, mode));                                                     \
    }
#define DEFINE_OPENAT(name)                                                                                            \
    int name(int directory, const char *path, int flags, ...) {                                                        \
        MODE_ARGUMENT                                                                                                  \
        if (fails_to_open(path, flags)) return -1;                                                                     \
        return opened(path, flags, REAL(name)(directory, path, flags, mode));                                          \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

int __open_2(const char *path, int flags) {
    return open(path, flags);
}

int __open64_2(const char *path, int flags) {
    return open64(path, flags);
}

int __openat_2(int directory, const char *path, int flags) {
    return openat(directory, path, flags);
}

int __openat64_2(int directory, const char *path, int flags) {
    return openat64(directory, path, flags);
}

int close(int descriptor) {
    static int (*next)(int);
    if (!next) next = REAL(close);
    // Before the descriptor is closed, because another thread may get its number afterwards.
    if (descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS) {
        atomic_store(&paths[descriptor], NULL);
        atomic_store(&connected[descriptor], 0);
    }
    return next(descriptor);
}

#define DEFINE_RENAME(name, parameters, arguments)                                                                     \
    int name parameters {                                                                                              \
        if (!is_watched(old) && !is_watched(new)) return REAL(name) arguments;                                         \
        if (is_due(RENAME)) FAIL("rename", old, new);                                                                  \
        FINISH("rename", old, new, REAL(name) arguments);                                                              \
    }
DEFINE_RENAME(rename, (const char *old, const char *new), (old, new))
DEFINE_RENAME(renameat, (int a, const char *old, int b, const char *new), (a, old, b, new))
DEFINE_RENAME(renameat2, (int a, const char *old, int b, const char *new, unsigned flags), (a, old, b, new, flags))

int link(const char *old, const char *new) {
    if (!is_watched(old) && !is_watched(new)) return REAL(link)(old, new);
    if (is_due(RENAME)) FAIL("link", old, new);
    FINISH("link", old, new, REAL(link)(old, new));
}

#define DEFINE_NAME_CALL(name, label, kind, parameters, arguments)                                                     \
    int name parameters {                                                                                              \
        if (!is_watched(path)) return REAL(name) arguments;                                                            \
        if (is_due(kind)) FAIL(label, path, NULL);                                                                     \
        FINISH(label, path, NULL, REAL(name) arguments);                                                               \
    }
DEFINE_NAME_CALL(unlink, "unlink", UNLINK, (const char *path), (path))
DEFINE_NAME_CALL(unlinkat, "unlink", UNLINK, (int directory, const char *path, int flags), (directory, path, flags))
DEFINE_NAME_CALL(rmdir, "rmdir", UNLINK, (const char *path), (path))
DEFINE_NAME_CALL(remove, "unlink", UNLINK, (const char *path), (path))
DEFINE_NAME_CALL(mkdir, "mkdir", MAKE_DIRECTORY, (const char *path, mode_t mode), (path, mode))
DEFINE_NAME_CALL(stat, "stat", STATUS, (const char *path, struct stat *status), (path, status))
DEFINE_NAME_CALL(lstat, "lstat", STATUS, (const char *path, struct stat *status), (path, status))
DEFINE_NAME_CALL(stat64, "stat", STATUS, (const char *path, struct stat64 *status), (path, status))
DEFINE_NAME_CALL(lstat64, "lstat", STATUS, (const char *path, struct stat64 *status), (path, status))

// MARK: Descriptors

#define DEFINE_DESCRIPTOR_CALL(type, name, label, kind, parameters, arguments)                                         \
    type name parameters {                                                                                             \
        const char *path = path_of(descriptor);                                                                        \
        if (!path) return REAL(name) arguments;                                                                        \
        if (is_due(kind)) FAIL(label, path, NULL);                                                                     \
        FINISH(label, path, NULL, REAL(name) arguments);                                                               \
    }
DEFINE_DESCRIPTOR_CALL(int, fsync, "sync", SYNC, (int descriptor), (descriptor))
DEFINE_DESCRIPTOR_CALL(int, fdatasync, "sync", SYNC, (int descriptor), (descriptor))
DEFINE_DESCRIPTOR_CALL(int, ftruncate, "truncate", TRUNCATE, (int descriptor, off_t length), (descriptor, length))
DEFINE_DESCRIPTOR_CALL(int, ftruncate64, "truncate", TRUNCATE, (int descriptor, off64_t length), (descriptor, length))
DEFINE_DESCRIPTOR_CALL(int, fstat, "fstat", STATUS, (int descriptor, struct stat *status), (descriptor, status))
DEFINE_DESCRIPTOR_CALL(int, fstat64, "fstat", STATUS, (int descriptor, struct stat64 *status), (descriptor, status))

int flock(int descriptor, int operation) {
    const char *path = path_of(descriptor);
    if (!path) return REAL(flock)(descriptor, operation);
    // The release of a lock does not fail.
    if (!(operation & LOCK_UN) && is_due(LOCK)) FAIL("lock", path, NULL);
    FINISH(operation & LOCK_UN ? "unlock" : "lock", path, NULL, REAL(flock)(descriptor, operation));
}

#define DEFINE_FCNTL(name)                                                                                             \
    int name(int descriptor, int command, ...) {                                                                       \
        static int (*next)(int, int, ...);                                                                             \
        if (!next) next = REAL(name);                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, command);                                                                                       \
        void *argument = va_arg(list, void *);                                                                         \
        va_end(list);                                                                                                  \
        const char *path = path_of(descriptor);                                                                        \
        int is_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;  \
        if (!path || !is_lock) return next(descriptor, command, argument);                                             \
        /* Linux fails to release no lock of this process. */                                                          \
        if (((struct flock *)argument)->l_type != F_UNLCK && is_due(LOCK)) FAIL("lock", path, NULL);                   \
        return next(descriptor, command, argument);                                                                    \
    }
DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

#define DEFINE_MAP(name, type)                                                                                         \
    void *name(void *address, size_t length, int protection, int flags, int descriptor, type offset) {                 \
        static void *(*next)(void *, size_t, int, int, int, type);                                                     \
        if (!next) next = REAL(name);                                                                                  \
        const char *path = path_of(descriptor);                                                                        \
        if (path && is_due(MAP)) {                                                                                     \
            note("map!", path, NULL, -1, armed_error);                                                                 \
            errno = armed_error;                                                                                       \
            return MAP_FAILED;                                                                                         \
        }                                                                                                              \
        return next(address, length, protection, flags, descriptor, offset);                                           \
    }
DEFINE_MAP(mmap, off_t)
DEFINE_MAP(mmap64, off64_t)

// MARK: Bytes

// `half` is the call with half of the bytes.
#define TRANSFER(label, file_kind, socket_kind, bytes, call, half)                                                     \
    do {                                                                                                               \
        const char *path = path_of(descriptor);                                                                        \
        int is_socket = is_connected(descriptor);                                                                      \
        if (!path && !is_socket) return call;                                                                          \
        const char *name = path ? path : "socket";                                                                     \
        int is_short = armed_mode == TRANSFER_HALF;                                                                    \
        if (!(is_short && (bytes) < 2) && is_due(path ? file_kind : socket_kind)) {                                    \
            if (is_short) FINISH(label "!", name, "half", half);                                                       \
            FAIL(label, name, NULL);                                                                                   \
        }                                                                                                              \
        FINISH(label, name, NULL, call);                                                                               \
    } while (0)

#define DEFINE_TRANSFER(name, label, file_kind, socket_kind, parameters, arguments, fewer)                             \
    ssize_t name parameters {                                                                                          \
        static __typeof__(&name) next;                                                                                 \
        if (!next) next = REAL(name);                                                                                  \
        TRANSFER(label, file_kind, socket_kind, length, next arguments, next fewer);                                   \
    }
DEFINE_TRANSFER(
    read, "read", READ, RECEIVE, (int descriptor, void *bytes, size_t length), (descriptor, bytes, length),
    (descriptor, bytes, length / 2)
)
DEFINE_TRANSFER(
    write, "write", WRITE, SEND, (int descriptor, const void *bytes, size_t length), (descriptor, bytes, length),
    (descriptor, bytes, length / 2)
)
DEFINE_TRANSFER(
    pread, "read", READ, RECEIVE, (int descriptor, void *bytes, size_t length, off_t offset),
    (descriptor, bytes, length, offset), (descriptor, bytes, length / 2, offset)
)
DEFINE_TRANSFER(
    pread64, "read", READ, RECEIVE, (int descriptor, void *bytes, size_t length, off64_t offset),
    (descriptor, bytes, length, offset), (descriptor, bytes, length / 2, offset)
)
DEFINE_TRANSFER(
    pwrite, "write", WRITE, SEND, (int descriptor, const void *bytes, size_t length, off_t offset),
    (descriptor, bytes, length, offset), (descriptor, bytes, length / 2, offset)
)
DEFINE_TRANSFER(
    pwrite64, "write", WRITE, SEND, (int descriptor, const void *bytes, size_t length, off64_t offset),
    (descriptor, bytes, length, offset), (descriptor, bytes, length / 2, offset)
)
DEFINE_TRANSFER(
    send, "send", WRITE, SEND, (int descriptor, const void *bytes, size_t length, int flags),
    (descriptor, bytes, length, flags), (descriptor, bytes, length / 2, flags)
)
DEFINE_TRANSFER(
    recv, "receive", READ, RECEIVE, (int descriptor, void *bytes, size_t length, int flags),
    (descriptor, bytes, length, flags), (descriptor, bytes, length / 2, flags)
)

ssize_t __read_chk(int descriptor, void *bytes, size_t length, size_t size) {
    return read(descriptor, bytes, length);
}

ssize_t __pread_chk(int descriptor, void *bytes, size_t length, off_t offset, size_t size) {
    return pread(descriptor, bytes, length, offset);
}

ssize_t __pread64_chk(int descriptor, void *bytes, size_t length, off64_t offset, size_t size) {
    return pread64(descriptor, bytes, length, offset);
}

ssize_t __recv_chk(int descriptor, void *bytes, size_t length, size_t size, int flags) {
    return recv(descriptor, bytes, length, flags);
}

// A vector is transferred by halves as its first buffer alone.
#define DEFINE_VECTOR_TRANSFER(name, label, file_kind, socket_kind)                                                    \
    ssize_t name(int descriptor, const struct iovec *buffers, int length) {                                            \
        static __typeof__(&name) next;                                                                                 \
        if (!next) next = REAL(name);                                                                                  \
        TRANSFER(                                                                                                      \
            label, file_kind, socket_kind, length, next(descriptor, buffers, length), next(descriptor, buffers, 1)     \
        );                                                                                                             \
    }
DEFINE_VECTOR_TRANSFER(readv, "read", READ, RECEIVE)
DEFINE_VECTOR_TRANSFER(writev, "write", WRITE, SEND)

#define DEFINE_MESSAGE_CALL(name, label, kind, parameters, arguments)                                                  \
    ssize_t name parameters {                                                                                          \
        static __typeof__(&name) next;                                                                                 \
        if (!next) next = REAL(name);                                                                                  \
        if (!is_connected(descriptor)) return next arguments;                                                          \
        if (armed_mode != TRANSFER_HALF && is_due(kind)) FAIL(label, "socket", NULL);                                  \
        FINISH(label, "socket", NULL, next arguments);                                                                 \
    }
DEFINE_MESSAGE_CALL(
    sendmsg, "send", SEND, (int descriptor, const struct msghdr *message, int flags), (descriptor, message, flags)
)
DEFINE_MESSAGE_CALL(
    recvmsg, "receive", RECEIVE, (int descriptor, struct msghdr *message, int flags), (descriptor, message, flags)
)
DEFINE_MESSAGE_CALL(
    sendto, "send", SEND,
    (int descriptor, const void *bytes, size_t length, int flags, const struct sockaddr *address, socklen_t size),
    (descriptor, bytes, length, flags, address, size)
)
DEFINE_MESSAGE_CALL(
    recvfrom, "receive", RECEIVE,
    (int descriptor, void *bytes, size_t length, int flags, struct sockaddr *address, socklen_t *size),
    (descriptor, bytes, length, flags, address, size)
)

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    int is_internet = address && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
    if (!is_internet) return REAL(connect)(descriptor, address, length);
    if (armed_mode != TRANSFER_HALF && is_due(CONNECT)) FAIL("connect", "socket", NULL);
    if (descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS) atomic_store(&connected[descriptor], 1);
    FINISH("connect", "socket", NULL, REAL(connect)(descriptor, address, length));
}
