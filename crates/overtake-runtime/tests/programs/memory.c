// Allocation and functions that access memory.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static char from[4096], to[4096];
int main(void) {
    char *block = malloc(1000), *grown;
    printf("block %p\n", (void *)block);
    memset(block, 1, 1000);
    grown = realloc(block, 100000);
    printf("grown %p\n", (void *)grown);
    if (grown[999] != 1) return 1;
    free(grown);
    void *aligned;
    if (posix_memalign(&aligned, 4096, 5000)) return 1;
    printf("aligned %p\n", aligned);
    free(aligned);
    aligned = aligned_alloc(64, 640);
    free(aligned);
    free(calloc(10, 10));
    char *map = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("map %p\n", (void *)map);
    map[1] = 1;
    char *moved = mremap(map, 8192, 1 << 20, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED || moved[1] != 1) return 1;
    munmap(moved, 1 << 20);
    memset(from, 'a', 3000);
    memcpy(to, from, 3000);
    printf("from %p\nto %p\n", (void *)from, (void *)to);
    if (memcmp(from, to, 3000) || strlen(from) != 3000 || strcmp(from, to)) return 1;
    strcpy(to, "overtake");
    strcat(to, "n");
    if (strcmp(to, "overtaken") || strchr(to, 'n') != to + 8 || strrchr(to, 'e') != to + 7 || !strstr(to, "take")) return 1;
    if (strncmp(to, "overturn", 5) || strcasecmp(to, "OVERTAKEN") || memchr(to, 'k', 9) != to + 6) return 1;
    char *copy = strdup(to);
    printf("copy %p\n", (void *)copy);
    if (strnlen(copy, 4) != 4 || strcmp(copy, to)) return 1;
    free(copy);
    copy = strndup(to, 4);
    if (strcmp(copy, "over")) return 1;
    strncpy(copy, "o", 4);
    free(copy);
    return 0;
}
