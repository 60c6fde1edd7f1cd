/* The kernels as one would write them in C: what bench/kernels.py holds the Cython ones against.
 *
 * The same operations in the same order, so the same bits; compiled with the flags of
 * kernels/setup.py. Formulas and the model: kernels/src/daskperf_kernels/.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024, LANES = 8 };
enum {
    LEVELS = 5, RADIUS = 7, ROWS = 2 * RADIUS + 1, COLUMNS = ROWS + 1,
    FAR = RADIUS * RADIUS + 1, MARGIN = RADIUS + 1, MIDDLE = 512, GROWTH = 32,
    NUMBERS = 14
};

/* ---- integrate ---- */

static inline double term(double x) {
    double bump = x * (1.0 - x);
    double square = x * x;
    double w = (((70.0 * x - 315.0) * x + 540.0) * x - 420.0) * x + 126.0;
    bump = bump * bump;
    w = square * square * x * w;
    return bump * bump / (1.0 + w * w);
}

double integrate(long long n, double phase) {
    double h = 1.0 / (double)n, shift = phase - floor(phase), total = 0.0;
    if (shift >= 1.0) shift = 0.0;
    for (long long start = 0; start < n;) {
        int count = n - start > BLOCK ? BLOCK : (int)(n - start);
        double first = (double)start + 0.5;
        double wrap = first * h + shift >= 1.0 ? 1.0 : 0.0;
        double lanes[LANES], partial = 0.0;
        if (count == BLOCK && (wrap == 1.0 || (first + (BLOCK - 1)) * h + shift < 1.0)) {
            for (int lane = 0; lane < LANES; lane++) {
                double sum = 0.0, t = first + lane;
                for (int i = 0; i < BLOCK / LANES; i++, t += LANES)
                    sum += term(t * h + shift - wrap);
                lanes[lane] = sum;
            }
        } else {
            memset(lanes, 0, sizeof lanes);
            for (int i = 0; i < count; i++) {
                double x = (first + i) * h + shift;
                lanes[i % LANES] += term(x >= 1.0 ? x - 1.0 : x);
            }
        }
        for (int lane = 0; lane < LANES; lane++) partial += lanes[lane];
        total += partial;
        start += count;
    }
    return 2520.0 * total * h;
}

/* ---- random numbers ---- */

typedef struct { uint64_t s0, s1, s2, s3; } Xoshiro;
typedef struct { double x, y, z; } Vector;

