/* As table.c, for wide texts, other encodings, patterns, and functions with two results. */
#define _GNU_SOURCE
#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <regex.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>
#include "table.h"

#define WIDE sizeof(wchar_t)

static wchar_t *room(void) { return calloc(64, WIDE); }

static void wide(void)
{
    wchar_t *text = room(), *out = room();
    text[0] = L'w', text[1] = L'i', text[2] = L'd', text[3] = L'e';
    READING(wcslen, text, 5 * WIDE, wcslen(text) != 4);
    READING(wcsnlen, text, 3 * WIDE, wcsnlen(text, 3) != 3);
    READING(wcschr, text, 5 * WIDE, !wcschr(text, L'd'));
    READING(wcsrchr, text, 5 * WIDE, !wcsrchr(text, L'd'));
    READING(wcscpy, text, 5 * WIDE, !wcscpy(out, text));
    WRITES(wcscpy, out, 5 * WIDE);
    READING(wcscat, text, 5 * WIDE, !wcscat(out, text));
    WRITES(wcscat, out + 4, 5 * WIDE);
    READING(wcsncat, text, 2 * WIDE, !wcsncat(out, text, 2));
    WRITES(wcsncat, out + 8, 3 * WIDE);
    READING(wcscmp, text, 5 * WIDE, wcscmp(text, out) >= 0);
    READING(wcsncmp, text, 2 * WIDE, wcsncmp(text, out, 2));
    out = room();
    READING(wcsncpy, text, 5 * WIDE, !wcsncpy(out, text, 8));
    WRITES(wcsncpy, out, 8 * WIDE);
    out = room();
    READING(wmemcpy, text, 4 * WIDE, !wmemcpy(out, text, 4));
    WRITES(wmemcpy, out, 4 * WIDE);
    READING(wmemmove, text, 4 * WIDE, !wmemmove(out, text, 4));
    READING(wmemcmp, text, 4 * WIDE, wmemcmp(out, text, 4));
    out = room();
    WRITES(wmemset, wmemset(out, L'x', 6), 6 * WIDE);
    READING(wcsdup, text, 5 * WIDE, !(out = wcsdup(text)));
    WRITES(wcsdup, out, 5 * WIDE);
}

static void encodings(void)
{
    char *text = strdup("narrow"), *narrow = calloc(1, 64);
    wchar_t *out = room();
    READING(mbstowcs, text, 7, mbstowcs(out, text, 64) != 6);
    WRITES(mbstowcs, out, 7 * WIDE);
    READING(wcstombs, out, 7 * WIDE, wcstombs(narrow, out, 64) != 6);
    WRITES(wcstombs, narrow, 7);
    const char **from = NEW(const char *);
    mbstate_t *state = NEW(mbstate_t);
    wchar_t *second = room();
    *from = text;
    READING(mbsrtowcs, text, 7, mbsrtowcs(second, from, 64, state) != 6);
    WRITES(mbsrtowcs, second, 7 * WIDE);
    WRITES(mbsrtowcs, from, sizeof *from);
    const wchar_t **wide_from = NEW(const wchar_t *);
    *wide_from = second;
    narrow = calloc(1, 64);
    READING(wcsrtombs, second, 7 * WIDE, wcsrtombs(narrow, wide_from, 64, state) != 6);
    WRITES(wcsrtombs, narrow, 7);
    wchar_t *third = room();
    anew();
    *from = text;
    READING(mbsnrtowcs, text, 3, mbsnrtowcs(third, from, 3, 64, state) != 3);
    WRITES(mbsnrtowcs, third, 3 * WIDE);
    WRITES(mbsnrtowcs, from, sizeof *from);
    *wide_from = second, narrow = calloc(1, 64);
    READING(wcsnrtombs, second, 3 * WIDE, wcsnrtombs(narrow, wide_from, 3, 64, state) != 3);
    WRITES(wcsnrtombs, narrow, 3);
    third = room();
    READING(wcsxfrm, second, 7 * WIDE, wcsxfrm(third, second, 64) != 6);
    WRITES(wcsxfrm, third, 7 * WIDE);
    locale_t plain = newlocale(LC_ALL_MASK, "C", 0);
    third = room(), narrow = calloc(1, 64);
    READING(wcsxfrm_l, second, 7 * WIDE, wcsxfrm_l(third, second, 64, plain) != 6);
    WRITES(wcsxfrm_l, third, 7 * WIDE);
    READING(strxfrm_l, text, 7, strxfrm_l(narrow, text, 64, plain) != 6);
    WRITES(strxfrm_l, narrow, 7);
    OUT(wcrtomb, char, wcrtomb(out, L'x', state) != 1);
    OUT(wctomb, char, wctomb(out, L'x') != 1);
    iconv_t conversion = iconv_open("UTF-16LE", "UTF-8");
    char **rest = NEW(char *), **end = NEW(char *), *encoded = calloc(1, 64), *input = strdup("narrow");
    size_t *left = NEW(size_t), *space = NEW(size_t);
    *rest = input, *left = 6, *end = encoded, *space = 64;
    if (conversion == (iconv_t)-1) abort();
    READING(iconv, input, 6, iconv(conversion, rest, left, end, space) != 0);
    WRITES(iconv, encoded, 12);
    WRITES(iconv, left, sizeof *left);
    WRITES(iconv, end, sizeof *end);
}

