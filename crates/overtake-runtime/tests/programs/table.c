/* Calls functions of libc and prints what each reads and writes: `function read|write address bytes`. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <grp.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "table.h"

static void files(void)
{
    char *path = strdup("/dev/null");
    OUT(stat, struct stat, stat(path, out));
    READS(stat, path, strlen(path) + 1);
    OUT(lstat, struct stat, lstat("/", out));
    OUT(fstat, struct stat, fstat(0, out));
    OUT(fstatat, struct stat, fstatat(AT_FDCWD, "/", out, 0));
    OUT(stat64, struct stat64, stat64("/", out));
    OUT(lstat64, struct stat64, lstat64("/", out));
    OUT(fstat64, struct stat64, fstat64(0, out));
    OUT(fstatat64, struct stat64, fstatat64(AT_FDCWD, "/", out, 0));
    OUT(statfs64, struct statfs64, statfs64("/", out));
    OUT(fstatfs64, struct statfs64, fstatfs64(0, out));
    OUT(statvfs64, struct statvfs64, statvfs64("/", out));
    OUT(fstatvfs, struct statvfs, fstatvfs(0, out));
    OUT(fstatvfs64, struct statvfs64, fstatvfs64(0, out));
    OUT(statfs, struct statfs, statfs("/", out));
    OUT(fstatfs, struct statfs, fstatfs(0, out));
    OUT(statvfs, struct statvfs, statvfs("/", out));
    TEXT(getcwd, !getcwd(out, PATH_MAX));
    TEXT(realpath, !realpath("/dev/..", out));
    TEXT(gethostname, gethostname(out, PATH_MAX));
    char *target = calloc(1, PATH_MAX);
    if (readlink("/proc/self/exe", target, PATH_MAX - 1) < 1) abort();
    WRITES(readlink, target, strlen(target)); /* no zero behind it */
    char *target_at = calloc(1, PATH_MAX);
    if (readlinkat(AT_FDCWD, "/proc/self/exe", target_at, PATH_MAX - 1) < 1) abort();
    WRITES(readlinkat, target_at, strlen(target_at));
    TEXT(__xpg_strerror_r, __xpg_strerror_r(EINVAL, out, PATH_MAX));
    TEXT(strerror_r, strerror_r(12345, out, PATH_MAX) != out); /* a number it has no text for goes into our room */
    TEXT(getdomainname, getdomainname(out, PATH_MAX));
    TEXT_IF_THERE(getlogin_r, getlogin_r(out, PATH_MAX));
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    TEXT_IF_THERE(ptsname_r, ptsname_r(master, out, PATH_MAX));
    TEXT_IF_THERE(ttyname_r, ttyname_r(master, out, PATH_MAX));
}

static void attributes_and_directories(void)
{
    char *path = strdup("/"), *name = strdup("user.overtake"), *file_name = strdup("user.overtake");
    char *out = calloc(1, 64);
    anew();
    getxattr(path, name, out, 64);
    READS(getxattr, path, 2);
    READS(getxattr, name, strlen(name) + 1);
    anew();
    lgetxattr(path, name, out, 64);
    READS(lgetxattr, name, strlen(name) + 1);
    int file = open("/", O_RDONLY);
    fgetxattr(file, file_name, out, 64);
    READS(fgetxattr, file_name, strlen(file_name) + 1);
    DIR *directory = opendir("/");
    struct dirent *entry = readdir(directory);
    WRITES(readdir, entry, entry->d_reclen);
    struct dirent64 *entry64 = readdir64(directory);
    WRITES(readdir64, entry64, entry64->d_reclen);
    FILE *stream = fopen("/dev/null", "r");
    OUT(fgetpos, fpos_t, fgetpos(stream, out));
    OUT(fgetpos64, fpos64_t, fgetpos64(stream, out));
}

static int child(void)
{
    int process = fork();
    if (process == 0) _exit(3);
    return process;
}

