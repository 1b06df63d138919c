/* As table.c, for users, hosts, terminals, mounted file systems and processes. */
#define _GNU_SOURCE
#include <argp.h>
#include <fcntl.h>
#include <grp.h>
#include <locale.h>
#include <libintl.h>
#include <mntent.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <resolv.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <syscall.h>
#include <linux/capability.h>
#include <unistd.h>
#include <utmp.h>
#include <utmpx.h>
#include <wchar.h>
#include "table.h"

/* A function that returns a place which libc writes: nothing is expected of the log if it fails. */
#define RESULT(function, bytes, call)              \
    do {                                           \
        anew();                                    \
        void *result = call;                       \
        WRITES(function, result ? result : rows, result ? bytes : 0); \
    } while (0)
#define RESULT_TEXT(function, call)                \
    do {                                           \
        anew();                                    \
        char *result = call;                       \
        WRITES(function, result ? result : (void *)rows, result ? strlen(result) + 1 : 0); \
    } while (0)
#define RESULT_OF(function, input, length, bytes, call) \
    do {                                           \
        RESULT(function, bytes, call);             \
        READS(function, input, length);            \
    } while (0)

int __xstat(int, const char *, struct stat *), __lxstat(int, const char *, struct stat *), __fxstat(int, int, struct stat *);
int __xstat64(int, const char *, struct stat *), __lxstat64(int, const char *, struct stat *), __fxstat64(int, int, struct stat *);
int __fxstatat(int, int, const char *, struct stat *, int), __fxstatat64(int, int, const char *, struct stat *, int);
int capget(void *, void *), capset(void *, const void *);

static void accounts(void)
{
    char *root = strdup("root");
    RESULT_OF(getpwnam, root, 5, sizeof(struct passwd), getpwnam(root));
    RESULT(getpwuid, sizeof(struct passwd), getpwuid(0));
    RESULT(getpwent, sizeof(struct passwd), getpwent());
    RESULT_OF(getgrnam, root, 5, sizeof(struct group), getgrnam(root));
    RESULT(getgrgid, sizeof(struct group), getgrgid(0));
    RESULT(getgrent, sizeof(struct group), getgrent());
    FILE *users = fopen("/etc/passwd", "r"), *groups = fopen("/etc/group", "r");
    if (!users || !groups) abort();
    RESULT(fgetpwent, sizeof(struct passwd), fgetpwent(users));
    RESULT(fgetgrent, sizeof(struct group), fgetgrent(groups));
    fclose(users), fclose(groups);
    READING(initgroups, root, 5, (initgroups(root, 0), 0));
    RESULT_TEXT(getusershell, getusershell());
    int terminal = open("/dev/tty", O_RDWR);
    char *prompt = strdup("");
    anew();
    if (terminal < 0) getpass(prompt); /* else it would ask somebody */
    READS(getpass, prompt, terminal < 0);

    char *path = strdup("/tmp/logins.XXXXXX");
    close(mkstemp(path));
    struct utmpx *entry = NEW(struct utmpx);
    strcpy(entry->ut_line, "tty"), strcpy(entry->ut_id, "1"), entry->ut_type = USER_PROCESS;
    utmpname(path);
    setutxent();
    READING(pututxline, entry, sizeof *entry, !pututxline(entry));
    READING(pututline, entry, sizeof *entry, !pututline((struct utmp *)entry));
    setutxent();
    RESULT(getutent, sizeof *entry, getutent());
    setutxent();
    RESULT(getutxent, sizeof *entry, getutxent());
    setutxent();
    RESULT_OF(getutid, entry, sizeof *entry, sizeof *entry, getutid((struct utmp *)entry));
    setutxent();
    RESULT_OF(getutxid, entry, sizeof *entry, sizeof *entry, getutxid(entry));
    setutxent();
    RESULT_OF(getutline, entry, sizeof *entry, sizeof *entry, getutline((struct utmp *)entry));
    setutxent();
    RESULT_OF(getutxline, entry, sizeof *entry, sizeof *entry, getutxline(entry));
    unlink(path);
}

