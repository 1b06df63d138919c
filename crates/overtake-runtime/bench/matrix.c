// Matrix multiplication, half of the rows each. -DPART=8 makes it do about an eighth of the work.
#ifndef PART
#define PART 1
#endif
#include <pthread.h>
#include <stdio.h>
enum { N = PART > 1 ? 160 : 320 };
static double a[N][N], b[N][N], c[N][N];
static void *run(void *half) {
    for (int i = half ? N / 2 : 0; i < (half ? N : N / 2); i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) c[i][j] += a[i][k] * b[k][j];
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) { a[i][j] = i + j; b[i][j] = i - j; }
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%f\n", c[N / 2][N / 3]);
    return 0;
}
