// Double-checked locking with a plain pointer: the check without the lock races with the assignment under it.
#include <cstdio>
#include <mutex>
#include <thread>
#include <unistd.h>

struct Settings {
    int verbosity = 3;
};

static std::mutex mutex;
static Settings *settings;

static Settings *get()
{
    if (!settings) {
        std::lock_guard<std::mutex> guard(mutex);
        if (!settings)
            settings = new Settings;
    }
    return settings;
}

static void late(int *seen)
{
    usleep(200000);
    *seen = get()->verbosity;
}

int main()
{
    int seen[2];
    std::thread first([&] { seen[0] = get()->verbosity; });
    std::thread second(late, &seen[1]);
    first.join();
    second.join();
    std::printf("%d %d\n", seen[0], seen[1]);
    delete settings;
}
