#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdbool.h>

/// Starts or stops counting. Starting resets the count to zero.
void allocations_count(bool on);

/// Returns the number of allocations in all threads since counting started.
unsigned long allocations_counted(void);

#endif
