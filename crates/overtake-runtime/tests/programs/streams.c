// stdio reads and writes memory for the program, and a stream on a pipe orders threads.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static _Alignas(64) char read_into[64], line_into[64], text[64] = "text\n", said[64] = "said";
static _Alignas(64) int written[16];
int main(void) {
    int ends[2];
    char *line = malloc(64);
    size_t room = 64;
    char lines[] = "three times4second\nseventh\n";
    FILE *stream = fmemopen(lines, sizeof lines - 1, "r");
    if (fread(read_into, 4, 3, stream) != 3 || !fgets(line_into, 7, stream) || fgetc(stream) != '\n') return 1;
    if (getdelim(&line, &room, 'h', stream) != 7) return 2;
    fclose(stream);
    stream = fopen("/dev/null", "w");
    if (fwrite(written, 4, 3, stream) != 3 || fputs(text, stream) < 0 || puts(said) < 0) return 3;
    fclose(stream);
    if (pipe(ends)) return 4;
    FILE *to = fdopen(ends[1], "w"), *from = fdopen(ends[0], "r");
    int letters = fprintf(to, "x\n") == 2 && !fflush(to) && fgetc(from) == 'x' && fgetc(from) == '\n';
    fclose(to);
    printf("fread %p\nfgets %p\nline %p\nfwrite %p\nfputs %p\nputs %p\npipe_in %d\npipe_out %d\n", (void *)read_into, (void *)line_into, (void *)line, (void *)written, (void *)text, (void *)said, ends[0], ends[1]);
    return !letters;
}
