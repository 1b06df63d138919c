/* Molecular dynamics: each thread adds up the forces on its particles, then moves them. A lock guards the energy of all. */
#include "crew.h"

struct particle {
    double place[2], speed[2], force[2];
};

static struct particle *particles;
static double energy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *at) {
    long first = share_start((long)at, size), end = share_end((long)at, size);
    for (int step = 0; step < 3; step++) {
        double mine = 0;
        for (long one = first; one < end; one++) {
            double x = 0, y = 0;
            for (long other = 0; other < size; other++) {
                double dx = particles[other].place[0] - particles[one].place[0];
                double dy = particles[other].place[1] - particles[one].place[1];
                double near = 1 / (dx * dx + dy * dy + 0.1);
                x += dx * near;
                y += dy * near;
            }
            particles[one].force[0] = x;
            particles[one].force[1] = y;
            mine += x * x + y * y;
        }
        pthread_mutex_lock(&lock);
        energy += mine;
        pthread_mutex_unlock(&lock);
        meet();
        for (long one = first; one < end; one++)
            for (int axis = 0; axis < 2; axis++) {
                particles[one].speed[axis] += particles[one].force[axis] * 0.01;
                particles[one].place[axis] += particles[one].speed[axis] * 0.01;
            }
        meet();
    }
    return 0;
}

int main(int argc, char **argv) {
    crew(argc, argv, 300);
    uint32_t state = 1;
    particles = allocated(size * sizeof *particles);
    for (long one = 0; one < size; one++)
        for (int axis = 0; axis < 2; axis++) {
            particles[one].place[axis] = next_random(&state) % 1000;
            particles[one].speed[axis] = particles[one].force[axis] = 0;
        }
    work_together(work);
    printf("%g\n", energy);
    free(particles);
}
