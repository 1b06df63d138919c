// Jacobi iteration on a grid, two threads with a barrier after each step. -DPART=8 makes it do about an eighth of the work.
#ifndef PART
#define PART 1
#endif
#include <pthread.h>
#include <stdio.h>
enum { N = 512, STEPS = 60 / PART };
static double grid[2][N][N];
static pthread_barrier_t barrier;
static void *run(void *half) {
    for (int step = 0; step < STEPS; step++) {
        double (*from)[N] = grid[step % 2], (*to)[N] = grid[(step + 1) % 2];
        for (int i = half ? N / 2 : 1; i < (half ? N - 1 : N / 2); i++)
            for (int j = 1; j < N - 1; j++)
                to[i][j] = (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) / 4;
        pthread_barrier_wait(&barrier);
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < N; i++) grid[0][0][i] = grid[1][0][i] = i;
    pthread_barrier_init(&barrier, 0, 2);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%f\n", grid[0][N / 4][N / 2]);
    return 0;
}
