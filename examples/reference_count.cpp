// A reference count that is atomic but relaxed: whoever drops the last reference frees what the others may still use.
#include <atomic>
#include <cstdio>
#include <thread>

struct Shared {
    std::atomic<int> references{2};
    int *value = new int(7);
};

static void use_and_release(Shared *shared, int *result)
{
    *result = *shared->value;
    if (shared->references.fetch_sub(1, std::memory_order_relaxed) == 1)
        delete shared->value;
}

int main()
{
    int results[2];
    Shared shared;
    std::thread first(use_and_release, &shared, &results[0]);
    std::thread second(use_and_release, &shared, &results[1]);
    first.join();
    second.join();
    std::printf("%d\n", results[0] + results[1]);
}
