#include "CFloor.h"

void floor_spin(long times) {
    volatile uint64_t value = 1;
    for (long time = 0; time < times; time++) value = value * 3 + 1;
}