static void processes(void)
{
    child();
    OUT(wait, int, wait(out) < 0);
    int process = child();
    OUT(waitpid, int, waitpid(process, out, 0) != process);
    struct rusage *usage = NEW(struct rusage);
    child();
    OUT(wait3, int, wait3(out, 0, usage) < 0);
    WRITES(wait3, usage, sizeof *usage);
    usage = NEW(struct rusage);
    process = child();
    OUT(wait4, int, wait4(process, out, 0, usage) != process);
    WRITES(wait4, usage, sizeof *usage);
    process = child();
    OUT(waitid, siginfo_t, waitid(P_PID, process, out, WEXITED));
}

static void attributes_of_threads(void)
{
    static pthread_attr_t attributes;
    static pthread_mutexattr_t kind;
    pthread_attr_init(&attributes);
    pthread_mutexattr_init(&kind);
    OUT(pthread_attr_getguardsize, size_t, pthread_attr_getguardsize(&attributes, out));
    OUT(pthread_attr_getscope, int, pthread_attr_getscope(&attributes, out));
    OUT(pthread_attr_getstacksize, size_t, pthread_attr_getstacksize(&attributes, out));
    OUT(pthread_mutexattr_gettype, int, pthread_mutexattr_gettype(&kind, out));
    OUT(pthread_mutexattr_getpshared, int, pthread_mutexattr_getpshared(&kind, out));
    OUT(pthread_getschedparam, struct sched_param, pthread_getschedparam(pthread_self(), NEW(int), out));
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
    OUT(getrlimit64, struct rlimit64, getrlimit64(RLIMIT_NOFILE, out));
    OUT(getitimer, struct itimerval, getitimer(ITIMER_REAL, out));
    struct itimerval *timer = NEW(struct itimerval);
    OUT(setitimer, struct itimerval, setitimer(ITIMER_REAL, timer, out));
    READS(setitimer, timer, sizeof *timer);
    int file = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec *setting = NEW(struct itimerspec);
    OUT(timerfd_settime, struct itimerspec, timerfd_settime(file, 0, setting, out));
    READS(timerfd_settime, setting, sizeof *setting);
    OUT(timerfd_gettime, struct itimerspec, timerfd_gettime(file, out));
    OUT(timespec_get, struct timespec, timespec_get(out, TIME_UTC) != TIME_UTC);
    struct timespec *moment = NEW(struct timespec);
    READING(nanosleep, moment, sizeof *moment, nanosleep(moment, 0));
    READING(clock_nanosleep, moment, sizeof *moment, clock_nanosleep(CLOCK_MONOTONIC, 0, moment, 0));
    READING(localtime, now, sizeof *now, !localtime(now));
    WRITES(localtime, localtime(now), sizeof *split);
    READING(gmtime, now, sizeof *now, !gmtime(now));
    READING(ctime, now, sizeof *now, !ctime(now));
    READING(asctime, split, sizeof *split, !asctime(split));
    READING(mktime, split, sizeof *split, mktime(split) == -1);
    WRITES(mktime, split, sizeof *split);
    READING(timegm, split, sizeof *split, timegm(split) == -1);
    OUT(strptime, struct tm, !strptime("2020-02-03 04:05:06", "%Y-%m-%d %H:%M:%S", out));
    OUT(sched_getparam, struct sched_param, sched_getparam(0, out));
    double *load = calloc(3, sizeof *load);
    int loads = getloadavg(load, 3);
    WRITES(getloadavg, load, loads > 0 ? loads * sizeof *load : 0);
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
    READING(setsockopt, value, sizeof *value, setsockopt(server, SOL_SOCKET, SO_KEEPALIVE, value, sizeof *value));
    char *service = strdup("80");
    struct addrinfo *hints = NEW(struct addrinfo);
    hints->ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    OUT(getaddrinfo, struct addrinfo *, getaddrinfo("127.0.0.1", service, hints, out));
    READS(getaddrinfo, service, 3);
    char *host = calloc(1, 64);
    if (getnameinfo((struct sockaddr *)address, sizeof *address, host, 64, 0, 0, NI_NUMERICHOST)) abort();
    WRITES(getnameinfo, host, strlen(host) + 1);
    OUT(inet_aton, struct in_addr, !inet_aton("127.0.0.1", out));
    OUT(inet_pton, struct in_addr, inet_pton(AF_INET, "127.0.0.1", out) != 1);
    TEXT(inet_ntop, !inet_ntop(AF_INET, address, out, 64));
}

