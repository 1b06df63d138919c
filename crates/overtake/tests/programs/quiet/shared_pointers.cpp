/* The last of several owners, whoever it is, destroys what all of them used. */
#include <memory>
#include <thread>
#include <vector>

struct Counted {
    int values[4] = {1, 2, 3, 4};
    ~Counted() { values[0] = values[1] = 0; }
};

static int use(std::shared_ptr<Counted> owner, std::weak_ptr<Counted> watcher)
{
    int sum = owner->values[0] + owner->values[1];
    std::shared_ptr<Counted> again = watcher.lock();
    owner.reset();
    return again ? sum : 0;
}

int main()
{
    for (int round = 0; round < 3; round++) {
        // With the count beside the object, and apart from it.
        std::shared_ptr<Counted> first = std::make_shared<Counted>(), second(new Counted);
        first->values[0] = second->values[0] = round;
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; i++)
            threads.emplace_back([first, second] { use(first, first), use(second, second); });
        first.reset();
        second.reset();
        for (std::thread &thread : threads)
            thread.join();
    }
    return 0;
}