static int compare(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }
static int compare_in(const void *one, const void *other, void *context) { return context ? compare(one, other) : 0; }

static void patterns(void)
{
    char *pattern = strdup("/de[v]"), *words = strdup("a b"), *text = strdup("xaby"), *path = strdup("/dev/..");
    OUT(glob, glob_t, glob(pattern, 0, 0, out));
    READS(glob, pattern, 7);
    OUT(glob64, glob64_t, glob64(pattern, 0, 0, out));
    OUT(wordexp, wordexp_t, wordexp(words, out, WRDE_NOCMD));
    READS(wordexp, words, 4);
    READING(fnmatch, pattern, 7, fnmatch(pattern, "/dev", 0));
    char *expression = strdup("a(b)");
    regex_t *compiled = NEW(regex_t);
    READING(regcomp, expression, 5, regcomp(compiled, expression, REG_EXTENDED));
    WRITES(regcomp, compiled, sizeof *compiled);
    regmatch_t *found = calloc(3, sizeof *found);
    READING(regexec, text, 5, regexec(compiled, text, 3, found, 0));
    WRITES(regexec, found, 3 * sizeof *found);
    READS(regexec, compiled, sizeof *compiled);
    TEXT(regerror, !regerror(REG_BADPAT, compiled, out, 64));
    anew();
    regfree(compiled);
    WRITES(regfree, compiled, sizeof *compiled);
    char *canonical;
    READING(canonicalize_file_name, path, 8, !(canonical = canonicalize_file_name(path)));
    WRITES(canonicalize_file_name, canonical, 2);
    int *array = calloc(4, sizeof *array);
    array[0] = 3, array[2] = 1;
    READING(qsort, array, 4 * sizeof *array, (qsort(array, 4, sizeof *array, compare), 0));
    WRITES(qsort, array, 4 * sizeof *array);
    READING(qsort_r, array, 4 * sizeof *array, (qsort_r(array, 4, sizeof *array, compare_in, array), 0));
    WRITES(qsort_r, array, 4 * sizeof *array);
    void **frames = calloc(4, sizeof *frames);
    READING(backtrace_symbols, frames, 2 * sizeof *frames, !backtrace_symbols(frames, 2));
}

