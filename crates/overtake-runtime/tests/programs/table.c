/* Calls functions of libc and prints what each reads and writes: `function read|write address bytes`. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <netdb.h>
#include <pwd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

struct row {
    const char *function, *what;
    const void *address;
    size_t bytes;
};
static struct row rows[200];
static int count;

/* The rows are printed at the end, so that printing is not recorded in between. */
__attribute__((no_sanitize("thread"))) static void row(const char *function, const char *what, const void *address, size_t bytes)
{
    rows[count++] = (struct row){function, what, address, bytes};
}
/* What follows is recorded even if it repeats earlier accesses: repetitions are left out only between two synchronisations. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void anew(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
#define READS(function, address, bytes) row(#function, "read", address, bytes)
#define WRITES(function, address, bytes) row(#function, "write", address, bytes)
/* A place of its own for each result. */
#define NEW(type) (type *)calloc(1, sizeof(type) + 64)
#define OUT(function, type, call)      \
    do {                               \
        type *out = NEW(type);         \
        anew();                        \
        if (call) abort();             \
        WRITES(function, out, sizeof *out); \
    } while (0)
#define TEXT(function, call)                         \
    do {                                             \
        char *out = calloc(1, PATH_MAX);             \
        anew();                                      \
        if (call) abort();                           \
        WRITES(function, out, strlen(out) + 1);      \
    } while (0)

static void files(void)
{
    char *path = strdup("/dev/null");
    OUT(stat, struct stat, stat(path, out));
    READS(stat, path, strlen(path) + 1);
    OUT(lstat, struct stat, lstat("/", out));
    OUT(fstat, struct stat, fstat(0, out));
    OUT(fstatat, struct stat, fstatat(AT_FDCWD, "/", out, 0));
    OUT(statfs, struct statfs, statfs("/", out));
    OUT(fstatfs, struct statfs, fstatfs(0, out));
    OUT(statvfs, struct statvfs, statvfs("/", out));
    TEXT(getcwd, !getcwd(out, PATH_MAX));
    TEXT(realpath, !realpath("/dev/..", out));
    TEXT(gethostname, gethostname(out, PATH_MAX));
    char *target = calloc(1, PATH_MAX);
    if (readlink("/proc/self/exe", target, PATH_MAX - 1) < 1) abort();
    WRITES(readlink, target, strlen(target)); /* no zero behind it */
    TEXT(strerror_r, __xpg_strerror_r(EINVAL, out, PATH_MAX));
}

static void times_and_limits(void)
{
    time_t *now = NEW(time_t);
    struct tm *split = NEW(struct tm);
    OUT(clock_gettime, struct timespec, clock_gettime(CLOCK_MONOTONIC, out));
    OUT(clock_getres, struct timespec, clock_getres(CLOCK_MONOTONIC, out));
    OUT(gettimeofday, struct timeval, gettimeofday(out, 0));
    OUT(time, time_t, time(out) == -1);
    OUT(times, struct tms, times(out) == -1);
    OUT(localtime_r, struct tm, !localtime_r(now, out));
    READS(localtime_r, now, sizeof *now);
    OUT(gmtime_r, struct tm, !gmtime_r(now, out));
    TEXT(ctime_r, !ctime_r(now, out));
    TEXT(asctime_r, !asctime_r(split, out));
    READS(asctime_r, split, sizeof *split);
    TEXT(strftime, !strftime(out, 64, "%Y", split));
    OUT(uname, struct utsname, uname(out));
    OUT(sysinfo, struct sysinfo, sysinfo(out));
    OUT(getrusage, struct rusage, getrusage(RUSAGE_SELF, out));
    OUT(getrlimit, struct rlimit, getrlimit(RLIMIT_NOFILE, out));
    OUT(getitimer, struct itimerval, getitimer(ITIMER_REAL, out));
}

static void network(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    int server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in *address = NEW(struct sockaddr_in), *name = NEW(struct sockaddr_in);
    address->sin_family = AF_INET;
    anew();
    if (bind(server, (struct sockaddr *)address, sizeof *address)) abort();
    READS(bind, address, sizeof *address);
    socklen_t *length = NEW(socklen_t);
    *length = sizeof *name;
    if (getsockname(server, (struct sockaddr *)name, length)) abort();
    WRITES(getsockname, name, sizeof *name);
    WRITES(getsockname, length, sizeof *length);
    struct sockaddr_in *peer = NEW(struct sockaddr_in);
    socklen_t *peer_length = NEW(socklen_t);
    *peer_length = sizeof *peer;
    if (getpeername(ends[0], (struct sockaddr *)peer, peer_length)) abort();
    WRITES(getpeername, peer, 2);
    int *value = NEW(int);
    socklen_t *value_length = NEW(socklen_t);
    *value_length = sizeof *value;
    if (getsockopt(server, SOL_SOCKET, SO_TYPE, value, value_length)) abort();
    WRITES(getsockopt, value, sizeof *value);
    OUT(inet_pton, struct in_addr, inet_pton(AF_INET, "127.0.0.1", out) != 1);
    TEXT(inet_ntop, !inet_ntop(AF_INET, address, out, 64));
}

static void people_and_signals(void)
{
    struct passwd *person = NEW(struct passwd), *found = 0;
    char *room = calloc(1, 4096);
    if (getpwuid_r(0, person, room, 4096, &found)) abort();
    WRITES(getpwuid_r, person, sizeof *person);
    OUT(getrandom, uint64_t, getrandom(out, sizeof *out, 0) != sizeof *out);
    OUT(getresuid, uid_t, getresuid(out, NEW(uid_t), NEW(uid_t)));
    OUT(sigemptyset, sigset_t, sigemptyset(out));
    OUT(sched_getaffinity, cpu_set_t, sched_getaffinity(0, sizeof(cpu_set_t), out));
}

static void formats(void)
{
    int *number = NEW(int);
    char *word = calloc(1, 64);
    double *real = NEW(double);
    if (sscanf("7 word 1.5", "%d %s %lf", number, word, real) != 3) abort();
    WRITES(sscanf, number, sizeof *number);
    WRITES(sscanf, word, 5);
    WRITES(sscanf, real, sizeof *real);
    char *out = calloc(1, 64), *text = strdup("printed"), *part = strdup("precise");
    anew();
    snprintf(out, 64, "%d %s %.3s %f", 1, text, part, 2.5);
    READS(snprintf, text, 8);
    READS(snprintf, part, 3);
    WRITES(snprintf, out, 8);
    char **end = NEW(char *), *digits = strdup("12x");
    anew();
    strtol(digits, end, 10);
    READS(strtol, digits, 2);
    WRITES(strtol, end, sizeof *end);
}

int main(void)
{
    files();
    times_and_limits();
    network();
    people_and_signals();
    formats();
    for (int at = 0; at < count; at++)
        printf("%s %s %p %zu\n", rows[at].function, rows[at].what, rows[at].address, rows[at].bytes);
    return 0;
}