static void hosts(void)
{
    unsigned *here = NEW(unsigned);
    struct hostent *host = NEW(struct hostent), **found = NEW(struct hostent *);
    int *error = NEW(int);
    char *buffer = malloc(4096);
    *here = htonl(0x7f000001);
    anew();
    int failed = gethostbyaddr_r(here, 4, AF_INET, host, buffer, 4096, found, error);
    READS(gethostbyaddr_r, here, 4);
    WRITES(gethostbyaddr_r, found, failed ? 0 : sizeof *found);
    char *name = strdup("loopback"), *tcp = strdup("tcp"), *http = strdup("http");
    RESULT_OF(getnetbyname, name, 9, 24, getnetbyname(name));
    RESULT(getnetbyaddr, 24, getnetbyaddr(127, AF_INET));
    RESULT(getnetent, 24, getnetent());
    RESULT_OF(getprotobyname, tcp, 4, 20, getprotobyname(tcp));
    RESULT(getprotobynumber, 20, getprotobynumber(6));
    RESULT(getprotoent, 20, getprotoent());
    RESULT_OF(getservbyname, http, 5, 32, getservbyname(http, tcp));
    RESULT_OF(getservbyport, tcp, 4, 32, getservbyport(htons(80), tcp));
    RESULT(getservent, 32, getservent());
    char *text = strdup("0:1:2:3:4:5");
    struct ether_addr *address = NEW(struct ether_addr);
    RESULT_OF(ether_aton, text, 12, 6, ether_aton(text));
    RESULT_TEXT(ether_ntoa, ether_ntoa(address));
    READS(ether_ntoa, address, 6);
    char *domain = strdup("a.example"), *packed = malloc(64);
    READING(dn_comp, domain, 10, dn_comp(domain, (unsigned char *)packed, 64, 0, 0) != 11);
    WRITES(dn_comp, packed, 11);
    TEXT(dn_expand, dn_expand((unsigned char *)packed, (unsigned char *)packed + 64, (unsigned char *)packed, out, 64) < 0);
    int socket_here = socket(AF_INET, SOCK_STREAM, 0);
    listen(socket_here, 1);
    row("listen", "read", rows, 0);
}

static void terminals(void)
{
    TEXT(ctermid, !ctermid(out));
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master >= 0) grantpt(master), unlockpt(master);
    RESULT_TEXT(ptsname, ptsname(master));
    char *name = ptsname(master);
    int terminal = name ? open(name, O_RDWR | O_NOCTTY) : -1;
    RESULT_TEXT(ttyname, ttyname(terminal));
    FILE *mounts = setmntent("/proc/mounts", "r");
    struct mntent *entry = NEW(struct mntent);
    char *buffer = calloc(1, 1024);
    if (!mounts) abort();
    RESULT(getmntent, sizeof *entry, getmntent(mounts));
    anew();
    if (getmntent_r(mounts, entry, buffer, 1024)) {
        WRITES(getmntent_r, entry, sizeof *entry);
        WRITES(getmntent_r, entry->mnt_dir, strlen(entry->mnt_dir) + 1);
    }
    row("getmntent_r", "read", rows, 0);
    char *locale = strdup("C"), *domain = strdup("messages");
    READING(setlocale, locale, 2, !setlocale(LC_ALL, locale));
    READING(textdomain, domain, 9, !textdomain(domain));
    char **place = NEW(char *);
    wchar_t **wide = NEW(wchar_t *);
    OUT(open_memstream, size_t, !open_memstream(place, out));
    WRITES(open_memstream, place, sizeof *place);
    OUT(open_wmemstream, size_t, !open_wmemstream(wide, out));
    WRITES(open_wmemstream, wide, sizeof *wide);
}

static void attributes(void)
{
    pthread_mutexattr_t *mutex = NEW(pthread_mutexattr_t);
    pthread_mutexattr_init(mutex);
    pthread_mutexattr_setprotocol(mutex, PTHREAD_PRIO_PROTECT);
    OUT(pthread_mutexattr_getprioceiling, int, pthread_mutexattr_getprioceiling(mutex, out));
    pthread_attr_t *thread = NEW(pthread_attr_t);
    void **low = NEW(void *);
    pthread_attr_init(thread);
    pthread_attr_setstack(thread, malloc(1 << 20), 1 << 20);
    OUT(pthread_attr_getstack, size_t, pthread_attr_getstack(thread, low, out) || *out != 1 << 20);
    WRITES(pthread_attr_getstack, low, sizeof *low);
    sem_t *semaphore = NEW(sem_t);
    sem_init(semaphore, 0, 3);
    OUT(sem_getvalue, int, sem_getvalue(semaphore, out) || *out != 3);

    char *here = strdup("/");
    int root = open(here, O_RDONLY);
    OUT(__xstat, struct stat, __xstat(1, here, out));
    READS(__xstat, here, 2);
    OUT(__xstat64, struct stat, __xstat64(1, here, out));
    OUT(__lxstat, struct stat, __lxstat(1, here, out));
    OUT(__lxstat64, struct stat, __lxstat64(1, here, out));
    OUT(__fxstat, struct stat, __fxstat(1, root, out));
    OUT(__fxstat64, struct stat, __fxstat64(1, root, out));
    OUT(__fxstatat, struct stat, __fxstatat(1, root, here, out, 0));
    OUT(__fxstatat64, struct stat, __fxstatat64(1, root, here, out, 0));
    struct file_handle *file = calloc(1, sizeof *file + MAX_HANDLE_SZ);
    int *mount = NEW(int);
    file->handle_bytes = 4;
    anew();
    open_by_handle_at(root, file, O_RDONLY); /* Only some users may. */
    READS(open_by_handle_at, file, 12);
    (void)mount;
}

