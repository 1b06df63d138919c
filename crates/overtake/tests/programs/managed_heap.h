/* The interface for virtual machines, which has no public header. */
typedef unsigned long managed;
void __tsan_java_init(managed heap, managed bytes);
int __tsan_java_fini(void);
void __tsan_java_alloc(managed object, managed bytes);
void __tsan_java_free(managed object, managed bytes);
managed __tsan_java_find(managed *from, managed to);
void __tsan_java_move(managed from, managed to, managed bytes);
void __tsan_java_finalize(void);
void __tsan_java_mutex_lock(managed lock);
void __tsan_java_mutex_unlock(managed lock);
void __tsan_java_mutex_lock_rec(managed lock, int times);
int __tsan_java_mutex_unlock_rec(managed lock);
int __tsan_java_acquire(managed object);
int __tsan_java_release(managed object);