static uint64_t splitmix(uint64_t *counter) {
    uint64_t z = *counter += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline double uniform(Xoshiro *s) {
    uint64_t scrambled = s->s1 * 5, shifted = s->s1 << 17;
    scrambled = ((scrambled << 7) | (scrambled >> 57)) * 9;
    s->s2 ^= s->s0;
    s->s3 ^= s->s1;
    s->s1 ^= s->s2;
    s->s0 ^= s->s3;
    s->s2 ^= shifted;
    s->s3 = (s->s3 << 45) | (s->s3 >> 19);
    return (double)(scrambled >> 11) * 0x1p-53;
}

static inline Vector direction(Xoshiro *random) {
    for (;;) {
        double a = 2.0 * uniform(random) - 1.0, b = 2.0 * uniform(random) - 1.0;
        double s = a * a + b * b;
        if (s < 1.0) {
            double scale = 2.0 * sqrt(1.0 - s);
            return (Vector){a * scale, b * scale, 1.0 - 2.0 * s};
        }
    }
}

/* ---- what is around ---- */

typedef struct { int32_t next, count, number[NUMBERS]; } Block;
typedef struct { ptrdiff_t square, width, origin; } Grid;

typedef struct {
    int half, used;
    Grid at, levels[LEVELS];
    double root[FAR + 1];
    uint8_t stencil[ROWS][ROWS][COLUMNS];
    uint8_t *field;
    int32_t *lists;
    Block *blocks;
    Vector *centres;
} Cluster;

static Grid grid(ptrdiff_t start, ptrdiff_t width, int first) {
    return (Grid){width * width, width, start - first * (width * width + width + 1)};
}

static int clear(Cluster *c, int half) {
    int first = MIDDLE - half / 2;
    size_t start = 0, lists = (size_t)(half + 2) * (half + 2) * (half + 2);
    c->half = half;
    c->used = 0;
    c->at = grid(0, half + 2, first - 1);
    for (int level = 0; level < LEVELS; level++) {
        size_t width = (half >> level) + 2 * MARGIN;
        c->levels[level] = grid(start, width, (first >> level) - MARGIN);
        start += width * width * width;
    }
    free(c->field);
    free(c->lists);
    c->field = malloc(start);
    c->lists = malloc(lists * sizeof *c->lists);
    if (!c->field || !c->lists) return -1;
    memset(c->field, FAR, start);
    memset(c->lists, 255, lists * sizeof *c->lists);
    return 0;
}

static void cut_stencil(Cluster *c) {
    for (int a = 0; a < ROWS; a++)
        for (int b = 0; b < ROWS; b++)
            for (int d = 0; d < COLUMNS; d++) {
                int steps[3] = {abs(a - RADIUS), abs(b - RADIUS), abs(d - RADIUS)}, squared = 1;
                for (int axis = 0; axis < 3; axis++)
                    if (steps[axis] > 1) squared += (steps[axis] - 1) * (steps[axis] - 1);
                c->stencil[a][b][d] = squared < FAR && d < ROWS ? squared : FAR;
            }
    c->stencil[RADIUS][RADIUS][RADIUS] = 0;
    for (int byte = 0; byte <= FAR; byte++) c->root[byte] = byte ? sqrt(byte - 1) : 0.0;
}

static inline ptrdiff_t cube(const Grid *grid, int i, int j, int k) {
    return i * grid->square + j * grid->width + k + grid->origin;
}

static void add(Cluster *c, int number) {
    Vector p = c->centres[number];
    int i = (int)(p.x * 0.5 + MIDDLE);
    int j = (int)(p.y * 0.5 + MIDDLE);
    int k = (int)(p.z * 0.5 + MIDDLE);
    for (int level = 0; level < LEVELS; level++) {
        const Grid *at = &c->levels[level];
        ptrdiff_t middle = cube(at, i >> level, j >> level, k >> level), width = at->width;
        if (c->field[middle] == 0) break;
        uint8_t *corner = c->field + middle - (RADIUS * width + RADIUS) * width - RADIUS;
        for (int a = 0; a < ROWS; a++)
            for (int b = 0; b < ROWS; b++) {
                uint8_t *restrict row = corner + (a * width + b) * width;
                const uint8_t *restrict mask = c->stencil[a][b];
                for (int d = 0; d < COLUMNS; d++) row[d] = mask[d] < row[d] ? mask[d] : row[d];
            }
    }
    for (int a = i - 1; a <= i + 1; a++)
        for (int b = j - 1; b <= j + 1; b++)
            for (int d = k - 1; d <= k + 1; d++) {
                int32_t *list = c->lists + cube(&c->at, a, b, d);
                if (*list < 0 || c->blocks[*list].count == NUMBERS) {
                    c->blocks[c->used].next = *list;
                    c->blocks[c->used].count = 0;
                    *list = c->used++;
                }
                Block *block = c->blocks + *list;
                block->number[block->count++] = number;
            }
}

static inline double face(double f) {
    return fabs(f - ((f + 0x1.8p52) - 0x1.8p52));
}

static inline double wall(double fx, double fy, double fz) {
    double wx = face(fx), wy = face(fy), wz = face(fz);
    wx = wx < wy ? wx : wy;
    return wx < wz ? wx : wz;
}

static inline double look(const Cluster *c, Vector p, int *block) {
    double fx = p.x * 0.5 + MIDDLE, fy = p.y * 0.5 + MIDDLE, fz = p.z * 0.5 + MIDDLE;
    int i = (int)fx, j = (int)fy, k = (int)fz, level = 0;
    double side = 2.0, scale = 1.0;
    uint8_t byte = c->field[cube(&c->levels[0], i, j, k)];
    while (byte == FAR && level < LEVELS - 1) {
        level++;
        side *= 2.0;
        scale *= 0.5;
        byte = c->field[cube(&c->levels[level], i >> level, j >> level, k >> level)];
    }
    double near = wall(fx * scale, fy * scale, fz * scale);
    if (byte <= 1) {
        *block = c->lists[cube(&c->at, i, j, k)];
        return side * (1.0 + near);
    }
    *block = -1;
    return side * (c->root[byte] + near);
}

/* ---- aggregate ---- */

static inline double nearest_squared(const Cluster *c, int at, Vector p) {
    double nearest = 1e300;
    while (at >= 0) {
        const Block *block = c->blocks + at;
        for (int m = 0; m < block->count; m++) {
            Vector q = c->centres[block->number[m]];
            double dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            double squared = dx * dx + dy * dy + dz * dz;
            nearest = squared < nearest ? squared : nearest;
        }
        at = block->next;
    }
    return nearest;
}

static inline double first_contact(const Cluster *c, int at, Vector p, Vector u) {
    double way = 2.0;
    while (at >= 0) {
        const Block *block = c->blocks + at;
        for (int m = 0; m < block->count; m++) {
            Vector q = c->centres[block->number[m]];
            double dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            double along = dx * u.x + dy * u.y + dz * u.z;
            if (along <= 0.0) continue;
            double miss = dx * dx + dy * dy + dz * dz - along * along;
            if (miss >= 1.0) continue;
            double t = along - sqrt(1.0 - miss);
            if (t < 0.0) t = 0.0;
            if (t < way) way = t;
        }
        at = block->next;
    }
    return way;
}

static Vector launched(Xoshiro *random, double launch) {
    Vector u = direction(random);
    return (Vector){launch * u.x, launch * u.y, launch * u.z};
}

static Vector returned(Xoshiro *random, Vector p, double r, double launch) {
    Vector e = {p.x / r, p.y / r, p.z / r}, q;
    double far = 1.0 / (r + launch), near = 1.0 / (r - launch);
    double distance = 1.0 / (far + uniform(random) * (near - far));
    double cosine = (r * r + launch * launch - distance * distance) / (2.0 * r * launch);
    double sine, squared, across;
    if (cosine > 1.0) cosine = 1.0;
    if (cosine < -1.0) cosine = -1.0;
    sine = sqrt(1.0 - cosine * cosine);
    do {
        q = direction(random);
        double along = q.x * e.x + q.y * e.y + q.z * e.z;
        q.x -= along * e.x;
        q.y -= along * e.y;
        q.z -= along * e.z;
        squared = q.x * q.x + q.y * q.y + q.z * q.z;
    } while (squared <= 1e-6);
    across = sine / sqrt(squared);
    return (Vector){launch * (cosine * e.x + across * q.x), launch * (cosine * e.y + across * q.y),
                    launch * (cosine * e.z + across * q.z)};
}

static Vector walk(const Cluster *c, Xoshiro *random, double launch) {
    double outer = launch + 1.0;
    Vector p = launched(random, launch);
    for (;;) {
        int block;
        Vector u = direction(random);
        double bound = look(c, p, &block), gap, squared;
        if (block >= 0) {
            double nearest = nearest_squared(c, block, p);
            if (nearest < bound * bound) bound = sqrt(nearest);
        }
        gap = bound - 1.0;
        if (gap < 1.0) {
            double way = first_contact(c, block, p, u);
            if (way <= 1.0) return (Vector){p.x + way * u.x, p.y + way * u.y, p.z + way * u.z};
            gap = 1.0;
        }
        p.x += gap * u.x;
        p.y += gap * u.y;
        p.z += gap * u.z;
        squared = p.x * p.x + p.y * p.y + p.z * p.z;
        if (squared > outer * outer) {
            double r = sqrt(squared);
            p = uniform(random) * r < launch ? returned(random, p, r, launch)
                                             : launched(random, launch);
        }
    }
}

/* Fill positions (n, 3); return the radius of gyration, or -1 when memory runs out. */
double aggregate(int n, uint64_t seed, double *positions) {
    Cluster *c = calloc(1, sizeof *c);
    Xoshiro random;
    double reach_squared = 0.0, total = 0.0, mx = 0.0, my = 0.0, mz = 0.0;
    int failed = !c || !(c->blocks = malloc(27 * (size_t)n * sizeof *c->blocks));
    random.s0 = splitmix(&seed);
    random.s1 = splitmix(&seed);
    random.s2 = splitmix(&seed);
    random.s3 = splitmix(&seed);
    if (!failed) {
        c->centres = (Vector *)positions;
        c->centres[0] = (Vector){0.0, 0.0, 0.0};
        cut_stencil(c);
        failed = clear(c, GROWTH);
    }
    if (!failed) add(c, 0);
    for (int count = 1; count < n && !failed; count++) {
        double reach = sqrt(reach_squared), squared;
        if (reach + 3.0 > c->half) {
            if ((failed = clear(c, c->half + GROWTH))) break;
            for (int i = 0; i < count; i++) add(c, i);
        }
        Vector p = c->centres[count] = walk(c, &random, reach + 2.0);
        add(c, count);
        squared = p.x * p.x + p.y * p.y + p.z * p.z;
        if (squared > reach_squared) reach_squared = squared;
    }
    if (c) {
        free(c->field);
        free(c->lists);
        free(c->blocks);
        free(c);
    }
    if (failed) return -1.0;
    for (int i = 0; i < n; i++) {
        mx += positions[3 * i];
        my += positions[3 * i + 1];
        mz += positions[3 * i + 2];
    }
    mx /= n;
    my /= n;
    mz /= n;
    for (int i = 0; i < n; i++) {
        double dx = positions[3 * i] - mx, dy = positions[3 * i + 1] - my;
        double dz = positions[3 * i + 2] - mz;
        total += dx * dx + dy * dy + dz * dz;
    }
    return sqrt(total / n);
}
