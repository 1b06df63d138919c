// Closes standard error and opens a file, which gets its number.
#include <fcntl.h>
#include <unistd.h>
int main(int count, char **arguments) {
    close(2);
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    if (file != 2 || write(file, "data", 4) != 4) return 5;
    return 0;
}