static void people_and_signals(void)
{
    struct passwd *person = NEW(struct passwd), *found = 0;
    char *room = calloc(1, 4096);
    if (getpwuid_r(0, person, room, 4096, &found)) abort();
    WRITES(getpwuid_r, person, sizeof *person);
    person = NEW(struct passwd);
    if (getpwnam_r("root", person, room, 4096, &found) || !found) abort();
    WRITES(getpwnam_r, person, sizeof *person);
    struct group *group = NEW(struct group), *group_found = 0;
    if (getgrgid_r(0, group, room, 4096, &group_found) || !group_found) abort();
    WRITES(getgrgid_r, group, sizeof *group);
    group = NEW(struct group);
    if (getgrnam_r("root", group, room, 4096, &group_found) || !group_found) abort();
    WRITES(getgrnam_r, group, sizeof *group);
    gid_t *groups = calloc(256, sizeof *groups);
    int all = getgroups(256, groups);
    WRITES(getgroups, groups, all > 0 ? all * sizeof *groups : 0);
    OUT(getresgid, gid_t, getresgid(out, NEW(gid_t), NEW(gid_t)));
    OUT(getentropy, uint64_t, getentropy(out, sizeof *out));
    unsigned *seed = NEW(unsigned);
    READING(rand_r, seed, sizeof *seed, rand_r(seed) < 0);
    WRITES(rand_r, seed, sizeof *seed);
    OUT(sigfillset, sigset_t, sigfillset(out));
    OUT(sigpending, sigset_t, sigpending(out));
    sigset_t *none = NEW(sigset_t);
    OUT(sigprocmask, sigset_t, sigprocmask(SIG_BLOCK, none, out));
    READS(sigprocmask, none, sizeof *none);
    OUT(pthread_sigmask, sigset_t, pthread_sigmask(SIG_BLOCK, none, out));
    OUT(sigaltstack, stack_t, sigaltstack(0, out));
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
    READING(strtoll, digits, 2, strtoll(digits, 0, 10) != 12);
    READING(strtoul, digits, 2, strtoul(digits, 0, 10) != 12);
    READING(strtoull, digits, 2, strtoull(digits, 0, 10) != 12);
    READING(strtoimax, digits, 2, strtoimax(digits, 0, 10) != 12);
    READING(strtoumax, digits, 2, strtoumax(digits, 0, 10) != 12);
    READING(strtod, digits, 2, strtod(digits, 0) != 12);
    READING(strtof, digits, 2, strtof(digits, 0) != 12);
}

static void more_attributes(void)
{
    pthread_attr_t attributes;
    pthread_barrierattr_t of_barrier;
    pthread_condattr_t of_condition;
    pthread_mutexattr_t of_mutex;
    pthread_rwlockattr_t of_rwlock;
    pthread_attr_init(&attributes);
    pthread_barrierattr_init(&of_barrier);
    pthread_condattr_init(&of_condition);
    pthread_mutexattr_init(&of_mutex);
    pthread_rwlockattr_init(&of_rwlock);
    OUT(pthread_attr_getdetachstate, int, pthread_attr_getdetachstate(&attributes, out));
    OUT(pthread_attr_getinheritsched, int, pthread_attr_getinheritsched(&attributes, out));
    OUT(pthread_attr_getschedpolicy, int, pthread_attr_getschedpolicy(&attributes, out));
    OUT(pthread_attr_getschedparam, struct sched_param, pthread_attr_getschedparam(&attributes, out));
    OUT(pthread_barrierattr_getpshared, int, pthread_barrierattr_getpshared(&of_barrier, out));
    OUT(pthread_condattr_getclock, clockid_t, pthread_condattr_getclock(&of_condition, out));
    OUT(pthread_condattr_getpshared, int, pthread_condattr_getpshared(&of_condition, out));
    OUT(pthread_mutexattr_getprotocol, int, pthread_mutexattr_getprotocol(&of_mutex, out));
    OUT(pthread_mutexattr_getrobust, int, pthread_mutexattr_getrobust(&of_mutex, out));
    OUT(pthread_rwlockattr_getkind_np, int, pthread_rwlockattr_getkind_np(&of_rwlock, out));
    OUT(pthread_rwlockattr_getpshared, int, pthread_rwlockattr_getpshared(&of_rwlock, out));
    OUT(pthread_attr_getaffinity_np, cpu_set_t, pthread_attr_getaffinity_np(&attributes, sizeof(cpu_set_t), out));
    OUT(pthread_getaffinity_np, cpu_set_t, pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), out));
    OUT(pthread_getcpuclockid, clockid_t, pthread_getcpuclockid(pthread_self(), out));
    TEXT(pthread_getname_np, pthread_getname_np(pthread_self(), out, 64));
    OUT(pthread_setcancelstate, int, pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, out));
    OUT(pthread_setcanceltype, int, pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, out));
    OUT(clock_getcpuclockid, clockid_t, clock_getcpuclockid(0, out));
    struct timespec *never = NEW(struct timespec);
    never->tv_nsec = -1;
    READING(clock_settime, never, sizeof *never, !clock_settime(CLOCK_REALTIME, never));
}

