/* Deep stacks: threads solve small mazes by recursion, hundreds of calls deep, and share what they found under a lock. */
#include "crew.h"

#define SIDE 24

static long solved;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct maze {
    char cells[SIDE][SIDE];
    long steps;
};

static int descend(struct maze *maze, int row, int column) {
    if (row < 0 || column < 0 || row >= SIDE || column >= SIDE || maze->cells[row][column]) return 0;
    maze->cells[row][column] = 1;
    maze->steps++;
    if (row == SIDE - 1 && column == SIDE - 1) {
        pthread_mutex_lock(&lock);
        solved += maze->steps % 7;
        pthread_mutex_unlock(&lock);
        return 1;
    }
    return descend(maze, row, column + 1) || descend(maze, row + 1, column) || descend(maze, row, column - 1) || descend(maze, row - 1, column);
}

static void *work(void *at) {
    uint32_t state = 1 + (uint32_t)(long)at;
    for (long number = 0; number < size; number++) {
        struct maze *maze = allocated(sizeof *maze);
        for (int row = 0; row < SIDE; row++)
            for (int column = 0; column < SIDE; column++) maze->cells[row][column] = next_random(&state) % 4 == 0;
        maze->steps = 0;
        maze->cells[0][0] = maze->cells[SIDE - 1][SIDE - 1] = 0;
        descend(maze, 0, 0);
        free(maze);
    }
    return 0;
}

int main(int argc, char **argv) {
    crew(argc, argv, 300);
    work_together(work);
    printf("%ld\n", solved);
}
