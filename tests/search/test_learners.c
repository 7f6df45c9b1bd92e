/* SPDX-License-Identifier: Apache-2.0
 * What cost models are made of: gradients of the TreeGRU and of the Gaussian
 * process against differences, products with and without cblas, forests, and
 * the statistics of the plug-in. */
#include "base/rng.h"
#include "search/gsl/gp.h"
#include "search/model/forest.h"
#include "search/model/gru.h"
#include "search/model/gsl_library.h"
#include "support/test.h"

#include <math.h>

/* ---- TreeGRU ------------------------------------------------------------ */

enum { TREES = 5, ROWS = 23, WIDTH = 7 };
static const uint32_t tree_first[TREES + 1] = {0, 1, 5, 12, 12, ROWS};
/* A node; a chain; two trees, of which one branches; none; a wide one. */
static const float tree_parent[ROWS] = {-1, -1, 0, 1, 2, -1, 0, 0, 1, -1, 4, 4,
                                        -1, 0,  0, 0, 3, 3,  5, 0, 0, 8,  8};

typedef struct gru_case {
  test_heap heap;
  arena a;
  float v[ROWS * WIDTH];
  double shift[WIDTH], scale[WIDTH], slope[TREES], *weight, *gradient;
  gru_trees t;
  gru_batch g;
  blas b;
  uint32_t n;
} gru_case;

static tess_status make_case(void *ud) {
  gru_case *c = ud;
  rng r;
  rng_init(&r, 3, 1);
  for (uint32_t i = 0; i < ROWS * WIDTH; i++)
    c->v[i] = (float)(4 * rng_unit(&r) - 1);
  for (uint32_t i = 0; i < ROWS; i++) c->v[i * WIDTH] = tree_parent[i];
  for (uint32_t k = 0; k < WIDTH; k++) {
    c->shift[k] = rng_unit(&r);
    c->scale[k] = 0.5 + rng_unit(&r);
  }
  for (uint32_t i = 0; i < TREES; i++) c->slope[i] = 2 * rng_unit(&r) - 1;
  c->t = (gru_trees){TREES, WIDTH, tree_first, c->v};
  c->n = gru_shape_of(WIDTH).n;
  c->weight = arena_array(&c->a, double, c->n);
  c->gradient = arena_zalloc(&c->a, c->n * sizeof(double));
  for (uint32_t i = 0; i < c->n; i++)
    c->weight[i] = 0.4 * (2 * rng_unit(&r) - 1);
  gru_begin(&c->g, &c->a, &c->b, &c->t, c->shift, c->scale);
  return TESS_OK;
}

static void open_case(gru_case *c, bool plain) {
  *c = (gru_case){.n = 0};
  test_heap_start(&c->heap, 0);
  arena_init(&c->a, &c->heap.heap);
  blas_open(&c->b, plain);
  assert_int_equal(mem_protect(&c->heap.heap, make_case, c), TESS_OK);
}

static void close_case(gru_case *c) {
  arena_free(&c->a);
  test_heap_end(&c->heap);
}

static double loss_of(gru_case *c) {
  double score[TREES], sum = 0;
  gru_forward(&c->g, c->weight, score);
  for (uint32_t i = 0; i < TREES; i++) sum += c->slope[i] * score[i];
  return sum;
}

static void test_gru_gradient(void **state) {
  (void)state;
  for (int plain = 0; plain < 2; plain++) {
    gru_case c;
    uint32_t moved = 0;
    open_case(&c, plain);
    loss_of(&c);
    gru_backward(&c.g, c.weight, c.slope, c.gradient);
    for (uint32_t i = 0; i < c.n; i += 7) {
      const double step = 1e-6;
      double kept = c.weight[i];
      c.weight[i] = kept + step;
      double above = loss_of(&c);
      c.weight[i] = kept - step;
      double below = loss_of(&c), found = (above - below) / (2 * step);
      c.weight[i] = kept;
      if (fabs(found - c.gradient[i]) > 1e-7 + 1e-5 * fabs(found))
        fail_msg("weight %u: %g by differences, %g", i, found, c.gradient[i]);
      moved += fabs(found) > 1e-4;
    }
    assert_true(moved > c.n / 7 / 4);
    close_case(&c);
  }
}