static void more_results(void)
{
    TEXT(confstr, !confstr(_CS_PATH, out, PATH_MAX));
    struct random_data *state = NEW(struct random_data);
    initstate_r(1, calloc(1, 64), 64, state);
    struct drand48_data *other = NEW(struct drand48_data);
    srand48_r(1, other);
    OUT(random_r, int32_t, random_r(state, out));
    OUT(lrand48_r, long, lrand48_r(other, out));
    OUT(drand48_r, double, drand48_r(other, out));
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    struct termios *line = NEW(struct termios);
    int failed = tcgetattr(master, line);
    WRITES(tcgetattr, line, failed ? 0 : sizeof *line);
    void *page = aligned_alloc(4096, 8192);
    OUT(mincore, short, mincore(page, 8192, (unsigned char *)out));
    TEXT(tmpnam_r, !tmpnam_r(out));
    char *input = strdup("word");
    TEXT(strxfrm, strxfrm(out, input, PATH_MAX) == 0);
    READS(strxfrm, input, 5);
    void **frames = calloc(8, 8);
    WRITES(backtrace, frames, 8 * (size_t)backtrace(frames, 8));
    OUT(getifaddrs, struct ifaddrs *, getifaddrs(out));
    TEXT_IF_THERE(if_indextoname, !if_indextoname(1, out));
    char *name = strdup("lo"), *path = strdup("/"), *second_path = strdup("/");
    READING(if_nametoindex, name, 3, (if_nametoindex(name), 0));
    char *written = strdup("1:2:3:4:5:6"), *address = calloc(1, 6);
    READING(ether_aton_r, written, 12, !ether_aton_r(written, (struct ether_addr *)address));
    WRITES(ether_aton_r, address, 6);
    TEXT(ether_ntoa_r, !ether_ntoa_r((struct ether_addr *)address, out));
    struct hostent *host = NEW(struct hostent), **found = NEW(struct hostent *);
    int error;
    char *numbers = strdup("127.0.0.1");
    READING(gethostbyname_r, numbers, 10, gethostbyname_r(numbers, host, calloc(1, 1024), 1024, found, &error));
    WRITES(gethostbyname_r, found, sizeof *found);
    READING(access, path, 2, access(path, F_OK));
    READING(faccessat, second_path, 2, faccessat(AT_FDCWD, second_path, F_OK, 0));
    char *list = calloc(1, 64);
    READING(listxattr, path, 2, (listxattr(path, list, 64), 0));
    READING(llistxattr, path, 2, (llistxattr(path, list, 64), 0));
    flistxattr(0, list, 64);
    WRITES(flistxattr, list, 0);
}

int main(void)
{
    files();
    times_and_limits();
    network();
    people_and_signals();
    formats();
    attributes_and_directories();
    attributes_of_threads();
    processes();
    more_attributes();
    more_results();
    print_rows();
    return 0;
}
