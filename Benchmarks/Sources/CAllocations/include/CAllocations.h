#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdbool.h>

/// Starts or stops counting; starting sets the count to zero.
void allocations_count(bool on);

/// How often memory was asked for, in all threads, since counting was started.
unsigned long allocations_counted(void);

#endif
