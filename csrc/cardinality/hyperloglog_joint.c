#include "cardinality/hyperloglog_joint.h"

#include <math.h>
#include <stdbool.h>

#include "cardinality/hyperloglog_registers.h"

/* With A, B the keys only in the first and only in the second set, X those in both, and
 * c = 2^-k / m, or 2^-q / m for k = q + 1 as well, the logarithm of the likelihood is the sum of
 *
 *   side[A].below[k] * ln(1 - exp(-(A + X) c))      side[A].above[k] * ln(1 - exp(-A c))
 *   side[B].below[k] * ln(1 - exp(-(B + X) c))      side[B].above[k] * ln(1 - exp(-B c))
 *   same[k] * ln(1 - exp(-(A + X) c) - exp(-(B + X) c) + exp(-(A + B + X) c))
 *
 * for k from 1 on, less A, B and X times a weight each. It is maximized over ln A, ln B and ln X,
 * by Fisher scoring: Newton's method with the second derivatives replaced by their expectation, so
 * that every step leads uphill; a step that is too long is damped (Marquardt 1963). */

enum { A, B, X, SIZES };

#define STEPS_MAX 100
#define DAMPINGS_MAX 20

/* A step is made while it promises to raise the logarithm of the likelihood by this: it is then
 * longer than a ten-thousandth of the standard error. */
#define GAIN_MIN 1e-8

/* The longest step changes no size by more than a factor of e^2. */
#define STEP_MAX 2.0

/* Fewer keys than this are none. */
#define KEYS_MIN 1e-3

struct likelihood {
  const struct ps_joint *joint;
  double m;
  unsigned q;
  double weight[SIZES];
};

static double unit(const struct likelihood *of, unsigned k)
{
  return ldexp(1 / of->m, -(int)(k > of->q ? of->q : k));
}

static struct likelihood likelihood_of(const struct ps_joint *joint)
{
  struct likelihood of = {joint, ldexp(1, (int)joint->precision), 64 - joint->precision, {0}};
  for (unsigned k = 0; k <= of.q; k++) {
    double c = unit(&of, k);
    of.weight[A] += c * (joint->side[A].below[k] + joint->side[A].above[k] + joint->same[k]);
    of.weight[B] += c * (joint->side[B].below[k] + joint->side[B].above[k] + joint->same[k]);
    of.weight[X] += c * (joint->side[A].below[k] + joint->side[B].below[k] + joint->same[k]);
  }
  return of;
}

/* 1 - exp(-x): that a Poisson number of mean x is not 0. */
static double some(double x)
{
  return -expm1(-x);
}

/* That the largest of both are the same and k, given that they are k at most. */
static double both_reach(const double keys[SIZES], double c)
{
  return some(keys[X] * c) + exp(-keys[X] * c) * some(keys[A] * c) * some(keys[B] * c);
}

/* n * ln(p) where n may be 0 */
static double times_log(uint32_t n, double p)
{
  return n > 0 ? n * log(p) : 0;
}

static double log_likelihood(const struct likelihood *of, const double keys[SIZES])
{
  const struct ps_joint *joint = of->joint;
  double sum = 0;
  for (unsigned k = 1; k <= of->q + 1; k++) {
    double c = unit(of, k);
    for (unsigned side = A; side <= B; side++) {
      sum += times_log(joint->side[side].below[k], some((keys[side] + keys[X]) * c));
      sum += times_log(joint->side[side].above[k], some(keys[side] * c));
    }
    sum += times_log(joint->same[k], both_reach(keys, c));
  }
  return sum - (keys[A] * of->weight[A] + keys[B] * of->weight[B]) - keys[X] * of->weight[X];
}

/* First derivatives of the logarithm of the likelihood, and the expectation of minus the second. */
struct slope {
  double gradient[SIZES];
  double information[SIZES][SIZES];
};

/* What n terms ln(1 - exp(-s c)) say, of which `expected` are expected, where s is the sum of some
 * of the keys: those of `side`, and of X if `with_both`. */
static void add_term(struct slope *slope, unsigned side, bool with_both, double s, double c,
                     double n, double expected)
{
  if (s == 0) {
    return;
  }
  double r = 1 / expm1(s * c);
  double first = n * c * r, second = expected * c * c * r * (1 + r);
  slope->gradient[side] += first;
  slope->information[side][side] += second;
  if (with_both) {
    slope->gradient[X] += first;
    slope->information[side][X] += second;
    slope->information[X][side] += second;
    slope->information[X][X] += second;
  }
}

