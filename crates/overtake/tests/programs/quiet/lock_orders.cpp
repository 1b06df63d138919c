// Locks in opposite orders that cannot deadlock: they are tried, or wait for some time only, or are shared, or are held already, or another
// lock keeps the threads apart.
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include "../hidden_order.h"

namespace {

std::mutex scoped[2], tried[2], gated[2], gate;
std::timed_mutex timed[2];
std::shared_mutex table[2];
std::recursive_mutex again[2];
int count;

/* Takes the locks in this order. */
void run(int one, int other)
{
    {
        std::scoped_lock both(scoped[one], scoped[other]);
    }
    {
        std::lock_guard first(tried[one]);
        if (tried[other].try_lock())
            tried[other].unlock();
    }
    {
        std::lock_guard first(timed[one]);
        if (timed[other].try_lock_for(std::chrono::seconds(60)))
            timed[other].unlock();
    }
    {
        std::shared_lock first(table[one]), second(table[other]);
    }
    {
        std::lock_guard apart(gate);
        std::lock_guard first(gated[one]), second(gated[other]);
        count++;
    }
}

/* The second time that a thread takes a lock it does not wait. */
void recurse()
{
    std::lock_guard first(again[0]), second(again[1]), third(again[0]);
}

}

int main()
{
    std::thread first([] {
        run(0, 1);
        recurse();
        reach(1);
    });
    std::thread second([] {
        await(1);
        run(1, 0);
        recurse();
    });
    first.join();
    second.join();
    return count != 2;
}
