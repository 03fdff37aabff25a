/* How the sets behind two arrays of registers overlap, by maximum likelihood (Ertl 2017, "New
 * cardinality estimation algorithms for HyperLogLog sketches", section on joint estimation).
 *
 * Let the keys that are only in the first set, only in the second, and in both be three Poisson
 * numbers. Then pairs of registers are independent, and all that their likelihood depends on is how
 * often each register value occurs below, above and beside an equal one of the other array.
 * Inclusion and exclusion looks at three sums of registers instead, and errs more.
 *
 * Private to hyperloglog. */
#ifndef PS_CARDINALITY_HYPERLOGLOG_JOINT_H
#define PS_CARDINALITY_HYPERLOGLOG_JOINT_H

#include <stdbool.h>
#include <stdint.h>

/* Register values go to 65 - p, but in a file that somebody changes while it is mapped there may be
 * anything that fits 6 bits: that is counted, and not looked at. */
#define PS_JOINT_VALUES 64

/* How many registers of one array have each value, where the other's is larger and where it is
 * smaller. */
struct ps_joint_side {
  uint32_t below[PS_JOINT_VALUES], above[PS_JOINT_VALUES];
};

struct ps_joint {
  unsigned precision;
  struct ps_joint_side side[2];
  uint32_t same[PS_JOINT_VALUES];
};

static inline void ps_joint_add(struct ps_joint *joint, unsigned first, unsigned second)
{
  if (first == second) {
    joint->same[first]++;
  } else {
    bool larger = second > first;
    joint->side[larger].above[larger ? second : first]++;
    joint->side[!larger].below[larger ? first : second]++;
  }
}

/* Keys only in one set, only in the other, and in both, and the covariances of their errors. Which
 * is the one does not depend on the order of the arrays. */
struct ps_joint_sizes {
  double keys[3];
  double covariance[3][3];
};

#define PS_JOINT_BOTH 2

/* Neither array may be all zeros. O(1): less than a millisecond. */
struct ps_joint_sizes ps_joint_estimate(const struct ps_joint *joint);

#endif
