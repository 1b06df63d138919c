/* A square grid, each point of which becomes the mean of its neighbours, again and again: rows are shared out, barriers separate the steps. */
#include "crew.h"

static double *from, *to;

static void *work(void *at) {
    long number = (long)at;
    double *source = from, *target = to;
    for (int step = 0; step < 4; step++) {
        for (long row = share_start(number, size); row < share_end(number, size); row++) {
            if (row == 0 || row == size - 1) continue;
            for (long column = 1; column < size - 1; column++) {
                double *point = source + row * size + column;
                target[row * size + column] = (point[-1] + point[1] + point[-size] + point[size]) / 4;
            }
        }
        meet();
        double *other = source;
        source = target;
        target = other;
    }
    return 0;
}

int main(int argc, char **argv) {
    crew(argc, argv, 200);
    from = allocated(size * size * sizeof *from);
    to = allocated(size * size * sizeof *to);
    for (long at = 0; at < size * size; at++) from[at] = to[at] = at % 17;
    work_together(work);
    printf("%g\n", from[size * size / 2]);
    free(from);
    free(to);
}
