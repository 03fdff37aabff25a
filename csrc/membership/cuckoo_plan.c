#include "membership/cuckoo_plan.h"

#include "base/math.h"
#include "membership/cuckoo_table.h"

/* Refusals accepted. */
#define REFUSAL 1e-6

/* With fewer fingerprints, and so distances, some of them are too common by chance. */
#define BITS_MIN 8

/* Keys that go into a table of s slots: load * s - less, and never fewer than 2 b, that go into any
 * two buckets. Large tables are limited by the load, which leaves searches for room short: it is
 * below the thresholds of random graphs, 0.897, 0.977 and 0.996 (Fernholz and Ramachandran 2007;
 * Cain, Sanders and Wormald 2007). Small ones are limited by the keys that a few buckets are asked
 * to hold. More than (i + j) b that have both theirs among i left and j right ones are expected in
 *   sum over i, j of (half over i) (half over j) P(Bin(n, i j / half^2) > (i + j) b)
 * places, and that is below 1e-6 with what is taken off in tables of up to 100 slots (b = 4, 8) and
 * 400 (b = 2). In larger ones it asks for too much: of 10^4 to 10^6 tables of each size from 256 to
 * 8192 slots, the first to refuse a key did so at a higher load than this. */
struct limits {
  double load;
  uint64_t less;
};

static struct limits limits_of(unsigned bucket_size)
{
  return bucket_size == 2   ? (struct limits){0.84, 95}
         : bucket_size == 4 ? (struct limits){0.95, 21}
                            : (struct limits){0.975, 11};
}

uint64_t ps_cuckoo_room(uint64_t slots, unsigned bucket_size)
{
  struct limits limits = limits_of(bucket_size);
  uint64_t least = UINT64_C(2) * bucket_size, most = (uint64_t)(limits.load * (double)slots);
  return most < least + limits.less ? least : most - limits.less;
}

uint64_t ps_cuckoo_buckets(uint64_t keys, unsigned bucket_size)
{
  if (keys <= UINT64_C(2) * bucket_size) {
    return 2;
  }
  struct limits limits = limits_of(bucket_size);
  double slots = (double)(keys + limits.less) / limits.load;
  uint64_t buckets = ps_round_up((uint64_t)(slots / bucket_size), 2);
  while (ps_cuckoo_room(buckets * bucket_size, bucket_size) < keys) {
    buckets += 2;
  }
  return buckets;
}

/* Of bits that are kept, 2^-f + 2^(1 - 2 f), since 0 counts as 1. */
double ps_cuckoo_equal(unsigned bits, unsigned spare)
{
  double kept = (double)(UINT64_C(1) << (bits - spare)), values = (double)(UINT64_C(1) << bits);
  return (1 + 2 / kept) / values;
}

/* An absent key is compared with the fingerprints of two buckets: a bound on its rate. */
static double rate_of(double keys, double buckets, unsigned bits)
{
  return 2 * keys / buckets * ps_cuckoo_equal(bits, 0);
}

/* The expected number of groups of 2 b + 1 keys with the same two buckets, which are a bucket too
 * many. A key has the same home as another with probability 1 / half, and then the same other
 * bucket if its fingerprint is the same or leads to the same place by chance. */
static double crowds(double keys, double buckets, unsigned bucket_size, unsigned bits)
{
  double half = buckets / 2, groups = keys;
  double together = (1 / half + 1 / (double)(UINT64_C(1) << bits)) / half;
  for (unsigned i = 1; i <= 2 * bucket_size; i++) {
    groups *= (keys - i) / (i + 1) * together;
  }
  return groups;
}

unsigned ps_cuckoo_bits(double keys, double buckets, unsigned bucket_size, double rate)
{
  unsigned bits = BITS_MIN;
  while (bits < PS_CUCKOO_BITS_MAX &&
         (rate_of(keys, buckets, bits) > rate ||
          (keys > 2 * bucket_size && crowds(keys, buckets, bucket_size, bits) > REFUSAL))) {
    bits++;
  }
  return bits;
}

unsigned ps_cuckoo_bits_growing(double buckets, unsigned bucket_size, double rate,
                                unsigned doublings)
{
  double most = buckets * (double)(UINT64_C(1) << doublings);
  double keys = limits_of(bucket_size).load * most * bucket_size;
  return ps_cuckoo_bits(keys, most, bucket_size, rate) + doublings;
}
