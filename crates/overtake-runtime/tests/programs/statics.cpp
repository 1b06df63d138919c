// Function-local statics, std::call_once with an exception, std::thread, sized and aligned new.
#include <cstdio>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
struct Thing { int value; Thing() : value(7) {} };
static Thing &thing() { static Thing it; return it; }
static int throwing() { static int it = [] { throw 1; return 1; }(); return it; }
struct alignas(256) Wide { char bytes[256]; };
static std::once_flag once;
static int calls;
int main() {
    std::printf("once %p\n", static_cast<void *>(&once));
    try { throwing(); return 1; } catch (int) {}
    try { throwing(); return 2; } catch (int) {}
    try { std::call_once(once, [] { calls++; throw std::runtime_error("first"); }); return 3; } catch (std::runtime_error &) {}
    auto run = [] { std::call_once(once, [] { calls++; }); if (thing().value != 7) std::terminate(); };
    std::thread one(run), two(run);
    one.join();
    two.join();
    Wide *wide = new Wide;
    std::printf("wide %p\n", static_cast<void *>(wide));
    delete wide;
    int *many = new int[100];
    std::printf("many %p\n", static_cast<void *>(many));
    delete[] many;
    return calls == 2 ? 0 : 4;
}
