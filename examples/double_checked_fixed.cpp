// Double-checked locking with an atomic pointer, stored with release and loaded with acquire: no race.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

struct Settings {
    int verbosity = 3;
};

static std::mutex mutex;
static std::atomic<Settings *> settings;

static Settings *get()
{
    Settings *found = settings.load(std::memory_order_acquire);
    if (!found) {
        std::lock_guard<std::mutex> guard(mutex);
        found = settings.load(std::memory_order_relaxed);
        if (!found) {
            found = new Settings;
            settings.store(found, std::memory_order_release);
        }
    }
    return found;
}

int main()
{
    int seen[2];
    std::thread first([&] { seen[0] = get()->verbosity; });
    std::thread second([&] { seen[1] = get()->verbosity; });
    first.join();
    second.join();
    std::printf("%d %d\n", seen[0], seen[1]);
    delete settings.load();
}
