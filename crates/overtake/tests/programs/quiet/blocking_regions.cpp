/* The program is told when a thread may wait for the initialisation of a static. */
static int begun, ended;

namespace __tsan {
void OnPotentiallyBlockingRegionBegin() { begun++; }
void OnPotentiallyBlockingRegionEnd() { ended++; }
}

int main(int count, char **)
{
    static int once = count;
    return once != 1 || begun != 1 || ended != 1;
}