static void directories(void)
{
    char *path = strdup("/"), *second = strdup("/"), *third = strdup("/");
    DIR *directory;
    READING(opendir, path, 2, !(directory = opendir(path)));
    struct dirent *entry = NEW(struct dirent);
    struct dirent64 *entry64 = NEW(struct dirent64);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    OUT(readdir_r, struct dirent *, readdir_r(directory, entry, out));
    OUT(readdir64_r, struct dirent64 *, readdir64_r(directory, entry64, out));
    OUT(scandir, struct dirent **, scandir(second, out, 0, 0) < 0);
    READS(scandir, second, 2);
    OUT(scandir64, struct dirent64 **, scandir64(third, out, 0, 0) < 0);
    struct file_handle *handle = NEW(struct file_handle);
    char *temporary = strdup("/tmp");
    int *mount = NEW(int);
    anew();
    name_to_handle_at(AT_FDCWD, third, handle, mount, 0);
    READS(name_to_handle_at, third, 2);
    anew();
    if (!tempnam(temporary, NULL)) abort();
    READS(tempnam, temporary, 5);
    TEXT(tmpnam, !tmpnam(out));
    char *current;
    anew();
    if (!(current = get_current_dir_name())) abort();
    WRITES(get_current_dir_name, current, strlen(current) + 1);
    int ends[2];
    if (pipe(ends)) abort();
    OUT(ioctl, int, ioctl(ends[0], FIONREAD, out));
    int *yes = NEW(int);
    READING(ioctl, yes, sizeof *yes, ioctl(ends[0], FIONBIO, yes));
}

static void people(void)
{
    char *buffer = calloc(1, 4096), *name = strdup("root"), *protocol = strdup("tcp"), *service = strdup("http");
    OUT(getpwent_r, struct passwd, getpwent_r(out, buffer, 4096, NEW(struct passwd *)));
    OUT(getgrent_r, struct group, getgrent_r(out, buffer, 4096, NEW(struct group *)));
    FILE *stream = fopen("/etc/passwd", "r");
    OUT(fgetpwent_r, struct passwd, fgetpwent_r(stream, out, buffer, 4096, NEW(struct passwd *)));
    stream = fopen("/etc/group", "r");
    OUT(fgetgrent_r, struct group, fgetgrent_r(stream, out, buffer, 4096, NEW(struct group *)));
    READING(getprotobyname_r, protocol, 4, (getprotobyname_r(protocol, NEW(struct protoent), buffer, 4096, NEW(struct protoent *)), 0));
    OUT(getprotobynumber_r, struct protoent *, getprotobynumber_r(6, NEW(struct protoent), buffer, 4096, out));
    READING(getservbyname_r, service, 5, (getservbyname_r(service, protocol, NEW(struct servent), buffer, 4096, NEW(struct servent *)), 0));
    int *many = NEW(int);
    gid_t *groups = calloc(256, sizeof *groups);
    *many = 256;
    READING(getgrouplist, name, 5, getgrouplist(name, 0, groups, many) < 1);
    WRITES(getgrouplist, groups, sizeof *groups);
    char *local = strdup("127.0.0.1"), *other = strdup("127.0.0.2");
    int *error = NEW(int);
    struct hostent *host = NEW(struct hostent), **found = NEW(struct hostent *);
    READING(gethostbyname2_r, local, 10, gethostbyname2_r(local, AF_INET, host, buffer, 4096, found, error));
    WRITES(gethostbyname2_r, host, sizeof *host);
    WRITES(gethostbyname2_r, found, sizeof *found);
    struct hostent *kept;
    READING(gethostbyname, other, 10, !(kept = gethostbyname(other)));
    WRITES(gethostbyname, kept, sizeof *kept);
    READING(gethostbyname2, local, 10, !(kept = gethostbyname2(local, AF_INET)));
    WRITES(gethostbyname2, kept, sizeof *kept);
    int *loopback = NEW(int);
    *loopback = htonl(INADDR_LOOPBACK);
    anew();
    kept = gethostbyaddr(loopback, sizeof *loopback, AF_INET);
    READS(gethostbyaddr, loopback, sizeof *loopback);
    WRITES(gethostbyaddr, kept, kept ? sizeof *kept : 0);
    anew();
    kept = gethostent();
    WRITES(gethostent, kept, kept ? sizeof *kept : 0);
    OUT_IF_THERE(gethostent_r, struct hostent *, gethostent_r(host, buffer, 4096, out, error));
    OUT_IF_THERE(getprotoent_r, struct protoent *, getprotoent_r(NEW(struct protoent), buffer, 4096, out));
    OUT_IF_THERE(ether_hostton, struct ether_addr, ether_hostton(local, out));
    char *line = strdup("01:02:03:04:05:06 here"), *address = calloc(1, 64), *there = calloc(1, 64);
    READING(ether_line, line, 23, ether_line(line, (struct ether_addr *)address, there));
    WRITES(ether_line, address, 6);
    WRITES(ether_line, there, 5);
    TEXT_IF_THERE(ether_ntohost, ether_ntohost(out, (struct ether_addr *)address));
    sigset_t *set = NEW(sigset_t);
    OUT(sigandset, sigset_t, sigandset(out, set, set));
    OUT(sigorset, sigset_t, sigorset(out, set, set));
}