static void texts(void)
{
    char *text = strdup("one,two"), *comma = strdup(","), **rest = NEW(char *), *first;
    READING(strtok, comma, 2, (first = strtok(text, comma)) != text);
    READS(strtok, text, 4);
    text = strdup("one,two");
    READING(strtok_r, comma, 2, strtok_r(text, comma, rest) != text);
    WRITES(strtok_r, rest, sizeof *rest);
    READS(strtok_r, text, 4);
    WRITES(strtok_r, text + 3, 1);
    READING(strtok_r, text + 4, 4, strtok_r(0, comma, rest) != text + 4);
    *rest = text = strdup("one,two");
    READING(strsep, comma, 2, strsep(rest, comma) != text);
    WRITES(strsep, rest, sizeof *rest);
    WRITES(strsep, text + 3, 1);
    static const struct argp options = {0};
    char **arguments = calloc(3, sizeof *arguments);
    arguments[0] = strdup("program");
    READING(argp_parse, arguments[0], 8, argp_parse(&options, 1, arguments, 0, 0, 0));
    READS(argp_parse, arguments, sizeof *arguments);
}

static void processes(void)
{
    extern char **environ;
    char **arguments = calloc(3, sizeof *arguments), *path = strdup("/bin/true"), *name = strdup("true");
    pid_t *first = NEW(pid_t), *second = NEW(pid_t);
    arguments[0] = strdup("true");
    READING(posix_spawn, path, 10, posix_spawn(first, path, 0, 0, arguments, environ));
    READS(posix_spawn, arguments[0], 5);
    READS(posix_spawn, arguments, sizeof *arguments);
    WRITES(posix_spawn, first, sizeof *first);
    READING(posix_spawnp, name, 5, posix_spawnp(second, name, 0, 0, arguments, environ));
    WRITES(posix_spawnp, second, sizeof *second);
    waitpid(*first, 0, 0), waitpid(*second, 0, 0);

    struct __user_cap_header_struct *whom = NEW(struct __user_cap_header_struct);
    struct __user_cap_data_struct *sets = calloc(2, sizeof *sets);
    whom->version = _LINUX_CAPABILITY_VERSION_3;
    READING(capget, whom, sizeof *whom, capget(whom, sets));
    WRITES(capget, sets, 2 * sizeof *sets);
    READING(capset, sets, 2 * sizeof *sets, capset(whom, sets));

    char *from = strdup("other"), *to = calloc(1, 64);
    struct iovec *near = NEW(struct iovec), *far = NEW(struct iovec);
    *near = (struct iovec){to, 5}, *far = (struct iovec){from, 5};
    anew();
    ssize_t result = process_vm_readv(getpid(), near, 1, far, 1, 0);
    WRITES(process_vm_readv, to, result < 0 ? 0 : 5);
    *near = (struct iovec){from, 5}, *far = (struct iovec){to, 5};
    READING(process_vm_writev, from, 5, (process_vm_writev(getpid(), near, 1, far, 1, 0), 0));

    struct user_regs_struct *registers = NEW(struct user_regs_struct);
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    anew();
    long failed = WIFSTOPPED(status) ? ptrace(PTRACE_GETREGS, child, 0, registers) : -1;
    WRITES(ptrace, registers, failed ? 0 : sizeof *registers);
    READING(ptrace, registers, sizeof *registers, (ptrace(PTRACE_SETREGS, child, 0, registers), 0));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

int main(void)
{
    accounts();
    hosts();
    terminals();
    attributes();
    texts();
    processes();
    print_rows();
    return 0;
}