static void test_products_without_cblas(void **state) {
  (void)state;
  gru_case a, b;
  open_case(&a, false);
  open_case(&b, true);
  double x = loss_of(&a), y = loss_of(&b);
  assert_true(fabs(x - y) < 1e-12 * (1 + fabs(x)));
  gru_backward(&a.g, a.weight, a.slope, a.gradient);
  gru_backward(&b.g, b.weight, b.slope, b.gradient);
  for (uint32_t i = 0; i < a.n; i++)
    assert_true(fabs(a.gradient[i] - b.gradient[i]) <
                1e-12 * (1 + fabs(a.gradient[i])));
  close_case(&a);
  close_case(&b);
}

/* A tree's score does not hang on what is in the batch with it. */
static void test_trees_are_alone(void **state) {
  (void)state;
  gru_case c;
  double all[TREES], one;
  open_case(&c, false);
  gru_forward(&c.g, c.weight, all);
  for (uint32_t i = 0; i < TREES; i++) {
    uint32_t first[2] = {0, tree_first[i + 1] - tree_first[i]};
    gru_trees t = {1, WIDTH, first, c.v + tree_first[i] * WIDTH};
    gru_batch g;
    gru_begin(&g, &c.a, &c.b, &t, c.shift, c.scale);
    gru_forward(&g, c.weight, &one);
    assert_true(fabs(one - all[i]) < 1e-12);
  }
  assert_true(fabs(all[0] - all[1]) > 1e-6 && fabs(all[2] - all[4]) > 1e-6);
  close_case(&c);
}

/* ---- Gaussian process --------------------------------------------------- */

enum { POINTS = 40, DIMS = 3 };

static double wave(const double *x) { return sin(5 * x[0]) + 0.5 * x[1]; }

static void draw_points(rng *r, uint32_t n, double *x, double *y) {
  for (uint32_t i = 0; i < n; i++) {
    for (int k = 0; k < DIMS; k++) x[i * DIMS + k] = rng_unit(r);
    y[i] = wave(x + i * DIMS);
  }
}

static const gsl_plugin *plugin(void) {
  char why[256];
  const gsl_plugin *g = gsl_load(why);
  if (!g) fail_msg("%s", why);
  return g;
}

#ifdef TEST_GP
static void test_gp_gradient(void **state) {
  (void)state;
  double x[POINTS * DIMS], y[POINTS], gradient[DIMS + 2], unused[DIMS + 2];
  double theta[DIMS + 2] = {-0.5, 0.2, 0.7, -0.3, -4};
  rng r;
  rng_init(&r, 1, 1);
  draw_points(&r, POINTS, x, y);
  gp_likelihood(POINTS, DIMS, x, y, theta, gradient);
  for (int i = 0; i < DIMS + 2; i++) {
    const double step = 1e-5;
    double kept = theta[i];
    theta[i] = kept + step;
    double above = gp_likelihood(POINTS, DIMS, x, y, theta, unused);
    theta[i] = kept - step;
    double below = gp_likelihood(POINTS, DIMS, x, y, theta, unused);
    theta[i] = kept;
    double found = (above - below) / (2 * step);
    if (fabs(found - gradient[i]) > 1e-4 * (1 + fabs(found)))
      fail_msg("%d: %g by differences, %g", i, found, gradient[i]);
  }
}
#endif

/* It knows what it was told, is unsure elsewhere, and foretells what is
 * between. */
static void test_gp_predicts(void **state) {
  (void)state;
  const gsl_plugin *g = plugin();
  double x[POINTS * DIMS], y[POINTS], mean[POINTS], sd[POINTS], off = 0;
  double far[DIMS] = {9, -9, 9}, far_mean, far_sd;
  rng r;
  rng_init(&r, 2, 1);
  draw_points(&r, POINTS, x, y);
  gsl_gp *gp = g->gp_fit(POINTS, DIMS, x, y, NULL, 50);
  assert_non_null(gp);
  g->gp_predict(gp, POINTS, x, mean, sd);
  for (int i = 0; i < POINTS; i++) {
    assert_true(fabs(mean[i] - y[i]) < 0.1);
    assert_true(sd[i] < 0.2);
  }
  g->gp_predict(gp, 1, far, &far_mean, &far_sd);
  assert_true(far_sd > 3 * sd[0]);
  draw_points(&r, POINTS, x, y);
  g->gp_predict(gp, POINTS, x, mean, sd);
  for (int i = 0; i < POINTS; i++) off += fabs(mean[i] - y[i]) / POINTS;
  assert_true(off < 0.1);
  g->gp_free(gp);
  /* The same point again and again, with values that differ or not. */
  for (int i = 0; i < POINTS; i++)
    for (int k = 0; k < DIMS; k++) x[i * DIMS + k] = 1;
  for (int same = 0; same < 2; same++) {
    for (int i = 0; i < POINTS; i++) y[i] = same ? 2 : i % 5;
    gp = g->gp_fit(POINTS, DIMS, x, y, NULL, 50);
    assert_non_null(gp);
    g->gp_predict(gp, 1, x, mean, sd);
    assert_true(fabs(mean[0] - 2) < 0.2);
    g->gp_free(gp);
  }
}

