// Function-local statics, counted pointers, futures, condition variables and shared mutexes of the C++ library.
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

struct Table {
    std::vector<int> entries = std::vector<int>(16, 1);
    ~Table() { entries.assign(16, 0); }
};

static const Table &table()
{
    static Table only;
    return only;
}

int main()
{
    auto counted = std::make_shared<Table>();
    std::shared_mutex shared;
    int guarded = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([counted, &shared, &guarded] {
            int sum = 0;
            for (int entry : table().entries)
                sum += entry;
            for (int entry : counted->entries)
                sum += entry;
            std::unique_lock<std::shared_mutex> writer(shared);
            guarded += sum;
            writer.unlock();
            std::shared_lock<std::shared_mutex> reader(shared);
            sum = guarded;
        });
    counted.reset();
    std::future<std::string> answer = std::async(std::launch::async, [] { return std::string(100, 'x'); });
    std::string text = answer.get();
    for (auto &thread : threads)
        thread.join();
    return guarded != 128 || text.size() != 100;
}
