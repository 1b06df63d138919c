/* Streams on pipes hand data over, in all the ways in which lines are read. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAYS = 6 };
static FILE *from, *to;
static int payload[WAYS];

static int read_line(int way)
{
    char line[16];
    char *grown = 0;
    size_t room = 0;
    int letter;
    switch (way) {
    case 0:
        return fgets(line, sizeof line, from) != 0;
    case 1:
        letter = getline(&grown, &room, from) == 2;
        free(grown);
        return letter;
    case 2:
        return fread(line, 1, 2, from) == 2;
    case 3:
        return fgetc(from) == 'x' && fgetc(from) == '\n';
    case 4:
        return getc_unlocked(from) == 'x' && getc_unlocked(from) == '\n';
    default:
        letter = getdelim(&grown, &room, 'x', from) == 1 && getc(from) == '\n';
        free(grown);
        return letter;
    }
}

static void *reader(void *unused)
{
    for (int way = 0; way < WAYS; way++)
        if (read_line(way))
            payload[way]++;
    return unused;
}

int main(void)
{
    int ends[2];
    if (pipe(ends))
        return 1;
    from = fdopen(ends[0], "r");
    to = fdopen(ends[1], "w");
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    int sum = 0;
    for (int way = 0; way < WAYS; way++) {
        payload[way] = way;
        if (way == WAYS - 1) {
            fputc('x', to);
            putc_unlocked('\n', to);
            fclose(to);
        } else if (way % 2) {
            fprintf(to, "x\n");
            fflush(to);
        } else {
            setvbuf(to, 0, _IONBF, 0);
            fputs("x\n", to);
        }
    }
    pthread_join(thread, 0);
    for (int way = 0; way < WAYS; way++)
        sum += payload[way] - way;
    return sum != WAYS;
}
