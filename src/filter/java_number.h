/* java_number.h - texts as numbers, just as Integer.valueOf, Long.valueOf, Double.valueOf and Boolean.valueOf read them.
 * Threads  any */
#ifndef SKYLARK_FILTER_JAVA_NUMBER_H
#define SKYLARK_FILTER_JAVA_NUMBER_H

#include "base/slice.h"

/* Decimal digits of ASCII behind an optional sign; false for anything else and for what is out of range. */
bool java_long(struct slice text, int64_t *out);
bool java_int(struct slice text, int64_t *out);
/* Decimal and hexadecimal, also "NaN", "Infinity", a type letter behind it, white space around it. Out of range is infinite or 0. */
bool java_double(struct slice text, double *out);
/* What is not "true" is false. */
bool java_bool(struct slice text);

/* Double.compare: NaN is the greatest, -0.0 less than 0.0. Less than, equal to, greater than 0. */
int java_compare(double a, double b);

#endif