/* From a process before, scales are what they were, and fitting goes on. */
static void test_gp_goes_on(void **state) {
  (void)state;
  enum { LESS = POINTS / 2 };
  const gsl_plugin *g = plugin();
  double x[POINTS * DIMS], y[POINTS], mean[2], sd[2];
  rng r;
  rng_init(&r, 4, 1);
  draw_points(&r, POINTS, x, y);
  gsl_gp *gp = g->gp_fit(LESS, DIMS, x, y, NULL, 50);
  gsl_gp *same = g->gp_fit(LESS, DIMS, x, y, gp, 0);
  gsl_gp *plain = g->gp_fit(LESS, DIMS, x, y, NULL, 0);
  gsl_gp *more = g->gp_fit(POINTS, DIMS, x, y, gp, 50);
  const double *other = x + LESS * DIMS;
  g->gp_predict(gp, 1, other, &mean[0], &sd[0]);
  g->gp_predict(same, 1, other, &mean[1], &sd[1]);
  assert_true(mean[0] == mean[1] && sd[0] == sd[1]);
  g->gp_predict(plain, 1, other, &mean[1], &sd[1]);
  assert_true(sd[0] != sd[1]);
  g->gp_predict(more, 1, other, &mean[1], &sd[1]);
  assert_true(fabs(mean[1] - y[LESS]) < 0.1);
  g->gp_free(more);
  g->gp_free(plain);
  g->gp_free(same);
  g->gp_free(gp);
}

/* The covariance of a point with itself is its variance; with others it is
 * symmetric, and far away there is none. */
static void test_gp_covariance(void **state) {
  (void)state;
  const gsl_plugin *g = plugin();
  double x[POINTS * DIMS], y[POINTS], q[3 * DIMS], mean[3], sd[3], c[3][3];
  rng r;
  rng_init(&r, 3, 1);
  draw_points(&r, POINTS, x, y);
  gsl_gp *gp = g->gp_fit(POINTS, DIMS, x, y, NULL, 50);
  assert_non_null(gp);
  draw_points(&r, 2, q, y);
  for (int k = 0; k < DIMS; k++) q[2 * DIMS + k] = 1000;
  g->gp_predict(gp, 3, q, mean, sd);
  for (int i = 0; i < 3; i++)
    assert_true(g->gp_covariance(gp, q + i * DIMS, 3, q, c[i]) > 0);
  for (int i = 0; i < 3; i++) {
    assert_true(fabs(c[i][i] - sd[i] * sd[i]) < 1e-6 * (1 + c[2][2]));
    for (int k = 0; k < i; k++) {
      assert_true(fabs(c[i][k] - c[k][i]) < 1e-9);
      assert_true(fabs(c[i][k]) <= sd[i] * sd[k] + 1e-9);
    }
  }
  assert_true(fabs(c[2][0]) < 1e-9 && fabs(c[2][1]) < 1e-9);
  g->gp_free(gp);
}

static void test_quasi_random(void **state) {
  (void)state;
  const gsl_plugin *g = plugin();
  double p[6];
  assert_int_equal(g->quasi_random(GSL_SOBOL, 2, 0, 3, p), 0);
  static const double sobol[] = {0.5, 0.5, 0.75, 0.25, 0.25, 0.75};
  for (int i = 0; i < 6; i++) assert_true(p[i] == sobol[i]);
  assert_int_equal(g->quasi_random(GSL_SOBOL, 2, 1, 2, p), 0);
  assert_true(p[0] == 0.75 && p[3] == 0.75);
  assert_true(g->quasi_random(GSL_SOBOL, 1000, 0, 1, p) != 0);
  assert_int_equal(g->quasi_random(GSL_HALTON, 2, 0, 1, p), 0);
}

