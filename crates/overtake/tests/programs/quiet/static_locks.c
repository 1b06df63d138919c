/* Locks that the program declares as made by the linker: they are used before they are created and after they are destroyed. */
void AnnotateRWLockCreateStatic(const char *file, int line, const volatile void *lock);
void AnnotateRWLockDestroy(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long exclusive);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long exclusive);
void __tsan_mutex_create(void *lock, unsigned flags);
void __tsan_mutex_destroy(void *lock, unsigned flags);
void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
void __tsan_mutex_post_unlock(void *lock, unsigned flags);

enum { linker_initialised = 1, not_static = 1 << 8 };
static int annotated, made_by_linker, perhaps_static;

static void acquire(void *lock)
{
    __tsan_mutex_pre_lock(lock, 0);
    __tsan_mutex_post_lock(lock, 0, 0);
}

static void release(void *lock)
{
    __tsan_mutex_pre_unlock(lock, 0);
    __tsan_mutex_post_unlock(lock, 0);
}

int main(void)
{
    AnnotateRWLockAcquired(__FILE__, __LINE__, &annotated, 1);
    AnnotateRWLockCreateStatic(__FILE__, __LINE__, &annotated);
    AnnotateRWLockDestroy(__FILE__, __LINE__, &annotated);
    AnnotateRWLockReleased(__FILE__, __LINE__, &annotated, 1);

    __tsan_mutex_create(&made_by_linker, linker_initialised);
    acquire(&made_by_linker);
    __tsan_mutex_destroy(&made_by_linker, 0);
    release(&made_by_linker);

    __tsan_mutex_create(&perhaps_static, 0);
    acquire(&perhaps_static);
    __tsan_mutex_destroy(&perhaps_static, not_static);
    release(&perhaps_static);
    return 0;
}
