// A program that describes its own synchronisation.
#include <pthread.h>
#include <stdio.h>

// The published interface of the sanitizer. The header is missing if the compiler's own runtime is not installed.
enum {
    __tsan_mutex_read_lock = 1 << 3,
    __tsan_mutex_try_lock = 1 << 4,
    __tsan_mutex_try_lock_failed = 1 << 5,
    __tsan_mutex_try_read_lock = __tsan_mutex_read_lock | __tsan_mutex_try_lock,
    __tsan_switch_to_fiber_no_sync = 1 << 0,
};
void __tsan_mutex_create(void *, unsigned);
void __tsan_mutex_pre_lock(void *, unsigned);
void __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void *);
void __tsan_switch_to_fiber(void *, unsigned);
void __tsan_set_fiber_name(void *, const char *);
void AnnotateHappensBefore(const char *, int, const volatile void *);
void AnnotateHappensAfter(const char *, int, const volatile void *);
void AnnotateIgnoreWritesBegin(const char *, int);
void AnnotateIgnoreWritesEnd(const char *, int);
void AnnotateBenignRaceSized(const char *, int, const volatile void *, long, const char *);
void AnnotateRWLockAcquired(const char *, int, const volatile void *, long);
void AnnotateRWLockReleased(const char *, int, const volatile void *, long);
void __tsan_acquire(void *);
void __tsan_release(void *);
const char *__tsan_default_options(void) { return "exitcode=0"; }
const char *__tsan_default_suppressions(void) { return "race:known\n"; }
static int own, queue, event, inner;
volatile int ignored, seen, benign, in_fiber;
static pthread_mutex_t inside = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    printf("own %p\nqueue %p\nevent %p\nignored %p\nseen %p\nbenign %p\nin_fiber %p\ninside %p\ninner %p\n", (void *)&own, (void *)&queue, (void *)&event,
        (void *)&ignored, (void *)&seen, (void *)&benign, (void *)&in_fiber, (void *)&inside, (void *)&inner);
    __tsan_mutex_create(&own, 0);
    __tsan_mutex_pre_lock(&own, 0);
    ignored = 1;
    pthread_mutex_lock(&inside);
    pthread_mutex_unlock(&inside);
    __tsan_mutex_post_lock(&own, 0, 0);
    seen = 1;
    __tsan_mutex_pre_unlock(&own, 0);
    ignored = 2;
    __tsan_mutex_post_unlock(&own, 0);
    __tsan_mutex_pre_lock(&own, __tsan_mutex_try_read_lock);
    __tsan_mutex_post_lock(&own, __tsan_mutex_try_read_lock, 0);
    __tsan_mutex_pre_unlock(&own, __tsan_mutex_read_lock);
    __tsan_mutex_post_unlock(&own, __tsan_mutex_read_lock);
    __tsan_mutex_pre_lock(&own, __tsan_mutex_try_lock);
    __tsan_mutex_post_lock(&own, __tsan_mutex_try_lock | __tsan_mutex_try_lock_failed, 0);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &inner, 0);
    AnnotateRWLockReleased(__FILE__, __LINE__, &inner, 0);
    AnnotateHappensBefore(__FILE__, __LINE__, &queue);
    AnnotateHappensAfter(__FILE__, __LINE__, &queue);
    __tsan_release(&event);
    __tsan_acquire(&event);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    ignored = 3;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateBenignRaceSized(__FILE__, __LINE__, &benign, 4, "known");
    void *main_fiber = __tsan_get_current_fiber(), *fiber = __tsan_create_fiber(0);
    __tsan_set_fiber_name(fiber, "a fiber");
    __tsan_switch_to_fiber(fiber, 0);
    in_fiber = 1;
    __tsan_switch_to_fiber(main_fiber, __tsan_switch_to_fiber_no_sync);
    __tsan_destroy_fiber(fiber);
    return 0;
}
