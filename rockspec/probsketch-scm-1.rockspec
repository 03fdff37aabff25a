rockspec_format = "3.0"
package = "probsketch"
version = "scm-1"

source = {
  url = "git+https://example.org/probsketch.git",
}

description = {
  summary = "Probabilistic sketches: is it there, how often, how many distinct",
  detailed = [[
    A C core of probabilistic sketches (Bloom filter, count-min sketch, HyperLogLog and more) for
    Lua 5.1 to 5.4 and LuaJIT. Sketches merge, save, load and give the same bytes on every machine.
  ]],
  license = "MIT",
  labels = { "probabilistic", "bloom-filter", "count-min-sketch", "hyperloglog", "statistics" },
}

supported_platforms = { "unix" }

dependencies = {
  "lua >= 5.1, < 5.5",
}

external_dependencies = {
  XXHASH = { header = "xxhash.h" },
}

build = {
  type = "builtin",
  modules = {
    ["probsketch"] = "lua/probsketch/init.lua",
    ["probsketch.container"] = "lua/probsketch/container.lua",
    ["probsketch.jit"] = "lua/probsketch/jit.lua",
    ["probsketch.lsh"] = "lua/probsketch/lsh.lua",
    ["probsketch.options"] = "lua/probsketch/options.lua",
    ["probsketch.slices"] = "lua/probsketch/slices.lua",
    ["probsketch.window"] = "lua/probsketch/window.lua",
    ["probsketch.core"] = {
      sources = {
        "csrc/base/atomic.c",
        "csrc/base/bytes.c",
        "csrc/base/distinct.c",
        "csrc/base/envelope.c",
        "csrc/base/hash.c",
        "csrc/base/math.c",
        "csrc/base/sketch.c",
        "csrc/base/sharing.c",
        "csrc/base/sort.c",
        "csrc/base/status.c",
        "csrc/membership/bloom.c",
        "csrc/membership/blocked_bloom.c",
        "csrc/membership/blocked_line.c",
        "csrc/membership/bloom_layers.c",
        "csrc/membership/scalable_bloom.c",
        "csrc/membership/counting_bloom.c",
        "csrc/membership/cuckoo.c",
        "csrc/membership/cuckoo_growth.c",
        "csrc/membership/cuckoo_plan.c",
        "csrc/membership/cuckoo_search.c",
        "csrc/membership/cuckoo_table.c",
        "csrc/membership/fuse.c",
        "csrc/membership/fuse_build.c",
        "csrc/frequency/count_min.c",
        "csrc/frequency/ranking.c",
        "csrc/frequency/top_k.c",
        "csrc/frequency/top_k_bytes.c",
        "csrc/cardinality/hyperloglog.c",
        "csrc/cardinality/hyperloglog_estimate.c",
        "csrc/cardinality/hyperloglog_forms.c",
        "csrc/cardinality/hyperloglog_joint.c",
        "csrc/cardinality/hyperloglog_overlap.c",
        "csrc/cardinality/hyperloglog_registers.c",
        "csrc/cardinality/hyperloglog_shared.c",
        "csrc/cardinality/hyperloglog_sparse.c",
        "csrc/quantile/bins.c",
        "csrc/quantile/centroids.c",
        "csrc/quantile/ddsketch.c",
        "csrc/quantile/ddsketch_answers.c",
        "csrc/quantile/ddsketch_bytes.c",
        "csrc/quantile/ddsketch_shared.c",
        "csrc/quantile/ddsketch_values.c",
        "csrc/quantile/kll.c",
        "csrc/quantile/kll_answers.c",
        "csrc/quantile/kll_bytes.c",
        "csrc/quantile/kll_levels.c",
        "csrc/quantile/log_index.c",
        "csrc/quantile/sorted_view.c",
        "csrc/quantile/sum.c",
        "csrc/quantile/tdigest.c",
        "csrc/quantile/tdigest_answers.c",
        "csrc/quantile/tdigest_bytes.c",
        "csrc/similarity/minhash.c",
        "csrc/similarity/minima.c",
        "csrc/similarity/shingles.c",
        "csrc/kinds.c",
        "csrc/storage/decoder.c",
        "csrc/storage/file.c",
        "csrc/storage/library.c",
        "csrc/storage/pages.c",
        "csrc/storage/random.c",
        "csrc/storage/share.c",
        "csrc/binding/bloom.c",
        "csrc/binding/blocked_bloom.c",
        "csrc/binding/scalable_bloom.c",
        "csrc/binding/counting_bloom.c",
        "csrc/binding/cuckoo.c",
        "csrc/binding/fuse.c",
        "csrc/binding/count_min.c",
        "csrc/binding/top_k.c",
        "csrc/binding/hyperloglog.c",
        "csrc/binding/tdigest.c",
        "csrc/binding/kll.c",
        "csrc/binding/ddsketch.c",
        "csrc/binding/minhash.c",
        "csrc/binding/decoder.c",
        "csrc/binding/fast.c",
        "csrc/binding/key_set.c",
        "csrc/binding/keys.c",
        "csrc/binding/lsh.c",
        "csrc/binding/module.c",
        "csrc/binding/options.c",
        "csrc/binding/quantile.c",
        "csrc/binding/report.c",
        "csrc/binding/share.c",
        "csrc/binding/sketch.c",
        "csrc/binding/storage.c",
      },
      incdirs = { "csrc", "$(XXHASH_INCDIR)" },
      defines = { "_GNU_SOURCE" },
      libraries = { "m" },
    },
  },
}

test_dependencies = { "busted" }

test = {
  type = "command",
  command = "make spec",
}