/* ---- forests ------------------------------------------------------------ */

enum { LEAVES = 200, COLUMNS = 6 };

typedef struct forest_case {
  test_heap heap;
  arena a;
  float x[LEAVES * COLUMNS];
  double y[LEAVES];
  forest *f;
} forest_case;

/* A step in column 2, and noise where column 4 is large; column 0 is always
 * the same. */
static tess_status make_forest(void *ud) {
  forest_case *c = ud;
  rng r;
  rng_init(&r, 5, 1);
  for (uint32_t i = 0; i < LEAVES; i++) {
    float *row = c->x + i * COLUMNS;
    for (uint32_t k = 0; k < COLUMNS; k++) row[k] = (float)rng_unit(&r);
    row[0] = 1;
    c->y[i] = row[2] > 0.5f ? 10 : 0;
    if (row[4] > 0.7f) c->y[i] += 6 * rng_unit(&r) - 3;
  }
  forest_options o = {.trees = 60, .leaf = 3, .share = 0.5, .seed = 9};
  c->f = forest_fit(&c->a, &o, LEAVES, COLUMNS, c->x, c->y);
  return TESS_OK;
}

static void test_forest(void **state) {
  (void)state;
  static forest_case c;
  float low[] = {1, 0.5f, 0.2f, 0.5f, 0.3f, 0.5f}, high[COLUMNS];
  float noisy[COLUMNS];
  double mean, sure, unsure, matters[COLUMNS] = {0};
  test_heap_start(&c.heap, 0);
  arena_init(&c.a, &c.heap.heap);
  assert_int_equal(mem_protect(&c.heap.heap, make_forest, &c), TESS_OK);
  memcpy(high, low, sizeof low);
  memcpy(noisy, low, sizeof low);
  high[2] = 0.8f;
  noisy[4] = 0.9f;
  forest_predict(c.f, low, &mean, &sure);
  assert_true(fabs(mean) < 1.5);
  forest_predict(c.f, noisy, &mean, &unsure);
  assert_true(unsure > 2 * sure && unsure > 0.5);
  forest_predict(c.f, high, &mean, &unsure);
  assert_true(fabs(mean - 10) < 1.5);
  forest_importance(c.f, matters);
  for (uint32_t k = 0; k < COLUMNS; k++)
    assert_true(k == 2 ? matters[k] > 0 : matters[k] < matters[2] / 5);
  assert_true(matters[0] == 0);
  arena_free(&c.a);
  test_heap_end(&c.heap);
}

/* Of a point with itself it is the variance, with others it is symmetric, and
 * no more than their variances allow. */
static void test_forest_covariance(void **state) {
  (void)state;
  enum { ASKED = 20 };
  static forest_case c;
  const float *row[ASKED];
  double covary[ASKED][ASKED], mean, variance[ASKED];
  bool differ = false;
  test_heap_start(&c.heap, 0);
  arena_init(&c.a, &c.heap.heap);
  assert_int_equal(mem_protect(&c.heap.heap, make_forest, &c), TESS_OK);
  for (int i = 0; i < ASKED; i++) row[i] = c.x + i * COLUMNS;
  for (int i = 0; i < ASKED; i++) {
    forest_predict(c.f, row[i], &mean, &variance[i]);
    forest_covary(c.f, row[i], ASKED, row, covary[i]);
    assert_true(fabs(covary[i][i] - variance[i]) < 1e-6);
  }
  for (int i = 0; i < ASKED; i++)
    for (int k = 0; k < i; k++) {
      double most = sqrt(variance[i] * variance[k]);
      assert_true(fabs(covary[i][k] - covary[k][i]) < 1e-6);
      assert_true(fabs(covary[i][k]) < most + 1e-6);
      differ |= fabs(covary[i][k]) < 0.1 * most;
    }
  assert_true(differ);
  arena_free(&c.a);
  test_heap_end(&c.heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forest_covariance),
      cmocka_unit_test(test_gru_gradient),
      cmocka_unit_test(test_products_without_cblas),
      cmocka_unit_test(test_trees_are_alone),
#ifdef TEST_GP
      cmocka_unit_test(test_gp_gradient),
#endif
      cmocka_unit_test(test_gp_predicts),
      cmocka_unit_test(test_gp_goes_on),
      cmocka_unit_test(test_gp_covariance),
      cmocka_unit_test(test_quasi_random),
      cmocka_unit_test(test_forest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