/* The same of ln(both_reach()). */
static void add_same(struct slope *slope, const double keys[SIZES], double c, double n,
                     double expected)
{
  double h = both_reach(keys, c);
  if (h == 0) {
    return;
  }
  double a = exp(-keys[A] * c), b = exp(-keys[B] * c), x = exp(-keys[X] * c), none = a * b * x;
  double first[SIZES] = {x * a * some(keys[B] * c), x * b * some(keys[A] * c), 1 - h};
  double second[SIZES][SIZES] = {{-first[A], none, -first[A]},
                                 {none, -first[B], -first[B]},
                                 {-first[A], -first[B], -first[X]}};
  for (unsigned i = 0; i < SIZES; i++) {
    slope->gradient[i] += n * c * first[i] / h;
    for (unsigned j = 0; j < SIZES; j++) {
      slope->information[i][j] += expected * c * c * (first[i] * first[j] / h - second[i][j]) / h;
    }
  }
}

static struct slope slope_by_keys(const struct likelihood *of, const double keys[SIZES])
{
  const struct ps_joint *joint = of->joint;
  struct slope slope = {{-of->weight[A], -of->weight[B], -of->weight[X]}, {{0}}};
  for (unsigned k = 1; k <= of->q + 1; k++) {
    double c = unit(of, k);
    /* A register is at most k, or below k; nothing is above q + 1. */
    double at_most = k <= of->q ? c : 0, less = k <= of->q ? 2 * c : c;
    for (unsigned side = A; side <= B; side++) {
      double own = keys[side], others = keys[B - side], all = own + keys[X];
      double below = of->m * exp(-all * at_most) * some(all * c) * some(others * at_most);
      double above = of->m * exp(-own * at_most) * some(own * c) * exp(-(others + keys[X]) * less);
      add_term(&slope, side, true, all, c, joint->side[side].below[k], below);
      add_term(&slope, side, false, own, c, joint->side[side].above[k], above);
    }
    double same = of->m * exp(-(keys[A] + keys[B] + keys[X]) * at_most) * both_reach(keys, c);
    add_same(&slope, keys, c, joint->same[k], same);
  }
  return slope;
}

/* By the logarithms of the keys. */
static struct slope slope_at(const struct likelihood *of, const double keys[SIZES])
{
  struct slope slope = slope_by_keys(of, keys);
  for (unsigned i = 0; i < SIZES; i++) {
    slope.gradient[i] *= keys[i];
    for (unsigned j = 0; j < SIZES; j++) {
      slope.information[i][j] *= keys[i] * keys[j];
    }
  }
  return slope;
}

/* Functions hand out arrays in structs: through a parameter that is an array, gcc 12 at -O2 may
 * lose what is written. */
struct step {
  double by[SIZES];
};

/* Solves information * step = gradient, the diagonal being raised by a share; false if that is not
 * positive definite. By Cholesky's method, on rows and columns scaled to a diagonal of ones. */
static bool solve(const struct slope *slope, double damping, struct step *step)
{
  double scale[SIZES], root[SIZES][SIZES], *y = step->by;
  for (unsigned i = 0; i < SIZES; i++) {
    scale[i] = 1 / sqrt(slope->information[i][i]);
    y[i] = slope->gradient[i] * scale[i];
    for (unsigned j = 0; j < i; j++) {
      double sum = slope->information[i][j] * scale[i] * scale[j];
      for (unsigned k = 0; k < j; k++) {
        sum -= root[i][k] * root[j][k];
      }
      root[i][j] = sum / root[j][j];
      y[i] -= root[i][j] * y[j];
    }
    double rest = 1 + damping;
    for (unsigned k = 0; k < i; k++) {
      rest -= root[i][k] * root[i][k];
    }
    if (!(rest > 1e-14)) {
      return false;
    }
    root[i][i] = sqrt(rest);
    y[i] /= root[i][i];
  }
  for (unsigned n = SIZES; n > 0; n--) {
    const unsigned i = n - 1;
    double rest = y[i];
    for (unsigned k = n; k < SIZES; k++) {
      rest -= root[k][i] * y[k];
    }
    y[i] = rest / root[i][i];
  }
  for (unsigned i = 0; i < SIZES; i++) {
    y[i] *= scale[i];
  }
  return true;
}

/* Takes a size that cannot move out of the equations. */
static void hold(struct slope *slope, unsigned i)
{
  for (unsigned j = 0; j < SIZES; j++) {
    slope->information[i][j] = slope->information[j][i] = i == j;
  }
  slope->gradient[i] = 0;
}

struct climb {
  double keys[SIZES];
  double height; /* the logarithm of the likelihood there */
  double damping;
};

/* What a step promises, were its direction kept and the slope straight. */
static double gain_of(const struct slope *slope, const struct step *step)
{
  double gain = 0;
  for (unsigned i = 0; i < SIZES; i++) {
    gain += step->by[i] * slope->gradient[i];
  }
  return gain;
}

static struct climb after(const struct likelihood *of, const struct climb *at,
                          const struct step *step)
{
  struct climb to = {.damping = at->damping};
  double longest = STEP_MAX;
  for (unsigned i = 0; i < SIZES; i++) {
    longest = fmax(longest, fabs(step->by[i]));
  }
  for (unsigned i = 0; i < SIZES; i++) {
    double keys = at->keys[i] * exp(step->by[i] * (STEP_MAX / longest));
    to.keys[i] = at->keys[i] > 0 ? fmax(keys, KEYS_MIN) : 0;
  }
  to.height = log_likelihood(of, to.keys);
  return to;
}

