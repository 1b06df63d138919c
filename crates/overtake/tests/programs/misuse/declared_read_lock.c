/* Finds read-lock-of-write-locked: a declared lock that is held exclusively is taken shared. */
void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long exclusive);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long exclusive);

static int lock;

int main(void)
{
    AnnotateRWLockCreate(__FILE__, __LINE__, &lock);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 0); /* misuse */
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 0);
    return 0;
}
