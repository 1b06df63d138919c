// A program that defines callbacks for reports.
#include <stdio.h>
const char *__tsan_default_options(void) { return "exitcode=23"; }
void __tsan_on_report(void *report) { puts(report ? "a report" : "report"); fflush(stdout); }
int __tsan_on_finalize(int failed) { printf("finalize %d\n", failed); fflush(stdout); return failed; }
int main(void) { return 0; }
