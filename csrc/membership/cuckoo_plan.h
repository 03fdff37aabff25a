/* How large a cuckoo filter has to be. Without libm, so that every machine comes to the same. */
#ifndef PS_MEMBERSHIP_CUCKOO_PLAN_H
#define PS_MEMBERSHIP_CUCKOO_PLAN_H

#include <stdint.h>

/* How many keys go into so many slots, one refusal in a million tables aside. */
uint64_t ps_cuckoo_room(uint64_t slots, unsigned bucket_size);

/* The fewest buckets, an even number, with room for so many keys. */
uint64_t ps_cuckoo_buckets(uint64_t keys, unsigned bucket_size);

/* The probability that two fingerprints with so many bits to spare are equal. */
double ps_cuckoo_equal(unsigned bits, unsigned spare);

/* The fewest bits that keep the rate, and with which keys are not so alike that too many of them
 * share both their buckets. */
unsigned ps_cuckoo_bits(double keys, double buckets, unsigned bucket_size, double rate);

/* The same for a table that may double so often, one bit shorter each time, and then be as full as
 * tables get: the rate is highest then. */
unsigned ps_cuckoo_bits_growing(double buckets, unsigned bucket_size, double rate,
                                unsigned doublings);

#endif
