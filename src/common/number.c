/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool dnet_number(const char *text, uint64_t least, uint64_t most, uint64_t *value_p)
{
    bool hexadecimal = text[0] == '0' && text[1] == 'x';
    const char *digits = text + (hexadecimal ? 2 : 0);
    /* strtoull() takes blanks, signs and another prefix */
    size_t len = strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789");
    if (len == 0 || digits[len])
        return false;
    errno = 0;
    unsigned long long value = strtoull(digits, NULL, hexadecimal ? 16 : 10);
    if (errno != 0 || value < least || value > most)
        return false;
    *value_p = value;
    return true;
}

bool dnet_fraction(const char *text, double least, double most, double *value_p)
{
    char *end;
    /* strtod() takes blanks, signs, names such as "inf", and hexadecimal */
    if (!isdigit((unsigned char) *text) || strpbrk(text, "xX"))
        return false;
    double value = strtod(text, &end);
    if (*end || !(value >= least && value <= most))
        return false;
    *value_p = value;
    return true;
}
