// A queue with a lock and a condition variable, used as it should be: no race.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

class Queue {
public:
    void push(int value)
    {
        std::lock_guard<std::mutex> guard(mutex);
        values.push_back(value);
        changed.notify_one();
    }

    int pop()
    {
        std::unique_lock<std::mutex> guard(mutex);
        changed.wait(guard, [this] { return !values.empty(); });
        int value = values.front();
        values.pop_front();
        return value;
    }

private:
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<int> values;
};

int main()
{
    Queue queue;
    long sums[2] = {0, 0};
    std::vector<std::thread> threads;
    for (int consumer = 0; consumer < 2; consumer++)
        threads.emplace_back([&queue, &sum = sums[consumer]] {
            for (int value; (value = queue.pop()) != 0;)
                sum += value;
        });
    for (int value = 1; value <= 200; value++)
        queue.push(value);
    queue.push(0);
    queue.push(0);
    for (auto &thread : threads)
        thread.join();
    std::printf("sum %ld\n", sums[0] + sums[1]);
}
