// Two threads use one object of each kind, one after the other, in an order that no tool sees: every run has all of these races, and none crashes.
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include "hidden_order.h"

static std::shared_ptr<int> a_pointer = std::make_shared<int>(0);
static std::vector<int> a_vector;
static std::map<int, int> a_map;
static std::unordered_map<int, int> a_table;
static std::string a_string;
static std::ofstream a_stream("/dev/null");
static std::FILE *a_file = std::fopen("/dev/null", "w");

static void use_pointer(int number) { a_pointer = std::make_shared<int>(number); }
static void use_vector(int number) { a_vector.push_back(number); }
static void use_map(int number) { a_map[number] = number; }
static void use_table(int number) { a_table[number] = number; }
static void use_string(int number) { a_string.append(40 + number % 2, 'x'); }
static void use_stream(int number) { a_stream << "number " << number << std::endl; }

static void use_all(int first)
{
    for (int number = first; number < first + 5; number++) {
        use_pointer(number);
        use_vector(number);
        use_map(number);
        use_table(number);
        use_string(number);
        use_stream(number);
    }
}

int main()
{
    std::thread one([] {
        use_all(0);
        std::fprintf(a_file, "one");
        std::fflush(a_file);
        reach(1);
    });
    std::thread other([] {
        await(1);
        use_all(100);
        reach(2);
    });
    await(2);
    std::fclose(a_file);
    one.join();
    other.join();
    return 0;
}