/* Makes a step uphill; false when there is none that is worth it. What the damping has to be shows
 * in how much of its promise a step keeps: half, where the expected derivatives are the true ones.
 */
static bool step_up(const struct likelihood *of, struct climb *at)
{
  struct slope slope = slope_at(of, at->keys);
  for (unsigned i = 0; i < SIZES; i++) {
    if (at->keys[i] == 0 || (at->keys[i] <= KEYS_MIN && slope.gradient[i] < 0)) {
      hold(&slope, i);
    }
  }
  for (unsigned i = 0; i < DAMPINGS_MAX; i++) {
    struct step step;
    if (solve(&slope, at->damping, &step)) {
      double gain = gain_of(&slope, &step);
      if (!(gain >= GAIN_MIN)) {
        return false;
      }
      struct climb to = after(of, at, &step);
      if (to.height > at->height) {
        to.damping = to.height - at->height < gain / 8 ? to.damping * 2 + 0.5 : to.damping / 4;
        *at = to;
        return true;
      }
    }
    at->damping = at->damping * 4 + 0.01;
  }
  return false;
}

/* By inclusion and exclusion, far enough inside of what is possible. Where no register of one set
 * is above the other's, it is most likely a subset. */
static struct climb start(const struct likelihood *of)
{
  const struct ps_joint *joint = of->joint;
  struct climb at = {.damping = 0};
  double count[SIZES]; /* of the first set, the second, and both together */
  for (unsigned i = 0; i < SIZES; i++) {
    struct ps_tally tally = {0, 0, 0};
    for (unsigned k = 0; k <= of->q + 1; k++) {
      uint32_t n = joint->same[k] + joint->side[i == B].above[k] +
                   (i == X ? joint->side[B].above[k] : joint->side[i].below[k]);
      tally.open += k <= of->q ? n * ps_tally_weight(joint->precision, k) : 0;
      tally.zeros += k == 0 ? n : 0;
      tally.full += k == of->q + 1 ? n : 0;
    }
    count[i] = ps_tally_estimate(&tally, joint->precision);
  }
  double least = fmin(count[A], count[B]), both = count[A] + count[B] - count[X];
  at.keys[X] = fmin(fmax(both, 0.02 * least), 0.98 * least);
  for (unsigned side = A; side <= B; side++) {
    bool any = false;
    for (unsigned k = 1; k <= of->q + 1; k++) {
      any = any || joint->side[side].above[k] > 0;
    }
    at.keys[side] = any ? count[side] - at.keys[X] : 0;
  }
  at.height = log_likelihood(of, at.keys);
  return at;
}

/* The inverse of the information is the covariance of the estimates around the means of the Poisson
 * numbers. These numbers themselves, which are what is asked for, vary around their means too, as
 * much as they are: by so much less the estimates vary around them. */
static struct ps_joint_sizes sizes_of(const struct likelihood *of, const double keys[SIZES])
{
  struct ps_joint_sizes sizes;
  struct slope slope = slope_at(of, keys);
  for (unsigned i = 0; i < SIZES; i++) {
    if (keys[i] == 0) {
      hold(&slope, i);
    }
  }
  for (unsigned i = 0; i < SIZES; i++) {
    struct step column = {{0}};
    double damping = 0;
    for (unsigned j = 0; j < SIZES; j++) {
      slope.gradient[j] = i == j;
    }
    for (unsigned k = 0; k < DAMPINGS_MAX && !solve(&slope, damping, &column); k++) {
      damping = damping * 8 + 1e-9;
    }
    sizes.keys[i] = keys[i];
    for (unsigned j = 0; j < SIZES; j++) {
      sizes.covariance[i][j] = column.by[j] * keys[i] * keys[j] - (i == j ? keys[i] : 0);
    }
  }
  return sizes;
}

/* Is the second array the one to be taken first? By a rule of nothing but what is in them. */
static bool out_of_order(const struct ps_joint *joint)
{
  const struct ps_joint_side *a = &joint->side[A], *b = &joint->side[B];
  for (unsigned k = 0; k < PS_JOINT_VALUES; k++) {
    if (a->above[k] != b->above[k]) {
      return a->above[k] < b->above[k];
    }
    if (a->below[k] != b->below[k]) {
      return a->below[k] < b->below[k];
    }
  }
  return false;
}

struct ps_joint_sizes ps_joint_estimate(const struct ps_joint *joint)
{
  struct ps_joint ordered = *joint;
  if (out_of_order(joint)) {
    ordered.side[A] = joint->side[B];
    ordered.side[B] = joint->side[A];
  }
  const struct likelihood of = likelihood_of(&ordered);
  struct climb at = start(&of);
  for (unsigned i = 0; i < STEPS_MAX && step_up(&of, &at); i++) {
  }
  return sizes_of(&of, at.keys);
}
