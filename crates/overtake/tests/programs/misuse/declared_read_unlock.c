/* Finds read-unlock-of-write-locked: a declared lock is taken exclusively and given back as shared. */
void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long exclusive);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long exclusive);

static int lock;

int main(void)
{
    AnnotateRWLockCreate(__FILE__, __LINE__, &lock);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 0); /* misuse */
    return 0;
}
