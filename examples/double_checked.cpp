// Double-checked locking with a plain pointer: the check without the lock races with the assignment under it.
#include <cstdio>
#include <mutex>
#include <thread>

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

int main()
{
    bool seen[2];
    std::thread threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = std::thread([&seen, i] { seen[i] = get() != nullptr; });
    for (auto &thread : threads)
        thread.join();
    std::printf("%d %d\n", seen[0], seen[1]);
    delete settings;
}
