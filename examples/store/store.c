/* A key-value store. Each argument is a file of commands, served by a thread of its own as a client of a server would be:

       set KEY VALUE      get KEY      drop KEY      wait MILLISECONDS

   Replies go to the file's name with `.out` behind it. One lock protects the table; the number of commands served is not
   protected, because it is only a statistic. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { buckets = 64, most_clients = 16 };

struct entry {
    char key[32], value[64];
    struct entry *next;
};

struct client {
    const char *script;
    pthread_t thread;
    int connected;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table[buckets];
static struct client clients[most_clients];
static long served;

static struct entry **find(const char *key)
{
    unsigned hash = 5381;
    for (const char *letter = key; *letter; letter++)
        hash = hash * 33 + (unsigned char)*letter;
    struct entry **at = &table[hash % buckets];
    while (*at && strcmp((*at)->key, key))
        at = &(*at)->next;
    return at;
}

static void set(const char *key, const char *value)
{
    pthread_mutex_lock(&table_lock);
    struct entry **at = find(key);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        strncpy((*at)->key, key, sizeof (*at)->key - 1);
    }
    strncpy((*at)->value, value, sizeof (*at)->value - 1);
    pthread_mutex_unlock(&table_lock);
}

static int get(const char *key, char value[64])
{
    pthread_mutex_lock(&table_lock);
    struct entry *found = *find(key);
    if (found)
        memcpy(value, found->value, 64);
    pthread_mutex_unlock(&table_lock);
    return found != 0;
}

static void drop(const char *key)
{
    pthread_mutex_lock(&table_lock);
    struct entry **at = find(key), *old = *at;
    if (old)
        *at = old->next;
    pthread_mutex_unlock(&table_lock);
    free(old);
}

static void connected(struct client *client, int yes)
{
    pthread_mutex_lock(&table_lock);
    client->connected = yes;
    pthread_mutex_unlock(&table_lock);
}

static void pause_for(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, 0);
}

static void serve(const char *line, FILE *replies)
{
    char key[32] = "", value[64] = "";
    if (sscanf(line, "set %31s %63s", key, value) == 2) {
        set(key, value);
        fprintf(replies, "ok\n");
    } else if (sscanf(line, "get %31s", key) == 1) {
        fprintf(replies, "%s\n", get(key, value) ? value : "nothing");
    } else if (sscanf(line, "drop %31s", key) == 1) {
        drop(key);
        fprintf(replies, "ok\n");
    } else if (sscanf(line, "wait %31s", key) == 1) {
        pause_for(atol(key));
        return;
    }
    served++;
}

static void *client_thread(void *argument)
{
    struct client *client = argument;
    char line[128], name[256];
    snprintf(name, sizeof name, "%s.out", client->script);
    FILE *script = fopen(client->script, "r"), *replies = fopen(name, "w");
    connected(client, 1);
    while (script && replies && fgets(line, sizeof line, script))
        serve(line, replies);
    connected(client, 0);
    if (script)
        fclose(script);
    if (replies)
        fclose(replies);
    return 0;
}

int main(int count, char **arguments)
{
    int threads = count - 1 < most_clients ? count - 1 : most_clients;
    for (int i = 0; i < threads; i++) {
        clients[i].script = arguments[i + 1];
        pthread_create(&clients[i].thread, 0, client_thread, &clients[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(clients[i].thread, 0);
    printf("%ld commands served\n", served);
    for (int i = 0; i < buckets; i++)
        while (table[i]) {
            struct entry *old = table[i];
            table[i] = old->next;
            free(old);
        }
    return 0;
}
