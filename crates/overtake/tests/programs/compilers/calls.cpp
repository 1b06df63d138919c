/* Makes compilers call all that they can of a runtime, and checks what the atomic operations compute. */
#include <cstdint>
#include <cstring>
#include <thread>

template <class T> struct __attribute__((packed)) Odd { char first; T value; };

template <class T> struct Cells {
    T plain, atomic;
    volatile T loud;
    Odd<T> odd;
    volatile Odd<T> loud_odd;
};

template <class T> int use(Cells<T> *cells)
{
    cells->plain += 1;
    cells->loud = cells->loud + 1;
    cells->odd.value += 1;
    cells->loud_odd.value = cells->loud_odd.value + 1;
    T *atomic = &cells->atomic, expected = 12;
    __atomic_store_n(atomic, 1, __ATOMIC_RELEASE);
    int sum = (int)__atomic_exchange_n(atomic, 2, __ATOMIC_ACQ_REL);
    sum += (int)__atomic_fetch_add(atomic, 5, __ATOMIC_SEQ_CST); /* 7 */
    sum += (int)__atomic_fetch_sub(atomic, 1, __ATOMIC_RELAXED); /* 6 */
    sum += (int)__atomic_fetch_or(atomic, 9, __ATOMIC_ACQUIRE);  /* 15 */
    sum += (int)__atomic_fetch_and(atomic, 14, __ATOMIC_RELEASE);
    sum += (int)__atomic_fetch_xor(atomic, 2, __ATOMIC_SEQ_CST); /* 12 */
    sum += __atomic_compare_exchange_n(atomic, &expected, 3, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    sum += __atomic_compare_exchange_n(atomic, &expected, 4, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
    sum += (int)__atomic_fetch_nand(atomic, 1, __ATOMIC_SEQ_CST); /* all but the lowest */
    return sum + (__atomic_load_n(atomic, __ATOMIC_ACQUIRE) == (T)-2);
}

struct Base { virtual ~Base() {} virtual int kind() { return 1; } };
struct Derived : Base { ~Derived() override {} int kind() override { return 2; } };

template <class T> int used()
{
    Cells<T> *cells = new Cells<T>();
    int sum = use(cells);
    delete cells;
    return sum;
}

int main()
{
    Base *object = new Derived;
    int kind = object->kind();
    delete object;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct Large { char bytes[3000]; };
    Large *from = new Large(), *to = new Large();
    std::thread([=] { *to = *from; }).join();
    int ends = memcmp(from, to, sizeof *to);
    delete from;
    delete to;
    const int sum = 1 + 2 + 7 + 6 + 15 + 14 + 1 + 0 + 3 + 1;
    return used<uint8_t>() != sum || used<uint16_t>() != sum || used<uint32_t>() != sum || used<uint64_t>() != sum
#ifndef __clang__
        /* clang leaves those of 16 bytes to a library, unless the processor is said to have them. */
        || used<unsigned __int128>() != sum
#endif
        || kind != 2 || ends != 0;
}
