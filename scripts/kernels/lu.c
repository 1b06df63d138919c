/* LU decomposition of a square matrix, in place: for each pivot, the rows below it are shared out. The part that is still worked on is a triangle. */
#include "crew.h"

static double *matrix;

static void *work(void *at) {
    long number = (long)at;
    for (long pivot = 0; pivot < size - 1; pivot++) {
        for (long row = pivot + 1 + number; row < size; row += threads) {
            double factor = matrix[row * size + pivot] / matrix[pivot * size + pivot];
            matrix[row * size + pivot] = factor;
            for (long column = pivot + 1; column < size; column++)
                matrix[row * size + column] -= factor * matrix[pivot * size + column];
        }
        meet();
    }
    return 0;
}

int main(int argc, char **argv) {
    crew(argc, argv, 90);
    matrix = allocated(size * size * sizeof *matrix);
    for (long row = 0; row < size; row++)
        for (long column = 0; column < size; column++)
            matrix[row * size + column] = row == column ? size : 1.0 / (1 + row + column);
    work_together(work);
    printf("%g\n", matrix[size * size - 1]);
    free(matrix);
}