#define LEAVING_A_SIGN(function, number)          \
    do {                                          \
        anew();                                   \
        if (function(number) < 0.4) abort();      \
        WRITES(function, &signgam, sizeof signgam); \
    } while (0)

static void numbers(void)
{
    volatile double large = 2.75;
    volatile float small = 2.75;
    OUT(modf, double, modf(large, out) != 0.75);
    OUT(modff, float, modff(small, out) != 0.75f);
    OUT(frexp, int, frexp(large, out) != 0.6875);
    OUT(frexpf, int, frexpf(small, out) != 0.6875f);
    OUT(remquo, int, remquo(large, 2, out) != 0.75);
    OUT(remquof, int, remquof(small, 2, out) != 0.75f);
    OUT(lgamma_r, int, lgamma_r(large, out) < 0.4);
    OUT(lgammaf_r, int, lgammaf_r(small, out) < 0.4f);
    double *sine = NEW(double);
    OUT(sincos, double, (sincos(large, sine, out), *sine < 0.38));
    WRITES(sincos, sine, sizeof *sine);
    volatile long double longest = 2.75;
    LEAVING_A_SIGN(lgamma, large);
    LEAVING_A_SIGN(lgammaf, small);
    LEAVING_A_SIGN(lgammal, longest);
    long double *long_sine = NEW(long double);
    OUT(modfl, long double, modfl(longest, out) != 0.75);
    OUT(frexpl, int, frexpl(longest, out) != 0.6875);
    OUT(remquol, int, remquol(longest, 2, out) != 0.75);
    OUT(lgammal_r, int, lgammal_r(longest, out) < 0.4);
    OUT(sincosl, long double, (sincosl(longest, long_sine, out), *long_sine < 0.38));
    WRITES(sincosl, long_sine, sizeof *long_sine);
    float *small_sine = NEW(float);
    OUT(sincosf, float, (sincosf(small, small_sine, out), *small_sine < 0.38f));
    WRITES(sincosf, small_sine, sizeof *small_sine);
}

static void messages(void)
{
    struct {
        long kind;
        char text[8];
    } *sent = NEW(typeof(*sent)), *received = NEW(typeof(*sent));
    struct shmid_ds *block = NEW(struct shmid_ds);
    int queue = msgget(IPC_PRIVATE, 0600), memory = shmget(IPC_PRIVATE, 4096, 0600);
    if (queue < 0 || memory < 0) return; /* A container may have no queues. */
    sent->kind = 1;
    READING(msgsnd, sent, sizeof sent->kind + 4, msgsnd(queue, sent, 4, 0));
    anew();
    if (msgrcv(queue, received, sizeof received->text, 0, 0) != 4) abort();
    WRITES(msgrcv, received, sizeof received->kind + 4);
    anew();
    if (shmctl(memory, IPC_STAT, block)) abort();
    WRITES(shmctl, block, sizeof *block);
    msgctl(queue, IPC_RMID, 0), shmctl(memory, IPC_RMID, 0);
}

int main(void)
{
    wide();
    messages();
    encodings();
    patterns();
    directories();
    people();
    numbers();
    print_rows();
    return 0;
}
