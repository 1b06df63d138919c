// The C++ library starts threads, joins them and waits for conditions out of line, in code that records nothing. Reports name
// the program's own lines all the same.
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

int shared;
int guarded;
static bool waiting, ready;
static std::mutex mutex;
static std::condition_variable condition;

struct Worker {
    std::thread thread;
    void start(int value)
    {
        thread = std::thread([value] { shared = value; }); // started here
    }
};

static void wait_and_write()
{
    std::unique_lock<std::mutex> lock(mutex);
    waiting = true;
    condition.notify_all();
    while (!ready)
        condition.wait(lock); // waits here
    guarded++;
}

int main()
{
    Worker worker;
    worker.start(1);
    shared = 2;
    worker.thread.join();
    std::unique_lock<std::mutex> lock(mutex);
    auto task = std::async(std::launch::async, wait_and_write); // async here
    while (!waiting)
        condition.wait(lock);
    ready = true;
    lock.unlock();
    condition.notify_one();
    guarded++;
    task.get();
}
